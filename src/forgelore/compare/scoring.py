"""Scores of a ranking: from the rank of each query's first right answer to recall, MRR and how sure they are.

A rank counts from 1; None, or a rank beyond `DEPTH`, is a miss. recall@k is the share of queries with a right answer
among the first k, MRR the mean of 1 / rank.

Recall is a share of yes and no, so it gets Wilson's interval: it needs no chance and stays honest when all or none
were found, where resampling would claim certainty. MRR has no such formula and is resampled, with a fixed seed, so that
equal ranks give equal figures. https://doi.org/10.1080/01621459.1927.10502953

The line format of `evaluate`: one query with its known answers per line, as JSON. Two kinds of line:

    {"query": 108, "kind": "issue", "created_at": "2011-03-08T14:47:03Z", "gold": [99]}
    {"q": "deleted files come back", "expect": ["#41", "!44", "v0.9.0"], "type": "issue", "state": "closed"}

- The first asks what the item 108 repeats. `gold` is empty for an item that repeats nothing; without `created_at` the
  stored time counts.
- The second is what a person would type. Any of `expect` is a right answer. `type`, `state`, `author`, `label`, `path`,
  `after`, `before` and `updated_after` limit the search as the options of `search` do; lists where those repeat.
- Other keys are for whoever wrote the file and are left alone.
"""

import json
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from forgelore.errors import InvalidValue
from forgelore.text.dates import parse_ms
from forgelore.text.refs import Ref, parse_ref
from forgelore.words import KIND_WORDS, FilterWords, Kind

DEPTH = 100
CUTS = (1, 5, 10, 20)
METRICS = (*(f"recall@{cut}" for cut in CUTS), "mrr")
RESAMPLES = 2_000
_SEED = 5
_Z = 1.959964  # 95 % of a normal distribution lie within

Rank = int | None


class Interval(NamedTuple):
    low: float
    high: float


class Score(NamedTuple):
    """Values and 95 % intervals by metric; both empty when there was nothing to measure."""

    n: int
    values: dict[str, float]
    ci95: dict[str, Interval]


class Difference(NamedTuple):
    """How much better the second run is, on the same queries; `is_clear` when the interval leaves zero out."""

    value: float
    ci95: Interval

    @property
    def is_clear(self) -> bool:
        return self.ci95.low > 0 or self.ci95.high < 0


def score_ranks(ranks: Sequence[Rank]) -> Score:
    """Return the scores of the ranks; their order does not matter."""
    if not ranks:
        return Score(0, {}, {})
    values = {metric: _mean(gains(ranks, metric)) for metric in METRICS}
    ci95 = {f"recall@{cut}": wilson(values[f"recall@{cut}"], len(ranks)) for cut in CUTS}
    # Sorted: which query gave which gain must not move the interval.
    ci95["mrr"] = bootstrap(sorted(gains(ranks, "mrr")))
    return Score(len(ranks), values, ci95)


