"""What it costs to have the index on a branch: pull, unpack, pack, push against a git server on this machine.

`python bench/run.py state [FILE]`: a store of 9,700 documents (50 MB) of the corpora, or the one that is named.
"""

import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import apsw

from lib.common import ROOT, TOKEN, Skipped, report, table, verdict

DOCUMENTS = 9_700
ROUNDS = 9
TARGET_S = 1.2
STEPS = ("pull", "unpack", "pack", "push")
NOTE = """One run as a runner sees it: a new folder, the branch pulled and unpacked, a row changed, packed and pushed.
The server is `git http-backend` in a process of its own on the same two cores, so its work counts in the times but not
in the CPU. Median and slowest of {rounds} rounds after one that is not counted; nothing of the network is in them."""


def main(arguments: list[str]) -> None:
    from servers.githttp import create_repository, has_backend

    if not has_backend():
        raise Skipped("git http-backend is not installed")
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        shutil.copyfile(find_store(arguments), folder / "store.db")
        create_repository(folder / "served" / "web.git")
        with subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "servers" / "githttp.py"), str(folder / "served"), TOKEN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            try:
                url = server.stdout.readline().strip() + "/web.git"
                rounds = [one_run(url, folder, number) for number in range(ROUNDS + 1)][1:]
            finally:
                server.stdin.close()
        sizes = [(folder / name).stat().st_size / 1e6 for name in ("store.db", "packed")]
    show(rounds, sizes, " ".join(arguments))


def find_store(arguments: list[str]) -> str:
    if arguments:
        return arguments[0]
    from lib.tracker import get_store, load_items

    return str(get_store(load_items(), DOCUMENTS).path)


def one_run(url: str, folder: pathlib.Path, number: int) -> dict[str, tuple[float, float]]:
    """Return step -> (wall seconds, CPU seconds of this process and of its gits)."""
    from forgelore.forges.branch import StateBranch
    from forgelore.store.packing import pack, unpack

    spent = {}

    def timed(name, work, *arguments, **more):
        wall, cpu = time.perf_counter(), cpu_s()
        result = work(*arguments, **more)
        spent[name] = time.perf_counter() - wall, cpu_s() - cpu
        return result

    own, packed = folder / f"run{number}", str(folder / "packed")
    state = StateBranch(url, "index", token=TOKEN, folder=str(own), environ=os.environ)
    db = str(own / "index.db")
    pulled = timed("pull", state.pull)
    if pulled:
        timed("unpack", unpack, pulled.files["index.db.z"], db)
    else:
        shutil.copyfile(folder / "store.db", db)
    change(db, number)
    timed("pack", pack, db, packed)
    expected = pulled.commit if pulled else None
    timed("push", state.push, {"index.db.z": packed}, expected=expected, message="Update the index")
    shutil.rmtree(own)
    return spent


def change(db: str, number: int) -> None:
    connection = apsw.Connection(db)
    connection.execute(f"PRAGMA user_version = {number + 1_000}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def cpu_s() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def show(rounds: list[dict], sizes: list[float], arguments: str) -> None:
    wholes = [tuple(map(sum, zip(*one.values(), strict=True))) for one in rounds]
    columns = {name: [one[name] for one in rounds] for name in STEPS} | {"together": wholes}
    rows = [
        [name, *(round(value, 2) for value in (statistics.median(wall), max(wall), statistics.median(cpu)))]
        for name, values in columns.items()
        for wall, cpu in [tuple(zip(*values, strict=True))]
    ]
    whole = rows[-1][1]
    told = f"A store of {sizes[0]:.1f} MB, {sizes[1]:.1f} MB packed. Together {whole:.2f} s; target {TARGET_S} s"
    parts = [
        f"{told}: {verdict(whole, TARGET_S, at_most=True)}.",
        table(["step", "median s", "slowest s", "CPU s"], rows),
        NOTE.format(rounds=ROUNDS),
    ]
    report("state", "The index on a branch", parts, arguments)
