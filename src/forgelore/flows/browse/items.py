"""`list`, `count` and `show`: what the store holds, for people and programs."""

import json
from typing import Any

from forgelore.core.names import Hosts, Ref
from forgelore.errors import InvalidValue, NotFound
from forgelore.profiles import profile_of
from forgelore.store.browse import (
    NOTE_COLUMNS,
    SHOWN,
    count_by_group,
    find_shown,
    load_backlinks,
    load_conversation_rows,
    load_links,
    load_listed,
)
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.item_parts import load_files_of, load_labels_of
from forgelore.store.projects import StoredProject, resolve_project
from forgelore.words import KIND_WORDS, Kind, ProjectName

_LISTED = (
    "kind", "number", "title", "state", "state_reason", "author", "created_at", "updated_at", "url", "source_branch",
    "tag",
)  # fmt: skip
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
    rows = load_listed(store, filters, sort=sort, limit=limit)
    labels_of = load_labels_of(store, [row.id for row in rows])
    return [
        {
            "ref": shown_ref(row.forge, row.kind, row.number, row.tag),
            **dict(zip(_LISTED, row[1:12], strict=True)),
            "labels": labels_of.get(row.id, []),
            "project": _name(*row[12:]),
        }
        for row in rows
    ]


def _name(forge: str, host: str, path: str) -> str:
    return str(ProjectName(forge, host, path))


def shown_ref(forge: str, kind: str, number: int, tag: str | None = None) -> str:
    """Return what people of that forge write: #12, GitLab's !34 for changes, a release's tag."""
    if kind == "release":
        return tag or str(number)
    return f"{profile_of(forge).sigil(kind)}{number}"


def count_rows(store: Store, what: str, filters: Filters) -> dict[str, int]:
    """Return counts by state for items; with and without system notes for notes."""
    return count_by_group(store, what, filters) or ({"all": 0} if what == "threads" else {})


def find_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> int:
    """Return the id of the item a person means. Raises NotFound with what to do."""
    if ref.project:
        project = resolve_project(store, ref.project, hosts)
    row, _ = _find(store, ref, project)
    item_id: int = row["id"]
    return item_id


def load_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> dict[str, Any]:
    """Return one item with labels, files, links and threads, ready to be shown. Raises NotFound with what to do."""
    if ref.project:
        project = resolve_project(store, ref.project, hosts)
    row, forge = _find(store, ref, project)
    item_id = row.pop("id")
    row["assignees"] = json.loads(row["assignees"])
    row["labels"] = load_labels_of(store, [item_id]).get(item_id, [])
    row["files"] = [
        {"new_path": new, "old_path": old, "status": status}
        for new, old, status in load_files_of(store, [item_id]).get(item_id, ())
    ]
    row["links"] = _links(store, item_id, forge)
    row["linked_from"] = _backlinks(store, row, forge)
    row["threads"] = _threads(store, item_id)
    return row


def _find(store: Store, ref: Ref, project: StoredProject | None) -> tuple[dict[str, Any], str]:
    """Return the row of the item and its forge; `#12` means the issue where both exist (GitLab numbers changes
    apart).
    """
    given = {
        "tag": ref.tag or None, "number": None if ref.tag else ref.number, "kind": None if ref.tag else ref.kind,
        "project_id": project.id if project else None,
    }  # fmt: skip
    rows = find_shown(store, {name: value for name, value in given.items() if value is not None})
    shown = ref.tag or f"{'!' if ref.kind == 'change' else '#'}{ref.number}"
    if not rows:
        where = f"in {project.name}" if project else "in this database"
        raise NotFound(f"{shown} is not {where}", hint="check the number, or bring it in with: forgelore sync")
    if len({row[1] for row in rows}) > 1:
        options = ", ".join(sorted({f"{_name(*row[-3:])}{shown}" for row in rows})[:5])
        raise InvalidValue(f"{shown} exists in several projects", hint=f"say which: {options}")
    row = dict(zip(SHOWN, rows[0], strict=False))
    forge, host, path = rows[0][-3:]
    ref_text = shown_ref(forge, row["kind"], row["number"], row["tag"])
    return {"ref": ref_text, **row, "project": _name(forge, host, path)}, forge


def _links(store: Store, item_id: int, forge: str) -> list[dict[str, Any]]:
    names = ("relation", "project", "kind", "number", "source", "is_withdrawn")
    return [
        {**dict(zip(names, row, strict=True)), "ref": row[1] + shown_ref(forge, row[2] or "", row[3])}
        for row in load_links(store, item_id)
    ]


def _backlinks(store: Store, row: dict[str, Any], forge: str) -> list[dict[str, Any]]:
    """Return who in the same project points here."""
    return [
        {
            "relation": relation,
            "kind": kind,
            "number": number,
            "title": title,
            "ref": shown_ref(forge, kind, number, tag),
        }
        for relation, kind, number, title, tag in load_backlinks(store, row["project_id"], row["kind"], row["number"])
    ]


def _threads(store: Store, item_id: int) -> list[dict[str, Any]]:
    threads: dict[int, dict[str, Any]] = {}
    for thread_id, key, is_resolvable, is_resolved, path, line, *note in load_conversation_rows(store, item_id):
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
        thread["notes"].append(dict(zip(NOTE_COLUMNS, note, strict=True)))
    return list(threads.values())
