"""What a maintainer waits for: `dedupe run` on a large tracker, and the first pairs of `dedupe review` on the screen.

    python bench/run.py review_cost        the issues of rust as they were at the end of its corpus

The index is there before, as after a sync, and nothing is compared yet. The target is for 2,500 open issues among
17,500; the corpus has fewer, and CPU time is also given for as many as the target names.
"""

import gzip
import json
import os
import pathlib
import pty
import select
import shutil
import tempfile
import time

from lib.common import FORGELORE, SHARED, Skipped, clean_environ, forgelore, report, table, verdict
from review import cut_item

NAME, DAY = "rust", "2016-01-01T00:00:00Z"
OPEN = 2_500  # issues of the target
CPU_S, PEAK_MB, FIRST_S = 60, 120, 5
NOTE = (
    "The peak is that of the largest process; with two workers there are three. The terminal is a real one (a pty);"
    " seconds are from the start of the command to the question about the first pair, with whatever else the machine"
    " had to do: load is the average of the minute before."
)


def main(_arguments: list[str]) -> None:
    source = SHARED / "corpora" / f"{NAME}.jsonl.gz"
    if not source.exists():
        raise Skipped("the corpora (../shared/corpora) are not on this machine")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        count, open_count = write_cut(source, folder / "items.jsonl")
        environ = clean_environ(folder, FORGELORE_DB=str(folder / "lore.db"), FORGELORE_SECOND_EMBEDDER="none")
        forgelore("import", str(folder / "items.jsonl"), "--project", f"bench/{NAME}", environ=environ)
        rows = []
        for workers in (1, 2):
            load = os.getloadavg()[0]
            cost = forgelore(*on_a_copy(folder, workers), environ={**environ, "FORGELORE_DB": str(folder / "copy.db")})
            scaled = cost.cpu_s * OPEN / open_count
            rows.append([
                f"dedupe run, {workers} worker{'s' * (workers > 1)}", load, cost.cpu_s, scaled,
                verdict(scaled, CPU_S, at_most=True), cost.peak_mb, verdict(cost.peak_mb, PEAK_MB, at_most=True),
                cost.wall_s,
            ])  # fmt: skip
        on_a_copy(folder, 1)
        load = os.getloadavg()[0]
        first_s = wait_for_first_pair({**environ, "FORGELORE_DB": str(folder / "copy.db"), "TERM": "xterm"})
    head = ["", "load", "CPU s", f"CPU s for {OPEN:,}", f"target {CPU_S}", "peak MB", f"target {PEAK_MB}", "seconds"]
    first = (
        f"First pair on the screen after {first_s:.1f} s at a load of {load:.1f} (target {FIRST_S} s:"
        f" {verdict(first_s, FIRST_S, at_most=True)})."
    )
    about = f"{open_count:,} open issues among {count:,}."
    report(
        "review-cost",
        "Cost of candidates and of a review",
        [about, table(head, rows), first, NOTE],
        bench="review_cost",
    )


def write_cut(source: pathlib.Path, target: pathlib.Path) -> tuple[int, int]:
    """Write the issues as they were on the last day; return how many there are, and how many of them open."""
    hidden = set(json.loads(source.with_name(f"{NAME}.exclude.json").read_text()))
    count = open_count = 0
    with gzip.open(source, "rb") as lines, target.open("w", encoding="utf-8") as out:
        for item in map(json.loads, lines):
            if item["kind"] == "issue" and (item["created_at"] or "9") < DAY and item["number"] not in hidden:
                cut = cut_item(item, DAY)
                out.write(json.dumps(cut) + "\n")
                count, open_count = count + 1, open_count + (cut["state"] == "open")
    return count, open_count


def on_a_copy(folder: pathlib.Path, workers: int) -> tuple[str, ...]:
    """Copy the store as it was after the import; return the command to run on it."""
    for old in folder.glob("copy.db*"):
        old.unlink()
    shutil.copyfile(folder / "lore.db", folder / "copy.db")
    return ("dedupe", "run", f"bench/{NAME}", "--kind", "issue", "--workers", str(workers))


def wait_for_first_pair(environ: dict[str, str]) -> float:
    began = time.monotonic()
    pid, terminal = pty.fork()
    if not pid:
        os.execve(FORGELORE[0], [*FORGELORE, "dedupe", "review", f"bench/{NAME}", "--kind", "issue"], environ)
    seen = b""
    while b"quit >" not in seen:
        if select.select([terminal], [], [], 60)[0]:
            seen += os.read(terminal, 65_536)
    took = time.monotonic() - began
    os.write(terminal, b"q")
    with open(terminal, "rb", buffering=0, closefd=True) as rest:
        try:
            while rest.read(65_536):
                pass
        except OSError:  # it has ended
            pass
    os.waitpid(pid, 0)
    return took
