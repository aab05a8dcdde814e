"""Calibration, learned from a project's own history: lines of templates, the nearest strengths, the fitted chance."""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from forgelore.records import BestMatch
from forgelore.store.database import Store
from forgelore.store.filters import visible_link

LEARNED = ("boilerplate_lines", "boilerplate_runs", "nearest_strengths", "calibrations")  # all that learning writes


class CalibrationScope(NamedTuple):
    """Whose strengths: those of different models are never compared. A model is "family version embedder"."""

    project_id: int
    kind: str
    model: str


StoredCurve = tuple[float, float, float, int]  # slope, intercept, the highest chance, pairs that it was fitted on


def load_boilerplate(store: Store, project_id: int, kind: str) -> frozenset[int]:
    sql = "SELECT line_hash FROM boilerplate_lines WHERE project_id = ? AND kind = ?"
    return frozenset(key for (key,) in store.each(sql, project_id, kind))


def load_boilerplate_size(store: Store, project_id: int, kind: str) -> int:
    """Return how many items the lines were learned from; 0: never."""
    sql = "SELECT items FROM boilerplate_runs WHERE project_id = ? AND kind = ?"
    return int(store.value(sql, project_id, kind) or 0)


def save_boilerplate(
    store: Store, project_id: int, kind: str, *, lines: Mapping[int, int], items: int, now_ms: int
) -> None:
    """Replace the lines of templates that are known of a kind. In a transaction."""
    store.run("DELETE FROM boilerplate_lines WHERE project_id = ? AND kind = ?", project_id, kind)
    store.run_many(
        """
        INSERT INTO boilerplate_lines (project_id, kind, line_hash, items)
        VALUES (?, ?, ?, ?)
        """,
        [(project_id, kind, key, count) for key, count in sorted(lines.items())],
    )
    run = """
        INSERT INTO boilerplate_runs (project_id, kind, items, learned_at)
        VALUES (?, ?, ?, ?)
        ON CONFLICT (project_id, kind) DO UPDATE SET items = excluded.items, learned_at = excluded.learned_at
    """
    store.run(run, project_id, kind, items, now_ms)


def load_strengths(store: Store, scope: CalibrationScope, *, limit: int) -> list[BestMatch]:
    """Return the best strengths of the newest items, in no order that matters."""
    sql = """
        SELECT strength, is_open
        FROM nearest_strengths
        WHERE project_id = ? AND kind = ? AND model = ?
        ORDER BY created_at DESC, item_id DESC
        LIMIT ?
    """
    return [_as_best(*row) for row in store.rows(sql, *scope, limit)]


def load_sampled(store: Store, scope: CalibrationScope) -> set[int]:
    """Return the items whose strength is known."""
    sql = "SELECT item_id FROM nearest_strengths WHERE project_id = ? AND kind = ? AND model = ?"
    return {item_id for (item_id,) in store.each(sql, *scope)}


def save_strengths(
    store: Store, scope: CalibrationScope, rows: Iterable[tuple[int, int, BestMatch]], *, keep: int
) -> None:
    """Add (item, its creation, its best), replacing what was known of the item, and forget the oldest. In a
    transaction.
    """
    store.run_many(
        """
        INSERT INTO nearest_strengths (project_id, kind, model, item_id, created_at, strength, is_open)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (project_id, kind, model, item_id)
        DO UPDATE SET strength = excluded.strength, is_open = excluded.is_open, created_at = excluded.created_at
        """,
        [(*scope, item_id, created_at, *best) for item_id, created_at, best in rows],
    )
    oldest = """
        DELETE FROM nearest_strengths
        WHERE project_id = ? AND kind = ? AND model = ? AND item_id NOT IN (
            SELECT item_id
            FROM nearest_strengths
            WHERE project_id = ? AND kind = ? AND model = ?
            ORDER BY created_at DESC, item_id DESC
            LIMIT ?)
    """
    store.run(oldest, *scope, *scope, keep)


def load_strengths_of(store: Store, scope: CalibrationScope, *, without: set[int]) -> list[BestMatch]:
    """Return the strengths of sampled items, without some items."""
    sql = """
        SELECT item_id, strength, is_open
        FROM nearest_strengths
        WHERE project_id = ? AND kind = ? AND model = ?
        ORDER BY item_id
    """
    return [_as_best(*best) for item_id, *best in store.each(sql, *scope) if item_id not in without]


