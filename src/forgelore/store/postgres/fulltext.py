"""Full text in PostgreSQL: our own stems as a `tsvector` with a GIN index, and BM25 worked out by the server.

A row of `document_words` has the words of a document (`words.collect_words`), how often each is there, weighted by
column, and how many there are. The index finds the matches; the counts rank them as FTS5 would: the sum, over what was
asked for, of its rarity times how much of the document it is. Of a phrase the rarest of its words counts.

At most 20,000 matches are ranked. How many documents there are, and how long they are on average, is counted anew as
often as common words are, where there are many.
"""

import json
import math
from collections.abc import Callable, Iterable

from forgelore.store.database import Store
from forgelore.store.filters import Allowed, Condition, and_visible_document
from forgelore.store.postgres.words import Leaf, collect_words, parse_expression, tokenizer
from forgelore.store.postgres.words import make_stems as stems_of
from forgelore.store.sqlite.fulltext import COMMON_SHARE, MAX_COUNTED, MIN_COMMON, Found, Stemmer
from forgelore.text.terms import char_offsets
from forgelore.words import Source

MAX_RANKED = 20_000
_COUNTED_LIVE = 20_000  # documents: counting more than these at each search takes longer than the search
_GROWTH = 0.25
_K1, _B, _LEAST = 1.2, 0.75, 1e-6  # as in FTS5


def add_text(store: Store, document_id: int, title: str, text: str, terms: str, *, source: Source = "raw") -> None:
    found = collect_words([("title", title), ("terms", terms), ("text", text)])
    sql = """
        INSERT INTO document_words (document_id, is_card, words, counts, size)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (document_id) DO UPDATE
        SET is_card = excluded.is_card, words = excluded.words, counts = excluded.counts, size = excluded.size
    """
    counts = json.dumps(found.counts, ensure_ascii=False)
    store.run(sql, document_id, source == "intent", found.vector, counts, found.size)


def remove_text(
    store: Store, document_id: int, _title: str, _text: str, _terms: str, *, source: Source = "raw"
) -> None:
    sql = "DELETE FROM document_words WHERE document_id = ? AND is_card = ?"
    store.run(sql, document_id, source == "intent")


def compact_words(store: Store) -> None:
    """Nothing to do: what was removed goes with the server's next vacuum."""


def overwrite_words(store: Store) -> None:
    """Nothing to do; who has to be sure runs VACUUM FULL."""


def search_words(
    store: Store, expression: str, limit: int, allowed: Allowed | None = None, *, source: Source = "raw"
) -> list[Found]:
    asked = parse_expression(expression)
    if not asked.query:
        return []
    total, average = _measure(store, source)
    score, bindings = _score(store, asked.leaves, total, average, source)
    within = _within(allowed)
    sql = f"""
        SELECT w.document_id, {score} AS score
        FROM (
            SELECT document_id, words, counts, size
            FROM document_words
            WHERE words @@ CAST(? AS tsquery) AND is_card = ? AND {within.sql}
            LIMIT {MAX_RANKED}
        ) w
        ORDER BY 2 DESC, 1
        LIMIT ?
    """
    rows = store.rows(sql, *bindings, asked.query, source == "intent", *within.bindings, limit)
    return [Found(document_id, float(found)) for document_id, found in rows]


def _score(
    store: Store, leaves: tuple[Leaf, ...], total: int, average: float, source: Source
) -> tuple[str, list[object]]:
    """Return BM25 as an expression on a row `w`, and its bindings."""
    words = {leaf.stems[0] for leaf in leaves if len(leaf.stems) == 1 and not leaf.is_prefix and not leaf.letters}
    counts = load_document_counts(store, words) if source == "raw" else {}
    parts, bindings = [], list[object]()
    for leaf in leaves:
        is_word = leaf.stems[0] in counts and len(leaf.stems) == 1 and not leaf.is_prefix and not leaf.letters
        holding = counts[leaf.stems[0]] if is_word else _count(store, leaf.query, source, MAX_RANKED)
        rarity = max(math.log((total - holding + 0.5) / (holding + 0.5)), _LEAST) if total > holding else _LEAST
        times = ", ".join(["coalesce(CAST(w.counts ->> ? AS DOUBLE PRECISION), 0)"] * len(leaf.stems))
        often = f"least({times})" if len(leaf.stems) > 1 else times
        held: list[object] = [*leaf.stems]
        if leaf.is_prefix or leaf.letters or len(leaf.stems) > 1:
            often = f"CASE WHEN w.words @@ CAST(? AS tsquery) THEN greatest({often}, 1) ELSE 0 END"
            held.insert(0, leaf.query)
        share = f"f + {_K1} * ({1 - _B} + {_B} * w.size / {average!r})"
        parts.append(f"(SELECT {rarity!r} * f * {_K1 + 1} / ({share}) FROM (SELECT {often} AS f) x)")
        bindings += held
    return " + ".join(parts) or "0.0", bindings


def _measure(store: Store, source: Source) -> tuple[int, float]:
    """Return how many documents there are, and how many words they have on average."""
    kept: dict[str, int] = {}
    if source == "raw":
        kept = dict(store.rows("SELECT name, value FROM index_facts WHERE name LIKE '%_counted'"))
    if kept.get("documents_counted", 0) > _COUNTED_LIVE and "words_counted" in kept:
        total, size = kept["documents_counted"], kept["words_counted"]
    else:
        row = store.row("SELECT count(*), sum(size) FROM document_words WHERE is_card = ?", source == "intent")
        total, size = row or (0, 0)
    return total, max((size or 0) / total, 1.0) if total else 1.0


def _count(store: Store, query: str, source: Source, most: int) -> int:
    sql = """
        SELECT count(*)
        FROM (SELECT 1 FROM document_words WHERE words @@ CAST(? AS tsquery) AND is_card = ? LIMIT ?) w
    """
    return int(store.value(sql, query, source == "intent", most))


