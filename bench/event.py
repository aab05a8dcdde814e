"""What does triage cost? A first run on 10,000 items, then single events, each in a new process on an empty machine.

The forge and the git server run in a process of their own (stage.py). `event.py OUT.json BEGAN` is one event with a
watch around each step; BEGAN is when its process was started, on the machine's monotonic clock.
"""

import contextlib
import json
import os
import pathlib
import pkgutil
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing

from lib.common import LIB, ROOT, Cost, Forge, measure, report, table, verdict

ITEMS = 10_000
ROUNDS = 5
EVERYTHING = 1_000_000  # more items than the corpus has
TRIAGE = ("triage", "--json")
ALARM = {"name": "schedule", "payload": {"schedule": "0 4 * * 1"}}
BOT, INDEX, BRANCH = (
    "forgelore.triage.bot",
    "forgelore.triage.index",
    "forgelore.forges.branch:StateBranch",
)
PULL, UNPACK, POST, PACK, PUSH = "pull", "join its parts", "post", "split into parts", "push"
STEPS = {  # where it is called, and as what -> how it is called here, in the order of a run
    (BRANCH, "pull"): PULL,
    (INDEX, "read_index"): UNPACK,
    (BOT, "fetch_current"): "fetch the item",
    (BOT, "save_fetched"): "index and embed it",
    (BOT, "cover"): "read what changed",
    (BOT, "make_searchable"): "index and embed what changed",
    (BOT, "prepare"): "learn what a comment needs",
    (BOT, "learn_more"): "learn more, after the comment",
    (BOT, "triage_item"): "rank and decide",
    (BOT, "post_report"): POST,
    (INDEX, "split"): PACK,
    (BRANCH, "push"): PUSH,
}
START, END = "start Python, import, ask for the project", "close"
NOTE = """The items are the newest of bitcoin/bitcoin, a quarter of them issues; the events are the issues and changes
that came after them. Both thresholds are 0, so that every event leaves a comment, which is the longest way. A run is
`python -m forgelore triage` as a runner starts it: its folder is empty, the index comes from the branch, requests are
paced as by default. CPU is of the process and the gits it starts; MB is of the largest of them. Forge and git server
are other processes on the same two cores: they count in the seconds, not in the CPU, and there is no network between.
The steps are of further runs with a watch inside. The first and the scheduled run were made once; the others are
medians of {rounds}, MB the largest."""
COLD = """*New machine*: the wheels are installed as action.yml does it, and nothing is compiled yet, neither they nor
forgelore, so Python does that first, each time."""
INVENTED = "The corpus (../shared/corpora) is not on this machine: the items are made of plain words."


class Ran(typing.NamedTuple):
    cost: Cost
    requests: int


class Installed(typing.NamedTuple):
    python: pathlib.Path
    download_s: float
    install_s: float
    size_mb: float


def main(arguments: list[str]) -> None:
    items = int(arguments[0]) if arguments else ITEMS
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        installed = install(folder)
        with stage(folder / "some", items) as there:
            runs, steps = run_all(Runner(there, folder), installed)
            packed, about = there.ask("branch"), there.about
        size = measure_everything(folder) if about["is_corpus"] else None
    parts = [
        reached(runs, steps, packed / 1e6, items, size), INVENTED if size is None else "",
        table(["run", "seconds", "CPU s", "MB", "requests"], [row_of(name, ran) for name, ran in runs.items()]),
        table(["step of an opened issue", "seconds", "CPU s", "ends at s"], step_rows(steps)), tell_install(installed),
        NOTE.format(rounds=ROUNDS), f"Load average of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after.",
    ]  # fmt: skip
    report("event", "What triage costs", [part for part in parts if part], " ".join(arguments))


