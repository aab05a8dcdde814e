"""Products of bytes: rows of signed bytes times a row of signed bytes, without a copy of them as floats.

numkong does it where it is installed; where not, numpy, in pieces that are floats for a moment. Both are exact, so that
they give the same numbers. What each costs: docs/decisions/0013-bytes-in-memory.md.
"""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[tuple[int], np.dtype[np.int8]]
    Block = np.ndarray[tuple[int, int], np.dtype[np.int8]]
    Numbers = np.ndarray[tuple[int], np.dtype[np.float32]]

_PIECE = 1024  # rows that numpy makes floats of at a time: 1.5 MB, which stay in the processor's cache
_EXACT_FLOAT32 = (1 << 24) // 128**2  # dimensions whose sum of products a float of 32 bits holds to the last unit


class Kernel(NamedTuple):
    """How bytes are multiplied here."""

    name: str
    multiply: "Callable[[Block, Bytes], Numbers]"  # each row with one row
    square: "Callable[[Block], Numbers]"  # each row with itself


@functools.cache
def choose_kernel() -> Kernel:
    """Return numkong's products where it is installed and loads, or else numpy's."""
    try:
        import numkong  # noqa: F401 - asked whether it is there
    except ImportError:
        return NUMPY
    return NUMKONG


def _multiply_numkong(block: "Block", row: "Bytes") -> "Numbers":
    import numkong
    import numpy as np

    found: Numbers = np.asarray(numkong.cdist(row[None], block, metric="dot", out_dtype="float32"))[0]
    return found


def _square_numkong(block: "Block") -> "Numbers":
    import numkong
    import numpy as np

    zero = np.zeros((1, block.shape[1]), np.int8)
    found: Numbers = np.asarray(numkong.cdist(zero, block, metric="sqeuclidean", out_dtype="float32"))[0]
    return found


def _multiply_numpy(block: "Block", row: "Bytes") -> "Numbers":
    import numpy as np

    wide = row.astype(_exact_type(len(row)))
    return _collect(block, lambda floats: np.dot(floats, wide))


def _square_numpy(block: "Block") -> "Numbers":
    import numpy as np

    return _collect(block, lambda floats: np.einsum("ij,ij->i", floats, floats))


def _collect(block: "Block", measure: Callable[[Any], Any]) -> "Numbers":
    """Return the number of each row. Floats of 32 bits and of 64 meet here, which numpy's types cannot say."""
    import numpy as np

    found = np.empty(len(block), np.float32)
    for at, floats in _pieces(block):
        found[at : at + len(floats)] = measure(floats)
    return found


def _pieces(block: "Block") -> Iterator[tuple[int, Any]]:
    import numpy as np

    piece = np.empty((min(_PIECE, len(block)), block.shape[1]), _exact_type(block.shape[1]))
    for at in range(0, len(block), _PIECE):
        rows = block[at : at + _PIECE]
        np.copyto(piece[: len(rows)], rows)
        yield at, piece[: len(rows)]


def _exact_type(dimension: int) -> Any:
    import numpy as np

    return np.float32 if dimension <= _EXACT_FLOAT32 else np.float64


NUMKONG = Kernel("numkong", _multiply_numkong, _square_numkong)
NUMPY = Kernel("numpy", _multiply_numpy, _square_numpy)
