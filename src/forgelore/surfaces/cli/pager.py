"""The pager: output longer than the terminal goes through `less`, as git does it.

Only on a terminal. FORGELORE_PAGER, then PAGER name the command; empty or `cat` means none, and so does --no-pager.
"""

import io
import os
import signal
import sys

from forgelore.surfaces.present.text import cells

DEFAULT = "less -FRX"
# What git sets where people have set nothing: leave when it fits, pass colours on, leave the screen as it is.
_ENVIRON = {"LESS": "FRX", "LV": "-c"}
_NOT_FOUND = (126, 127)


class PagedOutput(io.StringIO):
    """What a command prints, held back until it is known how long it is."""

    def isatty(self) -> bool:
        return True

    def show(self) -> None:
        """Print it all: through the pager where it is longer than the screen."""
        text, command = self.getvalue(), find_pager()
        if not text:
            return
        if command is None or _fits(text) or not _run(command, text):
            sys.stdout.write(text)
            sys.stdout.flush()


def is_paged() -> bool:
    """Whether somebody looks at a screen that can be paged. Without TERM, `less` warns and waits for a key."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def find_pager() -> str | None:
    """Return the command of the pager; None where none is wanted."""
    named = (os.environ.get(name) for name in ("FORGELORE_PAGER", "PAGER"))
    command = next((one for one in named if one is not None), None)
    if command is None:
        from shutil import which

        return DEFAULT if which("less") else None
    return None if command.strip() in ("", "cat") else command


def _fits(text: str) -> bool:
    size = os.get_terminal_size(sys.stdout.fileno())
    columns = max(1, size.columns)
    return sum(max(1, -(-cells(line) // columns)) for line in text.splitlines()) < size.lines


def _run(command: str, text: str) -> bool:
    """Return False where there is no such program, and nothing has been shown."""
    import subprocess

    environ = {**_ENVIRON, **os.environ}
    # A pager is a line of shell, in git as here; it is the user's own, never a clone's.
    pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ)  # noqa: S602
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's to understand
    try:
        pager.communicate(text.encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode not in _NOT_FOUND
