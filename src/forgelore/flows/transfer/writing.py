"""Files that are written whole or not at all: a reader never sees half of one."""

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from forgelore.errors import InvalidValue, LoreError, StoreError

# Full, over a quota, larger than allowed, broken, read-only: the machine's part of what can go wrong.
_MACHINE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG, errno.EIO, errno.EROFS}


def write_lines(stream: BinaryIO, lines: Iterable[bytes]) -> int:
    """Write every line and return how many there were."""
    count = 0
    for line in lines:
        stream.write(line)
        count += 1
    stream.flush()
    return count


@contextlib.contextmanager
def open_target(path: str) -> Iterator[BinaryIO]:
    """Open a file beside the target, which it replaces in the end. A device or pipe is written to as it is."""
    target = os.path.realpath(path)
    is_plain = os.path.isfile(target) or not os.path.exists(target)
    partial = f"{target}.part" if is_plain else target
    try:
        with open(partial, "wb") as file:
            yield file
        if is_plain:
            os.replace(partial, target)
    except BaseException as error:
        if is_plain and os.path.exists(partial):
            os.unlink(partial)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _refusal(path, error) from error
        raise


def _refusal(path: str, error: OSError) -> LoreError:
    """Return whose fault it is: the machine's, or that of a path that nobody could write to."""
    message = f"cannot write {path}: {error.strerror}"
    if error.errno in _MACHINE:
        return StoreError(message, hint="free some space, or write elsewhere; no half file was left")
    return InvalidValue(message, hint="check the folder and its permissions")
