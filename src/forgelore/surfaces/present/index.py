"""The data of `stats`: what is in the index, and what a check found in it."""

from typing import NamedTuple

from msgspec import Struct

from forgelore.api import (
    Checked,
    CodeStats,
    DocumentStats,
    FileStats,
    Finding,
    FullTextStats,
    IndexStats,
    Proof,
    Repair,
    Repaired,
    VectorStats,
    WaitingQueue,
)
from forgelore.surfaces.present.data import MISSING, Absence


class FindingData(Struct, frozen=True):
    """Something in the file that is not as it should be. `remedy`: what to do where a repair does not help."""

    name: str
    count: int
    examples: list[str]
    meaning: str
    remedy: str


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
    check: list[FindingData] | Absence = MISSING
    proofs: list[Proof] | Absence = MISSING
    repair: list[Repair] | Absence = MISSING


def present_stats(stats: IndexStats | None, checked: Checked | None, repaired: Repaired | None) -> StatsData:
    """Return the numbers, and with them what was found and mended where that was asked for."""
    data = StatsData(*stats) if stats else StatsData()
    if checked is not None:
        data = data._replace(check=[_finding(one) for one in checked.findings], proofs=checked.proofs)
    return data if repaired is None else data._replace(repair=repaired.repairs)


def _finding(finding: Finding) -> FindingData:
    """Leave out the rows: they are for the repair."""
    return FindingData(finding.name, finding.count, finding.examples, finding.meaning, finding.remedy)