def _as_best(strength: float, is_open: int | None) -> BestMatch:
    return BestMatch(strength, None if is_open is None else bool(is_open))


def load_duplicates(
    store: Store, project_id: int, kind: str, *, limit: int, shown: bool = False
) -> dict[int, set[int]]:
    """Return item -> the earlier items of its kind that it was said to repeat, newest first.

    What somebody merely wrote counts once the item is closed: until then it is an opinion. `shown`: without what stands
    in a note that the viewer may not read.
    """
    sql = f"""
        SELECT i.id, t.id
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        JOIN items t ON t.project_id = i.project_id AND t.number = l.target_number AND t.kind = i.kind
        WHERE l.project_id = ? AND i.kind = ? AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn
          AND l.target_project = '' AND coalesce(l.target_kind, i.kind) = i.kind AND t.created_at < i.created_at
          AND i.deleted_at IS NULL AND t.deleted_at IS NULL AND (l.source <> 'text' OR i.state IS DISTINCT FROM 'open')
          AND {visible_link(store) if shown else "1"}
        ORDER BY i.created_at DESC, i.id DESC, t.id
    """
    found: dict[int, set[int]] = {}
    for item_id, target_id in store.rows(sql, project_id, kind):
        if item_id in found or len(found) < limit:
            found.setdefault(item_id, set()).add(target_id)
    return found


def load_calibration(store: Store, scope: CalibrationScope) -> StoredCurve | None:
    """Return the curve that was fitted for a kind; None where there is none."""
    sql = """
        SELECT slope, intercept, most, pairs
        FROM calibrations
        WHERE project_id = ? AND kind = ? AND model = ?
    """
    return store.row(sql, *scope)


def is_calibrated_otherwise(store: Store, scope: CalibrationScope) -> bool:
    """True where the kind was calibrated for another model, and not for this one."""
    sql = "SELECT model FROM calibrations WHERE project_id = ? AND kind = ?"
    models = {model for (model,) in store.rows(sql, scope.project_id, scope.kind)}
    return bool(models) and scope.model not in models


def list_learned(store: Store, project_id: int) -> set[tuple[str, str]]:
    """Return what was learned of a project: (kind, what gave the cosines)."""
    sql = """
        SELECT kind, substr(model, 1, instr(model, ' ') - 1)
        FROM nearest_strengths
        WHERE project_id = ?1
        UNION
        SELECT kind, substr(model, 1, instr(model, ' ') - 1)
        FROM calibrations
        WHERE project_id = ?1
    """
    return {(kind, name) for kind, name in store.rows(sql, project_id)}


def list_outdated(store: Store, project_id: int, version: int) -> set[tuple[str, str]]:
    """Return what is stored that another version of the ranking has learned: (kind, what gave the cosines)."""
    sql = """
        SELECT kind, substr(model, 1, instr(model, ' ') - 1)
        FROM nearest_strengths
        WHERE project_id = ?1 AND substr(model, instr(model, ' ') + 1) || ' ' NOT LIKE ?2
        UNION
        SELECT kind, substr(model, 1, instr(model, ' ') - 1)
        FROM calibrations
        WHERE project_id = ?1 AND substr(model, instr(model, ' ') + 1) || ' ' NOT LIKE ?2
    """
    return {(kind, name) for kind, name in store.rows(sql, project_id, f"{version} %")}


def forget_outdated(store: Store, project_id: int, version: int) -> None:
    """Forget what other versions of the ranking have learned. In a transaction."""
    strengths = """
        DELETE FROM nearest_strengths
        WHERE project_id = ? AND substr(model, instr(model, ' ') + 1) || ' ' NOT LIKE ?
    """
    curves = """
        DELETE FROM calibrations
        WHERE project_id = ? AND substr(model, instr(model, ' ') + 1) || ' ' NOT LIKE ?
    """
    for sql in (strengths, curves):
        store.run(sql, project_id, f"{version} %")


def save_calibration(
    store: Store, scope: CalibrationScope, curve: StoredCurve, others: int, report: Mapping[str, object], now_ms: int
) -> None:
    """Replace the calibration of a kind, of whatever model it was. In a transaction."""
    store.run("DELETE FROM calibrations WHERE project_id = ? AND kind = ?", scope.project_id, scope.kind)
    sql = """
        INSERT INTO calibrations
            (project_id, kind, model, slope, intercept, most, pairs, others, report, calibrated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
    store.run(sql, *scope, *curve, others, json.dumps(dict(report), sort_keys=True), now_ms)
