"""Reading texts: an item as agents and models read it, in lines that windows and citations count.

The one definition is `text/reading`; here it is filled from the store. System notes, internal ones and reports of the
bot belong to no reading text.
"""

from collections.abc import Callable, Iterable

from forgelore.errors import InvalidValue, NotFound
from forgelore.store.code import find_files_at, load_commit_hits, load_commit_paths, load_read_file
from forgelore.store.database import Store
from forgelore.store.documents import ReadNoteRow, load_read_items, load_read_notes
from forgelore.store.filters import is_in_view
from forgelore.store.item_lists import StoredItem, load_labels_of
from forgelore.text.dates import format_ms
from forgelore.text.documents import ShownHeader, build_header
from forgelore.text.markdown import is_report
from forgelore.text.reading import (
    ReadingLines,
    ReadingText,
    ReadNote,
    ReadThread,
    WrittenPart,
    build_lines,
    hash_lines,
    list_parts,
    split_lines,
)
from forgelore.text.refs import commit_page, file_page, note_page, shown_ref, split_line
from forgelore.words import ProjectName


def load_reading(store: Store, key: str) -> ReadingText:
    """Return what is read of something that a hit or a citation names: `item:12`, `file:7`, `commit:9`. Raises NotFound
    when it is gone;
    """
    kind, _, number = key.partition(":")
    if kind not in _READERS or not number.isdecimal() or len(number) > 18:
        raise InvalidValue(f"unknown key: {key[:60]!r}", hint="use the key of a search result: item:12")
    read, table = _READERS[kind]
    found = read(store, int(number)) if is_in_view(store, table, int(number)) else None
    if found is None or (found.is_confidential and not store.viewer.includes_internal):
        raise NotFound(f"{key} is not in this database", hint="use the key of a search result")
    return found


def find_file_key(store: Store, path: str, project_id: int | None) -> str | None:
    """Return the key of the file at a path; None where there is none. Raises InvalidValue where several projects have
    one, and none was named.
    """
    name = path.strip().removeprefix("./")
    files = find_files_at(store, name, project_id) or find_files_at(store, split_line(name), project_id)
    if len(files) > 1:
        keys = ", ".join(f"file:{one}" for one in files[:5])
        raise InvalidValue(f"{path} exists in several projects", hint=f"choose one: {keys}")
    return f"file:{files[0]}" if files else None


def load_item_readings(store: Store, item_ids: Iterable[int]) -> dict[int, ReadingText]:
    """Return item -> what is read of it; items that are gone are missing."""
    ids = list(item_ids)
    labels, notes = load_labels_of(store, ids), load_read_notes(store, ids)
    return {
        row.id: _build(row, labels.get(row.id, []), _threads(row, notes.get(row.id, [])))
        for row in load_read_items(store, ids)
    }


def load_item_lines(store: Store, item_ids: Iterable[int], *, with_threads: Iterable[int]) -> dict[int, ReadingLines]:
    """Return item -> the lines of its reading text, of some with their threads, of the others without: lines of a body
    do not depend on them, and long conversations take a while to read.
    """
    ids = list(item_ids)
    labels, notes = load_labels_of(store, ids), load_read_notes(store, with_threads)
    return {
        row.id: build_lines(_header(row, labels.get(row.id, [])), row.body or "", _threads(row, notes.get(row.id, [])))
        for row in load_read_items(store, ids)
    }


def _build(row: StoredItem, labels: list[str], threads: list[ReadThread]) -> ReadingText:
    lines, sections = build_lines(_header(row, labels), row.body or "", threads)
    return ReadingText(
        f"item:{row.id}", row.kind, _ref(row), row.title, row.url, lines, hash_lines(lines), sections,
        bool(row.is_confidential),
        list_parts(WrittenPart("", row.author, row.created_at, 0, 0), sections, threads),
    )  # fmt: skip


def _header(row: StoredItem, labels: list[str]) -> str:
    branches = (row.source_branch, row.target_branch) if row.source_branch and row.target_branch else None
    return build_header(
        ShownHeader(
            "item", row.kind, _ref(row), row.title, str(ProjectName(row.forge, row.host, row.path)), row.url, labels,
            row.state, row.author, branches,
        )
    )  # fmt: skip


def _ref(row: StoredItem) -> str:
    return shown_ref(row.forge, row.kind, row.number, row.tag)


def _threads(item: StoredItem, rows: list[ReadNoteRow]) -> list[ReadThread]:
    """Return the threads in the order of their first notes, those that people wrote in."""
    threads: dict[str, ReadThread] = {}
    for row in rows:
        if not is_report(row.body):
            before = threads.get(row.key) or ReadThread(row.key, (), row.path, row.line)
            page = note_page(item.forge, item.url, row.note_key, row.url)
            note = ReadNote(row.author, row.created_at, row.body, url=page)
            threads[row.key] = before._replace(notes=(*before.notes, note))
    return list(threads.values())


def _read_file(store: Store, file_id: int) -> ReadingText | None:
    """A file is its own lines: line 12 here is line 12 there."""
    row = load_read_file(store, file_id)
    if row is None:
        return None
    lines = split_lines(row.text)
    url = file_page(row.forge, row.host, row.project_path, row.tree_commit, row.path)
    return ReadingText(f"file:{file_id}", "file", row.path, row.path, url, lines, hash_lines(lines))


def _read_commit(store: Store, commit_id: int) -> ReadingText | None:
    row = load_commit_hits(store, [commit_id]).get(commit_id)
    if row is None:
        return None
    subject = row.message.partition("\n")[0]
    when = (format_ms(row.authored_at) or "")[:16].replace("T", " ")
    url = commit_page(row.forge, row.host, row.project_path, row.sha)
    paths = load_commit_paths(store, commit_id)
    facts = {
        "Project": str(ProjectName(row.forge, row.host, row.project_path)), "URL": url, "Commit": row.sha,
        "Author": row.login or row.author, "Date": when,
    }  # fmt: skip
    header = [f"[[Commit]] {row.sha[:12]}: {subject}", *(f"{name}: {value}" for name, value in facts.items() if value)]
    message, first = split_lines(row.message), len(header) + 4
    lines = (*header, "", "--- Message ---", "", *message, "", "--- Files ---", "", *paths)
    part = WrittenPart("", row.login or row.author, row.authored_at, first, first + len(message) - 1)
    return ReadingText(
        f"commit:{commit_id}", "commit", row.sha[:12], subject, url, lines, hash_lines(lines), parts=(part,)
    )


_READERS: dict[str, tuple[Callable[[Store, int], ReadingText | None], str]] = {
    "item": (lambda store, item_id: load_item_readings(store, [item_id]).get(item_id), "items"),
    "file": (_read_file, "code_files"),
    "commit": (_read_commit, "commits"),
}
