"""`stats`: how much is in the index, and what waits. Whether it is sound is `flows/index/check`."""

from typing import NamedTuple

from forgelore.store.code_files import count_files
from forgelore.store.db import Store
from forgelore.store.engine.code_words import count_code_words, count_project_code
from forgelore.store.engine.second_vectors import SecondVectors, count_second_vectors
from forgelore.store.engine.vector_rows import count_vectors
from forgelore.store.engine.words import count_cards, count_documents
from forgelore.store.health import (
    WaitingQueue,
    count_kinds,
    count_truncated,
    find_current_embedder,
    load_queues,
    measure_file,
)
from forgelore.store.migrate import load_version
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


def load_stats(
    store: Store, fingerprint: str | None = None, *, project_id: int | None = None, is_public: bool = False
) -> IndexStats:
    """Return how much is there and what waits, of one project or of all. Vectors are counted for one embedder:
    the given, or the last used. `is_public`: without documents of confidential items.
    """
    with store.snapshot():
        kinds = count_kinds(store, project_id, is_public=is_public)
        truncated = count_truncated(store, project_id, is_public=is_public)
        total = sum(count for counts in kinds.values() for count in counts.values())
        queues = load_queues(store, project_id, is_public=is_public)
        current = find_current_embedder(store, fingerprint)
        counted = count_vectors(store, current[0], project_id, is_public=is_public) if current else (0, 0)
        second = count_second_vectors(store, project_id, is_public=is_public)
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
            FullTextStats(count_documents(store, project_id, is_public=is_public) + count_cards(store, project_id)),
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
