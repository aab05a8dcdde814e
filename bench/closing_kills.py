"""Kills of `dedupe apply` and `dedupe rollback` by the thousand: `closing_kills 1000 SEED FILE`. Is anything written
twice?

What became of each chain of kills is appended to FILE; those that stand there already are not run again, and count.
"""

import collections
import json
import pathlib
import sys
import tempfile

from kills import place
from lib.common import HERE, report, table  # also puts the tests on the path

KILLS = 1_000
FORGES = ("github", "gitlab", "forgejo")
STEPS = ("apply", "grace", "rollback")
NOTE = """`grace` is an apply that labels and tells first. Every fifth chain kills two runs and every tenth three before
the last is left in peace; then all of it is rolled back. Right means, of every chain: nothing was closed, reopened,
labelled or commented twice; after each kill nothing was closed or commented that no journal names, and the file is
sound; after the rollback states, labels, marks, links and comments are what they were before the apply."""


def main(arguments: list[str]) -> None:
    number = int(arguments[0]) if arguments else KILLS
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    kept = Kept(pathlib.Path(arguments[2]) if len(arguments) > 2 else None)
    each = -(-number // (len(FORGES) * len(STEPS)))
    outcomes = {(forge, step): kill_all(forge, step, each, seed, kept) for forge in FORGES for step in STEPS}
    rows = []
    for (forge, step), found in outcomes.items():
        right = sum(not one["problem"] for one in found)
        rows.append([forge, step, len(found), sum(len(one["deaths"]) for one in found), f"{right:,} of {len(found):,}"])
    every = [one for found in outcomes.values() for one in found]
    rows.append(["all", "", len(every), sum(len(one["deaths"]) for one in every), ""])
    kinds = collections.Counter(place(death) for one in every for death in one["deaths"])
    died = table(["the process died", "times"], [[name, count] for name, count in kinds.most_common()])
    head = ["forge", "step", "chains of kills", "kills", "right"]
    parts = [table(head, rows), NOTE, died, *problems(outcomes)]
    report("closing-kills", "kill -9 while closing", parts, f"{number} {seed}", bench="closing_kills")


class Kept:
    """Outcomes of an earlier run, by forge, step, seed and place in the series."""

    def __init__(self, path: pathlib.Path | None):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        self.found = {tuple(one["name"]): one for one in map(json.loads, lines)}

    def of(self, forge: str, step: str, seed: int) -> list[dict]:
        return [one for name, one in sorted(self.found.items()) if name[:3] == (forge, step, seed)]

    def add(self, name: tuple, outcome: dict) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": name, **outcome}) + "\n")


def kill_all(forge: str, step: str, number: int, seed: int, kept: Kept) -> list[dict]:
    """Return what became of each chain, in turn. One forge and one plan serve them all."""
    sys.path[:] = [
        one for one in sys.path if pathlib.Path(one).resolve() != HERE
    ]  # the tests have a `dedupe` of their own
    from crash.closing_kills import ClosingGround
    from crash.killing import Forker, choose
    from dedupe.closing_lab import let_ana_write
    from support import ForgejoLab, GitHubLab, GitLabLab

    names = [(forge, step, seed, at) for at in range(number)]
    if all(name in kept.found for name in names):
        return kept.of(forge, step, seed)
    labs = {"github": GitHubLab, "gitlab": GitLabLab, "forgejo": ForgejoLab}
    with tempfile.TemporaryDirectory() as folder, Forker() as forker, labs[forge](pathlib.Path(folder)) as lab:
        let_ana_write(lab)
        ground = ClosingGround(lab, pathlib.Path(folder), forker)
        for name, chain in zip(names, choose(ground.steps(step), number=number, seed=seed), strict=True):
            if name not in kept.found:
                made = ground.kill(step, chain)
                kept.found[name] = {"points": made.points, "deaths": made.deaths, "problem": made.problem}
                kept.add(name, kept.found[name])
    return kept.of(forge, step, seed)


def problems(outcomes: dict[tuple[str, str], list[dict]]) -> list[str]:
    bad = [
        f"- {forge} {step} {' then '.join(one['points'])}: {one['problem']}"
        for (forge, step), found in outcomes.items()
        for one in found
        if one["problem"]
    ]
    return ["## What went wrong", "\n".join(bad)] if bad else []
