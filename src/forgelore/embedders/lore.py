r"""The built-in embedder `lore`: a table with one vector per word piece, distilled from a transformer (training/).

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

Text to word pieces, as BERT's uncased vocabulary cuts it.

The rules are those of the reference tokenizer (google-research/bert, tokenization.py), and a test holds both equal:

    control characters go, white space separates      "a\x07b c"       -> "ab c"
    each CJK ideograph is a word                      "日本 x"         -> "日" "本" "x"
    letters lose accents and case                     "Ünïcode"        -> "unicode"
    punctuation is a word of its own                  "don't"          -> "don" "'" "t"
    a word is cut greedily from its beginning         "unaffable"      -> "una" "##ffa" "##ble"
    what cannot be cut, or is over 100 characters     -> [UNK]

One difference, on purpose: "[SEP]" in somebody's text is five characters of text and not a control token.

In plain Python because it is faster than a native library here: words repeat, so nearly all of them are one look-up in
a dict, and reading the vocabulary takes 10 ms of CPU where building a native tokenizer takes 50.
"""

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from forgelore.errors import ModelNotFound
from forgelore.words import Passage

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


UNKNOWN = "[UNK]"
_LONGEST_WORD = 100
_REMEMBERED = 200_000  # words; about 40 MB when full, then forgotten
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_DROPPED = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPieces:
    """A vocabulary, one piece per line, and the words met so far."""

    def __init__(self, lines: str) -> None:
        self._ids = {piece: row for row, piece in enumerate(lines.rstrip("\n").split("\n"))}
        self._unknown = [self._ids[UNKNOWN]]
        self._words: dict[str, list[int]] = {}
        self._characters = _Characters()

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, text: str, *, limit: int) -> list[int]:
        """Return the rows of the first `limit` pieces of a text; none for an empty one."""
        rows: list[int] = []
        known = self._words
        for word in self._split(text):
            pieces = known.get(word)
            rows += self._cut(word) if pieces is None else pieces
            if len(rows) >= limit:
                del rows[limit:]
                break
        return rows

    def _split(self, text: str) -> list[str]:
        if text.isascii():
            if not text.isprintable():
                text = text.translate(_ASCII_DROPPED)
            return _ASCII_WORD.findall(text.lower())
        return text.translate(self._characters).split(" ")

    def _cut(self, word: str) -> list[int]:
        if not word:
            return []
        if len(self._words) >= _REMEMBERED:
            self._words.clear()
        pieces = self._words[word] = self._longest_pieces(word)
        return pieces

    def _longest_pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return self._unknown
        rows: list[int] = []
        start, ids = 0, self._ids
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                row = ids.get(prefix + word[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                return self._unknown
        return rows


class _Characters(dict[int, str]):
    """What each character becomes before words are split at blanks; filled as characters come up."""

    def __missing__(self, code: int) -> str:
        became = self[code] = _normal(chr(code))
        return became


def _normal(character: str) -> str:
    if character in "\t\n\r" or unicodedata.category(character) in {"Zs", "Zl", "Zp"}:
        return " "
    if character == "\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if any(low <= ord(character) <= high for low, high in _CJK):
        character = f" {character} "
    bare = "".join(c for c in unicodedata.normalize("NFD", character) if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _is_punctuation(c) else c.lower() for c in bare)


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


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
