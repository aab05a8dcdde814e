"""GitLab's stored answers, read again: what `gitlab_wire` and the lists of files made of them the first time.

    item      a row of `/issues`, `/merge_requests` or `/releases`
    detail    the files of a change, as `files_payload` writes them
    note      a note of a discussion; the notes of a thread tell together whether it is resolved

The first stores kept files as lines of text, "renamed old.py new.py". These cannot be told apart when a renamed path
has spaces: such a list says nothing, and the stored paths stay as they are.
"""

from collections.abc import Sequence

import msgspec

from forgelore.forges.gitlab import wire
from forgelore.forges.rest import below
from forgelore.model import Detail, File, Item, ItemKey, Link, Project, ProjectName, Thread
from forgelore.net.pages import OddValueError
from forgelore.ports.forge import Page

_STATUSES = ("added", "deleted", "renamed", "modified")


class GitLabPayloads:
    """A `PayloadReader`."""

    def project(self, raw: bytes, name: ProjectName) -> Project:
        return wire.parse_project(raw, name.host)

    def item(self, raw: bytes, key: ItemKey, project: Project) -> Item:
        item = wire.parse_release(raw) if key.kind == "release" else wire.parse_item(raw, key.kind)
        item.links = [own_link(link, project) for link in item.links]
        _, mark, rest = (item.url or "").partition("/-/")
        item.url = below(project.url, item.url, f"-/{rest}" if mark else "")
        return item

    def detail(self, raw: bytes, key: ItemKey, project: Project) -> Page:
        del project
        return Page(details=[_parse_files(raw, key)])

    def thread(self, notes: Sequence[tuple[str, bytes]], key: ItemKey, thread: str, project: Project) -> Page:
        del project
        found = wire.parse_notes([raw for _, raw in notes], key, thread)
        if thread == "comments" or not found.notes:  # many conversations in one: none of them tells its state
            return Page(threads=[found])
        state = Thread(
            key, found.notes[0].key, [], found.is_resolvable, found.is_resolved, found.path, found.line,
            found.resolved_by, found.resolved_at,
        )  # fmt: skip
        return Page(threads=[found], thread_states=[state])


def own_link(link: Link, project: Project) -> Link:
    """Return the link with an empty project when it stays inside this one."""
    if link.project == f"projects/{project.forge_id}":
        return Link(link.relation, link.number, link.kind, "", link.source, link.is_withdrawn)
    return link


def files_payload(key: ItemKey, head: str | None, files: Sequence[File]) -> bytes:
    """Return what is kept of a change's files. Two changes may share head and files: with its number, each has its
    own.
    """
    listed = [(file.new_path, file.old_path, file.status) for file in files]
    return msgspec.json.encode({"kind": key.kind, "number": key.number, "head": head, "files": listed})


def _parse_files(raw: bytes, key: ItemKey) -> Detail:
    if not raw.startswith(b"{"):
        return _parse_lines(raw.decode(), key, raw)
    said = wire.loose(raw)
    return Detail(key, raw=raw, files=[File(*row) for row in said["files"]], head_sha=said["head"])


def _parse_lines(text: str, key: ItemKey, raw: bytes) -> Detail:
    """`files of change 7 at 1f2e`, then `modified a.py a.py` and the like."""
    first, *rest = text.split("\n")
    head = first.partition(" at ")[2] or None
    try:
        return Detail(key, raw=raw, files=[_parse_line(line) for line in rest], head_sha=head)
    except OddValueError:
        return Detail(key, raw=raw, head_sha=head)


def _parse_line(line: str) -> File:
    status, _, paths = line.partition(" ")
    half = len(paths) // 2
    if status in _STATUSES and paths[:half] == paths[half + 1 :] and paths[half : half + 1] == " ":
        return File(paths[:half], paths[:half], status)  # type: ignore[arg-type]
    old, _, new = paths.partition(" ")
    if status != "renamed" or not new or " " in new:
        raise OddValueError("ambiguous paths", hint="they are read again when the change does")
    return File(new, old, "renamed")
