"""GitHub (github.com and Enterprise Server) as a `Forge`.

Lists that carry everything come first: `/issues` (issues and changes), `/issues/comments`, `/pulls/comments`. What
they lack is fetched in batches through GraphQL: the files, reviews and closing references of changes, the duplicate
history of issues, all of discussions. Without a token there is no GraphQL: files and reviews then cost two requests a
change, and discussions are left out with a warning.

When something last happened on GitHub: a branch's last commit, the newest issue or pull request.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec

from forgelore.errors import AuthError, ForgeError, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.details import Details
from forgelore.forges.github.graph import Graph, counts_query, sso_hint
from forgelore.forges.github.payloads import GitHubPayloads
from forgelore.forges.github.rest import (
    GitHubLists,
    GitHubRest,
    discussion_pages,
    load_discussion,
    load_numbers,
    object_in,
    quoted,
    repo_path,
)
from forgelore.forges.github.wire import parse_item, parse_project
from forgelore.forges.github.writing import GitHubWrites
from forgelore.forges.rest import (
    BYTES_PER_CHAR,
    WINDOW_DAYS,
    MeteredForge,
    Sample,
    TokenAccess,
    body_chars,
    first_chars,
    in_batches,
    pages_of,
)
from forgelore.model import Cursor, File, Identity, Item, ItemKey, Kind, Link, Project, ProjectName
from forgelore.net.client import Client
from forgelore.net.pages import read_ms, read_rows, split_rows, walk_links
from forgelore.ports.forge import FetchCost, Known, Newest, Page, Resource, SecondLook
from forgelore.text.refs import key_in_url
from forgelore.words import JobKind


def fetch_branch_time(client: Client, rest: GitHubRest, project: Project, branch: str) -> int | None:
    answer = client.get(f"{repo_path(project)}/commits/{quote(branch, safe='')}")
    if answer.status in (404, 409, 422):  # 409: the repository is empty, 422: no such branch
        return None
    commit = object_in(rest.checked(answer, f"the branch {branch}")).get("commit")
    person = commit.get("committer") if isinstance(commit, dict) else None
    return read_ms(person.get("date")) if isinstance(person, dict) else None


def fetch_newest(client: Client, rest: GitHubRest, project: Project) -> Newest:
    created = [item.created_at or 0 for item in _first(client, rest, project, "created")]
    updated = [item.updated_at or 0 for item in _first(client, rest, project, "updated")]
    return Newest(max(created, default=None), max(updated, default=None))


def _first(client: Client, rest: GitHubRest, project: Project, order: str) -> list[Item]:
    """Where issues are switched off their list answers 410; the pull requests have one of their own."""
    part = "issues" if project.has_issues else "pulls"
    params = {"state": "all", "sort": order, "direction": "desc", "per_page": 1}
    answer = rest.checked(client.get(f"{repo_path(project)}/{part}", params), part)
    return list(read_rows(answer.body, parse_item, part).values)


API_VERSION = "2022-11-28"
HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION}

RESOURCES = (
    Resource("items", "issues and changes", 1, ("issue", "change"), ("issue", "change")),
    Resource("discussions", "discussions", 1, ("discussion",), ("discussion",)),
    Resource("releases", "releases", 1, ("release",)),
    Resource("labels", "labels", 1, ("issue", "change")),
    Resource("members", "members", 1, ("issue", "change")),
    Resource("comments", "comments", 2, ("issue", "change")),
    Resource("review_comments", "review comments", 2, ("change",)),
)
# Issues are switched off and `/issues` answers 410. A cursor of its own: that of "items" must not pass issues it never
# saw.
PULLS = Resource("pulls", "changes", 1, ("change",), ("change",))
_BATCH = {JobKind.DETAIL: 100, JobKind.LINKS: 100, JobKind.FILES: 100, JobKind.THREADS: 1}
_CONNECTIONS: dict[Kind, str] = {"change": "pullRequests", "issue": "issues", "discussion": "discussions"}


class GitHub(GitHubWrites, MeteredForge):
    """One GitHub server, for one reader. The client carries the token, if there is one."""

    name = "github"

    def __init__(
        self, client: Client, graphql_url: str, *, host: str, access: TokenAccess, window_days: int = WINDOW_DAYS
    ) -> None:
        self.host = host
        super().__init__(client)
        self._access = access
        self._has_token = has_token = access.has_token
        self._rest = GitHubRest(client, host, access)
        self._graph = Graph(client, graphql_url, access)
        self._window_days = window_days
        self._lists = GitHubLists(self._rest, has_token=has_token, window_days=window_days)
        self._details = Details(self._rest, self._graph, has_token=has_token)
        self.payloads = GitHubPayloads()

    def fetch_identity(self) -> Identity | None:
        """Return who the token belongs to; None without a token."""
        if not self._has_token:
            return None
        answer = self._client.get("/user")
        if answer.status == 403:  # the token of an app or a workflow: only GraphQL tells it who it is
            return Identity(self._graph.viewer())
        self._rest.checked(answer, "the signed-in user")
        user = object_in(answer)
        scopes = tuple(scope.strip() for scope in answer.headers.get("x-oauth-scopes", "").split(",") if scope.strip())
        expires = answer.headers.get("github-authentication-token-expiration")
        return Identity(user.get("login", "?"), user.get("name"), scopes, expires)

    def fetch_project(self, name: ProjectName) -> Project:
        """Return the project. A run begins with it: what GraphQL did not show in the last one, it may show now."""
        self._graph.look_anew()
        answer = self._client.get(f"/repos/{quoted(name.path)}")
        if answer.status == 404:
            raise NotFound(
                f"project {name.path!r} not found on {self.host}",
                hint=sso_hint(answer.headers, self.host)
                or (
                    "check the spelling, or the token's access"
                    if self._has_token
                    else f"if it is private, {self._access.advice}"
                ),
            )
        body = self._rest.checked(answer, f"project {name.path}").body
        return self._rest.first_answer(lambda raw: parse_project(raw, name.host), body)

    def list_projects(self, owner: str, *, deep: bool) -> Iterator[ProjectName]:
        """Yield every project of an organisation or a person. GitHub has no subgroups; `deep` changes nothing."""
        del deep
        path = f"/orgs/{quote(owner)}/repos"
        first = self._client.get(path, {"per_page": 100})
        if first.status == 404:
            path = f"/users/{quote(owner)}/repos"
        for answer in walk_links(self._client, path, {}):
            if answer.status == 404:
                raise NotFound(f"no organisation or user {owner!r} on {self.host}", hint="check the spelling")
            for raw in split_rows(self._rest.checked(answer, f"projects of {owner}").body):
                yield parse_project(raw, self.host).name

    def resources(self, project: Project) -> list[Resource]:
        there = [r for r in RESOURCES if r.name != "discussions" or project.has_discussions]
        return there if project.has_issues else [PULLS if r.name == "items" else r for r in there]

    def pages(self, project: Project, resource: str, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]:
        root = repo_path(project)
        if resource == "items":
            return self._lists.items(root, cursor, now_ms)
        if resource == "pulls":
            return self._lists.changes(root, cursor, now_ms)
        if resource in ("comments", "review_comments"):
            return self._lists.comments(project, resource, cursor, known, now_ms)
        if resource == "discussions":
            return self._discussions(project, cursor, known, now_ms)
        return self._lists.full(root, resource, cursor, now_ms)

    def _discussions(self, project: Project, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]:
        if not self._has_token:
            needs = "discussions need a token (GitHub serves them through GraphQL only)"
            yield Page(warnings=[f"{needs}: {self._access.advice}"])
            return
        try:
            yield from discussion_pages(
                self._graph, project.name.path, cursor, known, now_ms, window_days=self._window_days
            )
        except AuthError as error:
            hint = f"they need discussions=read; {error.hint}"
            yield Page(warnings=[f"discussions are left out: {error.message} ({hint})"])

    def jobs_for(self, item: Item, *, is_changed: bool, is_wide: bool, threads_fetched_at: int | None) -> list[JobKind]:
        """Comments come as a stream of their own; only the second look remains.

        It is for what changed, and in the wider net for everything: resolving a thread moves no time.
        """
        del threads_fetched_at
        if not is_changed and not is_wide:
            return []
        return [JobKind.DETAIL] if item.key.kind in self.required_jobs().get(JobKind.DETAIL, ()) else []

    def required_jobs(self) -> dict[JobKind, tuple[Kind, ...]]:
        """With a token also the links of changes that were read through REST alone, by whomever."""
        if not self._has_token:
            return {JobKind.DETAIL: ("change",)}
        return {JobKind.DETAIL: ("issue", "change"), JobKind.LINKS: ("change",)}

    def batch_size(self, job_kind: JobKind) -> int:
        return _BATCH.get(job_kind, 1) if self._has_token else 1

    def batches(self, job_kind: JobKind, keys: Sequence[ItemKey], known: Known) -> Iterator[list[ItemKey]]:
        if job_kind in (JobKind.DETAIL, JobKind.LINKS) and self._has_token:
            return self._details.batches(keys, known)
        return in_batches(keys, self.batch_size(job_kind))

    def fetch_jobs(self, project: Project, job_kind: JobKind, keys: list[ItemKey], known: Known) -> Page:
        if job_kind == JobKind.ITEM:
            return self._item_by_itself(project, keys[0])
        if job_kind == JobKind.THREADS:  # queued for a comment's number before anybody knew whose it is
            kind = known.kinds([keys[0].number]).get(keys[0].number, keys[0].kind)
            return self._details.comments_of(repo_path(project), ItemKey(kind, keys[0].number))
        links, files = self._details.fetch_links, self._details.fetch_files
        fetch = {JobKind.LINKS: links, JobKind.FILES: files}.get(job_kind, self._details.fetch)
        return fetch(project, keys, known)

    def _item_by_itself(self, project: Project, key: ItemKey) -> Page:
        """A comment names a number alone: what `/issues` shows under it may turn out to be a change."""
        if key.kind == "discussion":
            return load_discussion(self._graph, project.name.path, key.number)
        return Page(items=[self._one(project, key, is_change=True if key.kind == "change" else None)])

    def look(self, project: Project, key: ItemKey) -> SecondLook:
        """Ask for one item by itself: 404 and 410 mean gone, another address means moved."""
        if key.kind == "discussion":
            return SecondLook(key, is_gone=not self._graph.has_discussion(project.name.path, key.number))
        part = {"issue": "issues", "change": "pulls", "release": "releases"}[key.kind]
        answer = self._client.get(f"{repo_path(project)}/{part}/{key.number}")
        if answer.status == 410 and b"disabled" in answer.body:
            return SecondLook(key, is_gone=False)  # issues were switched off since the project was asked for
        if answer.status == 404 and "x-accepted-github-permissions" in answer.headers:
            # A narrow token may be told 404 for 403; one that may read the list may believe what it is told of an item.
            self._rest.checked(
                self._client.get(f"{repo_path(project)}/{part}", {"per_page": 1}), f"{part} by this token"
            )
        if answer.status in (404, 410):
            return SecondLook(key, is_gone=True)
        found = object_in(self._rest.checked(answer, f"{key.kind} {key.number}"))
        moved_to = _moved_to(project, key, found)
        is_change = key.kind == "issue" and found.get("pull_request") is not None  # `/issues` shows changes too
        return SecondLook(key, is_gone=moved_to is not None or is_change, moved_to=moved_to)

    def counts(self, project: Project) -> dict[Kind, int | None]:
        """Return how many items of each kind the forge has; empty when it cannot be asked cheaply."""
        if not self._has_token:
            return {}
        is_on = {"issue": project.has_issues, "discussion": project.has_discussions}
        kinds = [kind for kind in _CONNECTIONS if is_on.get(kind, True)]
        owner, _, name = project.name.path.partition("/")
        try:
            query = counts_query([_CONNECTIONS[kind] for kind in kinds])
            found = self._graph.query(query, owner=owner, name=name)["repository"]
        except (AuthError, NotFound) as error:
            if isinstance(error, AuthError) and error.is_rejected:
                raise
            if project.has_discussions:  # one list that is refused takes the others with it
                return self.counts(msgspec.structs.replace(project, has_discussions=False))
            return {}  # a token that may not count may still read
        # A connection that this token may not see is null.
        return {kind: found[name]["totalCount"] for kind in kinds if found.get(name := _CONNECTIONS[kind])}

    def estimate(self, project: Project, missing: dict[Kind, int]) -> FetchCost:
        """Read the oldest and the newest page of items, a page of each stream of comments, and some changes' files."""
        root = repo_path(project)
        sample = Sample(self._lists.oldest_and_newest(root)) if project.has_issues else Sample(())
        changes_seen = sample.of_kind("change")
        shown = changes_seen[:: max(1, -(-len(changes_seen) // 50))]
        renamed, still_open = self._details.sample_changes(project, shown) if shown and self._has_token else (0.0, 0)
        issues, changes = missing.get("issue", 0), missing.get("change", 0)
        streams = [self._lists.measure_stream(f"{root}/{part}/comments") for part in ("issues", "pulls")]
        everything = self.counts(project) if self._has_token else missing
        total = sum(everything.get(kind) or 0 for kind in ("issue", "change"))
        share = (issues + changes) / total if total else 0.0
        notes = share * sum(stream.rows for stream in streams)
        reviewed = min(changes, share * streams[1].items)
        open_missing = min(changes, share * still_open)
        talks = missing.get("discussion", 0)
        requests = sum(pages_of(share * stream.rows, 99) for stream in streams) + pages_of(issues + changes, 99)
        points = 0
        if self._has_token:
            # How many are asked for at once, and how many hundreds of connections each of them costs:
            # https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
            parts = ((reviewed, 25, 0.56), (changes - reviewed, 50, 0.05), (issues, 100, 0.02), (talks, 25, 0.32))
            batches = [pages_of(number, size) for number, size, _ in parts]
            requests += sum(batches) + int(renamed * changes + (1 - renamed) * open_missing)
            prices = [round(number * price) for number, _, price in parts]
            points = sum(map(max, batches, prices)) + 3
        else:
            requests += 2 * changes + int(open_missing)
        chars = sample.total({"issue": issues, "change": changes}, body_chars)
        chars += share * sum(stream.rows * stream.mean_chars for stream in streams)
        return FetchCost(requests, int(notes), int(chars), points)

    def counts_since(self, project: Project, kind: Kind, times: Sequence[int]) -> dict[int, int]:
        """Of issues alone: the list of pull requests has no times, and hardly any of these is ever deleted."""
        if kind != "issue" or not self._has_token or not times:
            return {}
        found = self._graph.counts_since(project.name.path, times)
        return {moment: total for moment, total in zip(times, found, strict=True) if total is not None}

    def items_between(self, project: Project, kinds: Sequence[Kind], start_ms: int, end_ms: int) -> list[Item]:
        found = self._lists.items_between(repo_path(project), start_ms, end_ms) if project.has_issues else []
        return [item for item in found if item.key.kind in kinds]

    def sweep(self, project: Project, kind: Kind) -> set[int]:
        """Return the numbers of every item of a kind, to compare with the store."""
        if kind == "discussion":
            return load_numbers(self._graph, project.name.path)
        root = repo_path(project)
        numbers = set()
        path = f"{root}/issues" if project.has_issues else f"{root}/pulls"
        for answer in walk_links(self._client, path, {"state": "all", "sort": "created", "direction": "asc"}):
            parse = partial(wire.parse_item, is_change=None if project.has_issues else True)
            found = read_rows(self._rest.checked(answer, "issues").body, parse, "issues").values
            numbers |= {item.key.number for item in found if item.key.kind == kind}
        return numbers

    def fetch_item(self, project: Project, key: ItemKey) -> Item:
        return self._one(project, key, is_change=key.kind == "change")

    def _one(self, project: Project, key: ItemKey, *, is_change: bool | None) -> Item:
        part = "pulls" if key.kind == "change" else "issues"
        answer = self._rest.checked(
            self._client.get(f"{repo_path(project)}/{part}/{key.number}"), f"{key.kind} {key.number}"
        )
        if _moved_to(
            project, key, object_in(answer)
        ):  # a transferred issue answers from its new home, under another number
            raise NotFound(f"{key.kind} {key.number} was moved to another project", hint="sync that project")
        return wire.parse_item(answer.body, is_change=is_change)

    def fetch_files(self, project: Project, key: ItemKey) -> list[File]:
        return self._details.files.list_all(repo_path(project), key) if key.kind == "change" else []

    def fetch_diff(self, project: Project, key: ItemKey, *, max_chars: int) -> str | None:
        """406 above 300 files or 20,000 lines, 422 and 5xx now and then: there is no diff then."""
        if key.kind != "change":
            return ""
        path, size = f"{repo_path(project)}/pulls/{key.number}", BYTES_PER_CHAR * max_chars
        try:
            answer = self._client.get_start(path, accept="application/vnd.github.diff", max_bytes=size)
        except ForgeError:
            return None
        if answer.status == 401:
            raise self._rest.refusal(answer, f"the diff of {key.number}")
        is_diff = answer.status == 200 and "json" not in answer.headers.get("content-type", "")
        return first_chars(answer.body, max_chars) if is_diff else None

    def fetch_branch_time(self, project: Project, branch: str) -> int | None:
        return fetch_branch_time(self._client, self._rest, project, branch)

    def fetch_newest(self, project: Project) -> Newest:
        return fetch_newest(self._client, self._rest, project)

    def fetch_text(self, project: Project, path: str, *, branch: str, max_chars: int) -> str | None:
        place = f"{repo_path(project)}/contents/{quote(path)}"
        answer = self._client.get_start(
            place, {"ref": branch}, accept="application/vnd.github.raw+json", max_bytes=BYTES_PER_CHAR * max_chars
        )
        if answer.status == 404:
            return None
        return self._rest.checked(answer, f"{path} of {branch}").body.decode("utf-8", "replace")[:max_chars]


def _moved_to(project: Project, key: ItemKey, item: dict[str, Any]) -> Link | None:
    """Return where an item went when its page's address is another project's or another number's."""
    place = key_in_url(str(item.get("html_url") or ""))
    if place is None or (
        place[0].partition("/")[2].lower() == project.name.path.lower() and place[1].number == key.number
    ):
        return None
    return Link("moved_to", place[1].number, place[1].kind, place[0])
