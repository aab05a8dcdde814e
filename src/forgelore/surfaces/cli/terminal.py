"""Plain text for a terminal: colour when somebody looks, widths that add up, nothing that a stranger's text can abuse.

Small on purpose: a list costs no import of rich. Text from a forge goes through `clean` before it is printed.

Output longer than a terminal goes through a pager, as git does it: FORGELORE_PAGER, then PAGER name the command; empty
or `cat` means none, and so does --no-pager.
"""

import io
import os
import re
import signal
import sys
from typing import IO

from forgelore.surfaces.present.text import cells, clean, fit, printable

__all__ = ["PagedOutput", "Style", "cells", "clean", "fit", "is_paged", "number", "table", "width", "wrap"]

_PAGER = "less -FRX"
# What git sets where people have set nothing: leave when it fits, pass colours on, leave the screen as it is.
_PAGER_ENVIRON = {"LESS": "FRX", "LV": "-c"}
_NO_SUCH_PROGRAM = (126, 127)


class Style:
    """Colours for one stream; plain text when it is not a terminal or NO_COLOR is set. `when` is what --color says."""

    def __init__(self, stream: IO[str], when: str | None = None) -> None:
        forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
        is_terminal = bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"
        by_itself = forced or (is_terminal and not os.environ.get("NO_COLOR"))
        self.on = when == "always" or (when != "never" and by_itself)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def red(self, text: str) -> str:
        return self._paint("31", text)

    def green(self, text: str) -> str:
        return self._paint("32", text)

    def yellow(self, text: str) -> str:
        return self._paint("33", text)

    def magenta(self, text: str) -> str:
        return self._paint("35", text)

    def cyan(self, text: str) -> str:
        return self._paint("36", text)

    def mark(self, text: str) -> str:
        """Return a text that stands out: bold and inverse, or in brackets where there are no colours."""
        return self._paint("1;7", text) if self.on else f"[{text}]"

    def state(self, state: str | None) -> str:
        paint = {"open": self.green, "closed": self.red, "merged": self.magenta}.get(state or "", self.dim)
        return paint(state or "")


def width() -> int:
    """Return the columns of the terminal (COLUMNS wins); 100 without one. shutil has the same, for 3 ms."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        columns = int(given)
    else:
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError, AttributeError):
            columns = 100
    return max(40, min(columns, 160))


def table(
    rows: list[list[str]], *, grow: int, spare: tuple[int, ...] = (), head: list[str] | None = None,
    style: Style | None = None, columns: int | None = None,
) -> list[str]:  # fmt: skip
    """Return aligned lines. Column `grow` takes what is left of the terminal and is cut to it; the `spare` ones, the
    last first, go where it would not get half of the width. `columns`: for another width.
    """
    if not rows:
        return []
    room = columns or width()
    everything = [head, *rows] if head else rows
    widths = [max(cells(row[column]) for row in everything) for column in range(len(rows[0]))]
    for column in sorted(spare, reverse=True):
        if _left(widths, grow, room) >= min(widths[grow], room // 2):
            break
        everything = [[*row[:column], *row[column + 1 :]] for row in everything]
        del widths[column]
    widths[grow] = max(12, min(widths[grow], _left(widths, grow, room)))
    lines = [_row(row, widths, grow) for row in everything]
    return [style.dim(lines[0]), *lines[1:]] if head and style else lines


def _left(widths: list[int], grow: int, room: int) -> int:
    return room - (sum(widths) - widths[grow] + 2 * (len(widths) - 1))


def _row(row: list[str], widths: list[int], grow: int) -> str:
    parts = [fit(part, widths[column]) if column == grow else part for column, part in enumerate(row)]
    return "  ".join(part + " " * (widths[column] - cells(part)) for column, part in enumerate(parts)).rstrip()


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Return somebody's Markdown as readable lines: paragraphs wrapped, code and tables left alone."""
    import textwrap

    lines: list[str] = []
    in_code = False
    for raw in printable(text).split("\n"):
        line = raw.expandtabs(4)
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        if in_code or line.startswith(("    ", "|", "```", "~~~", ">")) or not line.strip():
            lines.append(indent + line.rstrip() if line.strip() else "")
            continue
        hang = re.match(r"\s*(?:[-*+]|\d+[.)])?\s*", line)
        lines += textwrap.wrap(
            line, max(20, columns - len(indent)), initial_indent=indent,
            subsequent_indent=indent + " " * (len(hang[0]) if hang else 0),
            break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        ) or [""]  # fmt: skip
    return lines


def number(value: int) -> str:
    return f"{value:,}"


class PagedOutput(io.StringIO):
    """What a command prints, held back until it is known how long it is."""

    def isatty(self) -> bool:
        return True

    def show(self) -> None:
        """Print it all: through the pager where it is longer than the screen."""
        text, command = self.getvalue(), find_pager()
        if not text:
            return
        if command is None or _fits_screen(text) or not _run_pager(command, text):
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

        return _PAGER if which("less") else None
    return None if command.strip() in ("", "cat") else command


def _fits_screen(text: str) -> bool:
    size = os.get_terminal_size(sys.stdout.fileno())
    columns = max(1, size.columns)
    return sum(max(1, -(-cells(line) // columns)) for line in text.splitlines()) < size.lines


def _run_pager(command: str, text: str) -> bool:
    """Return False where there is no such program, and nothing has been shown."""
    import subprocess

    environ = {**_PAGER_ENVIRON, **os.environ}
    # A pager is a line of shell, in git as here; it is the user's own, never a clone's.
    pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ)  # noqa: S602
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's to understand
    try:
        pager.communicate(text.encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode not in _NO_SUCH_PROGRAM
