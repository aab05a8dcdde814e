"""The second look at GitHub's items: what the lists do not say.

Of changes: files, reviews, the state of review threads, what they close; of issues: what they duplicate. GraphQL tells
it for many at once; REST fills in what GraphQL cannot (the old path of a rename, more than 100 files) or will not
show. What only GraphQL says is then still missing: the whole look at an issue, the "links" of a change. REST stops at
3,000 files and tells how many there are: https://docs.github.com/rest/pulls/pulls#list-pull-requests-files
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from forgelore.errors import ForgeError, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.graph import MORE_THREADS, NOBODY, Graph, MissingNode, Node
from forgelore.forges.github.rest import GitHubRest, object_in, repo_path, review_thread
from forgelore.forges.rest import in_batches
from forgelore.model import Detail, File, FileStatus, Item, ItemKey, Note, Project, Thread
from forgelore.net.pages import split_rows, walk_links
from forgelore.ports.forge import Known, MissingPart, Page
from forgelore.words import JobKind, NoteScope

MAX_FILES = 3_000  # that GitHub lists of a change
_STATUS: dict[str, FileStatus] = {"ADDED": "added", "DELETED": "deleted"}


class ChangedFiles:
    """Lists of files on one server."""

    def __init__(self, rest: GitHubRest) -> None:
        self._rest = rest

    def fetch(self, project: Project, nodes: dict[ItemKey, Node]) -> Page:
        """Return the files of these changes and nothing else, from their nodes or, for holes, through REST."""
        page, root = Page(), repo_path(project)
        for key, node in nodes.items():
            if isinstance(node, MissingNode) and node is not NOBODY and not node.is_asked:
                page.missing[key] = MissingPart(JobKind.FILES, node.reason, is_asked=False)
                continue
            try:
                page.details.append(self._detail(root, key, node))
            except (ForgeError, NotFound) as error:  # one that fails must not spoil the batch
                page.missing[key] = MissingPart(JobKind.FILES, error.message)
        return page

    def _detail(self, root: str, key: ItemKey, node: Node) -> Detail:
        if isinstance(node, MissingNode):
            files = self.list_all(root, key)
            return Detail(key, raw=b"", files=files, file_count=self.count(root, key, files))
        files = self.of_node(root, key, node["files"])
        return Detail(key, raw=b"", files=files, head_sha=node.get("headRefOid"), file_count=node.get("changedFiles"))

    def of_node(self, root: str, key: ItemKey, listed: dict[str, Any] | None) -> list[File]:
        """Return a change's files from its node, from REST where that has more: beyond the first page, and renames."""
        nodes = (listed or {}).get("nodes") or []
        is_complete = listed is not None and not listed["pageInfo"]["hasNextPage"] and None not in nodes
        if not is_complete or any(node["changeType"] in ("RENAMED", "COPIED") for node in nodes):
            return self.list_all(root, key)
        paths = [(wire.text(node["path"]) or "", node["changeType"]) for node in nodes]
        return [File(path, path, _STATUS.get(change, "modified")) for path, change in paths]

    def list_all(self, root: str, key: ItemKey) -> list[File]:
        """Return the files of a change, on all their pages, as far as GitHub lists them."""
        files: list[File] = []
        for answer in walk_links(self._rest.client, f"{root}/pulls/{key.number}/files", {}):
            if answer.status in (406, 422):
                break  # too large for GitHub to list: keep what came
            rows = split_rows(self._rest.checked(answer, f"files of {key.number}").body)
            files += map(wire.parse_file, rows)
        return files

    def count(self, root: str, key: ItemKey, files: list[File]) -> int | None:
        """Return how many files a change has, asking only where the list may have been cut."""
        if 0 < len(files) < MAX_FILES:
            return len(files)
        answer = self._rest.client.get(f"{root}/pulls/{key.number}")
        found = object_in(self._rest.checked(answer, f"change {key.number}")).get("changed_files")
        return found if isinstance(found, int) else None


CHANGES_AT_ONCE = 25  # wide nodes: more make GitHub drop some of them
WITHOUT_THREADS = 50  # of changes whose review threads are not asked for
FILES_AT_ONCE = 50  # of changes whose files alone are asked for
ISSUES_AT_ONCE = 100