def _within(allowed: Allowed | None) -> Condition:
    return Condition(f"document_id IN ({allowed.sql})", allowed.bindings) if allowed else Condition("TRUE", ())


def list_with_words(store: Store, expression: str, limit: int, allowed: Allowed | None = None) -> list[int]:
    asked = parse_expression(expression)
    if not asked.query:
        return []
    within = _within(allowed)
    sql = f"""
        SELECT document_id
        FROM document_words
        WHERE words @@ CAST(? AS tsquery) AND NOT is_card AND {within.sql}
        ORDER BY document_id DESC
        LIMIT ?
    """
    return [row_id for (row_id,) in store.rows(sql, asked.query, *within.bindings, limit)]


def count_items(
    store: Store, expression: str, allowed: Allowed | None = None, *, source: Source = "raw", most: int = MAX_COUNTED
) -> tuple[int, bool]:
    asked = parse_expression(expression)
    if not asked.query:
        return 0, True
    within = _within(allowed)
    sql = f"""
        SELECT count(*), count(DISTINCT d.item_id)
        FROM (
            SELECT document_id
            FROM document_words
            WHERE words @@ CAST(? AS tsquery) AND is_card = ? AND {within.sql}
            LIMIT ?
        ) f
        JOIN documents d ON d.id = f.document_id
    """
    ((documents, items),) = store.rows(sql, asked.query, source == "intent", *within.bindings, most)
    return items, documents < most


def make_stemmer(_store: Store) -> Stemmer:
    import apsw

    tokenize = tokenizer()

    def stem(text: str) -> list[tuple[int, int, str]]:
        data = text.encode()
        return char_offsets(data, tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None))

    return stem


def make_stems(_store: Store) -> Callable[[str], list[str]]:
    return stems_of()


def count_documents(store: Store, project_id: int | None = None) -> int:
    sql = f"""
        SELECT count(*)
        FROM document_words w
        WHERE NOT w.is_card {_of_project(project_id)} {and_visible_document(store, "w.document_id")}
    """
    return int(store.value(sql))


def count_cards(store: Store, project_id: int | None = None) -> int:
    return int(store.value(f"SELECT count(*) FROM document_words w WHERE w.is_card {_of_project(project_id)}"))


def _of_project(project_id: int | None) -> str:
    if project_id is None:
        return ""
    return f"AND EXISTS (SELECT 1 FROM documents d WHERE d.id = w.document_id AND d.project_id = {int(project_id)})"


def has_documents(store: Store) -> bool:
    return bool(store.value("SELECT EXISTS (SELECT 1 FROM document_words WHERE NOT is_card)"))


def estimate_documents(store: Store) -> int:
    return int(store.value("SELECT max(document_id) FROM document_words") or 0)


def load_document_counts(store: Store, stems: Iterable[str]) -> dict[str, int]:
    wanted = list(dict.fromkeys(stems))
    common = "SELECT word, documents FROM common_words WHERE word IN (SELECT value FROM json_each(?))"
    found: dict[str, int] = dict(store.rows(common, json.dumps(wanted))) if wanted else {}
    rare = [stem for stem in wanted if stem not in found]
    if not rare:
        return found
    leaves = [Leaf((stem,)) for stem in rare]
    counted = ", ".join(
        "(SELECT count(*) FROM document_words WHERE words @@ CAST(? AS tsquery) AND NOT is_card)" for _ in leaves
    )
    (counts,) = store.rows(f"SELECT {counted}", *[leaf.query for leaf in leaves])
    found.update((stem, count) for stem, count in zip(rare, counts, strict=True) if count)
    return found


def refresh_common_words(store: Store, *, is_forced: bool = False) -> bool:
    row = store.row("SELECT count(*), sum(size) FROM document_words WHERE NOT is_card")
    now, size = row or (0, 0)
    before = store.value("SELECT value FROM index_facts WHERE name = 'documents_counted'") or 0
    if not is_forced and abs(now - before) <= _GROWTH * max(before, 1):
        return False
    floor = max(MIN_COMMON, int(now * COMMON_SHARE))
    counted = """
        INSERT INTO index_facts (name, value)
        VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    words = """
        INSERT INTO common_words (word, documents)
        SELECT word, ndoc
        FROM ts_stat('SELECT words FROM document_words WHERE NOT is_card')
        WHERE ndoc >= ?
    """
    with store.transaction():
        store.run("DELETE FROM common_words")
        store.run(words, floor)
        store.run_many(counted, [("documents_counted", now), ("words_counted", size or 0)])
    return True


def forget_common_words(store: Store) -> None:
    store.run("DELETE FROM common_words")
    store.run("DELETE FROM index_facts WHERE name IN ('documents_counted', 'words_counted')")


def count_code_words(_store: Store, _index: str) -> int:
    """Code and commits are not indexed here yet: `add_code_words` is missing, and says so."""
    return 0


def count_project_code(_store: Store, _index: str, _project_id: int) -> int:
    return 0


def load_code_counts(_store: Store, _index: str, _stems: Iterable[str]) -> dict[str, int]:
    return {}


def search_code_words(_store: Store, _index: str, _expression: str, _weights: object, **_how: object) -> list[Found]:
    return []


def is_found(store: Store, source: Source, document_id: int, word: str) -> bool:
    sql = "SELECT 1 FROM document_words WHERE words @@ CAST(? AS tsquery) AND document_id = ? AND is_card = ?"
    query = parse_expression(f'"{word}"').query
    return bool(query) and store.row(sql, query, document_id, source == "intent") is not None


def make_word_scores(_store: Store) -> None:
    """The server ranks each question by itself."""
