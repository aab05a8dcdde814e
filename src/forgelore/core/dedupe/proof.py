"""Proof: has an audit shown that a judge's accepted edges are right often enough for closings?

An audit's counters are its classes. What counts is accepted edges that have a label: tp, fp, and conflict (accepted,
onto another item than the label names, and so wrong).

An audit speaks for what was accepted at its own thresholds. A plan whose edges passed the same or stricter ones is
covered by it; a plan that lets more through is not, and neither is another kind of item.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

MIN_PRECISION = 0.90
MIN_LABELLED = 100


class JudgedEdges(NamedTuple):
    """Edges of a plan by one judge, and the least confidence and gap that all of them passed."""

    judge: str
    model: str
    kind: str
    min_confidence: float
    min_gap: float

    @property
    def name(self) -> str:
        return f"{self.judge} {self.model}".strip()


class AuditResult(NamedTuple):
    """One audit: against what, of which judge, at which thresholds, and how many edges of each class it found. A
    threshold that is None was not kept, and the audit covers nothing. `kinds` None: all of them.
    """

    run_id: int
    against: str  # history, human
    judge: str
    model: str
    policy: str
    classes: Mapping[str, int]
    min_edge: float | None = None
    min_gap: float | None = None
    kinds: frozenset[str] | None = None

    def covers(self, edges: JudgedEdges) -> bool:
        """Tell whether everything that a plan's edges passed was asked for here, or less."""
        is_of_kind = self.kinds is None or edges.kind in self.kinds
        return (
            is_of_kind
            and self.min_edge is not None and self.min_edge <= edges.min_confidence
            and self.min_gap is not None and self.min_gap <= edges.min_gap
        )  # fmt: skip

    @property
    def labelled(self) -> int:
        return sum(self.classes.get(name, 0) for name in ("tp", "fp", "conflict"))

    @property
    def precision(self) -> float:
        return self.classes.get("tp", 0) / self.labelled if self.labelled else 0.0


def find_gap(edges: Iterable[JudgedEdges], audits: Iterable[AuditResult], *, policy: str = "batch") -> str:
    """Return what is missing for a proof, in words; "" when every judge is proven. What people decided needs none.

    Of each judge the newest covering audit against history and the newest against people count: one of them must have
    enough labels, and none with enough labels may fall short.
    """
    known = sorted((one for one in audits if one.policy == policy), key=lambda one: one.run_id)
    for one in sorted(set(edges)):
        if one.judge == "human":
            continue
        measured = [audit for audit in known if (audit.judge, audit.model) == (one.judge, one.model)]
        newest = {audit.against: audit for audit in measured if audit.covers(one)}
        if measured and not newest:
            return (
                f"no audit of the judge {one.name} covers {one.kind}s from a confidence of {one.min_confidence:g} and a"
                f" gap of {one.min_gap:g} on: what was measured was stricter, or of another kind"
            )
        if gap := _gap(one.name, newest.values()):
            return gap
    return ""


def _gap(name: str, audits: Iterable[AuditResult]) -> str:
    found = list(audits)
    if not found:
        return f"no audit has measured the judge {name}"
    enough = [one for one in found if one.labelled >= MIN_LABELLED]
    if not enough:
        most = max(one.labelled for one in found)
        return f"the judge {name} was measured on {most} accepted edges with a label, and {MIN_LABELLED} are needed"
    worst = min(enough, key=lambda one: one.precision)
    if worst.precision < MIN_PRECISION:
        return (
            f"the judge {name} was right in {worst.precision:.0%} of {worst.labelled} accepted edges (against"
            f" {worst.against}, run {worst.run_id}), and {MIN_PRECISION:.0%} are needed"
        )
    return ""
