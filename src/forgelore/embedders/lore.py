"""The built-in embedder `lore`: a table with one vector per word piece, distilled from a transformer (training/).

    vector of a text    = unit(sum over its pieces of row * times ** 0.25), 600 pieces at most
    vector of a passage = unit(0.3 * vector(title) + 0.7 * vector(title and text))
    vector of a query   = vector(query)

A piece that stands there n times counts n ** 0.25 times: counted n times, a word that a long report repeats drowns its
subject (R@10 on unseen trackers fell from .83 to .79).

table.bin, little-endian, mapped from disk and never read whole:

    8 bytes     "loretab1"
    4 + 4       rows, width                                (unsigned)
    rows * 4    one scale per row                          (float32; how much a piece counts is in it)
    rows * w    the rows, row after row                    (int8; times its scale: the piece's vector)
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from forgelore.embedders.wordpieces import WordPieces
from forgelore.errors import ModelNotFound
from forgelore.words import Passage

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]

DATA = os.path.join(os.path.dirname(__file__), "lore_data")
MAGIC = b"loretab1"
HEADER = len(MAGIC) + 8

# A title names the subject, a body drifts.
TITLE_SHARE = 0.3
POWER = 0.25
MAX_TOKENS = 600
RULES = "1"  # of how title, text and pieces become a vector; a new number embeds everything again

_MAX_CHARS = 6_000  # more than 600 pieces of prose; what follows cannot matter


class LoreEmbedder:
    """The embedder `lore`. Made in no time; the first call maps the table and reads the vocabulary (30 ms)."""

    name = "lore"
    model = "word-piece table"
    chunk_chars = 1_800  # beside a title, 600 pieces hold 1,900 characters of cleaned tracker text
    batch_size = 256
    floor = 0.45  # of 15 nonsense queries the nearest of 11,768 issues reached 0.44; of 20 real ones 0.51 to 0.84

    def __init__(self, data: str = DATA) -> None:
        self._data = data
        self._sum = ""
        self._table: Table | None = None

    def fingerprint(self) -> str:
        """Return what shapes a vector: "lore:4dcf58bdb234:1". The manifest is read, once; the table is not."""
        self._sum = self._sum or load_sum(self._data)  # each search asks twice
        return f"{self.name}:{self._sum[:12]}:{RULES}"

    def embed_passages(self, passages: Sequence[Passage]) -> Sequence[Sequence[float]]:
        """Return a float32 array with one row per passage; a row of zeros where there is nothing to embed."""
        import numpy as np

        table = self._load()
        found = np.zeros((len(passages), table.width), dtype=np.float32)
        for row, (title, text) in enumerate(passages):
            titled = table.pieces.ids(title[:_MAX_CHARS], limit=MAX_TOKENS)
            body = table.pieces.ids(text[:_MAX_CHARS], limit=MAX_TOKENS - len(titled))
            subject, whole = table.vector(titled), table.vector(titled + body)
            found[row] = unit(TITLE_SHARE * subject + (1 - TITLE_SHARE) * whole)
        return cast("Sequence[Sequence[float]]", found)

    def embed_query(self, text: str) -> Sequence[float]:
        table = self._load()
        return cast("Sequence[float]", table.vector(table.pieces.ids(text[:_MAX_CHARS], limit=MAX_TOKENS)))

    def close(self) -> None:
        self._table = None

    def _load(self) -> "Table":
        if self._table is None:
            self._table = load_table(self._data)
        return self._table


class Table(NamedTuple):
    """The vocabulary, and the vectors of its pieces."""

    pieces: WordPieces
    codes: "np.ndarray[tuple[int, int], np.dtype[np.int8]]"
    scales: "Vector"

    @property
    def width(self) -> int:
        return self.codes.shape[1]

    def vector(self, ids: list[int]) -> "Vector":
        """Return the vector of a text from its pieces; zeros for none."""
        counts = Counter(ids)
        rows = list(counts)
        weights = self.scales[rows] * [count**POWER for count in counts.values()]
        return unit(weights.astype("f4") @ self.codes[rows].astype("f4"))


def load_table(data: str = DATA) -> Table:
    """Map the table; what does not have the size its header promises is damaged."""
    import numpy as np

    path = os.path.join(data, "table.bin")
    try:
        with open(os.path.join(data, "vocab.txt"), encoding="utf-8") as file:
            pieces = WordPieces(file.read())
        with open(path, "rb") as file:
            header = file.read(HEADER)
        rows, width = (int.from_bytes(header[at : at + 4], "little") for at in (8, 12))
        if header[:8] != MAGIC or rows != len(pieces) or os.path.getsize(path) != HEADER + rows * (4 + width):
            raise _damaged("table.bin")
        scales = np.fromfile(path, dtype="<f4", count=rows, offset=HEADER)
        codes = np.memmap(path, dtype=np.int8, mode="r", offset=HEADER + 4 * rows, shape=(rows, width))
    except (OSError, ValueError, KeyError):
        raise _damaged("table.bin or vocab.txt") from None
    # A plain array over the mapping: numpy's own class for it makes every row a slow object.
    return Table(pieces, codes.view(np.ndarray), scales)


def unit(vector: "Vector") -> "Vector":
    """Return the vector at length 1; zeros stay zeros."""
    length = float(vector @ vector) ** 0.5
    return vector / length if length else vector


def load_sum(data: str = DATA) -> str:
    """Return the SHA-256 of the table, as the manifest has it."""
    try:
        with open(os.path.join(data, "manifest.json"), encoding="utf-8") as file:
            return str(json.load(file)["table_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        raise _damaged("manifest.json") from None


def _damaged(name: str) -> ModelNotFound:
    return ModelNotFound(
        f"{name} of the built-in embedder is missing or damaged",
        hint="install it again: pip install --force-reinstall forgelore",
    )
