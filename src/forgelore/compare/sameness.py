"""Sameness: do two items have the same text, nearly the same, or are they merely similar?

    same_text          title and text are equal but for case, blanks, line ends and characters that cannot be seen
    nearly_same_text   the same words in the same order; or, where all numbers are the same, 9 of 10 pairs of
                       neighbouring words, and 8 of 10 words of the titles; also equal items with a text of fewer than
                       8 words
    similar            everything else; also where the titles or the texts name different things: another platform,
                       component, version, identifier or number (compare/differences)

This is looked up, not measured: it needs no chance, no percentage and no model, and everybody can check it. So it
claims little. A number that differs counts ("Bump foo to 1.2" is not "Bump foo to 1.3"). HTML comments are not seen,
and near copies are compared without the lines of a form. An empty form has no text: an item must have three words of
its own, and one that is nothing but a title five ("Update README.md" is a habit, not a text). An item whose author or
a moderator blanked it ("[deleted]", ".", "removed") has none either.

Boilerplate: the lines that every report of a project has. Headings, questions and checklists of its templates.

They are learned, not listed: a line that many items of a project share says nothing about any of them. Many items are
items of many people: one text that was filed twenty times, or one person's way of writing, is not a template. But a
text that eight people filed word for word, and others in part, is a form that nobody filled in: its lines are
boilerplate however rare they are. Where the author of an item is unknown, its text stands for its author.

Vague: an item that says too little to be compared with others. One notion for triage and deduplication.

Query terms: the words that distinguish an item from others, as a full-text query.

All words of a report, ANDed, find nothing; all of them, ORed, take long and drown the subject. So the words that are
rare in the project and frequent in the item are ORed. FTS5 adds up the phrases of an OR, so what stands there twice
counts twice: words of the title do, for a title is the summary that its author made, and so do neighbours in it.

    "Wallet crash", "It hangs"      "wallet" OR "wallet" OR "crash" OR "crash" OR "hangs" OR "wallet crash"

Words come from the cleaned text. Logs and templates stay findable, but as a question they only find other logs.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from forgelore.compare.differences import compare_titles, line_key, usual_lines, without_comments
from forgelore.compare.signatures import parse_signature
from forgelore.index.cleaning import clean, is_form_line, telling_text
from forgelore.text.fence import folded
from forgelore.text.terms import has_unspaced, pairs_of

SHARE = 0.02  # of a project's items of one kind that must have a line ...
MIN = 8  # ... and how many authors and how many different texts: what three people paste is a shared symptom
READ = 8_000  # characters of a text; templates stand at the beginning
_MAX_LINES = 200


def keys_of(text: str) -> set[int]:
    lines = text[:READ].splitlines()[:_MAX_LINES]
    return {key for line in lines if (key := line_key(line)) is not None}


class _Line:
    """How often a line was seen, and up to `LEAST` of the authors and of the texts that have it."""

    __slots__ = ("authors", "items", "texts")

    def __init__(self) -> None:
        self.items, self.authors, self.texts = 0, set[int](), set[int]()

    def add(self, author: int, text: int) -> None:
        self.items += 1
        if len(self.authors) < MIN:
            self.authors.add(author)
        if len(self.texts) < MIN:
            self.texts.add(text)

    def is_everybodys(self, least: float) -> bool:
        return self.items >= least and len(self.authors) >= MIN and len(self.texts) >= MIN


def learn(written: Iterable[tuple[str | None, str]]) -> tuple[dict[int, int], int]:
    """Return the lines that many people's texts have, with how many items, and the number of items.

    Each entry is an author, None where unknown, and a text.
    """
    once: dict[int, tuple[int, int]] = {}  # nearly all lines are seen once: a pair takes a fifth of the room
    often: dict[int, _Line] = {}
    empty_forms = _EmptyForms()
    total = 0
    for author, text in written:
        key = hash(folded(text[:READ]))
        who = key if author is None else hash(author)
        empty_forms.add(key, who, text)
        for line in keys_of(text):
            if line in often:
                often[line].add(who, key)
            elif line in once:
                often[line] = seen = _Line()
                seen.add(*once.pop(line))
                seen.add(who, key)
            else:
                once[line] = (who, key)
        total += 1
        if total % 5_000 == 0:  # keeping the rare ones would take more room than the texts
            once.clear()
            often = {line: seen for line, seen in often.items() if seen.items > total // 5_000}
    least = max(MIN, SHARE * total)
    forms = empty_forms.lines
    known = {line: seen.items for line, seen in often.items() if seen.is_everybodys(MIN if line in forms else least)}
    return known, total


class _EmptyForms:
    """The lines of texts that `MIN` authors filed word for word."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._authors: dict[int, set[int]] = {}
        self.lines = set[int]()

    def add(self, text_key: int, author: int, text: str) -> None:
        first = self._first.setdefault(text_key, author)
        if first == author:  # nearly every text stands alone
            return
        authors = self._authors.setdefault(text_key, {first})
        authors.add(author)
        if len(authors) == MIN:
            self.lines |= keys_of(text)


