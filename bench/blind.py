"""Pairs for a blind reading: what would be flagged, with ordinary neighbours mixed in, as texts alone.

Flagged are ordinary issues (nobody marked them as duplicates) whose best match is stronger than 95 % of their kind has,
by trees that were grown without their tracker; ordinary pairs are an issue and something from the 20th to the 40th
place of its list. Readers see `blind.jsonl` and write {"id": ..., "label": "duplicate" | "related" | "unrelated"};
`blind-key.jsonl` says which pair is what, and is theirs to see afterwards.

    python bench/run.py blind FOLDER                          write both files
    python bench/run.py blind FOLDER FIRST.jsonl SECOND.jsonl what two readers found, and how far they agree
"""

import gzip
import json
import pathlib
import typing

import numpy as np

from evidence import hold_out
from forgelore.compare.scoring import wilson
from lib.common import Skipped, report, table
from lib.evidence_data import load_trackers
from lib.evidence_fit import Held, columns, is_asked
from quality import CORPORA

FLAGGED, ORDINARY = 100, 50  # pairs
SHARE = 0.05  # of ordinary issues that are flagged
PLACES = (20, 40)
SHOWN = 1_500  # characters of a body
SEED = 12
LABELS = ("duplicate", "related", "unrelated")


class Pair(typing.NamedTuple):
    tracker: str
    query: int
    match: int
    is_flagged: bool


def main(arguments: list[str]) -> None:
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    if not arguments:
        raise Skipped("it needs a folder to write to")
    folder = pathlib.Path(arguments[0])
    if arguments[1:]:
        score([read_lines(pathlib.Path(name)) for name in arguments[1:]], read_lines(folder / "blind-key.jsonl"))
        return
    held = hold_out(load_trackers("lore"), columns())
    chance = np.random.default_rng(SEED)
    pairs = [*share_out(held, FLAGGED, chance, flagged_of), *share_out(held, ORDINARY, chance, ordinary_of)]
    write_pairs(folder, [pairs[at] for at in chance.permutation(len(pairs))])


def share_out(
    held: list[Held], count: int, chance: np.random.Generator, find: typing.Callable[[Held, np.random.Generator], list]
) -> list[Pair]:
    """As many of each tracker; what a small one lacks, the largest gives."""
    each = sorted((find(one, chance) for one in held), key=len)
    found: list[Pair] = []
    for at, pairs in enumerate(each):
        wanted = (count - len(found)) // (len(each) - at)
        found += [pairs[place] for place in chance.permutation(len(pairs))[:wanted]]
    return found


def flagged_of(one: Held, _chance: np.random.Generator) -> list[Pair]:
    queries, strengths = one.tracker.queries, one.strengths()
    best, first = queries.best(strengths), queries.first(strengths)
    ordinary = is_asked(queries, has_gold=False)
    bar = np.sort(best[ordinary])[::-1][int(SHARE * ordinary.sum())]
    return [
        Pair(one.tracker.name, int(queries.number[at]), int(queries.candidate[first[at]]), is_flagged=True)
        for at in np.flatnonzero(ordinary & (best > bar))
    ]


def ordinary_of(one: Held, chance: np.random.Generator) -> list[Pair]:
    queries, strengths = one.tracker.queries, one.strengths()
    low, high = PLACES
    found = []
    for at in np.flatnonzero(is_asked(queries, has_gold=False)):
        start, end = queries.start[at], queries.start[at + 1]
        if end - start >= high:
            order = start + np.argsort(-strengths[start:end], kind="stable")
            row = order[chance.integers(low - 1, high)]
            found.append(Pair(one.tracker.name, int(queries.number[at]), int(queries.candidate[row]), is_flagged=False))
    return found


def write_pairs(folder: pathlib.Path, pairs: list[Pair]) -> None:
    texts = {name: read_texts(name) for name in {pair.tracker for pair in pairs}}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "blind.jsonl").open("w", encoding="utf-8") as told, (folder / "blind-key.jsonl").open("w") as key:
        for number, pair in enumerate(pairs, 1):
            known = texts[pair.tracker]
            line = {"id": number, "new": known[pair.query], "earlier": known[pair.match]}
            told.write(json.dumps(line, ensure_ascii=False) + "\n")
            key.write(json.dumps({"id": number, **pair._asdict()}) + "\n")


def read_texts(tracker: str) -> dict[int, dict[str, str]]:
    with gzip.open(CORPORA / f"{tracker}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = (json.loads(line) for line in file)
        return {
            row["number"]: {"title": row["title"], "body": (row["body"] or "")[:SHOWN]}
            for row in rows
            if row["kind"] == "issue"
        }


def read_lines(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def score(readers: list[list[dict]], key: list[dict]) -> None:
    labels = [{line["id"]: line["label"] for line in reader} for reader in readers]
    rows = [
        [f"reader {number}", what, *counts(reader, key, is_flagged=is_flagged)]
        for number, reader in enumerate(labels, 1)
        for what, is_flagged in (("flagged", True), ("ordinary", False))
    ]
    parts = [table(["", "pairs", "n", *LABELS, "duplicate or related"], rows)]
    if len(labels) > 1:
        share, kappa = agreement(labels[0], labels[1])
        parts.append(f"Both readers gave the same label to {100 * share:.0f} of 100 pairs (Cohen's kappa {kappa:.2f}).")
    parts.append(
        "The target is 70 of 100. Labels: blind.jsonl. Both readers were language models that saw the texts alone;"
        " being of one kind, they agree more readily than two people would."
    )
    report("blind", "Flagged pairs, read blind", parts)


def counts(labels: dict[int, str], key: list[dict], *, is_flagged: bool) -> list[object]:
    given = [labels[line["id"]] for line in key if line["is_flagged"] == is_flagged]
    near = sum(label != "unrelated" for label in given) / len(given)
    low, high = wilson(near, len(given))
    return [len(given), *(given.count(label) for label in LABELS), f"{near:.2f} [{low:.2f}, {high:.2f}]"]


def agreement(first: dict[int, str], second: dict[int, str]) -> tuple[float, float]:
    """How often two readers agree, and Cohen's kappa: how much more often than by chance."""
    ids = sorted(first.keys() & second.keys())
    same = float(np.mean([first[at] == second[at] for at in ids]))
    by_chance = sum(
        np.mean([first[at] == label for at in ids]) * np.mean([second[at] == label for at in ids]) for label in LABELS
    )
    return same, float((same - by_chance) / (1 - by_chance))
