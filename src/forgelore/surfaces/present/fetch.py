"""The data of `sync`, `ingest`, `import` and `replay` (what came, and what the index made of it), and of `stats`."""

from typing import NamedTuple

from forgelore.api import (
    Checked,
    CodeStats,
    DocumentStats,
    Embedded,
    FileStats,
    Finding,
    FullTextStats,
    ImportResult,
    Indexed,
    IndexStats,
    Proof,
    Repair,
    Repaired,
    ReplayedProject,
    SyncedProject,
    UpdatedIndex,
    VectorStats,
    WaitingQueue,
)
from forgelore.errors import LoreError
from forgelore.surfaces.present.data import MISSING, Absence, ErrorData, present_error


class SyncData(NamedTuple):
    """What a sync did. `written`: rows by kind; `documents` and `vectors`: null for what was left out."""

    project: str
    written: dict[str, int]
    requests: int
    rows_written: int
    deleted: int
    replayed: int
    pending_jobs: int
    failing_jobs: int
    warnings: list[str]
    documents: Indexed | None
    vectors: Embedded | None


class FailedSyncData(NamedTuple):
    """One of several projects that could not be synced."""

    project: str
    error: ErrorData


class SkippedLine(NamedTuple):
    """A line of the file that became no item."""

    line: int
    reason: str


class UnknownKey(NamedTuple):
    """A key that means nothing here, and the first line that has it."""

    key: str
    line: int


class ImportData(NamedTuple):
    """What an import did. `read` lines = `items` + `repeated` + skipped; `written`: items that are new or changed."""

    project: str
    read: int
    items: int
    repeated: int
    written: int
    notes: int
    skipped: list[SkippedLine]
    unknown: list[UnknownKey]
    documents: Indexed | None
    vectors: Embedded | None


class ReplayData(NamedTuple):
    """What was read again, in items: those whose rows were mended, and those of which an answer is missing."""

    project: str
    read: int
    restored: int
    incomplete: int
    is_project_restored: bool
    documents: Indexed | None
    vectors: Embedded | None


def present_sync(synced: SyncedProject) -> SyncData:
    result, index = synced.result, synced.index
    return SyncData(
        result.project, result.written, result.requests, result.rows_written, result.deleted, result.replayed,
        result.pending_jobs, result.failing_jobs, result.warnings, index.documents, index.vectors,
    )  # fmt: skip


def present_failed_sync(project: str, error: LoreError) -> FailedSyncData:
    return FailedSyncData(project, present_error(error))


def present_import(result: ImportResult, index: UpdatedIndex) -> ImportData:
    return ImportData(
        result.project, result.read, result.items, result.repeated, result.written, result.notes,
        [SkippedLine(bad.number, bad.reason) for bad in result.bad],
        [UnknownKey(key, line) for key, line in result.unknown.items()], index.documents, index.vectors,
    )  # fmt: skip


def present_replay(done: ReplayedProject) -> ReplayData:
    return ReplayData(
        done.project, done.read, done.restored, done.incomplete, done.is_project_restored, done.index.documents,
        done.index.vectors,
    )  # fmt: skip


class StatsData(NamedTuple):
    """How much is there, and what waits; not there where a check found a file that cannot be read. `check` and `proofs`
    come with --check, `repair` with --repair.
    """

    documents: DocumentStats | Absence = MISSING
    vectors: VectorStats | Absence = MISSING
    full_text: FullTextStats | Absence = MISSING
    queues: dict[str, WaitingQueue] | Absence = MISSING
    file: FileStats | Absence = MISSING
    code: CodeStats | Absence = MISSING
    check: list[Finding] | Absence = MISSING
    proofs: list[Proof] | Absence = MISSING
    repair: list[Repair] | Absence = MISSING


def present_stats(stats: IndexStats | None, checked: Checked | None, repaired: Repaired | None) -> StatsData:
    """Return the numbers, and with them what was found and mended where that was asked for."""
    data = StatsData(*stats) if stats else StatsData()
    if checked is not None:
        data = data._replace(check=checked.findings, proofs=checked.proofs)
    return data if repaired is None else data._replace(repair=repaired.repairs)
