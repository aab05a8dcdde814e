"""Reading texts: an item as agents and models read it, in lines that windows and citations count.

The one definition is `text/reading`; here it is filled from the store. System notes, internal ones and reports of the
bot belong to no reading text.
"""

from collections.abc import Callable, Iterable

from forgelore.errors import InvalidValue, NotFound
from forgelore.store.code import find_files_at, load_file
from forgelore.store.commits import load_commit_paths, load_commits
from forgelore.store.database import Store
from forgelore.store.filters import is_in_view
from forgelore.store.item_lists import load_items, load_labels_of, load_threads
from forgelore.text.dates import format_ms
from forgelore.text.documents import ShownHeader, build_header
from forgelore.text.items import StoredItem, StoredThread
from forgelore.text.reading import (
    ReadingLines,
    ReadingText,
    WrittenPart,
    build_lines,
    hash_lines,
    list_parts,
    split_lines,
)
from forgelore.text.refs import note_page, split_line


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
    labels, threads = load_labels_of(store, ids), load_threads(store, ids, by_people=True)
    return {
        item.id: _build(item, labels.get(item.id, []), with_pages(item, threads.get(item.id, ())))
        for item in load_items(store, ids).values()
    }


def load_item_lines(store: Store, item_ids: Iterable[int], *, with_threads: Iterable[int]) -> dict[int, ReadingLines]:
    """Return item -> the lines of its reading text, of some with their threads, of the others without: lines of a body
    do not depend on them, and long conversations take a while to read.
    """
    ids = list(item_ids)
    labels, threads = load_labels_of(store, ids), load_threads(store, with_threads, by_people=True)
    return {
        item.id: build_lines(_header(item, labels.get(item.id, [])), item.body or "", threads.get(item.id, []))
        for item in load_items(store, ids).values()
    }


def _build(item: StoredItem, labels: list[str], threads: list[StoredThread]) -> ReadingText:
    lines, sections = build_lines(_header(item, labels), item.body or "", threads)
    return ReadingText(
        item.reading_id, item.kind, item.ref, item.title, item.url, lines, hash_lines(lines), sections,
        item.is_confidential, list_parts(WrittenPart("", item.author, item.created_ms, 0, 0), sections, threads),
    )  # fmt: skip


def _header(item: StoredItem, labels: list[str]) -> str:
    branches = (item.source_branch, item.target_branch) if item.source_branch and item.target_branch else None
    return build_header(
        ShownHeader(
            "item", item.kind, item.ref, item.title, item.project, item.url, labels, item.state, item.author, branches,
        )
    )  # fmt: skip


def with_pages(item: StoredItem, threads: Iterable[StoredThread]) -> list[StoredThread]:
    """Return the threads with the address of each note."""
    return [
        thread._replace(
            notes=[note._replace(url=note_page(item.forge, item.url, note.key, note.url)) for note in thread.notes]
        )
        for thread in threads
    ]


def _read_file(store: Store, file_id: int) -> ReadingText | None:
    """A file is its own lines: line 12 here is line 12 there."""
    file = load_file(store, file_id)
    if file is None:
        return None
    lines = split_lines(file.body or "")
    return ReadingText(file.reading_id, "file", file.ref, file.title, file.url, lines, hash_lines(lines))


def _read_commit(store: Store, commit_id: int) -> ReadingText | None:
    commit = load_commits(store, [commit_id]).get(commit_id)
    if commit is None:
        return None
    when = (format_ms(commit.authored_ms) or "")[:16].replace("T", " ")
    paths = load_commit_paths(store, commit_id)
    facts = {
        "Project": commit.project, "URL": commit.url, "Commit": commit.sha, "Author": commit.author, "Date": when,
    }  # fmt: skip
    header = [
        f"[[Commit]] {commit.ref}: {commit.title}",
        *(f"{name}: {value}" for name, value in facts.items() if value),
    ]
    message, first = split_lines(commit.message), len(header) + 4
    lines = (*header, "", "--- Message ---", "", *message, "", "--- Files ---", "", *paths)
    part = WrittenPart("", commit.author, commit.authored_ms, first, first + len(message) - 1)
    return ReadingText(
        f"commit:{commit_id}", "commit", commit.ref, commit.title, commit.url, lines, hash_lines(lines), parts=(part,)
    )


_READERS: dict[str, tuple[Callable[[Store, int], ReadingText | None], str]] = {
    "item": (lambda store, item_id: load_item_readings(store, [item_id]).get(item_id), "items"),
    "file": (_read_file, "code_files"),
    "commit": (_read_commit, "commits"),
}
