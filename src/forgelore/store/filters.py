"""Filters of a search, as a set of document ids that is known *before* anything is scored.

Filtering afterwards would return an empty page while matches lie further down. Every filter here is one condition on
`documents`; together they are ANDed.
"""

from typing import NamedTuple

from forgelore.store.db import Store


class Filters(NamedTuple):
    """What a search is limited to. Empty: everything. Times are milliseconds."""

    types: tuple[str, ...] = ()  # kinds of items, "thread"; "discussion" also means threads
    states: tuple[str, ...] = ()
    author: str | None = None
    project_ids: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()  # all of them
    paths: tuple[str, ...] = ()  # any of them; with a final slash: everything below
    after: int | None = None  # created at or after
    before: int | None = None  # created before
    updated_after: int | None = None
    not_items: tuple[int, ...] = ()
    is_public: bool = False  # leave confidential items out


class Allowed(NamedTuple):
    """What filters allow, twice: as the ids of documents, and as a condition on `documents_fts.rowid`.

    Full text asks the condition of each match. Making a set of ten thousand ids first takes longer than most queries.
    """

    sql: str
    condition: str
    bindings: tuple[object, ...]


def build_allowed(filters: Filters) -> Allowed | None:
    """Return what the filters allow, None when they allow everything."""
    plain, related = _plain(filters), _related(filters)
    bindings = tuple(value for _, values in (*plain, *related) for value in values)
    if not plain and not related:
        return None
    if not plain:  # labels and paths know the ids by themselves: looking up each document takes five times as long
        ids = " INTERSECT ".join(f"SELECT document_id AS id FROM {rest}" for rest, _ in related)
        return Allowed(ids, " AND ".join(_exists(rest, "documents_fts.rowid") for rest, _ in related), bindings)
    conditions = " AND ".join([*(sql for sql, _ in plain), *(_exists(rest, "d.id") for rest, _ in related)])
    within = " AND ".join(
        [*(sql for sql, _ in plain), *(f"d.id IN (SELECT document_id FROM {rest})" for rest, _ in related)]
    )
    return Allowed(
        f"SELECT d.id AS id FROM documents d WHERE {within}",
        f"EXISTS (SELECT 1 FROM documents d WHERE d.id = documents_fts.rowid AND {conditions})", bindings,
    )  # fmt: skip


def _exists(rest: str, document_id: str) -> str:
    return f"EXISTS (SELECT 1 FROM {rest} AND document_id = {document_id})"


def _plain(filters: Filters) -> list[tuple[str, list[object]]]:
    found: list[tuple[str, list[object]]] = []
    if filters.project_ids:
        found.append((f"d.project_id IN ({_marks(filters.project_ids)})", [*filters.project_ids]))
    if filters.types:
        found.append(_type_condition(filters.types))
    if filters.states:
        found.append((f"d.state IN ({_marks(filters.states)})", [*filters.states]))
    if filters.author is not None:
        found.append(("d.author = ? COLLATE NOCASE", [filters.author.removeprefix("@")]))
    for condition, value in (
        ("d.created_at >= ?", filters.after), ("d.created_at < ?", filters.before),
        ("d.updated_at >= ?", filters.updated_after),
    ):  # fmt: skip
        if value is not None:
            found.append((condition, [value]))
    if filters.not_items:
        found.append((f"d.item_id NOT IN ({_marks(filters.not_items)})", [*filters.not_items]))
    if filters.is_public:
        found.append(("NOT d.is_confidential", []))
    return found


def _type_condition(types: tuple[str, ...]) -> tuple[str, list[object]]:
    kinds = [kind for kind in types if kind != "thread"]
    either = [f"(d.representation = 'item' AND d.kind IN ({_marks(kinds)}))"] if kinds else []
    if {"thread", "discussion"} & set(types):
        either.append("d.representation = 'thread'")
    return f"({' OR '.join(either)})", [*kinds]


def _related(filters: Filters) -> list[tuple[str, list[object]]]:
    found: list[tuple[str, list[object]]] = [
        ("document_labels WHERE name = ? COLLATE NOCASE", [label]) for label in filters.labels
    ]
    if filters.paths:
        either, bindings = [], []
        for path in filters.paths:
            if path.endswith("/"):
                either.append("path >= ? AND path < ?")
                bindings += [path, path[:-1] + "0"]  # "0" follows "/": the range of everything below, by index
            else:
                either.append("path = ?")
                bindings.append(path)
        found.append((f"document_paths WHERE ({' OR '.join(either)})", [*bindings]))
    return found


def _marks(values: object) -> str:
    return ", ".join("?" * len(values))  # type: ignore[arg-type]


def load_allowed(store: Store, allowed: Allowed) -> str:
    """Return the ids as text, "1,5,9": numpy reads it in half the time of ten thousand rows."""
    return store.value(f"SELECT group_concat(id) FROM ({allowed.sql})", *allowed.bindings) or ""