@contextlib.contextmanager
def stage(folder: pathlib.Path, items: int):
    command = [sys.executable, str(LIB / "stage.py"), str(folder), str(items)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Forge(process)
        finally:
            process.stdin.close()


class Runner:
    """A machine that is given one event after another; nothing of one run is left for the next."""

    def __init__(self, there: Forge, folder: pathlib.Path):
        self.there, self.folder = there, folder

    def environ(self, event: dict) -> dict[str, str]:
        scratch = self.folder / "runner"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        (scratch / "event.json").write_text(json.dumps(event["payload"]), encoding="utf-8")
        found = self.there.environ(self.folder) | {
            "GITHUB_EVENT_NAME": event["name"], "GITHUB_EVENT_PATH": str(scratch / "event.json"),
            "GITHUB_STEP_SUMMARY": str(scratch / "summary.md"), "GITHUB_OUTPUT": str(scratch / "outputs"),
            "RUNNER_TEMP": str(scratch), "FORGELORE_EMBEDDER": "lore",
            "INPUT_SIMILARITY_THRESHOLD": "0", "INPUT_DUPLICATE_THRESHOLD": "0",
        }  # fmt: skip
        del found["FORGELORE_REQUESTS_PER_SECOND"]
        return found

    def run(self, event: dict, python: str = sys.executable, **more: str) -> Ran:
        self.there.ask("requests")
        cost = measure([python, "-m", "forgelore", *TRIAGE], self.environ(event) | more)
        data = json.loads(cost.out)["data"]
        assert data["is_pushed"], data
        assert not data["problems"], data
        assert "number" not in event or self.there.ask(f"said {event['number']}"), data
        return Ran(cost, sum(self.there.ask("requests").values()))

    def watch(self, event: dict) -> dict[str, dict[str, float]]:
        """Run an event with a watch around each step: step -> seconds, CPU seconds, when it first ended."""
        out = self.folder / "steps.json"
        command = [sys.executable, __file__, str(out), str(time.monotonic())]
        subprocess.run(command, env=self.environ(event), check=True, capture_output=True)
        return json.loads(out.read_text(encoding="utf-8"))


def run_all(runner: Runner, installed: Installed | str) -> tuple[dict[str, list[Ran]], list[dict]]:
    ask = runner.there.ask
    runs = {"first run, at an opened issue": [runner.run(ask("issue"))]}
    for kind in ("issue", "change"):
        runs[f"{kind} opened"] = [runner.run(ask(kind)) for _ in range(ROUNDS)]
    steps = [runner.watch(ask("issue")) for _ in range(ROUNDS)]
    if isinstance(installed, Installed):
        runs["issue opened, on a new machine"] = [run_cold(runner, installed) for _ in range(ROUNDS)]
    runs["scheduled, nothing new"] = [runner.run(ALARM)]
    return runs, steps


def run_cold(runner: Runner, installed: Installed) -> Ran:
    """Run an event as a runner does whose disk is new."""
    source = runner.folder / "src"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for compiled in list(installed.python.parents[1].rglob("__pycache__")):
        shutil.rmtree(compiled)
    return runner.run(runner.there.ask("issue"), str(installed.python), PYTHONPATH=str(source), PYTHONSAFEPATH="1")


def measure_everything(folder: pathlib.Path) -> tuple[int, int]:
    """Return (items, bytes packed) of the index that a first run makes of the whole corpus."""
    with stage(folder / "all", EVERYTHING) as there:
        Runner(there, folder).run(there.ask("issue"))
        return there.about["items"] + 1, there.ask("branch")


def install(folder: pathlib.Path) -> Installed | str:
    """Install what forgelore needs as action.yml does; says why when that is impossible here."""
    place, wheels = folder / "python", folder / "wheels"
    pip = [sys.executable, "-I", "-m", "pip", "--python", str(place)]
    locked = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes", "--only-binary", ":all:",
              "--requirement", str(ROOT / "requirements" / "runtime.txt")]  # fmt: skip
    spent = {}
    for name, command in {
        "venv": [sys.executable, "-I", "-m", "venv", "--without-pip", str(place)],
        "pip download": [*pip, "download", "--dest", str(wheels), *locked],
        "pip install": [*pip, "install", "--no-compile", "--no-index", "--find-links", str(wheels), *locked],
    }.items():
        began = time.monotonic()
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return f"Installation was not measured: `{name}` fails on this machine."
        spent[name] = time.monotonic() - began
    size = sum(file.stat().st_size for file in wheels.iterdir()) / 1e6
    return Installed(place / "bin" / "python", spent["pip download"], spent["venv"] + spent["pip install"], size)