class Details:
    """Second looks on one server."""

    def __init__(self, rest: GitHubRest, graph: Graph, *, has_token: bool) -> None:
        self._rest, self._graph, self._has_token = rest, graph, has_token
        self.files = ChangedFiles(rest)

    def fetch(self, project: Project, keys: list[ItemKey], known: Known) -> Page:
        page = Page()
        issues = [key for key in keys if key.kind == "issue"] if self._has_token else []
        for batch in in_batches(issues, ISSUES_AT_ONCE):
            self._issue_details(page, project, batch, known)
        self._change_details(page, project, [key for key in keys if key.kind == "change"], known)
        return page

    def fetch_links(self, project: Project, keys: list[ItemKey], known: Known) -> Page:
        """Return what REST did not say of these changes, all of it through GraphQL or nothing."""
        page = Page()
        for key, node in self._change_nodes(keys, known).items():
            if not isinstance(node, MissingNode):
                self._change_from_graph(page, repo_path(project), project, key, node)
            elif node is not NOBODY:
                page.missing[key] = MissingPart(JobKind.LINKS, node.reason, is_asked=node.is_asked)
        return page

    def fetch_files(self, project: Project, keys: list[ItemKey], known: Known) -> Page:
        """Return the files of these changes and nothing else."""
        nodes: dict[ItemKey, Node] = {} if self._has_token else dict.fromkeys(keys, NOBODY)
        for batch in in_batches(keys, FILES_AT_ONCE) if self._has_token else ():
            nodes |= _paired(batch, known, self._graph.files)
        return self.files.fetch(project, nodes)

    def sample_changes(self, project: Project, shown: list[Item]) -> tuple[float, int]:
        """Return which share of these changes has renamed files, and how many changes of the project are open."""
        answers = self._graph.files([one.node_id for one in shown if one.node_id])
        nodes = [node for node in answers if isinstance(node, dict)]
        changed = [{file["changeType"] for file in (node["files"] or {}).get("nodes") or () if file} for node in nodes]
        renamed = sum(bool(kinds & {"RENAMED", "COPIED"}) for kinds in changed) / len(changed) if changed else 0.0
        return renamed, self._graph.count_open_changes(project.name.path)

    def comments_of(self, root: str, key: ItemKey) -> Page:
        """All comments of one item: the streams missed some, or some were deleted."""
        page = Page(complete={key: NoteScope.COMMENTS})
        for answer in walk_links(self._rest.client, f"{root}/issues/{key.number}/comments", {}):
            page.server_ms = page.server_ms or answer.date_ms
            rows = split_rows(self._rest.checked(answer, f"comments of {key.number}").body)
            page.threads += [Thread(key, "comments", [wire.parse_comment(raw).note]) for raw in rows]
        if key.kind == "change":
            found = []
            for answer in walk_links(self._rest.client, f"{root}/pulls/{key.number}/comments", {}):
                rows = split_rows(self._rest.checked(answer, f"review comments of {key.number}").body)
                found += [wire.parse_review_comment(raw) for raw in rows]
            page.threads += [review_thread(one) for one in found]
            page.review_ids[key] = {one.note.key.removeprefix("r") for one in found}
        return page

    def _issue_details(self, page: Page, project: Project, keys: list[ItemKey], known: Known) -> None:
        for key, node in _paired(keys, known, self._graph.issues).items():
            if isinstance(node, MissingNode):
                page.missing[key] = MissingPart(JobKind.DETAIL, node.reason, is_asked=node.is_asked)
                continue
            links = wire.parse_graph_issue(node, project.name.path)
            page.details.append(Detail(key, raw=wire.dump(node), links=links))

    def _change_details(self, page: Page, project: Project, keys: list[ItemKey], known: Known) -> None:
        for key, node in self._change_nodes(keys, known).items():
            lost = self._graph.change_sight.lost  # another thread may find that out meanwhile
            if not isinstance(node, MissingNode):
                self._change_from_graph(page, repo_path(project), project, key, node)
            elif node is NOBODY:
                self._change_from_rest(page, repo_path(project), key)
            elif lost is not None and not lost.is_refused:  # all of them at two requests each: rather a later GraphQL
                page.missing[key] = MissingPart(JobKind.DETAIL, node.reason, is_asked=node.is_asked)
            else:
                page.missing[key] = self._half_from_rest(page, repo_path(project), key, node)

    def _half_from_rest(self, page: Page, root: str, key: ItemKey, hole: MissingNode) -> MissingPart:
        """Read what REST has of a change, and return what is missing then. One that fails must not spoil the batch."""
        try:
            self._change_from_rest(page, root, key)
        except ForgeError as error:
            return MissingPart(JobKind.DETAIL, error.message)
        return MissingPart(JobKind.LINKS, hole.reason)

    def _change_nodes(self, keys: list[ItemKey], known: Known) -> dict[ItemKey, Node]:
        if not self._has_token:
            return dict.fromkeys(keys, NOBODY)
        nodes: dict[ItemKey, Node] = {}
        for threads, batch in self._change_batches(keys, known):
            nodes.update(_paired(batch, known, partial(self._graph.changes, threads=threads)))
        return nodes

    def _change_batches(self, keys: list[ItemKey], known: Known) -> Iterator[tuple[bool, list[ItemKey]]]:
        with_threads = {key for key in keys if known.has_review_notes(key)}
        for batch in in_batches([key for key in keys if key in with_threads], CHANGES_AT_ONCE):
            yield True, batch
        for batch in in_batches([key for key in keys if key not in with_threads], WITHOUT_THREADS):
            yield False, batch

    def batches(self, keys: Sequence[ItemKey], known: Known) -> Iterator[list[ItemKey]]:
        """Yield the second looks that one request brings."""
        yield from in_batches([key for key in keys if key.kind != "change"], ISSUES_AT_ONCE)
        yield from (batch for _, batch in self._change_batches([key for key in keys if key.kind == "change"], known))

    def _change_from_graph(self, page: Page, root: str, project: Project, key: ItemKey, node: dict[str, Any]) -> None:
        files = self.files.of_node(root, key, node["files"])
        reviews, node["reviews"] = self._graph_reviews(root, key, node["reviews"])
        if reviews:
            page.threads.append(Thread(key, "reviews", reviews))
        page.complete[key] = NoteScope.REVIEW_SUMMARIES
        if node.get("reviewThreads"):
            found = self._graph.rest_of(MORE_THREADS, node["id"], "reviewThreads", node["reviewThreads"])
            roots = review_threads(key, found)
            page.thread_states += roots
            shown = [thread["comments"] or {} for thread in found]
            if all(part and part["totalCount"] <= len(part["nodes"] or ()) for part in shown):
                page.review_ids[key] = {c["fullDatabaseId"] for part in shown for c in part["nodes"] or () if c}
        page.details.append(parse_graph_change(key, node, files, project.name.path))

    def _graph_reviews(
        self, root: str, key: ItemKey, reviews: dict[str, Any] | None
    ) -> tuple[list[Note], dict[str, Any]]:
        """Return the reviews with words as notes, and what is kept of all of them."""
        nodes = (reviews or {}).get("nodes") or []
        if reviews is None or reviews["pageInfo"]["hasNextPage"] or None in nodes:
            return self._rest_reviews(root, key)
        return [note for node in nodes if (note := wire.parse_graph_review(node)) is not None], reviews

    def _rest_reviews(self, root: str, key: ItemKey) -> tuple[list[Note], dict[str, Any]]:
        rows: list[bytes] = []
        for answer in walk_links(self._rest.client, f"{root}/pulls/{key.number}/reviews", {}):
            rows += split_rows(self._rest.checked(answer, f"reviews of {key.number}").body)
        notes = [note for raw in rows if (note := wire.parse_review(raw)) is not None]
        silent = [review for raw in rows if (review := wire.silent_review(raw)) is not None]
        return notes, {"nodes": silent}

    def _change_from_rest(self, page: Page, root: str, key: ItemKey) -> None:
        files, (reviews, kept) = self.files.list_all(root, key), self._rest_reviews(root, key)
        if reviews:
            page.threads.append(Thread(key, "reviews", reviews))
        page.complete[key] = NoteScope.REVIEW_SUMMARIES
        listed = [(file.new_path, file.old_path, file.status) for file in files]
        said = {"number": key.number, "files": listed, "reviews": kept}
        # Without a head: what was read through REST alone is known by that (`KnownStore.without_job`).
        people, count = wire.parse_graph_people(said), self.files.count(root, key, files)
        page.details.append(Detail(key, raw=wire.dump(said), files=files, people=people, file_count=count))


