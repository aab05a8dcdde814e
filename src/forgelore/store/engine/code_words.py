"""The words of code and of commits: full text of its own, so that neither changes how conversations are ranked."""

import json
from collections.abc import Iterable
from typing import Literal, NamedTuple

from forgelore.store.db import Store
from forgelore.store.engine.fulltext import Found, match_id

CodeWords = Literal["code", "commits"]


class WordRow(NamedTuple):
    """What is found of a chunk or a commit: where it is, what it defines (or its subject), its text, split words."""

    id: int
    path: str
    names: str
    text: str
    terms: str


class ColumnWeights(NamedTuple):
    """What a word is worth in each column."""

    path: float
    names: float
    text: float
    terms: float


def add_code_words(store: Store, index: CodeWords, rows: Iterable[WordRow]) -> None:
    """Make chunks or commits findable by their words."""
    sql = f"""
        INSERT INTO {index}_fts (rowid, path, names, text, terms)
        VALUES (?, ?, ?, ?, ?)
    """
    store.run_many(sql, rows)


def remove_code_words(store: Store, index: CodeWords, ids: Iterable[int]) -> None:
    store.run_many(f"DELETE FROM {index}_fts WHERE rowid = ?", [(one,) for one in ids])


def search_code_words(
    store: Store, index: CodeWords, expression: str, weights: ColumnWeights, *, limit: int, allowed: str = "",
    bindings: tuple[object, ...] = (),
) -> list[Found]:  # fmt: skip
    """Return matching chunks or commits, best first. `allowed`: a query for the ids that may be returned."""
    within = f"AND {match_id('w')} IN ({allowed})" if allowed else ""
    sql = f"""
        SELECT w.rowid, -bm25({index}_fts, {", ".join(map(str, weights))}) AS score
        FROM {index}_fts w
        WHERE {index}_fts MATCH ? {within}
        ORDER BY score DESC, w.rowid
        LIMIT ?
    """
    return [Found(*row) for row in store.rows(sql, expression, *bindings, limit)]


def count_code_words(store: Store, index: CodeWords) -> int:
    return int(store.value(f"SELECT count(*) FROM {index}_fts_docsize"))


def count_project_code(store: Store, index: CodeWords, project_id: int) -> int:
    """Return how many chunks of code, or commits, full text holds of one project."""
    table = "code_chunks" if index == "code" else "commits"
    sql = f"""
        SELECT count(*)
        FROM {table} t
        WHERE t.project_id = ? AND EXISTS (SELECT 1 FROM {index}_fts_docsize w WHERE w.id = t.id)
    """
    return int(store.value(sql, project_id))


def load_code_counts(store: Store, index: CodeWords, stems: Iterable[str]) -> dict[str, int]:
    """Return how many chunks or commits hold each stem; a stem that none holds is missing."""
    sql = f"""
        SELECT term, doc
        FROM {index}_vocab
        WHERE term IN (SELECT value FROM json_each(?))
    """
    return dict(store.rows(sql, json.dumps(list(dict.fromkeys(stems)))))


def find_code_gaps(store: Store, index: CodeWords, table: str) -> list[int]:
    """Return rows of a table that full text does not know, and those that it knows and that are gone."""
    sql = f"""
        SELECT id
        FROM {table}
        WHERE id NOT IN (SELECT id FROM {index}_fts_docsize)
        UNION ALL
        SELECT id
        FROM {index}_fts_docsize
        WHERE id NOT IN (SELECT id FROM {table})
    """
    return [row[0] for row in store.rows(sql)]


def find_code_damage(store: Store, index: CodeWords) -> list[str]:
    """Return what SQLite says against the index itself; nothing when it is sound."""
    found = store.rows(f"PRAGMA main.integrity_check({index}_fts)")
    return [str(line) for (line,) in found if line != "ok"]
