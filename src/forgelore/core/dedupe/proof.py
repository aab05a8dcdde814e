"""Proof: has an audit shown that a judge's accepted edges are right often enough for closings?

An audit's counters are its classes. What counts is accepted edges that have a label: tp, fp, and conflict (accepted,
onto another item than the label names, and so wrong).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

MIN_PRECISION = 0.90
MIN_LABELLED = 100


class AuditResult(NamedTuple):
    """One audit: against what, of which judge, and how many edges of each class it found."""

    run_id: int
    against: str  # history, human
    judge: str
    model: str
    policy: str
    classes: Mapping[str, int]

    @property
    def labelled(self) -> int:
        return sum(self.classes.get(name, 0) for name in ("tp", "fp", "conflict"))

    @property
    def precision(self) -> float:
        return self.classes.get("tp", 0) / self.labelled if self.labelled else 0.0


def find_gap(judges: Iterable[tuple[str, str]], audits: Iterable[AuditResult], *, policy: str = "batch") -> str:
    """Return what is missing for a proof, in words; "" when every judge is proven. What people decided needs none.

    Of each judge the newest audit against history and the newest against people count: one of them must have enough
    labels, and none with enough labels may fall short.
    """
    known = list(audits)
    for judge, model in sorted(set(judges)):
        if judge == "human":
            continue
        newest: dict[str, AuditResult] = {}
        for audit in sorted(known, key=lambda one: one.run_id):
            if (audit.judge, audit.model, audit.policy) == (judge, model, policy):
                newest[audit.against] = audit
        if gap := _gap(f"{judge} {model}".strip(), newest.values()):
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
