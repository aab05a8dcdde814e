"""`list`, `count` and `show`: what the store holds, for people and programs."""

import json
from typing import Any

from forgelore.core.names import Hosts, Ref
from forgelore.errors import InvalidValue, NotFound
from forgelore.store.db import Store
from forgelore.store.filters import ITEMS, NOTES, THREADS, Filters, build_where
from forgelore.store.projects import StoredProject, resolve_project
from forgelore.words import KIND_WORDS, Kind, ProjectName

_ORDER = {
    "updated": "coalesce(i.updated_at, i.created_at, 0) DESC",
    "created": "coalesce(i.created_at, 0) DESC",
    "number": "i.number DESC",
}
COUNTABLE = ("issues", "changes", "discussions", "releases", "threads", "notes", "items")


def parse_kind(word: str) -> Kind:
    """Return what a person means by `pr`, `issues`, `merge_requests` …"""
    kind = KIND_WORDS.get(word.lower().replace("-", "_"))
    if kind is None:
        raise InvalidValue(
            f"{word!r} is not a kind of item", hint="use issues, changes (or prs, mrs), discussions or releases"
        )
    return kind


def list_items(store: Store, filters: Filters, *, sort: str = "updated", limit: int = 30) -> list[dict[str, Any]]:
    """Return matching items, newest first, without their bodies."""
    where, values = build_where(filters, ITEMS)
    rows = store.rows(
        "SELECT i.id, i.kind, i.number, i.title, i.state, i.state_reason, i.author, i.created_at, i.updated_at,"
        " i.url, i.source_branch,"
        " i.tag, p.forge, p.host, p.path FROM items i JOIN projects p ON p.id = i.project_id"
        f" WHERE i.deleted_at IS NULL AND {where} ORDER BY {_ORDER[sort]}, i.project_id, i.number DESC LIMIT ?",
        *values, limit,
    )  # fmt: skip
    labels_of = _labels(store, [row[0] for row in rows])
    names = (
        "kind",
        "number",
        "title",
        "state",
        "state_reason",
        "author",
        "created_at",
        "updated_at",
        "url",
        "source_branch",
        "tag",
    )
    return [
        {
            "ref": shown_ref(row[12], row[1], row[2], row[11]),
            **dict(zip(names, row[1:12], strict=True)),
            "labels": labels_of.get(row[0], []),
            "project": _name(*row[12:]),
        }
        for row in rows
    ]


def _name(forge: str, host: str, path: str) -> str:
    return str(ProjectName(forge, host, path))  # type: ignore[arg-type]


def shown_ref(forge: str, kind: str, number: int, tag: str | None = None) -> str:
    """Return what people of that forge write: #12, GitLab's !34 for changes, a release's tag."""
    if kind == "release":
        return tag or str(number)
    return f"{'!' if forge == 'gitlab' and kind == 'change' else '#'}{number}"


