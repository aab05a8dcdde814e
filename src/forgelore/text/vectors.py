"""Vectors at the border: which are fit to be stored, and how they are packed.

A vector is stored as signed bytes and one scale: a quarter of the space, and the cosine of two packed vectors differs
from the true one by less than 0.005. numpy is imported when the first vector comes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import EmbeddingFailed

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


class PackedVector(NamedTuple):
    scale: float
    data: bytes


def check_vector(raw: "Sequence[float] | EmbeddingFailed", dimension: int | None) -> "Vector | str":
    """Return the vector at length 1, or why it cannot be used. `dimension` None: any."""
    if isinstance(raw, EmbeddingFailed):
        return raw.message
    import numpy as np

    try:
        vector = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError):
        vector = np.empty(0, np.float32)
    if vector.ndim != 1 or not vector.size:
        return "the embedder returned something that is not a vector"
    if dimension is not None and vector.size != dimension:
        return f"the vector has {vector.size} dimensions instead of {dimension}"
    if not np.isfinite(vector).all():
        return "the vector holds NaN or infinity"
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if length < 1e-12:
        return "the vector is zero: the text has nothing to embed"
    return (vector / length).astype(np.float32)


def pack_vector(vector: "Vector") -> PackedVector:
    """Return a vector of length 1 as signed bytes; `scale` restores it (and its length) as well as bytes can."""
    import numpy as np

    largest = float(np.abs(vector).max())
    data = np.rint(vector * (127.0 / largest)).astype(np.int8)
    return PackedVector(1.0 / float(np.linalg.norm(data.astype(np.float64))), data.tobytes())


def unpack_vector(packed: PackedVector) -> "Vector":
    import numpy as np

    return np.frombuffer(packed.data, dtype=np.int8).astype(np.float32) * np.float32(packed.scale)
