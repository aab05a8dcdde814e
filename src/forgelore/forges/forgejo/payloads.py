"""Forgejo's stored answers, read again as they were the first time.

item      a row of `/issues` or of `/releases`
detail    branches and files of a change, as `details.py` keeps them
note      c1: a comment; v1: a review; r1: a comment on a line, whose thread they tell together
"""

from collections.abc import Sequence
from typing import TypeVar

from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.details import line_thread, parse_detail
from forgelore.forges.rest import checked_shape, page_at_home
from forgelore.model import Item, ItemKey, Note, Project, ProjectName, Thread
from forgelore.net.pages import OddValueError
from forgelore.ports.forge import Page

T = TypeVar("T")


class ForgejoPayloads:
    """A `PayloadReader`."""

    def project(self, raw: bytes, name: ProjectName) -> Project:
        return wire.parse_project(raw, name.host)

    def item(self, raw: bytes, key: ItemKey, project: Project) -> Item:
        item = wire.parse_release(raw) if key.kind == "release" else wire.parse_item(raw)
        item.url = page_at_home(item.url, project)
        return item

    def detail(self, raw: bytes, key: ItemKey, project: Project) -> Page:
        del project
        return Page(details=[checked_shape(lambda: parse_detail(raw, key))])

    def thread(self, notes: Sequence[tuple[str, bytes]], key: ItemKey, thread: str, project: Project) -> Page:
        if thread.startswith("r") and thread != "reviews":
            return self._line_thread(notes, key, thread, project)
        found = [_note(raw, name) for name, raw in notes]
        for note in found:
            note.url = page_at_home(note.url, project)
        return Page(threads=[Thread(key, thread, found)])

    @staticmethod
    def _line_thread(notes: Sequence[tuple[str, bytes]], key: ItemKey, thread: str, project: Project) -> Page:
        found = line_thread(key, thread, [wire.parse_line_comment(raw) for _, raw in notes])
        for note in found.notes:
            note.url = page_at_home(note.url, project)
        name, who = found.notes[0].key, found.resolved_by
        state = Thread(key, name, [], True, found.is_resolved, found.path, found.line, who)
        return Page(threads=[found], thread_states=[state])


def _note(raw: bytes, name: str) -> Note:
    if name.startswith("c"):
        return wire.parse_comment(raw).note
    review = wire.parse_review(raw).note
    if review is None:
        raise OddValueError(f"review {name} has no text", hint="please report this")
    return review