def _paired(keys: list[ItemKey], known: Known, ask: Callable[[list[str]], list[Node]]) -> dict[ItemKey, Node]:
    """Return what stands in the answer at each key's place."""
    ids = known.node_ids(keys)
    asked = [key for key in keys if key in ids]
    found: dict[ItemKey, Node] = dict.fromkeys(keys, MissingNode("the forge sent no node_id"))
    for key, node in zip(asked, ask([ids[key] for key in asked]), strict=True):
        if isinstance(node, MissingNode) or node["number"] == key.number:
            found[key] = node
        else:
            found[key] = MissingNode(f"GitHub answered with number {node['number']}")
    return found


def parse_graph_change(key: ItemKey, node: dict[str, Any], files: list[File], project_path: str) -> Detail:
    """Return the second look at a change. The files may have come another way, so they are kept beside the node."""
    listed = [(file.new_path, file.old_path, file.status) for file in files]
    return Detail(
        key, raw=wire.dump({**node, "_files": listed}), files=files,
        links=wire.parse_graph_change_links(node, project_path), people=wire.parse_graph_people(node),
        source_branch=node.get("headRefName"),
        target_branch=node.get("baseRefName"), head_sha=node.get("headRefOid"), file_count=node.get("changedFiles"),
    )  # fmt: skip


def review_threads(key: ItemKey, nodes: list[dict[str, Any]]) -> list[Thread]:
    """Return resolution and place of each review thread, named by its first comment; the notes come from the stream."""
    threads = []
    for node in nodes:
        first = next((c for c in (node["comments"] or {}).get("nodes") or () if c), None)
        if first:
            line = node.get("line") if node.get("line") is not None else node.get("originalLine")
            thread_key, is_resolved = f"r{first['fullDatabaseId']}", bool(node["isResolved"])
            who = wire.graph_login(node.get("resolvedBy")) if is_resolved else None
            threads.append(Thread(key, thread_key, [], True, is_resolved, wire.text(node.get("path")), line, who))
    return threads
