"""What it costs to have the index on a branch, for projects of 10,000, 50,000 and 200,000 items.

    python bench/run.py state [ITEMS …]

A store as the bot makes it: real texts of the corpora, and past those the same with other words. Then events, each as a
runner sees it: a new folder, the branch pulled and joined, one new issue saved, indexed, embedded and compared, its
report kept, the store split and what changed pushed.
"""

import itertools
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from lib.common import ROOT, TOKEN, Skipped, report, table, verdict

SIZES = (10_000, 50_000, 200_000)
ROUNDS = 5
BATCH = 2_000
MAX_MB = 10
STEPS = ("pull", "join", "work", "split", "push")
NOTE = """The server is `git http-backend` in a process of its own on the same two cores: its work counts in the
seconds, not in the CPU, which is of this process and its gits; there is no network between. Medians of {rounds} events
after the first push. What an event pushes is the parts that changed and the list of all; the largest of them is told.
Starting Python, asking the forge and posting are not in it: see event.md."""


def main(arguments: list[str]) -> None:
    from servers.githttp import create_repository, has_backend

    if not has_backend():
        raise Skipped("git http-backend is not installed")
    sizes = [int(one) for one in arguments] or list(SIZES)
    rows = []
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        create_repository(folder / "served" / "web.git")
        with subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "servers" / "githttp.py"), str(folder / "served"), TOKEN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            try:
                url = server.stdout.readline().strip() + "/web.git"
                tracker = Tracker(folder)
                for size in sizes:
                    tracker.grow(size)
                    rows.append(measure(url, folder, tracker, size))
            finally:
                server.stdin.close()
    show(rows, arguments)


class Tracker:
    """Items in the order in which they are filed, and the store that holds those that were."""

    def __init__(self, folder: pathlib.Path):
        self.path = str(folder / "store.db")
        self._items = make_items()
        self._filed = 0

    def grow(self, size: int) -> None:
        context = open_context(self.path)
        while self._filed < size:
            save(context, list(itertools.islice(self._items, min(BATCH, size - self._filed))))
            self._filed = min(size, self._filed + BATCH)
        finish(context)

    def file(self, context) -> None:
        """One event: an issue comes, is compared, and its report is kept."""
        from forgelore.store.triage import StoredReport, save_report
        from forgelore.triage.item import triage_item

        (item,) = [next(self._items)]
        save(context, [item])
        found = triage_item(context, item.key)
        with context.store.transaction():
            report = StoredReport(0, found.content_hash, found.outcome, found.first_number, found.similarity, "url")
            save_report(context.store, context.project_id, found.item_id, report)


def make_items():
    """Yield issues for ever: the texts of the corpora, then again with other words."""
    from forgelore.model import Item, ItemKey
    from lib import tracker

    rows = tracker.make_items(tracker.load_items(), sys.maxsize)
    for number, row in enumerate(rows, 1):
        at = 1_500_000_000_000 + number * 600_000
        yield Item(
            ItemKey("issue", number), row["title"], row["body"] or "", "open", author=f"p{number % 5_000}",
            created_at=at, updated_at=at, url=f"https://github.com/acme/web/issues/{number}", raw=b"{}",
        )  # fmt: skip


def open_context(path: str):
    from forgelore.api.bot import forget_for_good, open_project, open_store
    from forgelore.embedders.lore import LoreEmbedder
    from forgelore.model import Project, ProjectName
    from forgelore.search.retriever import Retriever
    from forgelore.triage.events import Inputs
    from forgelore.triage.item import TriageContext

    store = open_store(path, create=True)
    forget_for_good(store)
    project, embedder = Project(ProjectName("github", "github.com", "acme/web")), LoreEmbedder()
    project_id = open_project(store, project, 0)
    retriever = Retriever(store, embedder)
    return TriageContext(store, None, project, project_id, retriever, embedder, Inputs(), is_compact=True)


def save(context, items: list) -> None:
    from forgelore.triage.intake import Fetched
    from forgelore.triage.item import save_fetched

    save_fetched(context, [Fetched(item) for item in items])


