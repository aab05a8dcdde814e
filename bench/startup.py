"""How much CPU does a command cost over Python itself?

All commands in turn, many rounds: a busy moment hits all alike.
"""

import pathlib
import statistics
import sys
import tempfile

from lib.common import FORGELORE, clean_environ, forgelore, measure, report, table, verdict

ROUNDS = 40
COMMANDS = {
    "forgelore --help": (["--help"], 5.5),
    "forgelore list issues": (["list", "issues"], 8.0),
    "forgelore count issues": (["count", "issues"], 8.0),
    "forgelore show '#41'": (["show", "#41"], 8.0),
}


def main(arguments: list[str]) -> None:
    rounds = int(arguments[0]) if arguments else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "demo.db"
        environ = clean_environ(pathlib.Path(folder), FORGELORE_DB=str(db))
        forgelore("demo", "--keep", str(db), environ=environ)
        times = take_times(rounds, environ)
    floor = statistics.median(times["python -c pass"])
    rows = [["python -c pass", floor * 1000, spread(times["python -c pass"]), "1.00", ""]]
    for name, (_, target) in COMMANDS.items():
        ratio = statistics.median(times[name]) / floor
        rows.append(
            [
                name,
                ratio * floor * 1000,
                spread(times[name]),
                f"{ratio:.2f}",
                f"<= {target}x: {verdict(ratio, target, at_most=True)}",
            ]
        )
    head = ["command", "CPU ms, median", "5 % to 95 %", "times Python", "target"]
    note = f"User and system time of the child, {rounds} rounds, commands in turn, on the database of `forgelore demo`."
    report("startup", "What starting costs", [table(head, rows), note], " ".join(arguments))


def take_times(rounds: int, environ: dict[str, str]) -> dict[str, list[float]]:
    commands = {"python -c pass": [sys.executable, "-c", "pass"]}
    commands |= {name: [*script(), *words] for name, (words, _) in COMMANDS.items()}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(measure(command, environ).cpu_s)
    return times


def script() -> list[str]:
    """The installed command where there is one: `python -m` costs the import of runpy."""
    installed = pathlib.Path(sys.executable).parent / "forgelore"
    return [str(installed)] if installed.exists() else list(FORGELORE)


def spread(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=20)
    return f"{cuts[0] * 1000:.0f} to {cuts[-1] * 1000:.0f}"