def _labels(store: Store, ids: list[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    sql = "SELECT item_id, name FROM item_labels WHERE item_id IN (SELECT value FROM json_each(?)) ORDER BY name"
    for item_id, name in store.rows(sql, json.dumps(ids)):
        found.setdefault(item_id, []).append(name)
    return found


# What is counted: rows, the group of each (by state; by whether people wrote it), and where filters look.
_COUNTED = {
    "notes": ("notes n WHERE 1", "CASE n.is_system WHEN 1 THEN 'system' ELSE 'people' END", NOTES),
    "threads": ("threads t WHERE 1", "'all'", THREADS),
    "items": ("items i WHERE i.deleted_at IS NULL", "coalesce(i.state, 'published')", ITEMS),
}


def count_rows(store: Store, what: str, filters: Filters) -> dict[str, int]:
    """Return counts by state for items; with and without system notes for notes."""
    table, group, columns = _COUNTED.get(what, _COUNTED["items"])
    where, values = build_where(filters, columns)
    rows = store.rows(f"SELECT {group}, count(*) FROM {table} AND {where} GROUP BY 1 ORDER BY 1", *values)
    return dict(rows or ([("all", 0)] if what == "threads" else []))


def find_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> int:
    """Return the id of the item a person means. Raises NotFound with what to do."""
    if ref.project:
        project = resolve_project(store, ref.project, hosts)
    item_id: int = _find(store, ref, project)["id"]
    return item_id


def load_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> dict[str, Any]:
    """Return one item with labels, files, links and threads, ready to be shown. Raises NotFound with what to do."""
    if ref.project:
        project = resolve_project(store, ref.project, hosts)
    row = _find(store, ref, project)
    item_id = row.pop("id")
    row["assignees"] = json.loads(row["assignees"])
    row["labels"] = _labels(store, [item_id]).get(item_id, [])
    row["files"] = [
        {"new_path": new, "old_path": old, "status": status}
        for new, old, status in store.rows(
            "SELECT new_path, old_path, status FROM item_files WHERE item_id = ? ORDER BY new_path", item_id
        )
    ]
    forge = store.value("SELECT forge FROM projects WHERE id = ?", row["project_id"])
    row["links"] = _load_links(store, item_id, forge)
    row["linked_from"] = _load_backlinks(store, row, forge)
    row["threads"] = _load_threads(store, item_id)
    return row


_SHOWN = (
    "id", "project_id", "kind", "number", "title", "body", "state", "state_reason", "author", "author_role",
    "assignees", "created_at", "updated_at", "closed_at", "merged_at", "url", "tag", "category", "milestone",
    "source_branch", "target_branch", "is_draft", "is_confidential", "deleted_at",
)  # fmt: skip


def _find(store: Store, ref: Ref, project: StoredProject | None) -> dict[str, Any]:
    """Return the row of the item; `#12` means the issue where both exist (GitLab numbers changes apart)."""
    given = {
        "i.tag": ref.tag or None, "i.number": None if ref.tag else ref.number, "i.kind": ref.kind,
        "i.project_id": project.id if project else None,
    }  # fmt: skip
    conditions = {name: value for name, value in given.items() if value is not None}
    if "i.tag" in conditions:
        conditions.pop("i.kind", None)
    rows = store.rows(
        f"SELECT {', '.join(f'i.{name}' for name in _SHOWN)}, p.forge, p.host, p.path FROM items i"
        f" JOIN projects p ON p.id = i.project_id WHERE {' AND '.join(f'{name} = ?' for name in conditions)}"
        " ORDER BY i.deleted_at IS NOT NULL, CASE i.kind WHEN 'issue' THEN 0 WHEN 'change' THEN 1 ELSE 2 END",
        *conditions.values(),
    )  # fmt: skip
    shown = ref.tag or f"{'!' if ref.kind == 'change' else '#'}{ref.number}"
    if not rows:
        where = f"in {project.name}" if project else "in this database"
        raise NotFound(f"{shown} is not {where}", hint="check the number, or bring it in with: forgelore sync")
    if len({row[1] for row in rows}) > 1:
        options = ", ".join(sorted({f"{_name(*row[-3:])}{shown}" for row in rows})[:5])
        raise InvalidValue(f"{shown} exists in several projects", hint=f"say which: {options}")
    row = dict(zip(_SHOWN, rows[0], strict=False))
    ref_text = shown_ref(rows[0][-3], row["kind"], row["number"], row["tag"])
    return {"ref": ref_text, **row, "project": _name(*rows[0][-3:])}


def _load_links(store: Store, item_id: int, forge: str) -> list[dict[str, Any]]:
    rows = store.rows(
        "SELECT relation, target_project, target_kind, target_number, max(source), max(is_withdrawn) FROM item_links"
        " WHERE item_id = ?"
        " GROUP BY 1, 2, 3, 4 ORDER BY relation, target_project, target_number", item_id,
    )  # fmt: skip
    names = ("relation", "project", "kind", "number", "source", "is_withdrawn")
    return [
        {**dict(zip(names, row, strict=True)), "ref": row[1] + shown_ref(forge, row[2] or "", row[3])} for row in rows
    ]


def _load_backlinks(store: Store, row: dict[str, Any], forge: str) -> list[dict[str, Any]]:
    """Return who in the same project points here."""
    rows = store.rows(
        "SELECT l.relation, i.kind, i.number, i.title, i.tag FROM item_links l JOIN items i ON i.id = l.item_id"
        " WHERE l.project_id = ? AND l.target_project = '' AND l.target_number = ? AND (l.target_kind IS NULL OR"
        " l.target_kind = ?)"
        " AND i.deleted_at IS NULL AND NOT (i.kind = ? AND i.number = ?) GROUP BY 1, 2, 3 ORDER BY i.number",
        row["project_id"], row["number"], row["kind"], row["kind"], row["number"],
    )  # fmt: skip
    return [
        {
            "relation": relation,
            "kind": kind,
            "number": number,
            "title": title,
            "ref": shown_ref(forge, kind, number, tag),
        }
        for relation, kind, number, title, tag in rows
    ]


def _load_threads(store: Store, item_id: int) -> list[dict[str, Any]]:
    names = ("author", "body", "created_at", "path", "line", "is_system", "is_internal", "is_answer", "type", "url")
    threads: dict[int, dict[str, Any]] = {}
    rows = store.rows(
        "SELECT t.id, t.key, t.is_resolvable, t.is_resolved, t.path, t.line, n.author, n.body, n.created_at, n.path,"
        " n.line, n.is_system,"
        " n.is_internal, n.is_answer, n.type, n.url FROM threads t JOIN notes n ON n.thread_id = t.id WHERE"
        " t.item_id = ?"
        " ORDER BY n.created_at, length(n.key), n.key", item_id,
    )  # fmt: skip
    for thread_id, key, is_resolvable, is_resolved, path, line, *note in rows:
        thread = threads.setdefault(
            thread_id,
            {
                "key": key,
                "is_resolvable": bool(is_resolvable),
                "is_resolved": bool(is_resolved),
                "path": path,
                "line": line,
                "notes": [],
            },
        )
        thread["notes"].append(dict(zip(names, note, strict=True)))
    return list(threads.values())
