"""Kills of `dedupe apply` and `dedupe rollback` by the thousand: `closing_kills 1000`. Is anything written twice?"""

import collections
import pathlib
import tempfile

from kills import place
from lib.common import report, table  # also puts the tests on the path

KILLS = 1_000
FORGES = ("github", "gitlab", "forgejo")
STEPS = ("apply", "rollback")
NOTE = """Every fifth chain kills two runs and every tenth three before the last is left in peace; then all of it is
rolled back. Right means: nothing was closed, reopened or commented twice, nothing was closed or commented that no
journal names, and after the rollback states, labels, marks, links and comments are what they were."""


def main(arguments: list[str]) -> None:
    number = int(arguments[0]) if arguments else KILLS
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    each = max(1, number // (len(FORGES) * len(STEPS)))
    outcomes = {(forge, step): kill_all(forge, step, each, seed) for forge in FORGES for step in STEPS}
    rows = []
    for (forge, step), found in outcomes.items():
        deaths = sum(len(one.deaths) for one in found)
        right = sum(not one.problem for one in found)
        rows.append([forge, step, len(found), deaths, f"{right:,} of {len(found):,}"])
    kinds = collections.Counter(place(death) for found in outcomes.values() for one in found for death in one.deaths)
    died = table(["the process died", "times"], [[name, count] for name, count in kinds.most_common()])
    head = ["forge", "step", "chains of kills", "kills", "right"]
    report(
        "closing_kills",
        "kill -9 while closing",
        [table(head, rows), NOTE, died, *problems(outcomes)],
        " ".join(arguments),
    )


def kill_all(forge: str, step: str, number: int, seed: int) -> list:
    from crash.closing_kills import ClosingGround
    from crash.killing import Forker, choose
    from dedupe.closing_lab import let_ana_write
    from support import ForgejoLab, GitHubLab, GitLabLab

    labs = {"github": GitHubLab, "gitlab": GitLabLab, "forgejo": ForgejoLab}
    with tempfile.TemporaryDirectory() as name, Forker() as forker, labs[forge](pathlib.Path(name)) as lab:
        let_ana_write(lab)
        ground = ClosingGround(lab, pathlib.Path(name), forker)
        return [ground.kill(step, chain) for chain in choose(ground.steps(step), number=number, seed=seed)]


def problems(outcomes: dict[tuple[str, str], list]) -> list[str]:
    bad = [
        f"- {forge} {step} {' then '.join(one.points)}: {one.problem}"
        for (forge, step), found in outcomes.items()
        for one in found
        if one.problem
    ]
    return ["## What went wrong", "\n".join(bad)] if bad else []
