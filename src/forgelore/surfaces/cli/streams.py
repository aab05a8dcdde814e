"""Standard output and standard error: what cannot be written to the one is our error, to the other is dropped.

    > /dev/full, a full disk, >&-     OutputError, one line on standard error, exit code 8
    | head -1                         BrokenPipeError: the reader has what it wanted; nothing is printed
    2> /dev/full, 2>&-, 2>&1 | head   a command whose remarks nobody can read goes on with its work

Python itself confuses these: without standard output it prints nothing and calls that success, without
standard error it prints errors into the result, and a flush that fails at the very end is a traceback.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO, cast

from forgelore.errors import OutputError


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Turn an output that takes no more into our error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
        raise OutputError(f"standard output cannot be written: {why}") from error


class Output(io.TextIOWrapper):
    def write(self, text: str) -> int:
        with output_errors():
            return super().write(text)

    def flush(self) -> None:
        with output_errors():
            super().flush()


class Remarks(io.TextIOWrapper):
    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Put ours in the place of Python's; a caller that has put its own there keeps them."""
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _wrapped(Output, 1, sys.__stdout__)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _wrapped(Remarks, 2, sys.__stderr__)


def drop_output() -> None:
    """Send what is still in memory nowhere: Python flushes it once more at the end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _wrapped(kind: type[io.TextIOWrapper], number: int, stream: TextIO | None) -> io.TextIOWrapper:
    # A terminal that cannot show a letter shows ? instead of a crash.
    if stream is None:
        return kind(_take_place(number), encoding="utf-8", errors="replace")
    python = cast("io.TextIOWrapper", stream)  # what Python itself puts there
    return kind(
        python.buffer, encoding=python.encoding, errors="replace", line_buffering=python.line_buffering,
        write_through=python.write_through,
    )  # fmt: skip


def _take_place(number: int) -> io.BufferedWriter:
    """Return a file in the place of a closed stream: else the next one to be opened, a socket, would become it.

    The one for standard output is open for reading only, so that a result which goes there is missed.
    """
    found = os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_WRONLY)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    return open(number, "wb", closefd=False)
