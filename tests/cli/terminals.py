"""A real terminal of a given size, and a command in it."""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Sequence
from typing import NamedTuple

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Screen(NamedTuple):
    code: int
    raw: str

    @property
    def text(self) -> str:
        return _COLOURS.sub("", self.raw).replace("\r\n", "\n")


def run_in_terminal(
    *words: str, environ: dict[str, str | None], rows: int = 200, columns: int = 80, typed: str = "",
    keys: Sequence[str] = (), prompt: str = "> ",
) -> Screen:  # fmt: skip
    """Run the program on a terminal of that size, where somebody types, and return what it wrote there. `keys`: each is
    pressed when the prompt is there.
    """
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "TERM": "xterm",
        "PYTHONUTF8": "1",
        "FORGELORE_EMBEDDER": "none",
    }
    pid, terminal = pty.fork()
    if pid == 0:
        time.sleep(0.1)  # until the size is set
        program = [sys.executable, "-m", "forgelore.surfaces.cli.main", *words]
        os.execve(
            sys.executable,
            program,
            {name: value for name, value in {**settings, **environ}.items() if value is not None},
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.write(terminal, typed.encode())
    parts: list[bytes] = []
    end, waiting, seen = time.monotonic() + 60, list(keys), b""
    while time.monotonic() < end and select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # Linux says so at the end
            break
        if not part:
            break
        parts.append(part)
        seen += part
        if waiting and seen.endswith(prompt.encode()):
            seen = b""
            os.write(terminal, waiting.pop(0).encode())
    os.close(terminal)
    return Screen(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), b"".join(parts).decode())
