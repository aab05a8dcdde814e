"""Fusion: several ranked lists into one.

Two ways, because scores mean different things for two kinds of query:

    fuse         reciprocal rank fusion: each list gives a document its weight / (60 + its rank). For a few typed
                 words, whose scores mean little. https://dl.acm.org/doi/10.1145/1571941.1572114
    fuse_scores  each list gives a document its score's distance from the list's mean, in standard deviations. For an
                 item as the query: there the size of a lead tells a duplicate from a neighbour, and ranks forget it.
                 Of equally near items the younger one is the likelier: most things are reported twice within months.

On 262 duplicates of three trackers: MRR .693 by ranks, .721 by scores, .751 by scores and age; of first ten .863, .878,
.901. The gain of age was there on each tracker and for vectors and words apart; duplicates of items older than half a
year were found about as often as without.

Only the order differs: both report a document's ranks, its raw scores and its `rrf`.

Relevance of a hit, 0 to 1: how well it fits the query, wherever it ranks. Below `FLOOR` it fits badly.

    share of the query's telling words that it holds, cosine against what nonsense reaches -> relevance

Either is enough: a hit that holds every word has 1, and so has one that is as near as a repetition. A word that no
document holds takes something away from all: what was asked for is not here. Where that is every word, no hit fits,
however near: a model is near to anything in a language it was not made for.

Ranks order hits, but do not say whether any of them is good: even among bad hits, one is first.

Weights of the two lists of a search: what a query is made of says whether words or meaning should lead.

A query that is an identifier, an error code, a path or a quoted phrase wants the items that hold it, and meaning only
disturbs: of a page for such a query, words alone give 95 % that hold it, meaning alone 37 %. A sentence is the other
way round. Between them decides how much of what the query's words tell is told by such exact ones.

    words : vectors    plain language 1 : 1    half of it exact 1 : 0.75    one identifier 1 : 0.02

Chosen on identifiers, titles of changes and of duplicates of four trackers (bench/queries.py). The share is squared: a
sentence that names a function is still a sentence.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from forgelore.search.ftsquery import Word
from forgelore.text.terms import find_specials, has_unspaced, split_word

K = 60
DEPTH = 100  # of the scores that a list's mean is taken from, so that it does not depend on how many were asked for
RECENCY = 0.3  # deviations per list that an item e times as old must be ahead; .2 to .4 gave an MRR of .742 to .760

Ranked = Sequence[tuple[int, float]]


class Fused(NamedTuple):
    """One document: its rank and raw score in each list (None: not in it), and what they make together."""

    id: int
    rrf: float
    score: float  # rrf over the largest possible
    ranks: tuple[int | None, ...]
    scores: tuple[float | None, ...]


def fuse(lists: Sequence[Ranked], *, weights: Sequence[float] | None = None, k: int = K) -> list[Fused]:
    """Return the documents of all lists (of id and raw score, best first), best first by their ranks. `weights`: what
    each list counts, 1 where they are not given.

    Ties go to the better best rank, then to the smaller id, so that equal queries give equal answers.
    """
    return sorted(_merged(lists, k, weights), key=_by_rank)


def fuse_scores(lists: Sequence[Ranked], *, ages_days: Mapping[int, float] | None = None, k: int = K) -> list[Fused]:
    """Return the documents of all lists (of id and raw score, best first), best first by their standardised scores.

    A document that a list does not have gets the lowest score of that list: it cannot be better, or it would be there.
    `ages_days` says how much older than the query each document's item is; a missing one counts as the oldest.
    """
    ages = ages_days or {}
    oldest = max(ages.values(), default=0.0)
    scales = [Scale.of([score for _, score in ranked[:DEPTH]]) for ranked in lists]
    recency = RECENCY * sum(scale.deviation > 0 for scale in scales)

    def strength(one: Fused) -> float:
        likeness = sum(scale.standardise(score) for scale, score in zip(scales, one.scores, strict=True))
        return likeness - recency * math.log1p(max(ages.get(one.id, oldest), 0.0))

    return sorted(_merged(lists, k), key=lambda one: (-strength(one), _by_rank(one)))


class Scale(NamedTuple):
    """Where the scores of a list lie."""

    lowest: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "Scale":
        if not scores:
            return cls(0.0, 0.0, 0.0)
        mean = sum(scores) / len(scores)
        deviation = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
        return cls(min(scores), mean, deviation)

    def standardise(self, score: float | None) -> float:
        """Return 0 for all in a list whose scores are all alike: such a list says nothing about the order."""
        if not self.deviation:
            return 0.0
        return ((self.lowest if score is None else max(score, self.lowest)) - self.mean) / self.deviation


def _merged(lists: Sequence[Ranked], k: int, weights: Sequence[float] | None = None) -> list[Fused]:
    counted = weights or [1.0] * len(lists)
    most = sum(counted) / (k + 1)
    nowhere = [None] * len(lists)
    # Two hundred documents of a query that answers in milliseconds: plain loops take a third of what generators took.
    ranks_of: dict[int, list[int | None]] = {}
    scores_of: dict[int, list[float | None]] = {}
    sums: dict[int, float] = {}
    for at, ranked in enumerate(lists):
        weight = counted[at]
        for rank, (document, score) in enumerate(ranked, 1):
            if document not in sums:
                ranks_of[document], scores_of[document], sums[document] = [*nowhere], [*nowhere], 0.0
            ranks_of[document][at], scores_of[document][at] = rank, score
            sums[document] += weight / (k + rank)
    return [
        Fused(document, rrf, rrf / most, tuple(ranks_of[document]), tuple(scores_of[document]))
        for document, rrf in sums.items()
    ]


def _by_rank(one: Fused) -> tuple[float, int, int]:
    return -one.rrf, min(filter(None, one.ranks)), one.id


_MIN = 0.02  # of the vectors': enough to fill a page that words leave short, too little to change their order
# What joins names in code and in files. A single slash may be "read/write", and is not among them.
_JOINED = r"[A-Za-z0-9](?:::|->|[_\\.@=]|/[^/\s]*[/._])[A-Za-z0-9]"
_MIN_JOINED = 4  # "e.g" is not a name
_MANY_PIECES, _MIN_PIECE = 3, 3  # non-mandatory-script-verify, but neither end-to-end nor out-of-the-box
_MANY_DIGITS = 3  # CVE-2020-8840 is a code, 32-bit is not


class WeighedWord(NamedTuple):
    """A word of a query, its weight, and whether any document holds it."""

    text: str
    weight: float
    is_exact: bool
    is_known: bool = True


_NOTHING = WeighedWord("", 0.0, is_exact=False)


def weigh_lists(words: Sequence[WeighedWord]) -> tuple[float, float]:
    """Return what the lists of words and of vectors count; together 2, so that the fused scores of all queries have one
    scale. Words that no document holds say nothing: the words' list cannot find them.
    """
    known = [word for word in words if word.is_known]
    total = sum(word.weight for word in known)
    exact = sum(word.weight for word in known if word.is_exact) / total if total else 0.0
    exact *= exact
    by_words, by_meaning = 1.0, max(_MIN, 1 - exact)
    scale = 2 / (by_words + by_meaning)
    return by_words * scale, by_meaning * scale


def with_numbered_names(words: Sequence[WeighedWord]) -> list[WeighedWord]:
    """Return the words with those exact that a number follows: "BIP 141" is a name as much as BIP-141 is."""
    return [
        word._replace(is_exact=True) if following.is_exact and following.text.isdecimal() else word
        for word, following in zip_longest(words, words[1:], fillvalue=_NOTHING)
    ]


def is_exact(word: Word) -> bool:
    """Whether a word of a query is to be found exactly: a quoted phrase, an identifier, a code, a path, C++."""
    text = word.alternatives[0].text
    if word.alternatives[0].is_prefix or has_unspaced(text):
        return False
    return " " in text or bool(find_specials(word.text)) or _is_name(text.strip("`'\".,;:!?()[]{}<>"))


def split_names(identifier: str) -> list[str]:
    """Return the names that an identifier is made of, and of a path its last part.

    CTxMemPool::removeRecursive -> CTxMemPool, removeRecursive      src/net/conn_base.cpp -> conn_base.cpp
    """
    if "/" in identifier:
        return [identifier.rstrip("/").rpartition("/")[2]]
    names = [name for name in _between_names().split(identifier.strip("()")) if name]
    return names if len(names) > 1 and all(map(_is_name, names)) else [identifier]


def _is_name(text: str) -> bool:
    if _option().fullmatch(text) or _code().fullmatch(text):
        return True
    if len(text) >= _MIN_JOINED and _joined().search(text):
        return True
    if text.isdecimal():
        return len(text) >= _MANY_DIGITS and not _year().fullmatch(text)
    pieces = text.split("-")
    has_digits = any(character.isdigit() for character in text)
    if has_digits and any(character.isalpha() for character in text):
        return len(pieces) == 1 or any(piece.isdigit() and len(piece) >= _MANY_DIGITS for piece in pieces)
    if len(pieces) >= _MANY_PIECES and all(piece.isalpha() and len(piece) >= _MIN_PIECE for piece in pieces):
        return True
    return any(len(split_word(piece).split()) > 1 for piece in pieces)


@cache
def _year() -> re.Pattern[str]:
    return re.compile("(?:19|20)[0-9][0-9]")


@cache
def _option() -> re.Pattern[str]:
    return re.compile(r"--?[A-Za-z][A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")


@cache
def _code() -> re.Pattern[str]:
    """Names of signals and of system errors: SIGSEGV, ECONNREFUSED. Other capitals may be shouted."""
    return re.compile(
        "SIG(?:ABRT|BUS|CHLD|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|TRAP)"
        "|E(?:CONN|NO|ACCES|PERM|PIPE|AGAIN|EXIST|TIMED|ADDR|INVAL|BUSY|MFILE|HOST|NET)[A-Z]*"
    )


@cache
def _between_names() -> re.Pattern[str]:
    return re.compile(r"::|->|[.#]")


@cache
def _joined() -> re.Pattern[str]:
    return re.compile(_JOINED)


# Of 412 titles that have an answer, 1 in 50 has no hit above it; of 300 titles of other trackers every second.
FLOOR = 0.4
STRONG = 0.75
_CURVE = 1.5  # half of the words say less than half
_REACH = 0.25  # from the cosine of nonsense: this much below it says nothing, this much above says all
_UNCOMPARED = 0.3  # where meaning was not compared, or nobody knows what nonsense reaches
_UNKNOWN_COST, _NOTHING_KNOWN_COST = 0.5, 0.65
# The nearest of more documents is nearer. The best cosine of titles from other trackers has a median of .27 among 1,076
# documents, .35 among 2,503, .44 among 36,214 and 44,931; embedders name theirs for some ten thousand.
_GROWTH = 0.03  # per e-fold
_USUAL_DOCUMENTS = 12_000


def rate_hit(
    words: Sequence[WeighedWord], found: Collection[str], *, cosine: float | None, nonsense: float | None
) -> float:
    """Return how well a hit fits. `found`: the words of the query that it holds; `nonsense`: the cosine that a query
    without sense reaches, None where it is not known.
    """
    total = sum(word.weight for word in words)
    if not total:
        return 1.0
    held = sum(word.weight for word in words if word.text in found) / total
    unknown = sum(word.weight for word in words if not word.is_known) / total
    near = _UNCOMPARED if cosine is None or nonsense is None else _clip((cosine - nonsense + _REACH) / (2 * _REACH))
    fit = 1 - (1 - math.pow(held, _CURVE)) * (1 - near)
    has_known = any(word.is_known for word in words)
    return fit * (1 - (_UNKNOWN_COST * unknown if has_known else _NOTHING_KNOWN_COST))


def name_fits(relevances: Sequence[float]) -> list[str]:
    """Return strong, fair or weak for hits in their order; the words never rise again further down.

    The order knows what relevance does not, and the other way round: where a later hit is rated higher, both and those
    between them share their mean.

    .9 .3 .7 .1 -> strong fair fair weak
    """
    pools: list[list[float]] = []
    for one in relevances:
        pools.append([one])
        while len(pools) > 1 and _mean(pools[-2]) < _mean(pools[-1]):
            pools[-2:] = [[*pools[-2], *pools[-1]]]
    return [_name_fit(_mean(pool)) for pool in pools for _ in pool]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _name_fit(relevance: float) -> str:
    if relevance >= STRONG:
        return "strong"
    return "fair" if relevance >= FLOOR else "weak"


def nonsense_among(floor: float, documents: int) -> float | None:
    """Return the cosine that nonsense reaches among so many documents, from what the embedder says (its `floor`);
    None where that is not known.
    """
    if floor <= -1:
        return None
    return floor + _GROWTH * math.log(max(documents, 1) / _USUAL_DOCUMENTS)


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
