"""A large project: requests, hours at the forges' quotas, memory, speed, file size, and what kills on the way cost.

`python bench/run.py big 10000` makes a project of so many items with twelve notes each; 100,000 take a night.
"""

import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import time

import apsw

from lib.common import FORGELORE, forge, forgelore, report, table, verdict

ITEMS = 10_000
NOTES = 12
PER_HOUR = {"github": (5_000, 5_000), "gitlab": (120_000, None)}  # requests, points of GraphQL
SPLIT_ITEMS = 1_200
HEAD = [
    "forge", "items", "notes", "requests", "points of GraphQL", "hours at the quota", "peak MB", "items / CPU s",
    "database MB", "bytes / item",
]  # fmt: skip
NOTE = f"""One first sync with its index and both sets of vectors, from a local forge in another process; of
{SPLIT_ITEMS:,} items once more without some parts, to see what each takes. Hours: requests and points (as `sync --plan`
says them) over what an hour allows to one token: 5,000 of each on GitHub, 2,000 requests a minute on GitLab.com. A kill
is `kill -9` of another first sync after a fifth, two fifths … of its time; the next sync goes on, and its rows are
counted beside the forge's."""


PARTS = (
    ("reading and saving", "--no-docs", ""), ("documents, full text", "--no-embed", ""), ("first vectors", "", "none"),
    ("second vectors", "", "minilm"),
)  # fmt: skip


def split_cost() -> str:
    """The CPU time of a first sync, part by part: that of a sync with the part less that of one without."""
    sizes = {"issues": SPLIT_ITEMS * 3 // 5, "changes": SPLIT_ITEMS * 2 // 5, "comments_per_item": NOTES}
    with tempfile.TemporaryDirectory() as text, forge("github", **sizes) as there:
        folder, spent = pathlib.Path(text), [0.0]
        for at, (_, option, second) in enumerate(PARTS):
            environ = there.environ(folder) | {"FORGELORE_SECOND_EMBEDDER": second or "none"}
            order = ["sync", there.project, "--db", str(folder / f"{at}.db"), *([option] if option else [])]
            spent.append(forgelore(*order, environ=environ).cpu_s)
        each = [max(0.0, now - before) for before, now in itertools.pairwise(spent)]
    items = there.about["items"]
    rows = [
        [name, cost, f"{cost / spent[-1]:.0%}", items / cost]
        for (name, *_), cost in zip(PARTS, each, strict=True)
        if cost
    ]
    head = ["of a first sync from GitHub", "CPU s", "share", "items / CPU s, were it all"]
    return table(head, [*rows, ["all of it", spent[-1], "100%", items / spent[-1]]])


def main(arguments: list[str]) -> None:
    items = int(arguments[0]) if arguments else ITEMS
    rows, kills = [], []
    for kind in ("github", "gitlab"):
        sizes = {"issues": items * 3 // 5, "changes": items * 2 // 5, "comments_per_item": NOTES}
        with tempfile.TemporaryDirectory() as text, forge(kind, **sizes) as there:
            folder = pathlib.Path(text)
            row, wall_s = whole_sync(kind, there, folder)
            rows.append(row)
            kills.append(killed_sync(kind, there, folder, wall_s))
    speed, memory = min(row[7] for row in rows), max(row[6] for row in rows)
    reached = (
        f"Items per CPU second: {speed:,.0f} (target 500: {verdict(speed, 500, at_most=False)});"
        f" memory: {memory:,.0f} MB (target 300: {verdict(memory, 300, at_most=True)})."
    )
    split = split_cost()
    after = table(["forge", "kills", "requests after them", "items", "notes", "equal to the forge"], kills)
    report(
        "big", f"A first sync of {items:,} items", [table(HEAD, rows), reached, split, after, NOTE], " ".join(arguments)
    )


def whole_sync(kind: str, there, folder: pathlib.Path) -> tuple[list, float]:
    db, environ = folder / "whole.db", there.environ(folder)
    (plan,) = json.loads(forgelore("sync", there.project, "--db", str(db), "--plan", "--json", environ=environ).out)[
        "data"
    ]
    there.ask("requests")
    cost = forgelore("sync", there.project, "--db", str(db), environ=environ)
    requests, size, items = sum(there.ask("requests").values()), os.path.getsize(db), there.about["items"]
    allowed, points = PER_HOUR[kind]
    hours = max(requests / allowed, plan["points"] / points if points else 0)
    row = [kind, items, there.about["notes"], requests, plan["points"], hours, cost.peak_mb, items / cost.cpu_s]
    return [*row, size / 1e6, size / items], cost.wall_s


def killed_sync(kind: str, there, folder: pathlib.Path, wall_s: float) -> list:
    db, environ = folder / "killed.db", there.environ(folder)
    command = [*FORGELORE, "sync", there.project, "--db", str(db)]
    for share in (0.2, 0.2, 0.2, 0.2):
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(share * wall_s)
        process.kill()
        process.wait()
    there.ask("requests")
    forgelore("sync", there.project, "--db", str(db), "--force", environ=environ)
    connection = apsw.Connection(str(db))
    items, notes = (connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("items", "notes"))
    connection.close()
    is_equal = (items, notes) == (there.about["items"], there.about["notes"])
    return [kind, 4, sum(there.ask("requests").values()), items, notes, "yes" if is_equal else "no"]
