"""Filters: which rows a search, a list or a count is limited to. One rule and one place for all of them.

Different filters must all hold. Of several types, states, authors, paths, projects, milestones or assignees one must
hold; the same for commenters, people mentioned and people involved. Of several labels all must hold, and of each of
`any_labels` one. What `without` describes is left out. Each filter is one
condition on columns; `Columns` says where documents, items, threads and notes keep them.

Who wrote something, when, and which files it touches is asked of the item, as on a forge's own page, whatever was found
of it; of a thread only where threads are asked for by their type.

A search knows its set of ids *before* anything is scored: filtering afterwards would return an empty page while matches
lie further down.

Columns that filters ask: where documents, items, threads and notes keep state, author, labels and paths, as SQL.
"""

from collections.abc import Iterable
from typing import NamedTuple

from forgelore.profiles import PROFILES
from forgelore.store.database import Store
from forgelore.store.sqlite.connection import elements, glob_condition, joined_ids
from forgelore.text.globs import is_glob, loose_glob
from forgelore.viewer import Viewer

# Threads that their forge calls discussions: there a discussion is not an item of its own.
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
_INTERNAL_THREAD = "coalesce((SELECT min(s.is_internal) FROM notes s WHERE s.thread_id = t.id), FALSE)"
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
    f"""SELECT o.id
FROM items o
JOIN {elements("o.assignees")} a
WHERE o.assignees <> '[]' AND a.value COLLATE NOCASE IN ({{names}})""",
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


class Filters(NamedTuple):
    """What is looked for. Empty: everything. Times are milliseconds."""

    types: tuple[str, ...] = ()  # kinds of items, "thread"; "discussion" is a thread where its forge says so
    with_threads: bool = False  # a kind of `types` means the threads of such items too
    states: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()  # "@ana" is "ana"
    project_ids: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()  # all of them
    paths: tuple[str, ...] = ()  # any of them; with a final slash: everything below; globs (text/globs)
    after: int | None = None  # created at or after
    before: int | None = None  # created before
    updated_after: int | None = None  # updated at or after; created, where nothing is known of updates
    not_items: tuple[int, ...] = ()
    milestones: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    commenters: tuple[str, ...] = ()  # any of them wrote a note on the item
    mentions: tuple[str, ...] = ()  # the item or one of its notes mentions any of them
    involves: tuple[str, ...] = ()  # any of them wrote, commented, reviewed, is assigned or is mentioned
    updated_before: int | None = None
    min_comments: int | None = None
    max_comments: int | None = None
    missing: tuple[str, ...] = ()  # of PARTS, all of them
    without: tuple["Filters", ...] = ()  # rows that meet all of one of these are left out
    any_labels: tuple[tuple[str, ...], ...] = ()  # of each of these one

    @property
    def names_threads(self) -> bool:
        """Whether threads are asked for by their type: then author and dates are theirs."""
        return "thread" in self.types or "discussion" in self.types

    def leaving_out_threads(self) -> "Filters":
        """Return the filters of a search: an issue that is left out takes with it what people said below it."""
        return self._replace(without=tuple(one._replace(with_threads=bool(one.types)) for one in self.without))


NO_FILTERS = Filters()


class Condition(NamedTuple):
    """A filter in SQL. `values`: it is about these, and `sql` belongs behind their table's WHERE."""

    sql: str
    bindings: tuple[object, ...]
    values: Values | None = None

    def of_row(self, owner: str = "") -> str:
        if not self.values:
            return self.sql
        owner = owner or self.values.owner
        return f"EXISTS (SELECT 1 FROM {self.values.table} WHERE {self.sql} AND {self.values.key} = {owner})"

    def ids(self) -> str:
        assert self.values is not None
        return f"SELECT {self.values.key} AS id FROM {self.values.table} WHERE {self.sql}"


def any_of(conditions: Iterable[Condition]) -> Condition:
    """Return the condition that one of these holds; none of them about values."""
    either = list(conditions)
    return Condition(f"({' OR '.join(one.sql for one in either)})", _bindings(either))


def are_documents_of(representation: str, further: Condition | None = None) -> Condition:
    """Return the condition on documents `d` that they are items, or threads, and meet a further one."""
    sql = f"{DOCUMENTS.representation} = ?"
    if further is None:
        return Condition(sql, (representation,))
    return Condition(f"({sql} AND {further.sql})", (representation, *further.bindings))


