"""What does the same work cost in two revisions? `python bench/run.py revisions REV [ROUNDS]`: REV beside this tree.

Both trees run the same commands in turn, each on a database of its own and with the libraries of this environment, so
that a busy moment hits both. Imports and syncs include documents and vectors.
"""

import contextlib
import itertools
import pathlib
import statistics
import subprocess
import tempfile

import event as triage
from lib.common import FORGELORE, ROOT, SHARED, Skipped, clean_environ, forge, measure, report, table

ROUNDS = 9
SLOW_ROUNDS = 3  # of what takes seconds
EVENTS_AMONG = 2_000  # items
CORPUS = SHARED / "corpora" / "hadoop.jsonl.gz"
PROJECT = "apache/hadoop"
LIMIT = 1.03
QUICK = {
    "search, words and meaning": ["search", "container fails to start after upgrade"],
    "search, as JSON": ["search", "datanode heartbeat lost", "--json"],
    "list issues": ["list", "issues"],
    "show one item": ["show", "{item}"],
    "dedupe accept": ["dedupe", "accept", "{item}", "{other}"],
}
NOTE = """CPU is user and system time of the whole command, Python's start included; medians, and the ratio of the
medians. `{rev}` is the revision before, `now` this tree. The target is a ratio of at most {limit:.2f}. Load average of
the machine: {load}."""


def main(arguments: list[str]) -> None:
    if not arguments:
        raise Skipped("name the revision to compare with")
    if not CORPUS.exists():
        raise Skipped("the corpus (../shared/corpora/hadoop.jsonl.gz) is not on this machine")
    rev, rounds = arguments[0], int(arguments[1]) if len(arguments) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as text, checkout(rev, pathlib.Path(text)) as before:
        trees = {name: Tree(source, pathlib.Path(text) / name) for name, source in ((rev, before), ("now", ROOT))}
        found = {"import 2,503 items": in_turn(trees, Tree.import_corpus, SLOW_ROUNDS)}
        for name, words in QUICK.items():
            found[name] = in_turn(trees, lambda tree, words=words: tree.command(*words), rounds)
        with forge("github", issues=300, changes=200, discussions=20, comments_per_item=5) as there:
            found["sync, GitHub"] = in_turn(trees, lambda tree: tree.sync(there), SLOW_ROUNDS)
        found["event to comment"] = events(trees, rounds)
    rows = []
    for name, times in found.items():
        old, new = (statistics.median(times[tree]) for tree in trees)
        rows.append(
            [name, len(times["now"]), f"{old:.3f}", f"{new:.3f}", new / old, "met" if new <= LIMIT * old else "missed"]
        )
    head = ["command", "rounds", f"CPU s, {rev}", "CPU s, now", "ratio", f"at most {LIMIT:.2f}"]
    load = pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]
    report(
        "revisions",
        "What the same work costs in two revisions",
        [table(head, rows), NOTE.format(rev=rev, limit=LIMIT, load=load)],
        " ".join(arguments),
    )


@contextlib.contextmanager
def checkout(rev: str, folder: pathlib.Path):
    """Yield a working tree of the revision, which is gone afterwards."""
    place = folder / "checkout"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(place), rev], check=True)
    try:
        yield place
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True)


class Tree:
    """One revision's program, with a home and a database of its own."""

    def __init__(self, source: pathlib.Path, home: pathlib.Path):
        self.home = home
        self._path = {
            "PYTHONPATH": str(source / "src"),
            "FORGELORE_EMBEDDER": "lore",
            "FORGELORE_SECOND_EMBEDDER": "none",
        }
        self._answers = itertools.count()
        home.mkdir()

    def environ(self, **more: str) -> dict[str, str]:
        return clean_environ(self.home, FORGELORE_DB=str(self.home / "lore.db"), **self._path, **more)

    def import_corpus(self) -> float:
        for old in self.home.glob("lore.db*"):
            old.unlink()
        return measure([*FORGELORE, "import", str(CORPUS), "--project", PROJECT], self.environ()).cpu_s

    def command(self, *words: str) -> float:
        """Run a command; no pair of items is accepted twice."""
        at = next(self._answers)
        items = self._items()
        named = [word.format(item=f"#{items[at]}", other=f"#{items[at + 100]}") for word in words]
        return measure([*FORGELORE, *named], self.environ()).cpu_s

    def sync(self, there) -> float:
        db = self.home / "synced.db"
        for old in self.home.glob("synced.db*"):
            old.unlink()
        environ = there.environ(self.home) | self._path
        return measure([*FORGELORE, "sync", there.project, "--db", str(db)], environ).cpu_s

    def event(self, runner: triage.Runner, opened: dict) -> float:
        return runner.run(opened, **self._path).cost.cpu_s

    def _items(self) -> list[int]:
        import apsw

        connection = apsw.Connection(str(self.home / "lore.db"), flags=apsw.SQLITE_OPEN_READONLY)
        with contextlib.closing(connection):
            return [number for (number,) in connection.execute("SELECT number FROM items ORDER BY number")]


def in_turn(trees: dict[str, Tree], work, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in trees}
    for _ in range(rounds):
        for name, tree in trees.items():
            times[name].append(work(tree))
    return times


def events(trees: dict[str, Tree], rounds: int) -> dict[str, list[float]]:
    """Issues opened on a forge of each tree's own: each keeps the index that it made."""
    with contextlib.ExitStack() as stack:
        runners = {}
        for name, tree in trees.items():
            there = stack.enter_context(triage.stage(tree.home / "stage", EVENTS_AMONG))
            runners[name] = triage.Runner(there, tree.home)
            tree.event(runners[name], there.ask("issue"))  # the first run makes the index
        by_tree = {id(tree): runners[name] for name, tree in trees.items()}
        return in_turn(trees, lambda tree: tree.event(by_tree[id(tree)], by_tree[id(tree)].there.ask("issue")), rounds)
