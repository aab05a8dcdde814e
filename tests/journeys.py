"""How far one command travels: it runs in a process of its own, under a profiler that writes down where it has been.

    walk(folder, "search", "deleted files", env={…}).modules     the modules entered, in their order

A module is entered when one of its functions is: its body, its classes, lambdas and comprehensions do not count. What is
measured is the length of the way, not time.

python -P tests/journeys.py REPORT WORD …   is that process; whoever speaks with it (MCP) starts it by `command`
"""

import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import NamedTuple

PACKAGE = "forgelore"
CO_OPTIMIZED = 1  # the code of a function, as opposed to that of a module or of a class


class Walk(NamedTuple):
    """Where a command has been."""

    status: int
    modules: dict[str, str]  # each module, with the function by which it was entered first
    records: list[str]  # the types of named tuples that were made
    crossings: int  # calls that land in another module than the one before, in the same thread
    imported: int  # modules of ours that were loaded, entered or not

    def __add__(self, other: "Walk") -> "Walk":
        """Both, one after the other; what a second process loads again is counted once."""
        return Walk(
            self.status or other.status,
            {**self.modules, **{name: first for name, first in other.modules.items() if name not in self.modules}},
            sorted({*self.records, *other.records}),
            self.crossings + other.crossings,
            max(self.imported, other.imported),
        )


class Profiler:
    """Counts from `start` to `stop`, in threads that begin in between too."""

    def __init__(self, root: str):
        self._root = root + os.sep
        self._last: dict[int, str] = {}
        self.modules: dict[str, str] = {}
        self.records: set[str] = set()
        self.crossings = 0

    def start(self):
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def stop(self):
        sys.setprofile(None)
        threading.setprofile(None)

    def _called(self, frame, event, _argument):
        code = frame.f_code
        if event != "call":
            return
        if code.co_filename == "<string>":
            self._made(frame)
        elif code.co_filename.startswith(self._root) and code.co_flags & CO_OPTIMIZED and code.co_name[0] != "<":
            module = code.co_filename[len(self._root) :].removesuffix(".py").replace(os.sep, ".")
            thread = threading.get_ident()
            self.modules.setdefault(module, code.co_qualname)
            self.crossings += self._last.get(thread) != module
            self._last[thread] = module

    def _made(self, frame):
        """The constructor of a named tuple is generated: its code has no file, and its first argument is the type."""
        made = frame.f_locals.get("_cls")
        if getattr(made, "__module__", "").startswith(PACKAGE):
            self.records.add(f"{made.__module__}.{made.__qualname__}")


def command(report: pathlib.Path, *words: str) -> list[str]:
    """The command line that runs `forgelore WORDS` under the profiler; the report is written when it ends."""
    return [sys.executable, "-P", os.path.abspath(__file__), str(report), *words]


def read_report(report: pathlib.Path) -> Walk:
    return Walk(**json.loads(report.read_text(encoding="utf-8")))


def walk(folder: pathlib.Path, *words: str, env: dict[str, str]) -> Walk:
    """Run a command to its end, which must be a good one."""
    report = folder / "walk.json"
    report.unlink(missing_ok=True)
    done = subprocess.run(command(report, *words), env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    assert report.exists(), done.stderr
    found = read_report(report)
    assert found.status == 0, f"{words}: {done.stdout}{done.stderr}"
    return found


def run(folder: pathlib.Path, *words: str, env: dict[str, str]) -> None:
    """A command that only prepares a journey: nobody counts where it goes."""
    done = subprocess.run(
        [sys.executable, "-m", PACKAGE, *words], env=env, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


def main(report: str, *words: str) -> None:
    from forgelore.surfaces.cli import main as program

    root = pathlib.Path(sys.modules[PACKAGE].__file__).resolve().parent
    profiler, status = Profiler(str(root)), 1
    profiler.start()
    try:
        status = program.main(list(words))
    except SystemExit as ended:
        status = ended.code
    finally:
        profiler.stop()
        imported = sum(name.partition(".")[0] == PACKAGE for name in sys.modules)
        found = Walk(status or 0, profiler.modules, sorted(profiler.records), profiler.crossings, imported)
        pathlib.Path(report).write_text(json.dumps(found._asdict()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
