"""Bug or feature: how many items are told apart, how often title and form agree with labels, and what the gate costs.

Four trackers. The gate objects to a pair of a fault and a wish; on a known duplicate that is a loss, on any other pair
a gain. Labels are those that the trackers have today; when an item is filed it has few of them, so both are shown.

    python bench/run.py item_types
"""

import gzip
import json
import random
import typing
from collections import Counter

from forgelore.dedupe.verdict import find_item_type
from lib.common import Skipped, report, table
from quality import CORPORA, query_lines

TRACKERS = ("bitcoin", "rust", "hadoop", "seamonkey")
SEED = 7
NOTE = (
    "Shares are of issues that are called a bug or a feature, with their labels and without. Agreement is counted"
    " where both tell: what title and form say of issues whose labels tell. A pair is vetoed when one of it is a bug"
    " and the other a feature; `known duplicates` are all pairs of an item and one of its gold items, `other pairs` as"
    " many drawn by chance (seed 7) from the same issues."
)


class Item(typing.NamedTuple):
    title: str
    body: str
    labels: list[str]

    def told(self, *, with_labels: bool) -> str:
        return find_item_type(self.title, self.body, self.labels if with_labels else ())


def main(_arguments: list[str]) -> None:
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    found = {name: load_issues(name) for name in TRACKERS}
    parts = [
        NOTE, "## Told apart", coverage_table(found), "## Title and form beside labels", agreement_table(found),
        "## Pairs that the gate vetoes", veto_table(found),
    ]  # fmt: skip
    report("item_types", "Bug or feature", parts)


def load_issues(tracker: str) -> dict[int, Item]:
    with gzip.open(CORPORA / f"{tracker}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        return {
            row["number"]: Item(row["title"] or "", row["body"] or "", row.get("labels") or [])
            for row in rows
            if row["kind"] == "issue"
        }


def coverage_table(found: dict[str, dict[int, Item]]) -> str:
    rows: list[list[object]] = []
    for name, issues in found.items():
        shares = []
        for with_labels in (True, False):
            told = Counter(item.told(with_labels=with_labels) for item in issues.values())
            shares += [f"{told[kind] / len(issues):.1%}" for kind in ("bug", "feature")]
        rows.append([name, len(issues), *shares])
    head = ["tracker", "issues", "bug", "feature", "bug, without labels", "feature, without labels"]
    return table(head, rows)


def agreement_table(found: dict[str, dict[int, Item]]) -> str:
    rows: list[list[object]] = []
    for name, issues in found.items():
        pairs: Counter[tuple[str, str]] = Counter()
        for item in issues.values():
            by_label = find_item_type("", "", item.labels)
            if by_label != "unknown":
                pairs[by_label, item.told(with_labels=False)] += 1
        for kind in ("bug", "feature"):
            said = sum(count for (_, text), count in pairs.items() if text == kind)
            right = pairs[kind, kind]
            rows.append(
                [
                    name,
                    kind,
                    sum(count for (label, _), count in pairs.items() if label == kind),
                    said,
                    share(right, said),
                ]
            )
    return table(["tracker", "type", "so by labels", "so by title or form", "of these agree"], rows)


def veto_table(found: dict[str, dict[int, Item]]) -> str:
    rows: list[list[object]] = []
    for name, issues in found.items():
        asked = [row for row in query_lines(name) if row["kind"] == "issue" and row["gold"]]
        known = [(row["query"], gold) for row in asked for gold in row["gold"] if {row["query"], gold} <= issues.keys()]
        numbers, chance = sorted(issues), random.Random(SEED)
        others = [(query, chance.choice(numbers)) for query, _ in known]
        vetoed = [
            share(sum(is_vetoed(issues, pair, with_labels=with_labels) for pair in pairs), len(pairs))
            for with_labels in (True, False)
            for pairs in (known, others)
        ]
        rows.append([name, len(known), *vetoed])
    head = ["tracker", "pairs", "known duplicates", "other pairs", "known, without labels", "other, without labels"]
    return table(head, rows)


def is_vetoed(issues: dict[int, Item], pair: tuple[int, int], *, with_labels: bool) -> bool:
    return {issues[number].told(with_labels=with_labels) for number in pair} == {"bug", "feature"}


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "none"