def finish(context) -> None:
    from forgelore.store.sqlite.schema import flush_log

    flush_log(context.store)
    context.store.close()


def measure(url: str, folder: pathlib.Path, tracker: Tracker, size: int) -> dict:
    first = one_run(url, folder, tracker, from_branch=False)
    runs = [one_run(url, folder, tracker) for _ in range(ROUNDS)]
    plain = os.path.getsize(tracker.path) / 1e6
    return {"size": size, "plain": plain, "first": first, "runs": runs}


def one_run(url: str, folder: pathlib.Path, tracker: Tracker, *, from_branch: bool = True) -> dict:
    """Return step -> (seconds, CPU seconds), what was pushed and pulled in MB, and the memory at most."""
    from forgelore.forges.branch import StateBranch
    from forgelore.store.packing import join, split

    spent, own = {}, folder / "run"
    own.mkdir()
    path = str(own / "index.db") if from_branch else tracker.path

    def timed(name, work, *arguments, **more):
        wall, cpu = time.perf_counter(), cpu_s()
        result = work(*arguments, **more)
        spent[name] = time.perf_counter() - wall, cpu_s() - cpu
        return result

    state = StateBranch(url, "index", token=TOKEN, folder=str(own), environ=os.environ)
    pulled, known = timed("pull", state.pull), []
    if from_branch:
        head = pathlib.Path(pulled.files["index.head"]).read_bytes()
        known = timed("join", join, head, pulled.each_part(), path)
        timed("work", work, path, tracker)
    store = timed("split", split, path, str(own / "parts"), known=known)
    (own / "head").write_bytes(store.head)
    pushed = {"index.head": str(own / "head")}
    expected = pulled.commit if pulled else None
    timed("push", state.push, pushed, expected=expected, message="Update the index", parts=store.parts)
    sent = sum(os.path.getsize(one) for one in store.parts if one) + 36 * len(store.parts)
    drop_old(folder / "served" / "web.git")
    shutil.rmtree(own)
    return {"spent": spent, "sent": sent / 1e6, "changed": sum(map(bool, store.parts))}


def work(path: str, tracker: Tracker) -> None:
    context = open_context(path)
    tracker.file(context)
    finish(context)


def drop_old(repository: pathlib.Path) -> None:
    """What a forge does now and then: throw away what no branch holds."""
    for words in (("repack", "-adq"), ("prune",)):
        subprocess.run(["git", "-C", str(repository), "-c", "pack.window=0", *words], check=True, capture_output=True)


def cpu_s() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def show(rows: list[dict], arguments: list[str]) -> None:
    most = max(one["sent"] for row in rows for one in row["runs"])
    sizes = [
        [f"{row['size']:,}", round(row["plain"]), round(row["first"]["sent"]),
         round(max(one["sent"] for one in row["runs"]), 2), statistics.median(one["changed"] for one in row["runs"]),
         *(total(row, part) for part in (0, 1))]
        for row in rows
    ]  # fmt: skip
    steps = [
        [f"{row['size']:,}", *(cell(row, name) for name in STEPS)] for row in rows
    ]  # fmt: skip
    told = f"An event pushes {most:.1f} MB at most; target {MAX_MB} MB: {verdict(most, MAX_MB, at_most=True)}."
    head = ["items", "store, MB", "first push = every pull, MB", "event pushes, MB", "parts changed", "s", "CPU s"]
    parts = [
        told, table(head, sizes), table(["seconds / CPU of", *STEPS], steps), NOTE.format(rounds=ROUNDS),
    ]  # fmt: skip
    report("state", "The index on a branch", parts, " ".join(arguments))


def total(row: dict, part: int) -> float:
    return round(statistics.median(sum(one[part] for one in run["spent"].values()) for run in row["runs"]), 2)


def cell(row: dict, name: str) -> str:
    wall, cpu = (statistics.median(run["spent"][name][part] for run in row["runs"]) for part in (0, 1))
    return f"{wall:.2f} / {cpu:.2f}"
