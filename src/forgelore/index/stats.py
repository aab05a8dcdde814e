"""`stats`: how much is in the index, and what waits. Whether it is sound is `index/check`.

Whether a store can be searched at all: the short look of `doctor`. The long one is `stats --check`.
"""

from typing import Literal, NamedTuple

from forgelore.errors import StoreError
from forgelore.store.code import count_files
from forgelore.store.database import Store
from forgelore.store.documents import find_current_embedder
from forgelore.store.item_lists import count_live
from forgelore.store.jobs import count_waiting
from forgelore.store.sqlite.fulltext import count_cards, count_code_words, count_documents, count_project_code
from forgelore.store.sqlite.schema import find_gaps, load_version, measure_file
from forgelore.store.sqlite.vector_rows import SecondVectors, count_second_vectors, count_vectors
from forgelore.store.stats import (
    WaitingQueue,
    count_all_documents,
    count_kinds,
    count_truncated,
    load_queues,
)
from forgelore.words import JobKind


class DocumentStats(NamedTuple):
    """Documents: `by_kind` of item and by what they tell (item, thread; intent: a card); those cut for length, by
    reason.
    """

    total: int
    by_kind: dict[str, dict[str, int]]
    truncated: int
    truncated_by: dict[str, int]


class EmbedderStats(NamedTuple):
    """The embedder that vectors are of."""

    name: str
    model: str
    dimension: int


class VectorStats(NamedTuple):
    """Documents with vectors of one embedder. `coverage`: their share of all documents, None where there are none.
    `second`: items that have a vector of another one beside them; None where none has.
    """

    embedder: EmbedderStats | None
    embedded: int
    pending: int
    failed: int
    coverage: float | None
    chunks: int
    second: SecondVectors | None = None


class FullTextStats(NamedTuple):
    """Documents that are found by their words."""

    indexed: int


class CodeStats(NamedTuple):
    """Files and commits of clones: how many, the files by language ("": not known), and their chunks."""

    files: int
    by_language: dict[str, int]
    chunks: int
    commits: int


class FileStats(NamedTuple):
    """The database file; its log is counted in `bytes`."""

    path: str
    bytes: int
    schema_version: int


class IndexStats(NamedTuple):
    """How much is there, and what waits: `queues` by kind of job."""

    documents: DocumentStats
    vectors: VectorStats
    full_text: FullTextStats
    queues: dict[str, WaitingQueue]
    file: FileStats
    code: CodeStats


def load_stats(store: Store, fingerprint: str | None = None, *, project_id: int | None = None) -> IndexStats:
    """Return how much is there and what waits, of one project or of all. Vectors are counted for one embedder:
    the given, or the last used.
    """
    with store.snapshot():
        kinds = count_kinds(store, project_id)
        truncated = count_truncated(store, project_id)
        total = sum(count for counts in kinds.values() for count in counts.values())
        queues = load_queues(store, project_id)
        current = find_current_embedder(store, fingerprint)
        counted = count_vectors(store, current[0], project_id) if current else (0, 0)
        second = count_second_vectors(store, project_id)
        return IndexStats(
            DocumentStats(total, kinds, sum(truncated.values()), truncated),
            VectorStats(
                embedder=EmbedderStats(*current[1:]) if current else None,
                embedded=counted[0],
                pending=queues[JobKind.EMBED].waiting - queues[JobKind.EMBED].failing,
                failed=queues[JobKind.EMBED].failing,
                coverage=round(counted[0] / total, 4) if total else None,
                chunks=counted[1],
                second=second[0] if second else None,
            ),
            FullTextStats(count_documents(store, project_id) + count_cards(store, project_id)),
            queues,
            FileStats(store.path, measure_file(store), load_version(store)),
            _code_stats(store, project_id),
        )


def _code_stats(store: Store, project_id: int | None) -> CodeStats:
    languages = count_files(store, project_id)
    chunks, commits = (
        count_code_words(store, index) if project_id is None else count_project_code(store, index, project_id)
        for index in ("code", "commits")
    )
    return CodeStats(sum(languages.values()), languages, chunks, commits)


_ASKED = 50  # documents: some 25 milliseconds
_REPAIR = "run: forgelore stats --check --repair"


class Searchable(NamedTuple):
    """`warning`: nothing is broken, and not everything can be found yet."""

    status: Literal["ok", "warning", "error"]
    message: str
    hint: str = ""


def look_at_search(store: Store) -> Searchable:
    """Look for tables that are missing, for documents, and for some of those by their own words."""
    missing = [name for kind, name in find_gaps(store) if kind == "table"]
    if missing:
        return Searchable("error", f"tables are missing: {', '.join(missing)}", _REPAIR)
    try:
        return _look_at_documents(store)
    except StoreError as error:
        return Searchable("error", error.message, _REPAIR)


def _look_at_documents(store: Store) -> Searchable:
    items = count_live(store)
    documents = count_all_documents(store)
    waiting = count_waiting(store, JobKind.DOCUMENT)
    if not items:
        return Searchable("warning", "nothing to search yet", "fetch a project: forgelore sync OWNER/REPO")
    if not documents:
        message = f"{items:,} items but no documents: nothing can be found"
        if waiting:  # a fetch that was cut off, or --no-docs
            return Searchable("warning", message, "run: forgelore generate-docs")
        return Searchable("error", message, _REPAIR)
    from forgelore.store.sqlite.check import find_unmatched  # `stats` reads numbers alone

    missed, _ = find_unmatched(store, _ASKED)
    if missed:
        word = f"the word {missed[0][1]!r}" if store.viewer.includes_internal else "a word"
        return Searchable("error", f"the full-text index does not find {word} of its own documents", _REPAIR)
    if waiting:
        return Searchable("warning", f"{waiting:,} items cannot be found yet", "run: forgelore generate-docs")
    return Searchable("ok", f"{documents:,} documents can be found")
