"""Columns that filters ask: where documents, items, threads and notes keep state, author, labels and paths, as SQL."""

from typing import NamedTuple

from forgelore.profiles import PROFILES

# Threads that their forge calls discussions: there a discussion is no item of its own.
CALLED_DISCUSSIONS = f"""SELECT p.id
FROM projects p
WHERE p.forge IN ({", ".join(f"'{name}'" for name, profile in PROFILES.items() if profile.has_discussion_threads)})"""

# What an item may have none of, and the condition that it has none.
PARTS = {
    "label": "NOT EXISTS (SELECT 1 FROM item_labels l WHERE l.item_id = m.id)",
    "milestone": "coalesce(m.milestone, '') = ''",
    "assignee": "m.assignees = '[]'",
}


class Values(NamedTuple):
    """A table with several values for one row: its labels, its paths."""

    table: str
    key: str  # the column that holds `owner`
    owner: str
    names: tuple[str, ...]  # the columns that hold a value


class Columns(NamedTuple):
    """Where the rows of one table keep what filters ask for, as SQL."""

    item_id: str
    project_id: str
    kind: str
    state: str
    author: str
    created_at: str
    updated_at: str
    is_confidential: str
    labels: Values
    paths: Values
    representation: str = ""  # of documents: an item or one of its threads


def _item(column: str, item_id: str) -> str:
    """A question for each row instead of a join: who counts without this filter does not pay for it."""
    return f"(SELECT i.{column} FROM items i WHERE i.id = {item_id})"


# What people said in a thread; system and internal notes belong to no document, so they are not asked here.
SAID = "FROM notes s WHERE s.thread_id = t.id AND NOT s.is_system AND NOT s.is_internal AND s.body <> ''"
# A thread that has notes, all of them internal, is as hidden as they are.
_INTERNAL_THREAD = "coalesce((SELECT min(s.is_internal) FROM notes s WHERE s.thread_id = t.id), 0)"
_NOTE_PATHS = """(
    SELECT s.id AS note_id, s.thread_id, coalesce(s.path, h.path) AS path
    FROM notes s
    JOIN threads h ON h.id = s.thread_id
)"""

# How many comments the forge counts; where it was never asked, how many people wrote here.
COMMENTS = """coalesce(m.comment_count, (
    SELECT count(*)
    FROM notes c
    WHERE c.item_id = m.id AND NOT c.is_system AND NOT c.is_internal
))"""

# The items that people of these names commented on, are mentioned in, or have to do with in any way. {said} is a
# condition on the note `n` that says so.
COMMENTED = "SELECT n.item_id FROM notes n WHERE n.author COLLATE NOCASE IN ({names}) AND NOT n.is_system AND {said}"
_NAMED = """SELECT x.item_id
FROM item_people x
LEFT JOIN notes n ON n.id = x.note_id
WHERE x.login COLLATE NOCASE IN ({names}) AND {said}"""
MENTIONED = f"{_NAMED} AND x.role = 'mentioned'"
INVOLVED = (
    COMMENTED,
    _NAMED,
    "SELECT o.id FROM items o WHERE o.author COLLATE NOCASE IN ({names})",
    """SELECT o.id
FROM items o
JOIN json_each(o.assignees) a
WHERE o.assignees <> '[]' AND a.value COLLATE NOCASE IN ({names})""",
)

DOCUMENTS = Columns(
    item_id="d.item_id",
    project_id="d.project_id",
    kind="d.kind",
    state="d.state",
    author="d.author",
    created_at="d.created_at",
    updated_at="d.updated_at",
    is_confidential="d.is_confidential",
    labels=Values("document_labels", "document_id", "d.id", ("name",)),
    paths=Values("document_paths", "document_id", "d.id", ("path",)),
    representation="d.representation",
)
# The same where threads are asked for by their type, with what they have of their own.
_OWN = "CASE d.representation WHEN 'thread' THEN d.thread_{0} ELSE d.{0} END"
OWN_DOCUMENTS = DOCUMENTS._replace(
    author=_OWN.format("author"), created_at=_OWN.format("created_at"), updated_at=_OWN.format("updated_at")
)
ITEMS = Columns(
    item_id="i.id",
    project_id="i.project_id",
    kind="i.kind",
    state="i.state",
    author="i.author",
    created_at="i.created_at",
    updated_at="i.updated_at",
    is_confidential="i.is_confidential",
    labels=Values("item_labels", "item_id", "i.id", ("name",)),
    paths=Values("item_files", "item_id", "i.id", ("new_path", "old_path")),
)
THREADS = Columns(
    item_id="t.item_id",
    project_id="t.project_id",
    kind=_item("kind", "t.item_id"),
    state=_item("state", "t.item_id"),
    author=f"(SELECT s.author {SAID} ORDER BY s.created_at, length(s.key), s.key LIMIT 1)",
    created_at=f"coalesce((SELECT min(s.created_at) {SAID}), {_item('created_at', 't.item_id')})",
    updated_at=f"coalesce((SELECT max(s.created_at) {SAID}), {_item('updated_at', 't.item_id')})",
    is_confidential=f"({_item('is_confidential', 't.item_id')} OR {_INTERNAL_THREAD})",
    labels=Values("item_labels", "item_id", "t.item_id", ("name",)),
    paths=Values(_NOTE_PATHS, "thread_id", "t.id", ("path",)),
)
NOTES = Columns(
    item_id="n.item_id",
    project_id="n.project_id",
    kind=_item("kind", "n.item_id"),
    state=_item("state", "n.item_id"),
    author="n.author",
    created_at="n.created_at",
    updated_at="n.updated_at",
    is_confidential=f"(n.is_internal OR {_item('is_confidential', 'n.item_id')})",
    labels=Values("item_labels", "item_id", "n.item_id", ("name",)),
    paths=Values(_NOTE_PATHS, "note_id", "n.id", ("path",)),
)
