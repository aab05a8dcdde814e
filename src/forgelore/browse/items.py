"""`show`: one item with its labels, files, links and conversation, and windows on its reading text."""

from typing import NamedTuple

from forgelore.browse.reading_text import find_file_key, with_pages
from forgelore.browse.refs import find_commit, find_row
from forgelore.errors import InvalidValue, NotFound
from forgelore.store.code import load_file
from forgelore.store.commits import list_commits_of, load_commit_paths, load_commits, load_renames_of
from forgelore.store.database import Store
from forgelore.store.item_lists import (
    find_items,
    load_backlinks,
    load_files_of,
    load_labels_of,
    load_links,
    load_threads,
)
from forgelore.store.people import load_reviewers
from forgelore.store.projects import StoredProject, find_named
from forgelore.text.items import StoredCommit, StoredFile, StoredItem, StoredLink
from forgelore.text.reading import (
    MAX_WINDOW_CHARS,
    ReadingText,
    ReadingWindow,
    ScrollDirection,
    TextPlace,
    find_lines,
    open_window,
    scroll_to,
)
from forgelore.text.refs import Hosts, Ref
from forgelore.viewer import EVERYTHING

_MAX_COMMITS = 100  # of a change


def load_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> StoredItem:
    """Return one item with labels, files, links and threads, ready to be shown. Raises NotFound with what to do."""
    item = find_row(store, ref, project, hosts)
    threads = load_threads(store, [item.id])
    return item._replace(
        labels=tuple(load_labels_of(store, [item.id]).get(item.id, ())),
        files=tuple(load_files_of(store, [item.id]).get(item.id, ())),
        links=load_links(store, item),
        linked_from=load_backlinks(store, item),
        threads=tuple(with_pages(item, threads.get(item.id, ()))),
        reviewers=load_reviewers(store, item.id),
        commits=_commits(store, item) if item.kind == "change" else (),
    )


def load_shown(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> StoredItem:
    """Return the item, the commit or the file that a ref means; where it could be several, in this order."""
    kind, _, number = ref.key.partition(":")
    if kind == "commit":
        return load_commit(store, int(number))
    if kind == "file":
        return _load_file(store, int(number))
    try:
        return load_item(store, ref, project, hosts)
    except (InvalidValue, NotFound):
        commit = find_commit(store, ref, project, hosts) if ref.sha else None
        if commit is not None:
            return load_commit(store, commit)
        key = _find_file(store, ref, project, hosts)
        if key is None:
            raise
        return _load_file(store, int(key.partition(":")[2]))


def _find_file(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> str | None:
    if ref.project and ref.tag:
        project = find_named(store, ref.project, hosts)
    return find_file_key(store, ref.tag, project.id if project else None) if ref.tag else None


def load_commit(store: Store, commit_id: int) -> StoredItem:
    """Return a commit, shown as an item."""
    commit = load_commits(store, [commit_id]).get(commit_id)
    if commit is None:
        raise NotFound(f"commit:{commit_id} is not in this database", hint="name a commit by its sha")
    renames = load_renames_of(store, commit_id)
    files = (
        StoredFile(path, renames.get(path, path), "renamed" if path in renames else "changed")
        for path in load_commit_paths(store, commit_id)
    )
    return StoredItem(
        commit_id, commit.project_id, commit.forge, commit.host, commit.path, "commit", 0, commit.title,
        commit.message.partition("\n")[2].strip() or None, author=commit.author, created_ms=commit.authored_ms,
        updated_ms=commit.committed_ms, url=commit.url, name=commit.ref, files=tuple(files),
        links=_change_of(store, commit),
    )  # fmt: skip


def _load_file(store: Store, file_id: int) -> StoredItem:
    """Return a file of code, shown as an item: its body is the text."""
    file = load_file(store, file_id)
    if file is None:
        raise NotFound(f"file:{file_id} is not in this database", hint="name a file by its path")
    return file


def _change_of(store: Store, commit: StoredCommit) -> tuple[StoredLink, ...]:
    if commit.change is None:
        return ()
    named: dict[str, str | int] = {"project_id": commit.project_id, "kind": "change", "number": commit.change}
    if len(find_items(store, named)) < len(find_items(store.seen_by(EVERYTHING), named)):
        return ()
    return (StoredLink("part_of", "", "change", commit.change, "commit", is_withdrawn=False, forge=commit.forge),)


def _commits(store: Store, item: StoredItem) -> tuple[StoredCommit, ...]:
    ids = list_commits_of(store, item.project_id, item.number, _MAX_COMMITS)
    rows = load_commits(store, ids)
    return tuple(rows[commit_id] for commit_id in ids)


class ReadItem(NamedTuple):
    """A window on the reading text of an item. `hash` is that of all its lines, so that a citation can say which
    version was read; `found`: every place of the words that were looked for.
    """

    ref: str
    project: str
    kind: str
    title: str
    url: str | None
    hash: str
    window: ReadingWindow
    found: tuple[TextPlace, ...] = ()


def read_item(
    text: ReadingText, project: str, place: TextPlace | None = None, *, direction: ScrollDirection | None = None,
    find: str = "", chars: int = MAX_WINDOW_CHARS,
) -> ReadItem:  # fmt: skip
    """Return the window around a place, from it on (down) or up to it (up); without a place, the first one. Words that
    are to be found give the place where they stand first.
    """
    found = tuple(find_lines(text.lines, find)) if find else ()
    if found and place is None:
        place = found[0]
    window = (
        scroll_to(text.lines, place, direction, chars=chars)
        if direction
        else open_window(text.lines, place, chars=chars)
    )
    return ReadItem(text.ref, project, text.kind, text.title, text.url, text.hash, window, found)
