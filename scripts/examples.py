"""Console examples of the documentation, run on the example project: what a page shows is what the program prints.
Those of docs/tour.md are also compared with what `make demo` prints, which is what people run first.

A block begins with ```console; each `$ forgelore …` in it is run with the settings of somebody who has set nothing, and
its output written below it. `…` alone on a line ends an output that is shown in part: as many lines stay as stood
before it. Other commands, such as `$ make demo`, are left alone.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORGELORE = (sys.executable, "-m", "forgelore.surfaces.cli.main")
Run = Callable[[str], str]

_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_LEFT_OUT = "…"


def refresh(text: str, run: Run) -> str:
    """Return a page with the outputs of its examples as they are now."""
    return _BLOCK.sub(lambda block: _refresh_block(block[0], run), text)


def _refresh_block(block: str, run: Run) -> str:
    head, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    return head + "".join(f"$ {_refresh_example(part, run)}" for part in parts)


def _refresh_example(part: str, run: Run) -> str:
    command, _, shown = part.partition("\n")
    if not command.startswith("forgelore "):
        return part
    printed, lines = run(command).rstrip("\n").split("\n"), shown.rstrip("\n").split("\n")
    if lines[-1] == _LEFT_OUT and len(printed) > len(lines) - 1:
        printed = [*printed[: len(lines) - 1], _LEFT_OUT]
    return "\n".join([command, *printed]) + "\n"


def differences(page: str, printed: str) -> list[str]:
    """Return the commands that a page shows with another output than a walk through the project (`make demo`) does."""
    shown = dict(_sessions("\n".join(_BLOCK.findall(page))))
    walked = dict(_sessions(printed))
    common = shown.keys() & walked.keys()
    return sorted(one for one in common if shown[one] != walked[one]) if common else ["no command is in both"]


def _sessions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command with what it printed; the walk says in a comment, `# …`, what comes next."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, re.split(r"^# |^That took ", output, flags=re.MULTILINE)[0].strip()


def make_demo() -> str:
    """Return what `make demo` prints to somebody with a wide terminal."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("FORGELORE_", "MAKE", "MFLAGS"))
    }
    environ |= {"NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run(
        ["make", "-s", "demo"], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    ).stdout


@contextmanager
def demo_project() -> Iterator[Run]:
    """Give a way to run commands on a fresh copy of the example project."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environ = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": name, "PYTHONUTF8": "1", "NO_COLOR": "1",
            "COLUMNS": "100", "FORGELORE_DB": str(folder / "demo.db"), "FORGELORE_SECOND_EMBEDDER": "none",
        }  # fmt: skip

        def run(command: str) -> str:
            words = [*FORGELORE, *shlex.split(command)[1:]]
            done = subprocess.run(
                words, env=environ, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(f"an example of the documentation fails: {command}\n{done.stderr}")
            return done.stdout

        run("forgelore demo --keep demo.db")
        yield run
