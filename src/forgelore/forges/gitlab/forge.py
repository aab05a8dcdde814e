"""GitLab (gitlab.com and any other) as a `Forge`.

Issues and merge requests come as lists by update time. Their threads have no list of their own: they are fetched per
changed parent, and again for every parent whose last bump was less than five minutes before its threads were read,
because GitLab moves a parent's `updated_at` at most once a minute (app/models/concerns/throttled_touch.rb). Files of a
change are fetched when its head moves.

With a token both come in batches through GraphQL. REST has one item in a request: it is asked for an item alone (it can
say that nothing changed), for open changes, whose lines come with their files, and for what GraphQL does not show.

When something last happened on GitLab: a branch's last commit, the newest issue or merge request.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from forgelore.errors import AuthError, ForgeError, NotFound
from forgelore.forges.gitlab import wire
from forgelore.forges.gitlab.graph import GitLabGraph
from forgelore.forges.gitlab.payloads import GitLabPayloads, files_payload, own_link
from forgelore.forges.gitlab.rest import PART_OF, GitLabRest, count_files, fetch_diff, item_path, list_files
from forgelore.forges.gitlab.writing import GitLabWrites
from forgelore.forges.rest import (
    BYTES_PER_CHAR,
    OVERLAP_MS,
    WINDOW_DAYS,
    MeteredForge,
    Sample,
    TokenAccess,
    advance,
    body_chars,
    full_list_end,
    full_list_page,
    is_wide,
    looks_again,
    pages_of,
    parse_label,
    since,
)
from forgelore.model import Cursor, Detail, File, Identity, Item, ItemKey, Kind, Project, ProjectName
from forgelore.net.client import Client, HttpAnswer
from forgelore.net.pages import ParsedRows, WalkedRow, read_ms, read_rows, split_rows, walk, walk_links
from forgelore.ports.forge import FetchCost, Known, MissingPart, Newest, Page, Resource, SecondLook
from forgelore.text.dates import format_ms
from forgelore.words import JobKind, NoteScope


def fetch_branch_time(client: Client, rest: GitLabRest, project: Project, branch: str) -> int | None:
    answer = client.get(f"/projects/{project.forge_id}/repository/commits/{quote(branch, safe='')}")
    if answer.status == 404:
        return None
    made = wire.loose(rest.checked(answer, f"the branch {branch}").body).get("committed_date")
    return read_ms(made) if isinstance(made, str) else None


def fetch_newest(client: Client, rest: GitLabRest, project: Project) -> Newest:
    created = [item.created_at or 0 for item in _first(client, rest, project, "created_at")]
    updated = [item.updated_at or 0 for item in _first(client, rest, project, "updated_at")]
    return Newest(max(created, default=None), max(updated, default=None))


def _first(client: Client, rest: GitLabRest, project: Project, order: str) -> list[Item]:
    """Return the first issue and the first merge request of that order."""
    kinds: list[Kind] = ["issue"] if project.has_issues else []
    kinds += ["change"] if project.has_changes else []
    found: list[Item] = []
    for kind in kinds:
        path = f"/projects/{project.forge_id}/{PART_OF[kind]}"
        params = {"state": "all", "scope": "all", "order_by": order, "sort": "desc", "per_page": 1}
        body = rest.checked(client.get(path, params), PART_OF[kind]).body
        found += read_rows(body, partial(wire.parse_item, kind=kind), PART_OF[kind]).values
    return found


HEADERS = {"Accept": "application/json"}

RESOURCES = (
    Resource("issues", "issues", 1, ("issue",), ("issue",)),
    Resource("merge_requests", "merge requests", 1, ("change",), ("change",)),
    Resource("releases", "releases", 1, ("release",)),
    Resource("labels", "labels", 1, ("issue", "change")),
    Resource("members", "members", 1, ("issue", "change")),
)
_KIND_OF: dict[str, Kind] = {"issues": "issue", "merge_requests": "change"}


class GitLab(GitLabWrites, MeteredForge):
    """One GitLab server, for one reader."""

    name = "gitlab"

    def __init__(
        self, client: Client, graphql_url: str, *, host: str, access: TokenAccess, window_days: int = WINDOW_DAYS
    ) -> None:
        self.host = host
        self._window_days = window_days
        super().__init__(client)
        self._access = access
        self._has_token = access.has_token
        self._rest = GitLabRest(client, host, access)
        self._graph = GitLabGraph(client, graphql_url, has_token=access.has_token)
        self.payloads = GitLabPayloads()

    def fetch_identity(self) -> Identity | None:
        """Return who the token belongs to; None without a token."""
        if not self._has_token:
            return None
        user = wire.loose(self._rest.checked(self._client.get("/user"), "the signed-in user").body)
        answer = self._client.get("/personal_access_tokens/self")  # job and OAuth tokens have no such page
        token = wire.loose(answer.body) if answer.status == 200 else {}
        scopes = tuple(str(scope) for scope in token.get("scopes") or ())
        return Identity(str(user.get("username", "?")), user.get("name"), scopes, token.get("expires_at"))

    def fetch_project(self, name: ProjectName) -> Project:
        """Return the project. A run begins with it: what GraphQL did not show in the last one, it may show now."""
        self._graph.look_anew()
        answer = self._client.get(f"/projects/{quote(name.path, safe='')}")
        if answer.status == 404:
            raise NotFound(
                f"project {name.path!r} not found on {self.host}",
                hint="check the spelling, or the token's access"
                if self._has_token
                else f"if it is private, {self._access.advice}",
            )
        body = self._rest.checked(answer, f"project {name.path}").body
        return self._rest.first_answer(lambda raw: wire.parse_project(raw, name.host), body)

    def list_projects(self, owner: str, *, deep: bool) -> Iterator[ProjectName]:
        """Yield the projects of a group (with `deep`: of its subgroups too), or of a person."""
        path = f"/groups/{quote(owner, safe='')}/projects"
        params = {
            "include_subgroups": "true" if deep else "false",
            "with_shared": "false",
            "order_by": "id",
            "sort": "asc",
        }
        if self._client.get(path, {**params, "per_page": 1}).status == 404:
            path, params = f"/users/{quote(owner, safe='')}/projects", {"order_by": "id", "sort": "asc"}
        for answer in walk_links(self._client, path, params):
            if answer.status == 404:
                raise NotFound(
                    f"no group or user {owner!r} on {self.host}", hint="check the spelling, or the token's access"
                )
            for raw in split_rows(self._rest.checked(answer, f"projects of {owner}").body):
                yield wire.parse_project(raw, self.host).name

    def resources(self, project: Project) -> list[Resource]:
        off = {"issues"} if not project.has_issues else set()
        off |= {"merge_requests"} if not project.has_changes else set()
        return [resource for resource in RESOURCES if resource.name not in off]

    def pages(self, project: Project, resource: str, cursor: Cursor, known: Known, now_ms: int) -> Iterator[Page]:
        del known
        root = f"/projects/{project.forge_id}"
        if resource in _KIND_OF:
            return self._items(root, project, resource, cursor, now_ms)
        return self._full_list(root, resource, cursor, now_ms)

    def _items(self, root: str, project: Project, resource: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        kind = _KIND_OF[resource]

        def parse(raw: bytes) -> WalkedRow[Item]:
            item = wire.parse_item(raw, kind)
            item.links = [own_link(link, project) for link in item.links]
            return WalkedRow(item.updated_at or 0, item.forge_id or 0, item)

        def rows(answer: HttpAnswer) -> ParsedRows[WalkedRow[Item]]:
            return read_rows(self._rest.checked(answer, resource).body, parse, resource.replace("_", " "))

        params = {"order_by": "updated_at", "sort": "asc", "state": "all", "scope": "all"}
        start, wide = since(cursor, now_ms, self._window_days), looks_again(cursor, now_ms)
        for part in walk(
            self._client, f"{root}/{resource}", params, since_name="updated_after", since_ms=start, parse=rows
        ):
            cursor = advance(cursor, part.updated_at, part.tie_id, is_last=part.is_last, now_ms=now_ms)
            yield Page(
                cursor=cursor, items=part.values, server_ms=part.answer.date_ms, is_wide=wide, warnings=part.warnings
            )
        if not self._has_token:
            left_out = f"{resource}: threads are left out; {self.host} shows them only to a token"
            yield Page(warnings=[f"{left_out} ({self._access.advice})"])

    def _full_list(self, root: str, resource: str, cursor: Cursor, now_ms: int) -> Iterator[Page]:
        """Releases, labels, members: read in full; an unchanged list of one page costs one 304."""
        path = {"releases": "/releases", "labels": "/labels", "members": "/members/all"}[resource]
        if resource == "members" and not self._has_token:
            return
        is_due = is_wide(cursor, now_ms)
        tags: list[str | None] = []
        parse = {"labels": parse_label, "members": wire.parse_member, "releases": wire.parse_release}[resource]
        rows: list[Any] = []
        warnings: list[str] = []
        for answer in walk_links(self._client, root + path, {}, etag=None if is_due else cursor.etag):
            if answer.status == 304 or answer.status in (401, 403, 404):
                return  # unchanged, switched off, or not for this reader
            tags.append(answer.headers.get("etag"))
            found = read_rows(self._rest.checked(answer, resource).body, parse, resource)
            rows += found.values
            warnings += found.warnings
        yield full_list_page(resource, rows, full_list_end(cursor, tags, now_ms), warnings)

    def jobs_for(self, item: Item, *, is_changed: bool, is_wide: bool, threads_fetched_at: int | None) -> list[JobKind]:
        """Threads of whatever changed or may hide a comment behind a throttled bump; files of changes whose head
        moved.
        """
        kind, required = item.key.kind, self.required_jobs()
        may_hide = threads_fetched_at is None or threads_fetched_at < (item.updated_at or 0) + OVERLAP_MS
        has_threads = kind in required.get(JobKind.THREADS, ())
        jobs = [JobKind.THREADS] if has_threads and (is_wide or is_changed or may_hide) else []
        return [*jobs, JobKind.DETAIL] if kind in required[JobKind.DETAIL] and is_changed else jobs

    def required_jobs(self) -> dict[JobKind, tuple[Kind, ...]]:
        """GitLab shows threads to nobody without a token, and says so once per sync."""
        if not self._has_token:
            return {JobKind.DETAIL: ("change",)}
        return {JobKind.THREADS: ("issue", "change"), JobKind.DETAIL: ("change",)}

    def batch_size(self, job_kind: JobKind) -> int:
        del job_kind
        return 1

    def batches(self, job_kind: JobKind, keys: Sequence[ItemKey], known: Known) -> Iterator[list[ItemKey]]:
        """Yield what one request brings, as large as the server's answers allow by then."""
        groups: dict[tuple[str, Kind], list[ItemKey]] = {}
        for key in keys:
            part = {JobKind.THREADS: "threads", JobKind.DETAIL: "files"}.get(job_kind, "")
            if part == "files" and (known.is_open(key) or key.kind != "change"):
                part = ""
            groups.setdefault((part, key.kind), []).append(key)
        for (part, kind), members in groups.items():
            start = 0
            while start < len(members):
                size = self._graph.size(part, kind)
                yield members[start : start + size]
                start += size

    def fetch_jobs(self, project: Project, job_kind: JobKind, keys: list[ItemKey], known: Known) -> Page:
        if len(keys) == 1:
            return self._fetch_job(project, job_kind, keys[0], known)
        page, left = Page(), keys
        if job_kind == JobKind.THREADS:
            left = self._threads_at_once(page, project, keys)
        elif job_kind == JobKind.DETAIL:
            left = self._files_at_once(page, project, keys, known)
        if len(left) == len(keys):  # in halves, side by side: through REST in the end
            raise ForgeError(f"{self.host} shows nothing of these through GraphQL", hint="run the same command again")
        for key in left:
            self._add_by_itself(page, project, job_kind, key, known)
        return page

    def _fetch_job(self, project: Project, job_kind: JobKind, key: ItemKey, known: Known) -> Page:
        if job_kind == JobKind.ITEM:
            return Page(items=[self.fetch_item(project, key)])
        root = item_path(project, key)
        return self._threads(root, key, known) if job_kind == JobKind.THREADS else self._files(root, key, known)

    def _add_by_itself(self, page: Page, project: Project, job_kind: JobKind, key: ItemKey, known: Known) -> None:
        """Add what REST has of an item that GraphQL did not show. One that fails must not spoil the batch."""
        try:
            alone = self._fetch_job(project, job_kind, key, known)
        except (ForgeError, NotFound, AuthError) as error:
            if isinstance(error, AuthError) and error.is_rejected:
                raise
            page.missing[key] = MissingPart(job_kind, error.message, is_gone=isinstance(error, NotFound))
            return
        page.threads += alone.threads
        page.complete |= alone.complete
        page.thread_etags |= alone.thread_etags
        page.unchanged += alone.unchanged
        page.details += alone.details
        page.server_ms = page.server_ms or alone.server_ms

    def _threads_at_once(self, page: Page, project: Project, keys: list[ItemKey]) -> list[ItemKey]:
        """Add conversations; returns the items whose are still missing."""
        # Before they are read, in whole seconds as forges say it: a comment that comes meanwhile is newer.
        page.server_ms = (self._client.server_ms or 0) // 1000 * 1000 or None
        for kind in dict.fromkeys(key.kind for key in keys):
            numbers = [key.number for key in keys if key.kind == kind]
            for number, threads in self._graph.threads(project.name.path, kind, numbers).items():
                page.threads += threads
                page.complete[ItemKey(kind, number)] = NoteScope.ALL
        return [key for key in keys if key not in page.complete]

    def _files_at_once(self, page: Page, project: Project, keys: list[ItemKey], known: Known) -> list[ItemKey]:
        """Add lists of files; returns the changes whose are still missing."""
        heads = {key.number: known.head_sha(key) for key in keys if not self._has_files(key, known)}
        found = self._graph.files(project.name.path, list(heads))
        for number, files in found.items():
            key, head = ItemKey("change", number), heads[number]
            raw = files_payload(key, head, files)
            page.details.append(Detail(key, raw=raw, files=files, head_sha=head, file_count=len(files)))
        return [key for key in keys if key.number in heads and key.number not in found]

    def _has_files(self, key: ItemKey, known: Known) -> bool:
        head = known.head_sha(key)
        return head is not None and head == known.files_sha(key)

    def _threads(self, root: str, key: ItemKey, known: Known) -> Page:
        page, tags = Page(complete={key: NoteScope.ALL}), []
        for answer in walk_links(self._client, f"{root}/discussions", {}, etag=known.thread_etag(key)):
            page.server_ms = page.server_ms or answer.date_ms
            if answer.status == 304:
                return Page(unchanged=[key], server_ms=answer.date_ms)
            tags.append(answer.headers.get("etag"))
            for raw in split_rows(self._rest.checked(answer, f"threads of {key.kind} {key.number}").body):
                page.threads.append(wire.parse_discussion(raw, key))
        if len(tags) == 1 and tags[0]:  # of a conversation that fits one page: it covers all of it
            page.thread_etags[key] = tags[0]
        return page

    def _files(self, root: str, key: ItemKey, known: Known) -> Page:
        if self._has_files(key, known):
            return Page()
        head, files = known.head_sha(key), list_files(self._rest, root, key)
        raw, count = files_payload(key, head, files), count_files(self._rest, root, key, files)
        return Page(details=[Detail(key, raw=raw, files=files, head_sha=head, file_count=count)])

    def fetch_item(self, project: Project, key: ItemKey) -> Item:
        answer = self._client.get(f"/projects/{project.forge_id}/{PART_OF[key.kind]}/{key.number}")
        return wire.parse_item(self._rest.checked(answer, f"{key.kind} {key.number}").body, key.kind)

    def look(self, project: Project, key: ItemKey) -> SecondLook:
        """Ask for one item by itself: 404 means gone (or hidden; the flow keeps what was confidential)."""
        if key.kind == "release":
            return SecondLook(key, is_gone=key.number not in self._release_numbers(project))
        answer = self._client.get(f"/projects/{project.forge_id}/{PART_OF[key.kind]}/{key.number}")
        if answer.status in (404, 410):
            return SecondLook(key, is_gone=True)
        self._rest.checked(answer, f"{key.kind} {key.number}")
        return SecondLook(key, is_gone=False)

    def _release_numbers(self, project: Project) -> set[int]:
        """The whole list again: a tag, and so a page of its own, cannot be had from a number."""
        numbers = set()
        for answer in walk_links(self._client, f"/projects/{project.forge_id}/releases", {}):
            for raw in split_rows(self._rest.checked(answer, "releases").body):
                numbers.add(wire.release_number(raw))
        return numbers

    def counts(self, project: Project) -> dict[Kind, int | None]:
        """Return the numbers of issues and merge requests. Lists above 10,000 rows keep theirs to themselves."""
        counts: dict[Kind, int | None] = {}
        root, params = f"/projects/{project.forge_id}", {"state": "all", "scope": "all", "per_page": 1}
        if project.has_issues:
            total = _total(self._rest.checked(self._client.get(f"{root}/issues", params), "issues"))
            counts["issue"] = total if total is not None else self._issue_statistics(root)
        if project.has_changes:
            counts["change"] = _total(
                self._rest.checked(self._client.get(f"{root}/merge_requests", params), "merge requests")
            )
        return counts

    def _issue_statistics(self, root: str) -> int | None:
        answer = self._client.get(f"{root}/issues_statistics", {"scope": "all"})
        if answer.status != 200:
            return None
        found = wire.loose(answer.body).get("statistics", {}).get("counts", {}).get("all")
        return found if isinstance(found, int) else None

    def counts_since(self, project: Project, kind: Kind, times: Sequence[int]) -> dict[int, int]:
        """Return totals through GraphQL; through REST, which has one in a request, the middle one."""
        if found := self._graph.counts_since(project.name.path, kind, times):
            return found
        middle = times[len(times) // 2]
        params = {"state": "all", "scope": "all", "per_page": 1, "updated_after": format_ms(middle)}
        answer = self._client.get(f"/projects/{project.forge_id}/{PART_OF[kind]}", params)
        total = _total(self._rest.checked(answer, PART_OF[kind]))
        return {middle: total} if total is not None else {}

    def items_between(self, project: Project, kinds: Sequence[Kind], start_ms: int, end_ms: int) -> list[Item]:
        items: dict[ItemKey, Item] = {}
        for kind in kinds:
            # GitLab compares microseconds, of which it tells milliseconds.
            span = {"updated_after": format_ms(start_ms), "updated_before": format_ms(end_ms + 1)}
            params = {"order_by": "updated_at", "sort": "asc", "state": "all", "scope": "all", **span}
            for answer in walk_links(self._client, f"/projects/{project.forge_id}/{PART_OF[kind]}", params):
                body = self._rest.checked(answer, PART_OF[kind]).body
                for item in read_rows(body, partial(wire.parse_item, kind=kind), PART_OF[kind]).values:
                    item.links = [own_link(link, project) for link in item.links]
                    items[item.key] = item
        return [item for item in items.values() if start_ms <= (item.updated_at or 0) <= end_ms]

    def estimate(self, project: Project, missing: dict[Kind, int]) -> FetchCost:
        """Read a page of each list, and the conversations of twenty of its items through GraphQL."""
        requests, notes, chars = 0.0, 0.0, 0.0
        for kind, number in missing.items():
            if kind not in PART_OF or not number:
                continue
            params = {"state": "all", "scope": "all", "per_page": 100, "order_by": "created_at", "sort": "desc"}
            answer = self._client.get(f"/projects/{project.forge_id}/{PART_OF[kind]}", params)
            body = self._rest.checked(answer, PART_OF[kind]).body
            sample = Sample(read_rows(body, partial(wire.parse_item, kind=kind), PART_OF[kind]).values)
            numbers = [item.key.number for item in sample.items[:: max(1, len(sample.items) // 20)]][:20]
            sampled = self._graph.threads(project.name.path, kind, numbers)
            said = [note for threads in sampled.values() for thread in threads for note in thread.notes]
            counted = sample.mean(kind, lambda item: item.comment_count or 0)
            notes += number * (len(said) / len(sampled) if sampled else counted)
            chars += number * (
                sample.mean(kind, body_chars) + sum(len(n.body or "") for n in said) / max(1, len(sampled))
            )
            apart = (len(numbers) - len(sampled)) / len(numbers) if numbers else 0.0
            requests += pages_of(number, 99)
            if self._has_token:
                requests += pages_of(number, self._graph.size("threads", kind)) + number * apart * bool(sampled)
            if kind == "change":
                self._graph.files(project.name.path, numbers[:2])  # whether this server lists them
                still_open = number * sample.mean(kind, lambda item: item.state == "open")
                requests += still_open + pages_of(number - still_open, self._graph.size("files", kind))
        return FetchCost(int(requests), int(notes), int(chars))

    def sweep(self, project: Project, kind: Kind) -> set[int]:
        """Return the numbers of every item of a kind, walking by creation time: deep pages answer 405."""
        part = PART_OF[kind]

        def parse(raw: bytes) -> WalkedRow[int]:
            item = wire.parse_item(raw, kind)
            return WalkedRow(item.created_at or 0, item.forge_id or 0, item.key.number)

        def rows(answer: HttpAnswer) -> ParsedRows[WalkedRow[int]]:
            return read_rows(self._rest.checked(answer, part).body, parse, part)

        params = {"state": "all", "scope": "all", "order_by": "created_at", "sort": "asc"}
        path = f"/projects/{project.forge_id}/{part}"
        pages = walk(self._client, path, params, since_name="created_after", since_ms=None, parse=rows)
        return {number for page in pages for number in page.values}

    def fetch_files(self, project: Project, key: ItemKey) -> list[File]:
        return list_files(self._rest, item_path(project, key), key) if key.kind == "change" else []

    def fetch_diff(self, project: Project, key: ItemKey, *, max_chars: int) -> str | None:
        return fetch_diff(self._rest, project, key, max_chars=max_chars)

    def fetch_branch_time(self, project: Project, branch: str) -> int | None:
        return fetch_branch_time(self._client, self._rest, project, branch)

    def fetch_newest(self, project: Project) -> Newest:
        return fetch_newest(self._client, self._rest, project)

    def fetch_text(self, project: Project, path: str, *, branch: str, max_chars: int) -> str | None:
        place = f"/projects/{project.forge_id}/repository/files/{quote(path, safe='')}/raw"
        size = BYTES_PER_CHAR * max_chars
        answer = self._client.get_start(place, {"ref": branch}, accept="text/plain", max_bytes=size)
        if answer.status == 404:
            return None
        return self._rest.checked(answer, f"{path} of {branch}").body.decode("utf-8", "replace")[:max_chars]


def _total(answer: HttpAnswer) -> int | None:
    text = answer.headers.get("x-total", "")
    return int(text) if text.isdecimal() else None
