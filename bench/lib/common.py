"""What the benches share: measured children, a forge in a process of its own, tables that are printed and kept."""

import contextlib
import datetime as dt
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import typing

LIB = pathlib.Path(__file__).parent  # some of it runs in processes of its own
HERE = LIB.parent
ROOT = HERE.parent
SHARED = ROOT.parent / "shared"
FORGELORE = (sys.executable, "-m", "forgelore.surfaces.cli.main")
TOKEN = "bench-token"

sys.path.insert(0, str(ROOT / "tests"))  # the local forges live there


class Cost(typing.NamedTuple):
    cpu_s: float
    wall_s: float
    peak_mb: float
    out: str


class Skipped(Exception):
    """A bench that cannot run here; says why."""


def clean_environ(folder: pathlib.Path, **more: str) -> dict[str, str]:
    """Nothing of the person who runs this: no settings, no tokens."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(folder), "FORGELORE_REQUESTS_PER_SECOND": "100", **more}


def measure(command, environ: dict[str, str]) -> Cost:
    """Run a command to its end and return what it cost; the forge it talks to is another process and not counted."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "cost.json"
        whole = [sys.executable, "-S", str(LIB / "measure.py"), str(out), *command]
        done = subprocess.run(whole, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command[:6]} ended with {done.returncode}: {done.stderr[-2000:]}")
        return Cost(**json.loads(out.read_text(encoding="utf-8")), out=done.stdout)


def forgelore(*arguments: str, environ: dict[str, str]) -> Cost:
    return measure([*FORGELORE, *arguments], environ)


class Forge:
    """A local forge in a process of its own (forge.py): its CPU is not ours."""

    def __init__(self, process: subprocess.Popen):
        self._process = process
        self.about = json.loads(process.stdout.readline())
        self.project: str = self.about["project"]

    def ask(self, word: str):
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def environ(self, folder: pathlib.Path) -> dict[str, str]:
        return clean_environ(folder, **self.about["environ"])


@contextlib.contextmanager
def forge(kind: str, **sizes: int):
    command = [sys.executable, str(LIB / "forge.py"), kind, json.dumps({"seed": 5, **sizes})]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Forge(process)
    finally:
        process.communicate(timeout=60)


def table(head: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in rows])


def shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def verdict(value: float, target: float, *, at_most: bool) -> str:
    """`met`, or by how much it was missed."""
    if value <= target if at_most else value >= target:
        return "met"
    if not target:
        return f"missed by {value:g}"
    share = value / target - 1 if at_most else 1 - value / target
    return f"missed by {share:.0%}"


def report(name: str, title: str, parts: list[str], arguments: str = "", *, bench: str = "") -> None:
    """Print the result and keep it in results/NAME.md with the command that made it."""
    command = f"python bench/run.py {bench or name} {arguments}".strip()
    text = "\n\n".join([f"# {title}", f"{dt.datetime.now(dt.UTC):%Y-%m-%d} · {machine()} · `{command}`", *parts]) + "\n"
    print(text)
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def machine() -> str:
    import apsw

    python = platform.python_version()
    return f"{os.cpu_count()} cores, {platform.system()}, Python {python}, SQLite {apsw.sqlite_lib_version()}"
