"""GitHub's stored answers, read again as they were the first time.

    item      a row of `/issues`, `/pulls` or `/releases`, or a discussion's GraphQL node
    detail    a GraphQL node of an issue; one of a change, with its files; or only its files and reviews, from REST
    note      a row of a stream of comments, a review from either API, a comment or reply of a discussion

Which of these a payload is follows from the kind of its item and, of a note, from its key.
"""

from collections.abc import Sequence
from typing import TypeVar

from forgelore.forges.github import wire
from forgelore.forges.github.details import parse_graph_change, review_threads
from forgelore.forges.github.rest import parse_discussion, parse_reply
from forgelore.forges.github.wire import parse_project
from forgelore.forges.rest import checked_shape, page_at_home
from forgelore.model import Detail, File, Item, ItemKey, Note, Project, ProjectName, Thread
from forgelore.net.pages import OddValueError
from forgelore.ports.forge import MissingPart, Page
from forgelore.words import JobKind

T = TypeVar("T")


class GitHubPayloads:
    """A `PayloadReader`."""

    def project(self, raw: bytes, name: ProjectName) -> Project:
        return parse_project(raw, name.host)

    def item(self, raw: bytes, key: ItemKey, project: Project) -> Item:
        item = checked_shape(lambda: _item(raw, key))
        item.url = page_at_home(item.url, project)
        return item

    def detail(self, raw: bytes, key: ItemKey, project: Project) -> Page:
        return checked_shape(lambda: _detail(raw, key, project.name.path))

    def thread(self, notes: Sequence[tuple[str, bytes]], key: ItemKey, thread: str, project: Project) -> Page:
        found = checked_shape(lambda: [_note(raw, name, key, thread) for name, raw in notes])
        for note in found:
            note.url = page_at_home(note.url, project)
        return Page(threads=[Thread(key, thread, found)])


def _item(raw: bytes, key: ItemKey) -> Item:
    if key.kind == "discussion":
        return parse_discussion(key, wire.loose(raw))
    return wire.parse_release(raw) if key.kind == "release" else wire.parse_item(raw, is_change=key.kind == "change")


def _detail(raw: bytes, key: ItemKey, project_path: str) -> Page:
    node = wire.loose(raw)
    if key.kind == "issue":
        return Page(details=[Detail(key, raw=raw, links=wire.parse_graph_issue(node, project_path))])
    if "_files" not in node:  # from REST, which tells nothing but the files
        people = wire.parse_graph_people(node)
        return Page(details=[Detail(key, raw=raw, files=[File(*row) for row in node["files"]], people=people)])
    files = [File(*row) for row in node.pop("_files")]
    nodes = (node.get("reviewThreads") or {}).get("nodes") or []
    page = Page(details=[parse_graph_change(key, node, files, project_path)], thread_states=review_threads(key, nodes))
    if "reviewRequests" not in node or any("resolvedBy" not in thread for thread in nodes):
        page.missing[key] = MissingPart(JobKind.DETAIL, "an older version did not ask for all of it", is_asked=False)
    return page


def _note(raw: bytes, name: str, key: ItemKey, thread: str) -> Note:
    if key.kind == "discussion":
        return parse_reply(wire.loose(raw), None if name == thread else thread)
    if name.startswith("r"):
        return wire.parse_review_comment(raw).note
    if name.startswith("c"):
        return wire.parse_comment(raw).note
    review = wire.loose(raw)
    found = wire.parse_graph_review(review) if "fullDatabaseId" in review else wire.parse_review(raw)
    if found is None:
        raise OddValueError(f"review {name} has no text", hint="please report this")
    return found