def build_where(store: Store, filters: Filters, columns: Columns) -> tuple[str, tuple[object, ...]]:
    """Return what rows of a table must meet, as a condition and its bindings; "1" when all do."""
    conditions = _conditions(filters, columns, store.viewer)
    return " AND ".join(one.of_row() for one in conditions) or "1", _bindings(conditions)


# What counts of notes: a reader without access to internal ones must not learn who wrote or is named in one.
def _said(viewer: Viewer, note: str = "n") -> str:
    return "1" if viewer.includes_internal else f"NOT coalesce({note}.is_internal, 0)"


# What a store's viewer may see, as SQL conditions that are written into a statement: they bind nothing, since all they
# hold are ids of ours. Every function of the store that somebody reads from asks one of these, or `Filters`.
def visible(store: Store, row: str) -> str:
    """Return the condition that a row of items or documents may be seen; "1" when all may."""
    hidden = "" if store.viewer.includes_internal else f"NOT {row}.is_confidential"
    if store.viewer.project_ids is None:
        return hidden or "1"
    return f"({in_view(store, row)}{' AND ' if hidden else ''}{hidden})"


def in_view(store: Store, row: str) -> str:
    """Return the condition that a row is of a project that may be seen: of code, commits and jobs."""
    ids = store.viewer.project_ids
    return "1" if ids is None else _one_of(f"{row}.project_id", ids)


def said(store: Store) -> str:
    """Return the condition that a note `n`, if there is one, is not internal, where internal notes are hidden."""
    return _said(store.viewer)


def visible_note(store: Store) -> str:
    """Return the condition that a note `n` and its item may be seen."""
    item = visible(store, "i")
    return "1" if item == "1" else f"{said(store)} AND EXISTS (SELECT 1 FROM items i WHERE i.id = n.item_id AND {item})"


def visible_link(store: Store) -> str:
    """Return the condition that a link `l` may be seen, as far as the item that has it and the note that says it are
    concerned. Where it leads is another question.
    """
    item = visible(store, "i")
    by_item = "1" if item == "1" else f"EXISTS (SELECT 1 FROM items i WHERE i.id = l.item_id AND {item})"
    if store.viewer.includes_internal:
        return by_item
    return f"NOT EXISTS (SELECT 1 FROM notes n WHERE n.id = l.note_id AND n.is_internal) AND {by_item}"


def and_visible_document(store: Store, document_id: str) -> str:
    """Return the condition, after others, that a document may be seen; "" when all may."""
    document = visible(store, "d")
    return (
        "" if document == "1" else f"AND EXISTS (SELECT 1 FROM documents d WHERE d.id = {document_id} AND {document})"
    )


def is_in_view(store: Store, table: str, row_id: int) -> bool:
    """Whether a row of a table that names its project is of one that may be seen."""
    if store.viewer.project_ids is None:
        return True
    return bool(
        store.value(f"SELECT EXISTS (SELECT 1 FROM {table} r WHERE r.id = ? AND {in_view(store, 'r')})", row_id)
    )


