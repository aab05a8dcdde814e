"""Many more kills than the test makes: `kills 500`. How many reruns end byte-equal to an undisturbed sync?"""

import collections
import pathlib
import tempfile
from concurrent.futures import ThreadPoolExecutor

from lib.common import report, table  # also puts the tests on the path

KILLS = 500
NOTE = """Every fifth chain kills two runs and every tenth three before the last is left in peace. Byte-equal means: the
export, and beyond it every item, payload, thread, note, link, label, member, job, lock and cursor, are as after an
undisturbed sync."""


def main(arguments: list[str]) -> None:
    from crash import killing

    number = int(arguments[0]) if arguments else KILLS
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    cases = {
        "github, first sync": (killing.github_ground, None),
        "github, later sync": (killing.github_ground, killing.live_on_github),
        "gitlab, first sync": (killing.gitlab_ground, None),
        "gitlab, later sync": (killing.gitlab_ground, killing.live_on_gitlab),
    }
    outcomes = {name: kill_all(*case, number // len(cases), seed) for name, case in cases.items()}
    rows = [[name, *summary(found)] for name, found in outcomes.items()]
    head = ["sync", "chains of kills", "kills", "in the writer", "in a reader", "integrity ok", "reruns byte-equal"]
    parts = [table(head, rows), NOTE, where(outcomes), *problems(outcomes)]
    report("kills", "kill -9 at seeded steps", parts, " ".join(arguments))


def kill_all(make, live_on, number: int, seed: int) -> list:
    """Kill syncs of one forge, two at a time; `live_on` changes the forge between a first sync and the killed one."""
    from crash.killing import Forker, choose

    with tempfile.TemporaryDirectory() as folder, Forker() as forker:
        server, ground = make(pathlib.Path(folder), forker)
        try:
            if live_on:
                ground.live_on(lambda: live_on(server))
            chains = choose(ground.steps(), number=number, seed=seed)
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(ground.kill, chains))
        finally:
            server.stop()


def summary(outcomes: list) -> list[object]:
    deaths = [death for outcome in outcomes for death in outcome.deaths]
    writer = sum(death["thread"] == "MainThread" for death in deaths)
    checks = [check for outcome in outcomes for check in outcome.integrity]
    sound = f"{checks.count('ok'):,} of {len(checks):,}"
    equal = sum(outcome.is_equal for outcome in outcomes)
    return [len(outcomes), len(deaths), writer, len(deaths) - writer, sound, f"{equal:,} of {len(outcomes):,}"]


def where(outcomes: dict[str, list]) -> str:
    """Which kinds of steps the blows fell on."""
    kinds = collections.Counter(
        place(death) for found in outcomes.values() for outcome in found for death in outcome.deaths
    )
    return table(["the process died", "times"], [[name, number] for name, number in kinds.most_common()])


def place(death: dict) -> str:
    kind, about = death["kind"], death["about"]
    if kind in ("write", "sync"):
        file = (
            "write-ahead log"
            if about.endswith("-wal")
            else "rollback journal"
            if about.endswith("-journal")
            else "database file"
        )
        return f"in the middle of a write to the {file}" if kind == "write" else f"before a sync of the {file}"
    if kind == "statement":
        return f"before {about.split()[0]}"
    return "before a request" if kind == "request" else "before an answer was used"


def problems(outcomes: dict[str, list]) -> list[str]:
    bad = [
        f"- {name} {' then '.join(outcome.points)}: {outcome.problem or outcome.integrity}"
        for name, found in outcomes.items()
        for outcome in found
        if not outcome.is_equal
    ]
    return ["## What went wrong", "\n".join(bad)] if bad else []
