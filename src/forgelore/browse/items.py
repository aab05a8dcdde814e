"""`show`: one item with its labels, files, links and conversation, and windows on its reading text."""

import datetime as dt
import json
from typing import NamedTuple

from forgelore.browse.reading_text import find_file_key
from forgelore.browse.refs import find_commit, find_row
from forgelore.errors import InvalidValue, NotFound
from forgelore.store.code import load_commit_hits, load_commit_paths, load_read_file
from forgelore.store.commits import CommitFacts, list_commits_of, load_commit_facts, load_renames_of
from forgelore.store.database import Store
from forgelore.store.filters import is_in_view
from forgelore.store.item_lists import (
    StoredItem,
    find_items,
    load_backlinks,
    load_files_of,
    load_labels_of,
    load_links,
    load_notes_of,
)
from forgelore.store.people import load_reviewers
from forgelore.store.projects import StoredProject, find_named
from forgelore.text.dates import as_time
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
from forgelore.text.refs import Hosts, Ref, commit_page, file_page, note_page, shown_ref
from forgelore.viewer import EVERYTHING
from forgelore.words import ProjectName

_MAX_COMMITS = 100  # of a change


class ShownFile(NamedTuple):
    """A file that a change touches."""

    new_path: str
    old_path: str
    status: str


class ShownLink(NamedTuple):
    """What an item points to. `project` is empty for its own."""

    relation: str
    project: str
    kind: str | None
    number: int
    source: str
    is_withdrawn: bool
    ref: str


class Backlink(NamedTuple):
    """An item of the same project that points here."""

    relation: str
    kind: str
    number: int
    title: str
    ref: str


class ShownNote(NamedTuple):
    """One note of a conversation, by a person or by the forge itself."""

    author: str | None
    body: str | None
    created_at: dt.datetime | None
    path: str | None
    line: int | None
    is_system: bool
    is_internal: bool
    is_answer: bool
    type: str | None
    url: str | None
    position_type: str | None = None  # of a note on a change: text, image, file
    is_resolved: bool = False  # by itself, where the forge resolves notes one by one


class ShownReviewer(NamedTuple):
    """Somebody who is to review a change or did: what they said in the end, and whether a review is asked for and not
    given since.
    """

    login: str
    verdict: str | None
    reviewed_at: dt.datetime | None
    is_awaited: bool


class ShownThread(NamedTuple):
    """A conversation of an item; `path` and `line` where it is about a line of a change. Not every forge tells who
    resolved it, or when.
    """

    key: str
    is_resolvable: bool
    is_resolved: bool
    path: str | None
    line: int | None
    notes: list[ShownNote]
    resolved_by: str | None = None
    resolved_at: dt.datetime | None = None


class ShownCommit(NamedTuple):
    """A commit that a change brought."""

    ref: str
    sha: str
    title: str
    author: str | None
    authored_at: dt.datetime | None


class ShownItem(NamedTuple):
    """One item, ready to be shown. `reading_id` is what its reading text is asked for by; `deleted_at`: when its forge
    was seen without it. A commit and a file are shown the same way: number 0, and a commit links to its change.
    """

    reading_id: str
    ref: str
    project: str
    project_id: int
    kind: str
    number: int
    title: str
    body: str | None
    state: str | None
    state_reason: str | None
    author: str | None
    author_role: str | None
    assignees: list[str]
    created_at: dt.datetime | None
    updated_at: dt.datetime | None
    closed_at: dt.datetime | None
    merged_at: dt.datetime | None
    url: str | None
    tag: str | None
    category: str | None
    milestone: str | None
    source_branch: str | None
    target_branch: str | None
    is_draft: bool
    is_confidential: bool
    deleted_at: dt.datetime | None
    labels: list[str]
    files: list[ShownFile]
    links: list[ShownLink]
    linked_from: list[Backlink]
    threads: list[ShownThread]
    reviewers: list[ShownReviewer]
    document: str | None = None  # the reading text, for agents, where it was asked for
    commits: tuple[ShownCommit, ...] = ()  # of a change, oldest first


def load_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> ShownItem:
    """Return one item with labels, files, links and threads, ready to be shown. Raises NotFound with what to do."""
    row = find_row(store, ref, project, hosts)
    return ShownItem(
        reading_id=f"item:{row.id}",
        ref=shown_ref(row.forge, row.kind, row.number, row.tag),
        project=str(ProjectName(row.forge, row.host, row.path)),
        project_id=row.project_id,
        kind=row.kind,
        number=row.number,
        title=row.title,
        body=row.body,
        state=row.state,
        state_reason=row.state_reason,
        author=row.author,
        author_role=row.author_role,
        assignees=json.loads(row.assignees),
        created_at=as_time(row.created_at),
        updated_at=as_time(row.updated_at),
        closed_at=as_time(row.closed_at),
        merged_at=as_time(row.merged_at),
        url=row.url,
        tag=row.tag,
        category=row.category,
        milestone=row.milestone,
        source_branch=row.source_branch,
        target_branch=row.target_branch,
        is_draft=bool(row.is_draft),
        is_confidential=bool(row.is_confidential),
        deleted_at=as_time(row.deleted_at),
        labels=load_labels_of(store, [row.id]).get(row.id, []),
        files=[ShownFile(*file) for file in load_files_of(store, [row.id]).get(row.id, ())],
        links=_links(store, row),
        linked_from=_backlinks(store, row),
        threads=_threads(store, row),
        reviewers=_reviewers(store, row),
        commits=_commits(store, row) if row.kind == "change" else (),
    )


