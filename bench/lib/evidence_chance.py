"""What the chance is worth: how often the first match was right, at the natural share of duplicates."""

import numpy as np

from forgelore.compare.calibration import Case, Curve, calibration_error, fit_curve, reliability
from lib.common import HERE, table
from lib.diagram import save_diagram
from lib.evidence_data import Tracker
from lib.evidence_fit import Fit, Held, is_asked

START = Curve(1.0, -3.0, 0)
ISSUES = {"bitcoin": 8_189, "hadoop": 2_503, "seamonkey": 1_076, "rust": 15_800}


def cases_of(tracker: Tracker, fit: Fit) -> list[Case]:
    """The first match of every issue query; those without an answer stand for all such issues of the tracker."""
    queries = tracker.queries
    strengths = fit.strengths(queries)
    known, others = (np.flatnonzero(is_asked(queries, has_gold=has_gold)) for has_gold in (True, False))
    weight = max(1.0, (ISSUES[tracker.name] - len(known)) / len(others))
    found = []
    first = queries.first(strengths)
    for at in [*known, *others]:
        row = int(first[at])
        if row >= 0:
            stands_for = 1.0 if queries.gold_count[at] else weight
            found.append(Case(float(strengths[row]), bool(queries.is_gold[row]), stands_for))
    return found


def chance_table(held: list[Held], embedder: str) -> tuple[str, float]:
    told: list[tuple[float, bool, float]] = []
    rows, series = [], []
    for one in held:
        others = [other for other in held if other.tracker.name != one.tracker.name]
        curve = fit_curve([case for other in others for case in cases_of(other.tracker, other.fit)], START, prior=0.0)
        each = [
            (curve.chance(case.strength).value, case.is_right, case.weight) for case in cases_of(one.tracker, one.fit)
        ]
        told += each
        above = [entry for entry in each if entry[0] >= 0.1]
        rows.append([one.tracker.name, len(each), f"{calibration_error(each):.4f}", len(above), *said(above)])
        series.append([(group.stated, group.right) for group in reliability(each, bins=10)])
    error = calibration_error(told)
    above = [entry for entry in told if entry[0] >= 0.1]
    rows.append(["all", len(told), f"{error:.4f}", len(above), *said(above)])
    name = f"chance{'' if embedder == 'lore' else f'-{embedder}'}.png"
    save_diagram(HERE / "results" / name, [*series, [(g.stated, g.right) for g in reliability(told, bins=10)]], top=0.2)
    head = ["issues of", "n", "expected calibration error", "chance >= 0.1: n", "told", "right"]
    note = (
        f"Issues without an answer count as often as there are such issues. ![told and right]({name}) Blue, red, green,"
        " violet: the trackers; both axes end at 0.2. Labels are incomplete, so `right` is a lower bound."
    )
    return table(head, rows) + "\n\n" + note, error


def said(entries: list[tuple[float, bool, float]]) -> list[str]:
    weight = sum(entry[2] for entry in entries)
    if not weight:
        return ["-", "-"]
    return [f"{sum(c * w for c, _, w in entries) / weight:.2f}", f"{sum(r * w for _, r, w in entries) / weight:.2f}"]
