"""Snippets: the part of a text that answers a query best, and which of its words to mark.

The store gives the text's tokens as the full-text tokenizer cut and stemmed them, so that a mark is exactly what
matched. Identifiers found by their parts ("chunk cache" in ChunkCache) are marked as a whole, CJK by the characters
asked for. Blanks and line breaks come out as one space. Nothing here knows colours or HTML: marks are offsets.

A text has hundreds of words and a query a few. Stems begin as their words do, so a word that begins otherwise need not
be stemmed:

    wanted: wallet, "chunk cache"   text: The wallet keeps its chunk cache. -> wallet | chunk cache
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple

from forgelore.search.ftsquery import Word, without_stops
from forgelore.text.fence import folded, folded_letters
from forgelore.text.terms import (
    Token,
    find_inside_runs,
    find_specials,
    find_words,
    has_unspaced,
    identifiers,
    may_be_special,
    split_runs,
    word_terms,
)

MarkedSpan = tuple[int, int, int]  # first character, character behind the last, which wanted word
_REACH = 4  # widths of text looked at around a match; long runs of blanks shrink
_REGION = 2_500  # characters of a long text that are looked at
_HEAD = 3  # letters at the beginning of a word that no stemmer changes
_MAX_PLACES = 100  # of one word in it
_RAGGED = 30  # characters given up at most for a cut between words


Spelling = tuple[str, int]  # how a word begins, which word


class WordMatch(NamedTuple):
    """Stems that stand side by side; the last may be a prefix."""

    stems: tuple[str, ...]
    is_prefix: bool


class WantedWord(NamedTuple):
    """One word of the query: as typed, as stems, and the runs of unspaced script in it."""

    text: str
    sought: tuple[WordMatch, ...]
    runs: tuple[str, ...]


_Heads = dict[str, list[tuple[int, WordMatch]]]
_Prefixes = dict[str, list[int]]


class HighlightQuery(NamedTuple):
    """What a query asked for, and the tokenizer that stems the parts of identifiers."""

    words: tuple[WantedWord, ...]
    tokenize: Callable[[str], list[str]]
    heads: _Heads  # what is wanted by its first stem
    prefixes: _Prefixes  # words that are a single prefix
    beginnings: tuple[str, ...]  # the letters with which words begin that may be wanted
    longest: int  # how many words stand side by side at most
    spellings: tuple[Spelling, ...]  # of words that a text may write in pieces
    has_special: bool  # something that C++, C#, .NET and their like may be found by


class Snippet(NamedTuple):
    """A line of text, and (start, end) of what matched in it, in order and apart from each other."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def build_highlight_query(asked: Sequence[Word], tokenize: Callable[[str], list[str]]) -> HighlightQuery:
    """Return what to look for. `tokenize` gives the stems of a text, as the full-text table would store them."""
    words = tuple(_wanted_word(word, tokenize) for word in without_stops(asked))
    heads, prefixes = _heads(words)
    longest = max((len(sought.stems) for word in words for sought in word.sought), default=1)
    parts = {head[:_HEAD] for head in (*heads, *prefixes)}
    has_special = bool(prefixes) or any(map(may_be_special, heads))
    spellings = tuple(_spellings(heads, prefixes))
    beginnings = build_beginnings(parts)
    return HighlightQuery(words, tokenize, heads, prefixes, beginnings, longest, spellings, has_special)


def build_snippet(text: str, marks: list[MarkedSpan], *, width: int = 200, around: int = 0) -> Snippet:
    """Return at most `width` characters with the most distinct words asked for, the earliest such place.

    Where nothing matches, as for a hit by meaning alone, the text from `around` on, without marks.
    """
    around = min(max(around, 0), len(text))
    start, end = _best_core(marks, width - 2) if marks else (around, around)
    low, high = max(0, start - _REACH * width), min(len(text), end + _REACH * width)
    part = text[low:high]
    flat = " ".join(part.split())
    place = _place if len(flat) < len(part) else _same_place
    first, last = (min(len(flat), place(part, position - low)) for position in (start, end))
    lead = (width - 2 - (last - first)) // 3 if marks else 0
    left, right = _window(flat, first, last, lead=max(0, lead), width=width - 2)
    before = "…" if left > 0 or text[:low].strip() else ""
    after = "…" if right < len(flat) or text[high:].strip() else ""
    kept = []
    for mark_start, mark_end, _ in marks:
        if low + left <= mark_start and mark_end <= high:  # blanks only shrink: who stands before `left` is outside
            begin = place(part, mark_start - low)
            if begin >= right:
                break
            stop = begin + len(" ".join(text[mark_start:mark_end].split()))
            if left <= begin and stop <= right:
                kept.append((begin - left + len(before), stop - left + len(before)))
    return Snippet(f"{before}{flat[left:right]}{after}", merge_marks(kept))