def without_boilerplate(text: str, known: Collection[int]) -> str:
    """Return the text without the lines that are known; a text of nothing else is empty."""
    if not known or not text:
        return text
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines[:_MAX_LINES] if not line.strip() or line_key(line) not in known]
    return "".join([*kept, *lines[_MAX_LINES:]])


Sameness = Literal["same_text", "nearly_same_text", "similar"]

_NEAR = 0.9  # of the pairs of neighbouring words: one word in twenty may differ, in a short text none
SAME_TITLE = 0.8  # of the words: a long form in both texts must not hide that the subjects differ
_MIN_WORDS = 3
_MIN_TITLE = 5  # words of an item that is nothing but a title
_MIN_TEXT = 8  # different words of a text that is the same; equal shorter ones are often a habit ("Fix typos")
_COMPARED_CHARS = 30_000  # characters of a text whose words are compared
_WORD = re.compile(r"\w+")
_NAMES = ("identifier", "path", "frame")
_BLANKED_WORDS = "deleted removed redacted blank blanked moved withdrawn retracted spam"
_BLANKED = frozenset(_BLANKED_WORDS.split())
_BLANKED_CHARS = 40


def find_sameness(title: str, text: str, other_title: str, other_text: str) -> Sameness:
    """Return how nearly two items have the same text. Texts come without the project's own boilerplate.

    ("Crash", "It hangs on start.", "CRASH", "it hangs  on start.")  ->  same_text
    """
    titles = _words(title), _words(other_title)
    if _shared(*titles) < SAME_TITLE:  # so it ends for nearly every pair
        return "similar"
    mine, theirs = without_comments(text), without_comments(other_text)
    if not _says_enough(title, mine) or not _says_enough(other_title, theirs):
        return "similar"
    words = _words(_own(mine)), _words(_own(theirs))
    if folded(title) == folded(other_title) and folded(mine) == folded(theirs):
        return "same_text" if len(set(words[0])) >= _MIN_TEXT else "nearly_same_text"
    is_near = _is_near(titles[0] + words[0], titles[1] + words[1])
    return "nearly_same_text" if is_near and not _name_different_things(title, mine, other_title, theirs) else "similar"


def title_likeness(title: str, other: str) -> float:
    """Return the share of both titles' words that the other one has, too."""
    return _shared(_words(title), _words(other))


def _name_different_things(title: str, text: str, other_title: str, other_text: str) -> bool:
    """Tell whether the titles differ in what they name, or the texts each name something that the other does not: one
    list of tests in another's place.
    """
    found = compare_titles(title, other_title)
    if found.vetoes or found.additions:
        return True
    mine, theirs = (
        {mark.key for mark in parse_signature(each).marks if mark.what in _NAMES} for each in (text, other_text)
    )
    return bool(mine - theirs and theirs - mine)


def _is_near(mine: list[str], theirs: list[str]) -> bool:
    if mine == theirs:
        return True
    if not 0.8 <= len(mine) / len(theirs) <= 1.25 or _numbers(mine) != _numbers(theirs):
        return False
    return _shared(list(pairwise(mine)), list(pairwise(theirs))) >= _NEAR


def _shared(mine: Sequence[object], theirs: Sequence[object]) -> float:
    """Return the share of both lists that is in the other one too, each entry as often as it stands there."""
    both = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * both / (len(mine) + len(theirs)) if mine and theirs else 0.0


def _numbers(words: list[str]) -> list[str]:
    return sorted(word for word in words if any(sign.isdigit() for sign in word))


def _words(text: str) -> list[str]:
    """Return the words of a text in order; a run of a script without blanks as its pairs of characters."""
    words = _WORD.findall(folded(text[:_COMPARED_CHARS]))
    if not has_unspaced(text):
        return words
    return [part for word in words for part in (pairs_of(word) if has_unspaced(word) else [word])]