def projects_in_view(store: Store, project_ids: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return those of the projects (none: of all) that may be seen; None for all there are."""
    ids = store.viewer.project_ids
    if ids is None:
        return project_ids or None
    return tuple(one for one in ids if one in project_ids) if project_ids else ids


def _one_of(column: str, project_ids: tuple[int, ...]) -> str:
    return f"{column} IN ({', '.join(str(int(one)) for one in project_ids) or 'NULL'})"


# SQLite joins what EXISTS asks. Beside full text it refuses 16 of them: "unable to use function MATCH".
_MAX_EXISTS = 8


class Allowed(NamedTuple):
    """Documents that filters allow, twice: `sql` returns their ids, and `condition` asks whether one is among them.

    Full text asks the condition of each match. Making a set of ten thousand ids first takes longer than most queries;
    where they are known, because vectors need them, `marks` has a byte for each id, 1 for those that are allowed, and a
    byte is looked at instead of a row.
    """

    sql: str
    conditions: tuple[Condition, ...]
    bindings: tuple[object, ...]  # of `sql`
    marks: bytes | None = None

    def condition(self, document_id: str) -> Condition:
        """Return the condition on a column that holds the id of a document."""
        if self.marks is not None:
            return Condition(f"substr(?, {document_id} + 1, 1) = x'01'", (self.marks,))
        return Condition(self._asked(document_id), self.bindings)

    def _asked(self, document_id: str) -> str:
        if len(self.conditions) <= _MAX_EXISTS and all(one.values for one in self.conditions):
            return " AND ".join(one.of_row(document_id) for one in self.conditions)
        asked = " AND ".join(one.of_row() for one in self.conditions)
        return f"EXISTS (SELECT 1 FROM documents d WHERE d.id = {document_id} AND {asked})"


def build_allowed(store: Store, filters: Filters, further: Iterable[Condition] = ()) -> Allowed | None:
    """Return which documents the filters and further conditions on `d` allow, None when they allow everything."""
    columns = OWN_DOCUMENTS if filters.names_threads else DOCUMENTS
    conditions = [*_conditions(filters, columns, store.viewer), *further]
    if not conditions:
        return None
    if all(one.values for one in conditions):
        # Labels and paths know the ids by themselves: looking up each document takes five times as long.
        ids = " INTERSECT ".join(one.ids() for one in conditions)
    else:
        within = " AND ".join(f"d.id IN ({one.ids()})" if one.values else one.sql for one in conditions)
        ids = f"SELECT d.id AS id FROM documents d WHERE {within}"
    return Allowed(ids, tuple(conditions), _bindings(conditions))


def _bindings(conditions: list[Condition]) -> tuple[object, ...]:
    return tuple(value for one in conditions for value in one.bindings)


def _conditions(filters: Filters, columns: Columns, viewer: Viewer, *, is_left_out: bool = False) -> list[Condition]:
    """What is left out (`is_left_out`) of a public view is judged without internal notes, too."""
    found: list[Condition] = []
    if filters.types:
        found.append(_type_condition(filters.types, columns, with_threads=filters.with_threads))
    for column, wanted in (
        (columns.project_id, filters.project_ids),
        (columns.state, filters.states),
        (f"{columns.author} COLLATE NOCASE", _spellings(filters.authors)),
    ):
        if wanted:
            found.append(Condition(f"{column} IN ({_marks(wanted)})", (*wanted,)))
    updated_at = f"coalesce({columns.updated_at}, {columns.created_at})"
    for condition, moment in (
        (f"{columns.created_at} >= ?", filters.after),
        (f"{columns.created_at} < ?", filters.before),
        (f"{updated_at} >= ?", filters.updated_after),
        (f"{updated_at} < ?", filters.updated_before),
    ):
        if moment is not None:
            found.append(Condition(condition, (moment,)))
    if filters.not_items:
        found.append(Condition(f"{columns.item_id} NOT IN ({_marks(filters.not_items)})", filters.not_items))
    if not is_left_out and viewer.project_ids is not None:
        found.append(Condition(_one_of(columns.project_id, viewer.project_ids), ()))
    if not is_left_out and not viewer.includes_internal:
        found.append(Condition(f"NOT {columns.is_confidential}", ()))
    found += _item_conditions(filters, columns, viewer)
    found += [Condition("name = ? COLLATE NOCASE", (label,), columns.labels) for label in filters.labels]
    found += [
        Condition(f"name COLLATE NOCASE IN ({_marks(names)})", names, columns.labels) for names in filters.any_labels
    ]
    if filters.paths:
        touched = path_condition(filters.paths, columns.paths)
        has_threads = columns is DOCUMENTS and (filters.with_threads or not filters.types)
        found.append(_of_items(touched, columns) if has_threads else touched)
    return [
        *found,
        *(
            _negated(_conditions(one, columns, viewer, is_left_out=True))
            for one in _with_authors_joined(filters.without)
        ),
    ]


def _with_authors_joined(without: tuple[Filters, ...]) -> list[Filters]:
    """Return what is left out with all authors in one: two hundred conditions beside as many paths are deeper than
    SQLite takes.
    """
    others = [one for one in without if one != Filters(authors=one.authors)]
    authors = tuple(name for one in without if one not in others for name in one.authors)
    return [*others, Filters(authors=authors)] if authors else others


def _of_items(touched: Condition, columns: Columns) -> Condition:
    """Return the condition that some document of the same item meets another one."""
    items = f"SELECT o.item_id FROM documents o WHERE o.id IN ({touched.ids()})"
    return Condition(f"{columns.item_id} IN ({items})", touched.bindings)


def _spellings(names: tuple[str, ...]) -> tuple[str, ...]:
    """People who came from elsewhere may be stored with their @."""
    return tuple(spelling for name in names for spelling in (name.removeprefix("@"), "@" + name.removeprefix("@")))


def _item_conditions(filters: Filters, columns: Columns, viewer: Viewer) -> list[Condition]:
    """What only items know. Threads, notes and documents ask theirs."""
    people = _spellings(filters.assignees)
    assigned = f"SELECT 1 FROM {elements('m.assignees')} a WHERE a.value COLLATE NOCASE IN ({_marks(people)})"
    asked: list[tuple[str, tuple[object, ...]]] = []
    if filters.milestones:
        asked.append((f"m.milestone COLLATE NOCASE IN ({_marks(filters.milestones)})", filters.milestones))
    if people:
        asked.append((f"m.assignees <> '[]' AND EXISTS ({assigned})", people))
    if filters.min_comments is not None:
        asked.append((f"{COMMENTS} >= ?", (filters.min_comments,)))
    if filters.max_comments is not None:
        asked.append((f"{COMMENTS} <= ?", (filters.max_comments,)))
    asked += [(PARTS[part], ()) for part in filters.missing]
    conditions = [
        Condition(f"{columns.item_id} IN (SELECT m.id FROM items m WHERE {condition})", bindings)
        for condition, bindings in asked
    ]
    for names, tables in (
        (filters.commenters, (COMMENTED,)), (filters.mentions, (MENTIONED,)), (filters.involves, INVOLVED),
    ):  # fmt: skip
        if names:
            spellings = _spellings(names)
            either = " UNION ALL ".join(one.format(names=_marks(spellings), said=_said(viewer)) for one in tables)
            conditions.append(Condition(f"{columns.item_id} IN ({either})", spellings * len(tables)))
    return conditions


def _negated(conditions: list[Condition]) -> Condition:
    """Return the condition that not all of these hold. What is unknown does not hold."""
    if len(conditions) == 1 and (values := conditions[0].values):
        # One set for all rows: asking for the labels of each of 45,000 documents took 63 ms instead of 29.
        return Condition(f"{values.owner} NOT IN ({conditions[0].ids()})", conditions[0].bindings)
    every = " AND ".join(one.of_row() for one in conditions) or "1"
    return Condition(f"({every}) IS NOT TRUE", _bindings(conditions))


def _type_condition(types: tuple[str, ...], columns: Columns, *, with_threads: bool) -> Condition:
    kinds = tuple(kind for kind in types if kind != "thread")
    of_kinds = f"{columns.kind} IN ({_marks(kinds)})"
    if not columns.representation:
        return Condition(of_kinds, kinds)
    is_thread = f"{columns.representation} = 'thread'"
    either = [of_kinds if with_threads else f"({columns.representation} = 'item' AND {of_kinds})"] if kinds else []
    if "thread" in types:
        either.append(is_thread)
    elif "discussion" in types:
        either.append(f"({is_thread} AND {columns.project_id} IN ({CALLED_DISCUSSIONS}))")
    return Condition(f"({' OR '.join(either)})", kinds)


def path_condition(paths: tuple[str, ...], values: Values) -> Condition:
    """Return the condition that one of these columns holds one of these paths: a file, `src/`, a glob."""
    either: list[str] = []
    bindings: list[object] = []
    for path in paths:
        for name in values.names:
            if is_glob(path):
                either.append(glob_condition(name))
                bindings += [loose_glob(path), path]
            elif path.endswith("/"):
                either.append(f"{name} >= ? AND {name} < ?")
                bindings += [path, path[:-1] + "0"]  # "0" follows "/": the range of everything below, by index
            else:
                either.append(f"{name} = ?")
                bindings.append(path)
    return Condition(f"({' OR '.join(either)})", tuple(bindings), values)


def _marks(values: tuple[object, ...]) -> str:
    return ", ".join("?" * len(values))


def load_allowed(store: Store, allowed: Allowed) -> str:
    """Return the ids as text, "1,5,9": numpy reads it in half the time of ten thousand rows."""
    return store.value(joined_ids(allowed.sql), *allowed.bindings) or ""
