"""The real model server (`model.py`) as a process of its own, for as long as a test needs it."""

import contextlib
import pathlib
import subprocess
import sys
from collections.abc import Iterator

PROGRAM = pathlib.Path(__file__).with_name("model.py")


@contextlib.contextmanager
def running_model(*kind: str) -> Iterator[str]:
    """Yield its address; `"chat"`: of one that answers. It ends when its standard input closes, even if this process is
    killed.
    """
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), *kind],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        place = process.stdout.readline().strip()
        assert place.startswith("http://127.0.0.1:"), "the model server did not start"
        yield f"{place}/v1"
        process.stdin.close()