def _says_enough(title: str, text: str) -> bool:
    """Tell whether an item has a text of its own, beside what a form brought along."""
    if _is_blanked(title) or _is_blanked(text):
        return False
    in_title, in_text = ({word for word in _words(_own(part)) if not word.isdigit()} for part in (title, text))
    return len(in_title | in_text) >= (_MIN_WORDS if in_text else _MIN_TITLE)


def _is_blanked(text: str) -> bool:
    """Tell whether something stood here and was taken away: "[deleted]", "."; an empty text was never there."""
    return 0 < len(text.strip()) <= _BLANKED_CHARS and set(_words(text)) <= _BLANKED


def _own(text: str) -> str:
    usual = usual_lines()
    return "\n".join(line for line in text.splitlines() if line_key(line) not in usual and not is_form_line(line))


_VAGUE_WORDS = 3  # below that, "Crash" resembles every crash
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# What a report may say without saying anything: "Not working / please fix it".
_FILLER_WORDS = """
all also am an and any are as asap at be been broken bug but by can cannot could did do does doesn doing done don error
fix fixed for from get got had has have he hello help hey hi how if in into is isn issue it its just kindly me my need
needs no not now of ok on one or our please pls plz problem request so solve soon thank thanks that the them then there
they this to up urgent us want was we what when why will with won work worked working works would wrong you your
"""
_FILLERS = frozenset(_FILLER_WORDS.split())


def why_not_compare(title: str, text: str, boilerplate: Collection[int] = ()) -> str:
    """Return why an item says too little to be compared ("Crash", "Bug report" over an empty form); "": it does not.

    A form that nobody filled in is as good as empty: `boilerplate` is what every item of the project says, which tells
    nothing of this one.
    """
    form = frozenset(boilerplate) | usual_lines()
    telling = telling_text(without_boilerplate(text, form))[:2_000]
    title = "" if line_key(title) in form else title
    words = {word.lower() for word in _LETTERS.findall(f"{title}\n{telling}")}
    if len(words) < _VAGUE_WORDS or words <= _FILLERS or _is_blanked(text):
        return "its text is too short to compare"
    return "" if telling.strip() or not is_form_line(title) else "its template was not filled in"


LIMIT = 40  # words; 60 found no more once vectors were added, and took 29 ms instead of 26 at 29,000 documents
TITLE_TIMES = 2  # beside the pairs; three times lowered MRR from .720 to .712 once vectors were added

_QUERY_WORD = re.compile(r"[^\W_]+")  # cut like the index's tokenizer does
_LENGTHS = range(2, 41)  # one letter tells nothing, and what is longer than a word is a key
_QUERY_CHARS = 8_000  # characters of clean text; counting the words of a megabyte would take longer than the search


def distinctive_terms(
    title: str, body: str, *, document_count: Callable[[list[str]], dict[str, int]], total: int, limit: int = LIMIT
) -> list[tuple[str, int]]:
    """Return the most telling terms and how often each counts, best first; every term is safe inside double quotes.

    `document_count` says how many of the `total` documents hold each word; a word that it leaves out is in none.
    """
    title_words = list(_query_words(title))
    in_title = Counter(title_words)
    in_body = Counter(_query_words(clean(body)[:_QUERY_CHARS]))
    counts = document_count(list(in_title | in_body))
    known = [word for word in in_title | in_body if counts.get(word)]
    # To bm25() a word of every other document is worth nothing; it only takes time. In a tiny index all are like that.
    words = [word for word in known if 2 * counts[word] <= total] or known
    weights = {
        word: math.log1p(total / counts[word]) * math.log1p(in_body[word] + TITLE_TIMES * in_title[word])
        for word in words
    }
    best = sorted(words, key=lambda word: (-weights[word], word))[:limit]
    pairs = dict.fromkeys(f"{one} {next_}" for one, next_ in pairwise(title_words) if {one, next_} <= weights.keys())
    return [(word, TITLE_TIMES if word in in_title else 1) for word in best] + [
        (pair, 1) for pair in list(pairs)[:limit]
    ]


def _query_words(text: str) -> Iterator[str]:
    """Yield the words of a text as the index has them; a run of a script without blanks as its pairs."""
    is_unspaced = has_unspaced(text)
    for word in _QUERY_WORD.findall(text.lower()):
        if is_unspaced and has_unspaced(word):
            yield from pairs_of(word)
        elif len(word) in _LENGTHS:
            yield word
