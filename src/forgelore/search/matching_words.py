"""Words of a text that can match a query: cut out and stemmed as full text has them, the others passed over.

A text has hundreds of words and a query a few. Stems begin as their words do, so that a word that begins otherwise need
not be stemmed, nor looked at once more:

    wanted: wallet, "chunk cache"   text: The wallet keeps its chunk cache. -> wallet | chunk cache

Who asks for iouring finds `io_uring` by the document's terms, which hold each identifier in one piece too. Where it
stands the first letters do not tell: a sign is between them. So the signs are taken out of the text; most texts do not
hold the word even then, and that is all the work there is.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple

from forgelore.text.terms import Token

Spelling = tuple[str, int]  # how a word begins, which word
_GAP: Token = (0, 0, "")  # between words that do not stand side by side: no stem is empty
_WORD = re.compile("[a-z0-9]+")  # what the tokenizer keeps whole of ASCII
_LETTERS = 3
_TAIL = 1  # letters at the end of a long stem that its word may not have


class Prefixes(NamedTuple):
    """The letters that words begin with which may be wanted, and how many words stand side by side at most."""

    letters: tuple[str, ...]
    longest: int


def build_beginnings(stems: Iterable[str], longest: int) -> Prefixes:
    """Return how words begin whose stem is one of these, or a longer one.

    The stemmer leaves the first three letters as they are, but for a y that it may have made an i: said -> sai <- say.
    """
    found = {
        "".join(letters)
        for stem in stems
        for letters in product(*("iy" if letter in "iy" else letter for letter in stem[:_LETTERS]))
    }
    return Prefixes(tuple(sorted(found)), longest)


@lru_cache(maxsize=4)  # words and identifiers of a text are looked for one after the other
def find_letters(lowered: str, beginnings: Prefixes) -> list[int]:
    """Return where such letters stand, in order, inside of words too. (`str.find` for each takes half the time of a
    pattern for all.)
    """
    places = []
    for letters in beginnings.letters:
        place = lowered.find(letters)
        while place >= 0:
            places.append(place)
            place = lowered.find(letters, place + 1)
    return sorted(places)


def find_matching_words(
    text: str, beginnings: Prefixes, tokenize: Callable[[str], list[Token]], stems: Callable[[str], list[str]]
) -> list[Token]:
    """Return the tokens that can match, and those behind them that belong to a phrase; all, where a text is not ASCII:
    what letters look like without their accents only the tokenizer knows.
    """
    if not text.isascii():
        return tokenize(text)
    lowered = text.lower()
    spans: list[tuple[int, int]] = []
    behind = 0
    for start in find_letters(lowered, beginnings):
        if start and lowered[start - 1].isalnum():
            continue
        if start >= behind:
            spans += [_GAP[:2], (start, behind := _end_of_word(lowered, start))]
        if beginnings.longest > 1:
            following = _WORD.finditer(lowered, _end_of_word(lowered, start))
            for word in islice(following, beginnings.longest - 1):
                if word.start() >= behind:
                    spans.append(word.span())
                    behind = word.end()
    found = iter(stems(" ".join(lowered[start:end] for start, end in spans if end))) if spans else iter(())
    return [(start, end, next(found)) if end else _GAP for start, end in spans]


def _end_of_word(lowered: str, start: int) -> int:
    word = _WORD.match(lowered, start)
    assert word is not None
    return word.end()


def spell_stem(stem: str) -> tuple[str, ...]:
    """Return how identifiers begin, in one piece, whose stem is this one or a longer one.

    "iour" -> ("iou",)    "connect" -> ("connec",)    "sai" -> ("sai", "say")    "größ" -> ()
    """
    if not stem.isascii():
        return ()
    letters = stem[: max(_LETTERS, len(stem) - _TAIL)]
    return (letters, f"{letters[:-1]}y") if letters == stem and stem.endswith("i") else (letters,)


def find_split(lowered: str, spellings: Sequence[Spelling]) -> list[tuple[int, int]]:
    """Return (place, which word) of the beginnings that stand in pieces, in order."""
    if not spellings:
        return []
    joined = lowered.replace("_", "").replace("-", "")
    there = [spelling for spelling in spellings if spelling[0] in joined]
    return sorted(_find_apart(lowered, joined, there)) if there else []


def _find_apart(lowered: str, joined: str, spellings: Sequence[Spelling]) -> Iterator[tuple[int, int]]:
    """A letter of the text without signs stands as many places further on as there are signs before it."""
    signs = [match.start() - before for before, match in enumerate(re.finditer("[_-]", lowered))]
    for letters, word in spellings:
        place = joined.find(letters)
        while place >= 0:
            further = bisect_right(signs, place)
            if bisect_right(signs, place + len(letters) - 1) > further:
                yield place + further, word
            place = joined.find(letters, place + 1)
