"""Ranking of code: how well a chunk answers a query, beyond how often it has its words.

Full text gives the candidates. What tells a good one is how much of the query it has (in its text, its names and its
path together), whether it defines what the query names, and whether it is a test, which says the same words about
something else.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

_TESTS = re.compile(
    r"(?:\A|/)(?:tests?|testing|testdata|spec|specs|__tests__|idlelib/idle_test)(?:/|\Z)|(?:\A|/)test_|_test\.|\.test\."
)
DEFINED = 1.0  # what a definition of something that the query names adds, as a share of the words' score
COVERED = 1.5  # the same for having every word of it
TEST = 0.5  # what the score of a test is worth, where nobody asks for tests
SECOND = 0.15  # what the second best chunk of a file adds


class FoundChunk(NamedTuple):
    """A chunk that full text found: its words' score, its file, and what it defines."""

    id: int
    file_id: int
    score: float
    path: str
    names: Sequence[str]
    stems: Collection[str]  # of path, names and text, as far as the query asks for them


class RankedChunk(NamedTuple):
    id: int
    file_id: int
    score: float
    coverage: float  # how much of the query it has, 0 to 1, rare words counting more


def rank_chunks(
    found: Sequence[FoundChunk], weights: Mapping[str, float], identifiers: Collection[str]
) -> list[RankedChunk]:
    """Return the best chunk of each file, best first. `weights`: what each stem of the query tells; `identifiers`: its
    words as typed, folded.
    """
    asks_for_tests = any(word.startswith("test") for word in identifiers)
    total = sum(weights.values())
    ranked = []
    for one in found:
        coverage = sum(weights[stem] for stem in one.stems if stem in weights) / total if total else 1.0
        score = one.score * (1 + COVERED * coverage + DEFINED * _defines(one.names, identifiers))
        if is_test(one.path) and not asks_for_tests:
            score *= TEST
        ranked.append(RankedChunk(one.id, one.file_id, score, coverage))
    return _best_of_files(sorted(ranked, key=lambda one: (-one.score, one.id)))


def is_test(path: str) -> bool:
    return _TESTS.search(path.lower()) is not None


def _defines(names: Sequence[str], identifiers: Collection[str]) -> bool:
    """Whether one of the names, or the last part of one, is a word of the query."""
    return any(name.lower() in identifiers or name.lower().rpartition(".")[2] in identifiers for name in names)


def _best_of_files(ranked: Sequence[RankedChunk]) -> list[RankedChunk]:
    best: dict[int, RankedChunk] = {}
    seconds: dict[int, float] = {}
    for one in ranked:
        if one.file_id in best:
            seconds.setdefault(one.file_id, one.score)
        else:
            best[one.file_id] = one
    both = [one._replace(score=one.score + SECOND * seconds.get(one.file_id, 0.0)) for one in best.values()]
    return sorted(both, key=lambda one: (-one.score, one.id))
