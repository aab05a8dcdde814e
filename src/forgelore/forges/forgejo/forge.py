"""Forgejo and Gitea (codeberg.org and any other) as a `Forge`.

Issues and changes come as one list, plain comments as a stream of their own. Neither is sorted by update, so they are
read in windows of the past (`pages.py`). What the lists lack of a change is fetched for each that changed: branches and
files, reviews and comments on lines. There are no ETags, no rate limits in headers and no GraphQL.

When something last happened on Forgejo: a branch's last commit, the newest issue or pull request.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from forgelore.errors import ForgeError, NotFound
from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.details import ForgejoDetails
from forgelore.forges.forgejo.payloads import ForgejoPayloads
from forgelore.forges.forgejo.rest import (
    LIMIT,
    TYPE_OF,
    ForgejoLists,
    ForgejoRest,
    item_path,
    repo_path,
    total_of,
    walk_pages,
)
from forgelore.forges.forgejo.writing import ForgejoWrites
from forgelore.forges.rest import (
    BYTES_PER_CHAR,
    DAY_MS,
    WINDOW_DAYS,
    MeteredForge,
    Sample,
    TokenAccess,
    body_chars,
    first_chars,
    in_batches,
    pages_of,
)
from forgelore.model import Cursor, File, Identity, Item, ItemKey, Kind, Project, ProjectName
from forgelore.net.client import Client
from forgelore.net.pages import read_ms, read_rows, split_rows
from forgelore.ports.forge import FetchCost, Known, Newest, Page, Resource, SecondLook
from forgelore.text.dates import format_ms
from forgelore.words import JobKind

_DAYS_BACK = (1, 30, 365)


def fetch_branch_time(rest: ForgejoRest, project: Project, branch: str) -> int | None:
    answer = rest.client.get(f"{repo_path(project)}/branches/{quote(branch, safe='')}")
    if answer.status == 404:
        return None
    commit = wire.loose(rest.checked(answer, f"the branch {branch}").body).get("commit")
    made = commit.get("timestamp") if isinstance(commit, dict) else None
    return read_ms(made) if isinstance(made, str) else None


def fetch_newest(rest: ForgejoRest, project: Project) -> Newest:
    """The list begins with what was created last. For the last update ever longer spans are asked for, until one holds
    something; the newest of its first page is the answer.
    """
    created = _first(rest, project, {"limit": 1})
    updated: list[Item] = []
    now_ms = rest.client.server_ms or 0
    for days in _DAYS_BACK if created else ():
        updated = updated or _first(rest, project, {"since": format_ms(max(0, now_ms - days * DAY_MS)), "limit": LIMIT})
    return Newest(_latest(created, "created_at"), _latest(updated or created, "updated_at"))


def _first(rest: ForgejoRest, project: Project, params: dict[str, object]) -> list[Item]:
    answer = rest.client.get(f"{repo_path(project)}/issues", {"state": "all", "page": 1, **params})
    return read_rows(rest.checked(answer, "issues").body, wire.parse_item, "issues").values


def _latest(items: list[Item], field: str) -> int | None:
    return max((getattr(item, field) or 0 for item in items), default=None)


HEADERS = {"Accept": "application/json"}

RESOURCES = (
    Resource("items", "issues and changes", 1, ("issue", "change"), ("issue", "change")),
    Resource("releases", "releases", 1, ("release",)),
    Resource("labels", "labels", 1, ("issue", "change")),
    Resource("members", "members", 1, ("issue", "change")),
    Resource("comments", "comments", 2, ("issue", "change")),
)
# Where one kind is switched off, with cursors of their own: that of "items" must not pass what it never saw.
ISSUES = Resource("issues", "issues", 1, ("issue",), ("issue",))
PULLS = Resource("pulls", "changes", 1, ("change",), ("change",))
_KIND_OF: dict[str, Kind | None] = {"items": None, "issues": "issue", "pulls": "change"}


class Forgejo(ForgejoWrites, MeteredForge):
    """One Forgejo or Gitea server, for one reader."""

    name = "forgejo"

    def __init__(self, client: Client, *, host: str, access: TokenAccess, window_days: int = WINDOW_DAYS) -> None:
        self.host = host
        super().__init__(client)
        self._access = access
        self._rest = ForgejoRest(client, host, access)
        self._lists = ForgejoLists(self._rest, has_token=access.has_token, window_days=window_days)
        self._details = ForgejoDetails(self._rest)
        self.payloads = ForgejoPayloads()

    def fetch_identity(self) -> Identity | None:
        """Return who the token belongs to; None without a token. Its scopes are nobody's to read."""
        if not self._access.has_token:
            return None
        user = wire.loose(self._rest.checked(self._client.get("/user"), "the signed-in user").body)
        name = user.get("full_name")
        return Identity(str(user.get("login", "?")), name if isinstance(name, str) and name else None)

    def fetch_project(self, name: ProjectName) -> Project:
        answer = self._client.get(f"/repos/{quote(name.path, safe='/')}")
        if answer.status == 404:
            raise NotFound(
                f"project {name.path!r} not found on {self.host}",
                hint="check the spelling, or the token's access"
                if self._access.has_token
                else f"if it is private, {self._access.advice}",
            )
        body = self._rest.checked(answer, f"project {name.path}").body
        return self._rest.first_answer(lambda raw: wire.parse_project(raw, name.host), body)

    def list_projects(self, owner: str, *, deep: bool) -> Iterator[ProjectName]:
        """Yield every project of an organisation or a person. There are no subgroups; `deep` changes nothing."""
        del deep
        path = f"/orgs/{quote(owner, safe='')}/repos"
        if self._client.get(path, {"limit": 1}).status == 404:
            path = f"/users/{quote(owner, safe='')}/repos"
        for answer in walk_pages(self._client, path):
            if answer.status == 404:
                raise NotFound(f"no organisation or user {owner!r} on {self.host}", hint="check the spelling")
            for raw in split_rows(self._rest.checked(answer, f"projects of {owner}").body):
                yield wire.parse_project(raw, self.host).name

    def resources(self, project: Project) -> list[Resource]:
        if project.has_issues and project.has_changes:
            return list(RESOURCES)
        rest = [resource for resource in RESOURCES if resource.name == "releases"]
        if not project.has_issues and not project.has_changes:
            return rest
        only = ISSUES if project.has_issues else PULLS
        return [only if resource.name == "items" else resource for resource in RESOURCES]

    def pages(self, project: Project, resource: str, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]:
        if resource in _KIND_OF:
            return self._lists.items(project, _KIND_OF[resource], cursor, now_ms)
        if resource == "comments":
            return self._lists.comments(project, cursor, known, now_ms)
        return self._lists.full(project, resource, cursor, now_ms)

    def jobs_for(self, item: Item, *, is_changed: bool, is_wide: bool, threads_fetched_at: int | None) -> list[JobKind]:
        """Files and conversations of changes, when something moved and in the wider net: editing, deleting or resolving
        a comment on a line moves no time. Comments of issues come as a stream.
        """
        del threads_fetched_at
        if item.key.kind != "change" or not (is_changed or is_wide):
            return []
        return [JobKind.THREADS, JobKind.DETAIL]

    def required_jobs(self) -> dict[JobKind, tuple[Kind, ...]]:
        return {JobKind.THREADS: ("change",), JobKind.DETAIL: ("change",)}

    def batch_size(self, job_kind: JobKind) -> int:
        del job_kind
        return 1

    def batches(self, job_kind: JobKind, keys: Sequence[ItemKey], known: Known) -> Iterator[list[ItemKey]]:
        del job_kind, known
        return in_batches(keys, 1)

    def fetch_jobs(self, project: Project, job_kind: JobKind, keys: list[ItemKey], known: Known) -> Page:
        key = keys[0]
        if job_kind == JobKind.ITEM:
            return Page(items=[self.fetch_item(project, key)])
        if job_kind in (JobKind.DETAIL, JobKind.FILES):
            return self._details.fetch_detail(project, key)
        kind = known.kinds([key.number]).get(key.number, key.kind)  # queued before anybody knew whose number it is
        return self._details.fetch_threads(project, ItemKey(kind, key.number))

    def fetch_item(self, project: Project, key: ItemKey) -> Item:
        answer = self._client.get(item_path(project, key))
        return wire.parse_item(self._rest.checked(answer, f"{key.kind} {key.number}").body)

    def look(self, project: Project, key: ItemKey) -> SecondLook:
        """Ask for one item by itself: 404 means gone, and so does another kind under its number."""
        part = f"{repo_path(project)}/releases/{key.number}" if key.kind == "release" else item_path(project, key)
        answer = self._client.get(part)
        if answer.status in (404, 410):
            return SecondLook(key, is_gone=True)
        body = self._rest.checked(answer, f"{key.kind} {key.number}").body
        return SecondLook(key, is_gone=key.kind != "release" and wire.parse_item(body).key != key)

    def counts(self, project: Project) -> dict[Kind, int | None]:
        """Return the totals of issues and changes, as the header of a list of one row tells them."""
        on: dict[Kind, bool] = {"issue": project.has_issues, "change": project.has_changes}
        return {kind: self._count(project, kind) for kind, is_on in on.items() if is_on}

    def _count(self, project: Project, kind: Kind) -> int | None:
        params: dict[str, Any] = {"state": "all", "type": TYPE_OF[kind], "limit": 1}
        return total_of(self._rest.checked(self._client.get(f"{repo_path(project)}/issues", params), TYPE_OF[kind]))

    def counts_since(self, project: Project, kind: Kind, times: Sequence[int]) -> dict[int, int]:
        """Return the total of the middle time: there is one in a request."""
        middle = times[len(times) // 2]
        params = {"state": "all", "type": TYPE_OF[kind], "limit": 1, "since": format_ms(middle)}
        answer = self._rest.checked(self._client.get(f"{repo_path(project)}/issues", params), TYPE_OF[kind])
        total = total_of(answer)
        return {middle: total} if total is not None else {}

    def items_between(self, project: Project, kinds: Sequence[Kind], start_ms: int, end_ms: int) -> list[Item]:
        found: dict[ItemKey, Item] = {}
        for kind in kinds:
            params = {"state": "all", "type": TYPE_OF[kind], "since": format_ms(start_ms), "before": format_ms(end_ms)}
            for answer in walk_pages(self._client, f"{repo_path(project)}/issues", params):
                body = self._rest.checked(answer, TYPE_OF[kind]).body
                found |= {item.key: item for item in read_rows(body, wire.parse_item, TYPE_OF[kind]).values}
        return list(found.values())

    def estimate(self, project: Project, missing: dict[Kind, int]) -> FetchCost:
        """A page per 50 items or comments; branches, files and reviews of each change, and the diff of an open one."""
        answer = self._client.get(f"{repo_path(project)}/issues", {"state": "all", "limit": LIMIT})
        sample = Sample(read_rows(self._rest.checked(answer, "issues").body, wire.parse_item, "issues").values)
        items, changes = sum(missing.values()), missing.get("change", 0)
        notes = sample.total(missing, lambda item: item.comment_count or 0)
        still_open = changes * sample.mean("change", lambda item: item.state == "open")
        requests = pages_of(items, LIMIT) + pages_of(notes, LIMIT) + 4 * changes + int(still_open)
        chars = sample.total(missing, body_chars) + notes * sample.mean("issue", body_chars) / 2
        return FetchCost(requests, int(notes), int(chars))

    def sweep(self, project: Project, kind: Kind) -> set[int]:
        return self._lists.numbers(project, kind, self.server_ms() or 0)

    def fetch_files(self, project: Project, key: ItemKey) -> list[File]:
        return self._details.list_files(project, key) if key.kind == "change" else []

    def fetch_diff(self, project: Project, key: ItemKey, *, max_chars: int) -> str | None:
        if key.kind != "change":
            return ""
        path = f"{repo_path(project)}/pulls/{key.number}.diff"
        try:
            answer = self._client.get_start(path, accept="text/plain", max_bytes=BYTES_PER_CHAR * max_chars)
        except ForgeError:
            return None
        if answer.status == 401:
            raise self._rest.refusal(answer, f"the diff of {key.number}")
        is_diff = answer.status == 200 and "json" not in answer.headers.get("content-type", "")
        return first_chars(answer.body, max_chars) if is_diff else None

    def fetch_branch_time(self, project: Project, branch: str) -> int | None:
        return fetch_branch_time(self._rest, project, branch)

    def fetch_newest(self, project: Project) -> Newest:
        return fetch_newest(self._rest, project)

    def fetch_text(self, project: Project, path: str, *, branch: str, max_chars: int) -> str | None:
        if not path:  # what sets up triage, where nothing does
            return None
        place = f"{repo_path(project)}/raw/{quote(path, safe='')}"
        size = BYTES_PER_CHAR * max_chars
        answer = self._client.get_start(place, {"ref": branch}, accept="text/plain", max_bytes=size)
        if answer.status == 404:
            return None
        return self._rest.checked(answer, f"{path} of {branch}").body.decode("utf-8", "replace")[:max_chars]
