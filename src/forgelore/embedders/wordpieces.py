r"""Text to word pieces, as BERT's uncased vocabulary cuts it.

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

import re
import unicodedata

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