def tell_install(installed: Installed | str) -> str:
    if isinstance(installed, str):
        return installed
    told = (
        f"Installation, which comes before: {installed.install_s:.1f} s from cached wheels ({installed.size_mb:.0f} MB)"
    )
    return f"{told}, and {installed.download_s:.1f} s more to download them where there is no cache.\n{COLD}"


def reached(runs: dict, steps: list[dict], packed_mb: float, items: int, size: tuple[int, int] | None) -> str:
    travel = [sum(one[step]["s"] for step in (PULL, UNPACK, PACK, PUSH)) for one in steps]
    issues = runs["issue opened"]
    rows = [
        ("process start to comment, s", statistics.median(one[POST]["ended_s"] for one in steps), 5),
        ("the same, to the end of the process, s", statistics.median(one.cost.wall_s for one in issues), None),
        ("memory, MB", max(one.cost.peak_mb for one in issues), 350),
        ("pull, join, split and push the index, s", statistics.median(travel), 2),
        (f"index of {items:,} items on the branch, MB", packed_mb, 60),
    ]
    if size is not None:
        rows.append(
            (f"KB per item, whole corpus ({size[0]:,} items, {size[1] / 1e6:.1f} MB)", size[1] / size[0] / 1e3, 6)
        )
    told = [
        [name, value, *((target, verdict(value, target, at_most=True)) if target else ("", ""))]
        for name, value, target in rows
    ]
    return table(["one event", "measured", "target at most", ""], told)


def row_of(name: str, ran: list[Ran]) -> list[object]:
    wall, cpu = (statistics.median(getattr(one.cost, part) for one in ran) for part in ("wall_s", "cpu_s"))
    return [name, wall, cpu, max(one.cost.peak_mb for one in ran), int(statistics.median(one.requests for one in ran))]


def step_rows(steps: list[dict]) -> list[list[object]]:
    return [
        [name, *(statistics.median(one[name][part] for one in steps) for part in ("s", "cpu_s", "ended_s"))]
        for name in (START, *STEPS.values(), END)
    ]


class Watch:
    """Adds up what steps take. What a step ends at is told of its first time: the event's own item comes first."""

    def __init__(self, began_s: float):
        self._began_s = began_s
        self.steps: dict[str, dict[str, float]] = {}

    def add(self, name: str, seconds: float, cpu: float) -> None:
        step = self.steps.setdefault(name, {"s": 0.0, "cpu_s": 0.0, "ended_s": time.monotonic() - self._began_s})
        step["s"] += seconds
        step["cpu_s"] += cpu

    def around(self, name: str, work):
        def watched(*arguments, **more):
            began, cpu = time.monotonic(), cpu_s()
            try:
                return work(*arguments, **more)
            finally:
                self.add(name, time.monotonic() - began, cpu_s() - cpu)

        return watched


def cpu_s() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def watch_one(out: str, began: str) -> None:
    """Run the event of this environment in this process; write what each step took."""
    from forgelore.api import bot as facade
    from forgelore.surfaces.cli.main import main as run

    watch, run_bot, ended = Watch(float(began)), facade.run_bot, []
    for (place, name), told in STEPS.items():
        holder = pkgutil.resolve_name(place)
        setattr(holder, name, watch.around(told, getattr(holder, name)))

    def watched_bot(*arguments):
        watch.add(START, time.monotonic() - float(began), cpu_s())
        outcome = run_bot(*arguments)
        ended.extend((time.monotonic(), cpu_s()))
        return outcome

    facade.run_bot = watched_bot
    assert run(list(TRIAGE)) == 0
    watch.add(END, time.monotonic() - ended[0], cpu_s() - ended[1])
    pathlib.Path(out).write_text(json.dumps(watch.steps), encoding="utf-8")


if __name__ == "__main__":
    watch_one(*sys.argv[1:])