def find_region(text: str, wanted: HighlightQuery, *, around: int = 0) -> tuple[int, int]:
    """Return the part of a long text that is worth cutting into words: where the most of what is wanted begins.

    Looks for the first letters of each word, which no stemmer changes: a hundredth of the price of the real thing. An
    identifier or a phrase that stands there as typed is looked for as a whole: a log is full of words in lib.
    """
    if len(text) <= _REGION:
        return 0, len(text)
    lowered = text.lower()
    found = sorted(_places_to_look_at(lowered, wanted))
    if len(lowered) != len(text) or not found:  # a few letters grow when they are folded, and offsets with them
        start = max(0, around - _REGION // 4)
        return start, min(len(text), start + _REGION)
    best, start, low = 0, 0, 0
    inside: Counter[str] = Counter()
    for position, word in found:
        inside[word] += 1
        while found[low][0] < position - _REGION // 2:
            inside[found[low][1]] -= 1
            if not inside[found[low][1]]:
                del inside[found[low][1]]
            low += 1
        if len(inside) > best:
            best, start = len(inside), found[low][0]
    start = max(0, start - _REGION // 4)
    return start, min(len(text), start + _REGION)


def _places_to_look_at(lowered: str, wanted: HighlightQuery) -> Iterator[tuple[int, str]]:
    """Yield where words may stand: one that is there in pieces, and not as typed, nowhere else."""
    typed = [(word.text.lower(), place) for place, word in enumerate(wanted.words) if word.text.isalnum()]
    split = find_split(lowered, [each for each in typed if each[0] not in lowered])
    yield from ((position, wanted.words[place].text) for position, place in split)
    in_pieces = {place for _, place in split}
    for place, word in enumerate(wanted.words):
        if place not in in_pieces:
            yield from _beginnings(lowered, word)


def _beginnings(lowered: str, word: WantedWord) -> Iterator[tuple[int, str]]:
    heads = {sought.stems[0][:_HEAD] for sought in word.sought} | {run[:1] for run in word.runs}
    is_plain = word.text.isalpha() and (word.text.islower() or word.text.istitle() or word.text.isupper())
    if not is_plain and word.text.lower() in lowered:
        heads = {word.text.lower()}
    for head in heads:
        position = lowered.find(head)
        for _ in range(_MAX_PLACES):
            if position < 0:
                break
            yield position, word.text
            position = lowered.find(head, position + 1)


def find_marks(text: str, tokens: Sequence[Token], wanted: HighlightQuery) -> list[MarkedSpan]:
    """Return (start, end, which of the wanted words) of everything that matches, in order."""
    marks = list(_find_marks(text, tokens, wanted))
    if "_" in text or "-" in text:
        marks += _find_in_pieces(text, wanted, {place for _, _, place in marks})
    return sorted(marks)


def find_tokens(text: str, tokenize: Callable[[str], list[Token]], wanted: HighlightQuery) -> list[Token]:
    """Return the tokens that `find_marks` needs to see; `tokenize` gives all of a text."""
    return find_matching_words(text, wanted.beginnings, tokenize, wanted.tokenize, longest=wanted.longest)


def matched_words(marks: Iterable[MarkedSpan], wanted: HighlightQuery) -> list[str]:
    """Return which of the query's words there are marks of, in the query's order, as typed."""
    found = {place for _, _, place in marks}
    return [word.text for place, word in enumerate(wanted.words) if place in found]


def _wanted_word(word: Word, tokenize: Callable[[str], list[str]]) -> WantedWord:
    if has_unspaced(word.text):  # its pairs would mark the whole sentence around it
        return WantedWord(word.text, (), tuple(split_runs(word.text)))
    sought = dict.fromkeys(WordMatch(tuple(tokenize(phrase.text)), phrase.is_prefix) for phrase in word.alternatives)
    return WantedWord(word.text, tuple(one for one in sought if one.stems), ())


def _find_marks(text: str, tokens: Sequence[Token], wanted: HighlightQuery) -> Iterator[MarkedSpan]:
    for place, word in enumerate(wanted.words):
        for run in word.runs:
            yield from ((*match.span(), place) for match in re.finditer(re.escape(run), text, re.IGNORECASE))
    heads, prefixes = wanted.heads, wanted.prefixes
    if not wanted.beginnings:
        return
    stems = [stem for _, _, stem in tokens]
    for first, last, place in _find_stems(stems, heads, prefixes):
        yield tokens[first][0], tokens[last][1], place
    yield from _find_identifiers(text, _fields_with(text, wanted.beginnings), wanted)
    for special in find_specials(text) if wanted.has_special else ():
        yield from ((special.start, special.end, place) for place in _places_of(special.terms, wanted))
    for start, end, inside in find_inside_runs(text):
        yield from ((start, end, place) for place in _places_of(inside, wanted))


def _find_in_pieces(text: str, wanted: HighlightQuery, found: set[int]) -> Iterator[MarkedSpan]:
    """Yield the identifiers by which words were found that have no mark otherwise; looking for the others too would
    cost more than it shows.
    """
    missing = [spelling for spelling in wanted.spellings if spelling[1] not in found]
    lowered = text.lower() if missing else ""
    if len(lowered) == len(text) and (split := find_split(lowered, missing)):  # else every identifier was looked at
        fields = _fields_around(lowered, [position for position, _ in split])
        yield from (mark for mark in _find_identifiers(text, fields, wanted) if mark[2] not in found)


def _places_of(terms: str, wanted: HighlightQuery) -> set[int]:
    return {place for _, _, place in _find_stems(wanted.tokenize(terms), wanted.heads, wanted.prefixes)}


def _spellings(heads: _Heads, prefixes: _Prefixes) -> Iterator[Spelling]:
    for stem, wanted in heads.items():
        yield from ((letters, place) for letters in spell_stem(stem) for place, one in wanted if len(one.stems) == 1)
    for stem, places in prefixes.items():
        yield from ((letters, place) for letters in spell_stem(stem) for place in places)


def _heads(words: tuple[WantedWord, ...]) -> tuple[_Heads, _Prefixes]:
    """Return what is wanted by its first stem, and the words that are a single prefix."""
    heads: _Heads = {}
    prefixes: _Prefixes = {}
    for place, word in enumerate(words):
        for sought in word.sought:
            if sought.is_prefix and len(sought.stems) == 1:
                prefixes.setdefault(sought.stems[0], []).append(place)
            else:
                heads.setdefault(sought.stems[0], []).append((place, sought))
    return heads, prefixes


def _find_stems(stems: list[str], heads: _Heads, prefixes: _Prefixes) -> Iterator[MarkedSpan]:
    """Yield (first token, last token, which word) of everything that is wanted among these stems."""
    beginnings = tuple(prefixes)
    for first, stem in enumerate(stems):
        for place, sought in heads.get(stem, ()):
            last = first + len(sought.stems) - 1
            if last == first or _matches(stems[first : last + 1], sought):
                yield first, last, place
        if beginnings and stem.startswith(beginnings):
            for beginning, places in prefixes.items():
                if stem.startswith(beginning):
                    yield from ((first, first, place) for place in places)


def _matches(stems: list[str], sought: WordMatch) -> bool:
    *inner, last = sought.stems
    if len(stems) <= len(inner) or stems[:-1] != inner:
        return False
    return stems[-1].startswith(last) if sought.is_prefix else stems[-1] == last


def _find_identifiers(text: str, fields: list[tuple[int, int]], wanted: HighlightQuery) -> Iterator[MarkedSpan]:
    """Yield the identifiers that were found by their entries in the terms column. First which, then where: most
    texts have none, and walking through every word is the slow part.
    """
    known: dict[str, set[int]] = {}
    for word in identifiers(" ".join(text[start:end] for start, end in fields)):
        terms = word_terms(word)
        if any(part.startswith(wanted.beginnings) for part in " ".join(terms).split()):
            known[word] = {place for each in terms for place in _places_of(each, wanted)}
    if any(known.values()):
        for start, end in fields:
            for match in find_words(text, start, end):
                yield from ((*match.span(), place) for place in known.get(match[0], ()))


def _fields_with(text: str, beginnings: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where such letters stand, from blank to blank: no identifier reaches further, and most texts have few."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow when they are folded, and offsets with them
        return [(0, len(text))]
    return _fields_around(lowered, find_letters(lowered, beginnings))


def _fields_around(text: str, places: list[int]) -> list[tuple[int, int]]:
    fields, behind = [], 0
    for place in places:
        if place >= behind:
            first = max(text.rfind(" ", behind, place) + 1, text.rfind("\n", behind, place) + 1, behind)
            ends = (text.find(" ", place), text.find("\n", place))
            behind = min(end if end >= 0 else len(text) for end in ends)
            fields.append((first, behind))
    return fields


def _best_core(marks: list[MarkedSpan], width: int) -> tuple[int, int]:
    """Return where the most distinct words stand within `width`, the earliest of equals."""
    inside: Counter[int] = Counter()
    best, core, right = 0, (0, 0), 0
    for left, (start, _, place) in enumerate(marks):
        while right < len(marks) and (right <= left or marks[right][1] - start <= width):
            inside[marks[right][2]] += 1
            right += 1
        if len(inside) > best:
            best, core = len(inside), (start, max(end for _, end, _ in marks[left:right]))
        inside[place] -= 1
        if not inside[place]:
            del inside[place]
    return core


def _place(text: str, position: int) -> int:
    """Return where a character of the text stands once its blanks are single spaces. (A loop over all characters took
    five times as long as these few joins.)
    """
    before = " ".join(text[:position].split())
    return len(before) + (before != "" and text[position - 1].isspace())


def _same_place(_text: str, position: int) -> int:
    """The same where every blank is a single one, as between the words of most paragraphs."""
    return position


def _window(flat: str, first: int, last: int, *, lead: int, width: int) -> tuple[int, int]:
    """Return the part to show: `first` to `last` with text around it, cut between words where one is near."""
    left = max(0, first - lead)
    right = min(len(flat), left + width)
    left = max(0, min(left, right - width))
    if left > 0 and flat[left - 1] != " ":
        blank = flat.find(" ", left, min(max(first, left), left + _RAGGED))
        left = blank + 1 if blank >= 0 else left
    if right < len(flat) and flat[right] != " ":
        blank = flat.rfind(" ", max(last, left, right - _RAGGED), right)
        right = blank if blank >= 0 else right
    while left < right and flat[left] == " ":
        left += 1
    while right > left and flat[right - 1] == " ":
        right -= 1
    return left, right


def merge_marks(marks: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the marks in order, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def find_marked_line(text: str, marks: Sequence[MarkedSpan]) -> int:
    """Return the line (from 0) with the most different words that matched, the earliest of equals; 0 without any."""
    found: dict[int, set[int]] = {}
    for start, _, word in marks:
        found.setdefault(text.count("\n", 0, start), set()).add(word)
    return max(found, key=lambda line: (len(found[line]), -line), default=0)


def find_worded_line(text: str, words: Collection[str]) -> str:
    """Return the line that holds the most of these words as they stand, the earliest of equals; the first line that
    says anything where none does.
    """
    plain = folded_letters(text)  # folding keeps the ends of lines
    wanted = [folded(word) for word in words]
    if any(" " in word for word in wanted):
        plain = "\n".join(map(folded, plain.split("\n")))
    wanted = [word for word in wanted if word in plain]  # of a long text most lines have none
    best, most = "", 0
    for line, folded_line in zip(text.split("\n"), plain.split("\n"), strict=True):
        held = sum(word in folded_line for word in wanted)
        if held > most or (not best and folded_line.strip()):
            best, most = line, held
    return best


_GAP: Token = (0, 0, "")  # between words that do not stand side by side: no stem is empty
_WORD = re.compile("[a-z0-9]+")  # what the tokenizer keeps whole of ASCII
_LETTERS = 3
_TAIL = 1  # letters at the end of a long stem that its word may not have


def build_beginnings(stems: Iterable[str]) -> tuple[str, ...]:
    """Return how words begin whose stem is one of these, or a longer one.

    The stemmer leaves the first three letters as they are, but for a y that it may have made an i: said -> sai <- say.
    """
    found = {
        "".join(letters)
        for stem in stems
        for letters in product(*("iy" if letter in "iy" else letter for letter in stem[:_LETTERS]))
    }
    return tuple(sorted(found))


@lru_cache(maxsize=4)  # words and identifiers of a text are looked for one after the other
def find_letters(lowered: str, beginnings: tuple[str, ...]) -> list[int]:
    """Return where such letters stand, in order, inside of words too. (`str.find` for each takes half the time of a
    pattern for all.)
    """
    places = []
    for letters in beginnings:
        place = lowered.find(letters)
        while place >= 0:
            places.append(place)
            place = lowered.find(letters, place + 1)
    return sorted(places)


def find_matching_words(
    text: str, beginnings: tuple[str, ...], tokenize: Callable[[str], list[Token]], stems: Callable[[str], list[str]],
    *, longest: int = 1,
) -> list[Token]:  # fmt: skip
    """Return the tokens that can match, and those behind them that belong to a phrase of at most `longest` words; all,
    where a text is not ASCII: what letters look like without their accents only the tokenizer knows.
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
        if longest > 1:
            following = _WORD.finditer(lowered, _end_of_word(lowered, start))
            for word in islice(following, longest - 1):
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
    """Return (place, which word) of the beginnings that stand in pieces, in order: iouring finds `io_uring` through the
    document's terms, but the text has a sign between the letters. Most texts lack the word even without their signs.
    """
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