def load_shown(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> ShownItem:
    """Return the item, the commit or the file that a ref means; where it could be several, in this order."""
    kind, _, number = ref.key.partition(":")
    if kind == "commit":
        return load_commit(store, int(number))
    if kind == "file":
        return load_file(store, int(number))
    try:
        return load_item(store, ref, project, hosts)
    except (InvalidValue, NotFound):
        commit = find_commit(store, ref, project, hosts) if ref.sha else None
        if commit is not None:
            return load_commit(store, commit)
        key = _find_file(store, ref, project, hosts)
        if key is None:
            raise
        return load_file(store, int(key.partition(":")[2]))


def _find_file(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> str | None:
    if ref.project and ref.tag:
        project = find_named(store, ref.project, hosts)
    return find_file_key(store, ref.tag, project.id if project else None) if ref.tag else None


def load_commit(store: Store, commit_id: int) -> ShownItem:
    """Return a commit, shown as an item."""
    if not is_in_view(store, "commits", commit_id):
        raise NotFound(f"commit:{commit_id} is not in this database", hint="use the key of a search result")
    row, facts = load_commit_hits(store, [commit_id]).get(commit_id), load_commit_facts(store, commit_id)
    if row is None or facts is None:
        raise NotFound(f"commit:{commit_id} is not in this database", hint="name a commit by its sha")
    subject, _, rest = row.message.partition("\n")
    renames = load_renames_of(store, commit_id)
    files = [
        ShownFile(path, renames.get(path, path), "renamed" if path in renames else "changed")
        for path in load_commit_paths(store, commit_id)
    ]
    name = ProjectName(row.forge, row.host, row.project_path)
    plain = _shown_code(f"commit:{commit_id}", row.sha[:12], name, facts.project_id, "commit", subject)
    return plain._replace(
        body=rest.strip() or None, author=row.login or row.author, created_at=as_time(row.authored_at),
        updated_at=as_time(row.committed_at), url=commit_page(row.forge, row.host, row.project_path, row.sha),
        files=files, links=_change_of(store, facts, row.forge),
    )  # fmt: skip


def load_file(store: Store, file_id: int) -> ShownItem:
    """Return a file of code, shown as an item: its body is the text."""
    row = load_read_file(store, file_id)
    if row is None:
        raise NotFound(f"file:{file_id} is not in this database", hint="name a file by its path")
    name = ProjectName(row.forge, row.host, row.project_path)
    url = file_page(row.forge, row.host, row.project_path, row.tree_commit, row.path)
    plain = _shown_code(f"file:{file_id}", row.path, name, row.project_id, "file", row.path)
    return plain._replace(body=row.text, url=url)


def _shown_code(key: str, ref: str, name: ProjectName, project_id: int, kind: str, title: str) -> ShownItem:
    return ShownItem(
        key, ref, str(name), project_id, kind, 0, title, None, None, None, None, None, [], None, None, None, None, None,
        None, None, None, None, None, is_draft=False, is_confidential=False, deleted_at=None, labels=[], files=[],
        links=[], linked_from=[], threads=[], reviewers=[],
    )  # fmt: skip


def _change_of(store: Store, facts: CommitFacts, forge: str) -> list[ShownLink]:
    if facts.number is None:
        return []
    named: dict[str, str | int] = {"project_id": facts.project_id, "kind": "change", "number": facts.number}
    if len(find_items(store, named)) < len(find_items(store.seen_by(EVERYTHING), named)):
        return []
    ref = shown_ref(forge, "change", facts.number)
    return [ShownLink("part_of", "", "change", facts.number, "commit", is_withdrawn=False, ref=ref)]


def _commits(store: Store, row: StoredItem) -> tuple[ShownCommit, ...]:
    ids = list_commits_of(store, row.project_id, row.number, _MAX_COMMITS)
    rows = load_commit_hits(store, ids)
    return tuple(
        ShownCommit(
            one.sha[:12], one.sha, one.message.partition("\n")[0], one.login or one.author, as_time(one.authored_at)
        )
        for one in (rows[commit_id] for commit_id in ids)
    )  # fmt: skip


def _reviewers(store: Store, row: StoredItem) -> list[ShownReviewer]:
    return [
        ShownReviewer(one.login, one.verdict, as_time(one.reviewed_at), bool(one.is_awaited))
        for one in load_reviewers(store, row.id)
    ]


def _links(store: Store, row: StoredItem) -> list[ShownLink]:
    return [
        ShownLink(
            relation, project, kind, number, source, bool(withdrawn), project + shown_ref(row.forge, kind or "", number)
        )
        for relation, project, kind, number, source, withdrawn in load_links(store, row.id)
    ]


def _backlinks(store: Store, row: StoredItem) -> list[Backlink]:
    """Return who in the same project points here."""
    return [
        Backlink(relation, kind, number, title, shown_ref(row.forge, kind, number, tag))
        for relation, kind, number, title, tag in load_backlinks(store, row.project_id, row.kind, row.number)
    ]


def _threads(store: Store, item: StoredItem) -> list[ShownThread]:
    """Return the threads in the order of their first notes."""
    threads: dict[int, ShownThread] = {}
    for row in load_notes_of(store, item.id):
        if row.is_internal and not store.viewer.includes_internal:
            continue
        thread = threads.setdefault(
            row.thread_id,
            ShownThread(
                row.thread_key,
                bool(row.is_resolvable),
                bool(row.is_resolved),
                row.thread_path,
                row.thread_line,
                [],
                row.resolved_by,
                as_time(row.resolved_at),
            ),
        )
        flags = (bool(row.is_system), bool(row.is_internal), bool(row.is_answer))
        url = note_page(item.forge, item.url, row.key, row.url)
        thread.notes.append(
            ShownNote(
                row.author,
                row.body,
                as_time(row.created_at),
                row.path,
                row.line,
                *flags,
                row.type,
                url,
                row.position_type,
                bool(row.is_note_resolved),
            )
        )
    return list(threads.values())


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