def compare_ranks(before: Sequence[Rank], after: Sequence[Rank]) -> dict[str, Difference]:
    """Return the difference of two runs by metric. Paired: ranks at the same place are of the same query.

    Queries are far more unlike than two rankings, so the difference is known better than either score.
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} ranks cannot be of the same queries")
    found: dict[str, Difference] = {}
    for metric in METRICS if before else ():
        pairs = zip(gains(before, metric), gains(after, metric), strict=True)
        steps = sorted(new - old for old, new in pairs)
        found[metric] = Difference(_mean(steps), bootstrap(steps))
    return found


def gains(ranks: Sequence[Rank], metric: str) -> list[float]:
    """Return what each query adds to a metric: 0 or 1 for recall, 1 / rank for MRR.

    [1, 4, None], "recall@1" -> [1.0, 0.0, 0.0]      [1, 4, None], "mrr" -> [1.0, 0.25, 0.0]
    """
    if metric == "mrr":
        return [1 / rank if rank and rank <= DEPTH else 0.0 for rank in ranks]
    cut = int(metric.removeprefix("recall@"))
    return [float(rank is not None and rank <= cut) for rank in ranks]


def wilson(share: float, n: int) -> Interval:
    """Return the 95 % interval of a share that was seen on n cases."""
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    centre, whole = share + _Z * _Z / (2 * n), 1 + _Z * _Z / n
    # Rounding must not push a bound past what was seen.
    return Interval(max(0.0, min(share, (centre - spread) / whole)), min(1.0, max(share, (centre + spread) / whole)))


def bootstrap(values: Sequence[float]) -> Interval:
    """Return the 95 % interval of a mean: the middle of the means of resamples. Costs 0.2 ms a value."""
    chance = random.Random(_SEED)  # noqa: S311 - statistics, not a secret
    means = sorted(_mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = RESAMPLES // 40  # 2.5 % on either side
    return Interval(means[cut], means[-cut - 1])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


class Decided(NamedTuple):
    """One query that was decided on. `is_right`: what it named first is something it repeats."""

    score: float
    has_gold: bool
    is_right: bool


class DecisionScores(NamedTuple):
    """What a warning at a threshold of similarity would have done; None where there was nothing to measure.

    `precision` is of the queries as they are; `precision_at_prevalence` as if duplicates were as rare among them as in
    the project. `recall@fa5`: of the duplicates, how many are named rightly when at most 5 % of the others are flagged.
    """

    threshold: float
    precision: float | None
    recall: float | None
    false_alarms: float | None
    recall_at_fa1: float | None
    recall_at_fa5: float | None
    precision_at_prevalence: float | None
    duplicates: int
    others: int
    prevalence: float | None

    @staticmethod
    def json_key(name: str) -> str:
        return name.replace("recall_at_", "recall@")

    @staticmethod
    def json_digits() -> int:
        return 4


def score_decisions(decided: Sequence[Decided], *, threshold: float, prevalence: float | None) -> DecisionScores:
    """Return the scores of the decisions; their order does not matter."""
    known = [one for one in decided if one.has_gold]
    others = [one for one in decided if not one.has_gold]
    right = sum(one.score >= threshold and one.is_right for one in known)
    flagged, alarms = (sum(one.score >= threshold for one in each) for each in (known, others))
    at_prevalence = None
    if prevalence is not None and known and others:
        hits, noise = prevalence * flagged / len(known), (1 - prevalence) * alarms / len(others)
        at_prevalence = prevalence * right / len(known) / (hits + noise) if hits + noise else None
    return DecisionScores(
        threshold, _ratio(right, flagged + alarms), _ratio(right, len(known)), _ratio(alarms, len(others)),
        _recall_at(known, others, 0.01), _recall_at(known, others, 0.05), at_prevalence, len(known), len(others),
        prevalence,
    )  # fmt: skip


def _recall_at(known: Sequence[Decided], others: Sequence[Decided], share: float) -> float | None:
    """Return the recall at the lowest threshold that flags no more than a share of the others."""
    if not known or not others:
        return None
    allowed = int(share * len(others))
    bar = sorted((one.score for one in others), reverse=True)[allowed]  # the first that must not be flagged
    return sum(one.is_right and one.score > bar for one in known) / len(known)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


OneOrMoreWords = str | list[str]
_MAX_NUMBER = 1 << 63  # SQLite holds 64 bits


class Duplicate(NamedTuple):
    """A query by an item: what does it repeat? `created_at` in milliseconds; None: as stored."""

    number: int
    kind: Kind
    created_at: int | None
    gold: tuple[int, ...]


class Golden(NamedTuple):
    """A query by words: what a person would type, and what they hope to find. `filters`: within what."""

    text: str
    expect: tuple[tuple[str, Ref], ...]  # as written, and as understood
    filters: FilterWords


class _DuplicateLine(Struct):
    query: int
    kind: str
    gold: list[int]
    created_at: str | None = None


class _GoldenLine(Struct):
    q: str
    expect: list[str | int]
    type: OneOrMoreWords = []
    state: OneOrMoreWords = []
    author: OneOrMoreWords | None = None
    label: OneOrMoreWords = []
    path: OneOrMoreWords = []
    after: str | None = None
    before: str | None = None
    updated_after: str | None = None
    milestone: OneOrMoreWords = []
    assignee: OneOrMoreWords = []
    commenter: OneOrMoreWords = []
    mentions: OneOrMoreWords = []
    involves: OneOrMoreWords = []
    created: OneOrMoreWords = []
    updated: OneOrMoreWords = []
    comments: OneOrMoreWords = []
    no: OneOrMoreWords = []


def parse_query_line(line: bytes) -> Duplicate | Golden:
    """Return what a line asks; raises InvalidValue with the reason when it asks nothing we understand."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"not JSON: {error}") from error
    if not isinstance(row, dict) or not ("q" in row or "query" in row):
        raise InvalidValue('neither a query by number ("query") nor by words ("q")')
    try:
        if "q" in row:
            return _golden(msgspec.convert(row, _GoldenLine))
        return _duplicate(msgspec.convert(row, _DuplicateLine))
    except msgspec.ValidationError as error:
        raise InvalidValue(str(error)) from error


def _duplicate(line: _DuplicateLine) -> Duplicate:
    kind = KIND_WORDS.get(line.kind)
    if kind not in ("issue", "change"):
        raise InvalidValue(f"kind {line.kind!r} is neither issue nor change")
    return Duplicate(
        _checked(line.query), kind, parse_ms(line.created_at), tuple(_checked(number) for number in line.gold)
    )


def _golden(line: _GoldenLine) -> Golden:
    if not line.q.strip():
        raise InvalidValue("the query has no words")
    if not line.expect:
        raise InvalidValue("nothing is expected")
    filters = FilterWords(
        type=line.type, state=line.state, author=line.author, label=line.label, path=line.path,
        after=line.after, before=line.before, updated_after=line.updated_after, milestone=line.milestone,
        assignee=line.assignee, commenter=line.commenter, mentions=line.mentions, involves=line.involves,
        created=line.created, updated=line.updated, comments=line.comments,
        no=line.no,
    )  # fmt: skip
    return Golden(line.q, tuple((str(text), parse_ref(str(text))) for text in line.expect), filters)


def parse_numbers(text: bytes) -> list[int]:
    """Return the item numbers of an `--exclude` file: a JSON list."""
    try:
        return [_checked(number) for number in msgspec.json.decode(text, type=list[int])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidValue(
            f"not a JSON list of numbers: {error}", hint="write the numbers of items: [12, 34]"
        ) from error


def _checked(number: int) -> int:
    if not 0 <= number < _MAX_NUMBER:
        raise InvalidValue(f"number {number} is out of range")
    return number
