"""`dedupe review`: the pairs that are most likely duplicates, for a person to decide, and what people answered.

    kept candidates → pairs, best first → without those that are joined or answered → two piles → evidence of each

The piles: pairs, and behind them series, which are alike because they were filed as one (twins, whose titles differ in
a platform, a version or a number alone; siblings, near titles by one author within a week). No model is needed, and
only the evidence of the pairs that are shown is computed.

Answers become work by themselves: `same` is an edge by a person, everything else but `unsure` keeps the two apart
(store/reviews). Nothing is sent to a forge.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from forgelore.compare.differences import Relation, compare_lines, compare_titles, find_relation
from forgelore.compare.reference import load_curve
from forgelore.compare.signatures import parse_signature
from forgelore.dedupe.clusters import apply_overrides, cluster_edges
from forgelore.dedupe.overrides import check_pair
from forgelore.dedupe.review_rules import (
    Forecast,
    Joined,
    ReviewAnswer,
    forecast,
    order_pairs,
    settle,
)
from forgelore.errors import NotFound
from forgelore.records import CandidatePair, HumanDecision
from forgelore.store.calibration import CalibrationScope, load_boilerplate
from forgelore.store.candidates import list_sources
from forgelore.store.closings import PlanItem, load_plan_items
from forgelore.store.database import Store
from forgelore.store.decisions import each_override
from forgelore.store.links import load_fix, load_original
from forgelore.store.projects import StoredProject
from forgelore.store.reviews import (
    UNDONE,
    PairItem,
    find_last_answer,
    list_candidate_pairs,
    list_closed_by,
    list_compared,
    list_mentions,
    list_standing,
    load_pair_items,
    load_pair_strength,
    save_answer,
)
from forgelore.text.items import StoredItem
from forgelore.text.refs import shown_ref

Pile = Literal["pairs", "series"]
LIMIT = 50
DAY_MS = 86_400_000
RECENTLY_MS = 365 * DAY_MS  # how long ago an item ended that open ones are still shown beside
_BODY = 30_000  # characters of a text that a reviewer may unfold
_VERSIONS = 4
_ANY = 1 << 30
_UNIT = r"\s?(?:[mµn]?s|secs?|seconds?|min|[KMGT]i?B|%|x)(?!\w)"


class QueueSetting(NamedTuple):
    """`closed_since`: open items are also shown beside what ended since then. `second_opinion`: pairs that others have
    answered, and this person has not.
    """

    kinds: Sequence[str]
    closed_since: int
    limit: int = LIMIT
    second_opinion: bool = False


class ReviewItem(NamedTuple):
    """An item of a pair. `ended`: "" while it is open, else merged, fixed, duplicate, not_planned, closed …;
    `ended_by`: the number of the change that fixed it, or of the item that it was closed in favour of.
    """

    ref: str
    number: int
    title: str
    body: str
    url: str
    state: str
    author: str
    created_at: int | None
    ended: str
    ended_at: int | None
    ended_by: int | None
    versions: list[str]


class PairDifferences(NamedTuple):
    """What only one of two items has, and what both share: words of the titles as they are written, whole lines.
    `kinds`: in what the titles differ, such as platform or version. `both_name`: numbers of items that both mention.
    """

    title_newer: list[str]
    title_older: list[str]
    kinds: list[str]
    shared_lines: list[str]
    newer_lines: list[str]
    older_lines: list[str]
    both_name: list[int]


class ReviewPair(NamedTuple):
    """A pair to be decided. `relation`: twin or sibling, of the pile of series. `chance`: that it is a duplicate,
    before any answer. `answers`: who said what, where a second opinion is asked for.
    """

    kind: str
    newer: ReviewItem
    older: ReviewItem
    pile: Pile
    relation: Relation
    days_apart: int | None
    same_author: bool
    strength: float
    cosine: float | None
    similarity: float
    sameness: str
    chance: float
    differences: PairDifferences
    answers: dict[str, str]


class ReviewQueue(NamedTuple):
    """What is to be reviewed, best first, series last. `left`: how many pairs there are with those beyond the limit;
    `in_series`: of them, twins and siblings. `uncompared`: open items that have no list of candidates yet.
    """

    project: str
    pairs: list[ReviewPair]
    left: int
    in_series: int
    answered: int
    disputed: int
    uncompared: int
    forecast: Forecast


class AnsweredPair(NamedTuple):
    """A pair that people answered. `answer`: what it comes to, "" where they disagree. `by`: who said what."""

    kind: str
    newer: str
    older: str
    title: str
    older_title: str
    answer: ReviewAnswer | Literal[""]
    is_disputed: bool
    by: dict[str, str]


def load_queue(store: Store, project: StoredProject, setting: QueueSetting, *, person: str) -> ReviewQueue:
    """Return the best pairs that this person has not answered, and a forecast."""
    answers = [one for kind in setting.kinds for one in list_standing(store, project.id, kind)]
    readers = [PairReader(store, project, kind, _by_pair(answers)) for kind in setting.kinds]
    listed = [(each, pair) for each in readers for pair in each.list_pairs(setting, person)]
    listed.sort(key=lambda one: -one[1].order)
    pairs: list[tuple[PairReader, CandidatePair]] = []
    series: list[tuple[PairReader, CandidatePair]] = []
    for reader, pair in listed:
        (series if reader.relate(pair) else pairs).append((reader, pair))
    shown = [*pairs[: setting.limit], *series[: setting.limit]]
    verdicts = [settle(by) for by in _by_pair(answers).values()]
    return ReviewQueue(
        str(project.name), [reader.read(pair) for reader, pair in shown], len(listed), len(series), len(verdicts),
        sum(is_disputed for _, is_disputed in verdicts), sum(each.count_uncompared() for each in readers),
        forecast([pair.chance for _, pair in pairs], list(_list_known(answers)), shown=setting.limit),
    )  # fmt: skip


class PairReader:
    """Lists the pairs of one kind in their order, and reads the evidence of those that are shown."""

    def __init__(
        self, store: Store, project: StoredProject, kind: str, answers: Mapping[frozenset[int], dict[str, str]]
    ) -> None:
        self._store, self._project_id, self._kind, self._answers = store, project.id, kind, answers
        self._forge = project.name.forge
        self._mentions = list_mentions(store, project.id, kind)
        self._boilerplate = load_boilerplate(store, project.id, kind)
        self._items: dict[int, PairItem] = {}

    def count_uncompared(self) -> int:
        compared = list_compared(self._store, self._project_id, self._kind)
        sources = list_sources(self._store, self._project_id, self._kind)
        return sum(one not in compared for one in sources)

    def list_pairs(self, setting: QueueSetting, person: str) -> list[CandidatePair]:
        """Return the pairs that a person is to be asked about, best first."""
        ordered = self._order(setting.closed_since)
        is_wanted = self._answered_by_others(person) if setting.second_opinion else self._unanswered(person)
        return [one for one in ordered if is_wanted(one)]

    def relate(self, pair: CandidatePair) -> Relation:
        """Return whether the two are alike because they were filed as one."""
        return find_relation(self._items[pair.item_id], self._items[pair.target_id])

    def _order(self, closed_since: int) -> list[CandidatePair]:
        found = list_candidate_pairs(self._store, self._project_id, self._kind, closed_since=closed_since)
        self._items = load_pair_items(self._store, {item_id for one in found for item_id in one[:2]})
        scopes = {
            model: CalibrationScope(self._project_id, self._kind, model) for model in {one.model for one in found}
        }
        curves = {model: load_curve(self._store, scope) for model, scope in scopes.items()}
        pairs = []
        for one in found:
            newer, older = newer_first(self._items[one.item_id], self._items[one.target_id])
            chance = curves[one.model].chance(one.strength).value
            pairs.append(one._replace(item_id=newer.id, target_id=older.id, chance=chance))
        return order_pairs(pairs)

    def _unanswered(self, person: str) -> Callable[[CandidatePair], bool]:
        closed_by = list_closed_by(self._store, self._project_id) if self._kind == "issue" else ()
        joined = Joined(self._mentions, closed_by)
        words = list(each_override(self._store, self._project_id))
        said = {frozenset((one.item_id, one.target_id)) for one in words}
        same = apply_overrides((), words)
        group = {item: at for at, members in enumerate(cluster_edges(same.edges, bound=_ANY)[0]) for item in members}

        def is_wanted(pair: CandidatePair) -> bool:
            answers = self._answers.get(pair.key, {})
            is_answered = person in answers or any(answer != "unsure" for answer in answers.values())
            is_implied = pair.item_id in group and group[pair.item_id] == group.get(pair.target_id)
            is_said = pair.key in said or is_implied or joined.has(pair.item_id, pair.target_id)
            return not is_answered and not is_said

        return is_wanted

    def _answered_by_others(self, person: str) -> Callable[[CandidatePair], bool]:
        return lambda pair: person not in self._answers.get(pair.key, {person: ""})

    def read(self, pair: CandidatePair) -> ReviewPair:
        """Return a pair with its texts and what speaks for and against it."""
        relation = self.relate(pair)
        known = load_plan_items(self._store, (pair.item_id, pair.target_id))
        newer, older = (self._read_item(known[item_id]) for item_id in (pair.item_id, pair.target_id))
        is_known = newer.created_at is not None and older.created_at is not None
        apart = (newer.created_at or 0) - (older.created_at or 0)
        return ReviewPair(
            self._kind, newer, older, "series" if relation else "pairs", relation,
            apart // DAY_MS if is_known else None, bool(newer.author) and newer.author == older.author, pair.strength,
            pair.cosine, pair.similarity, pair.sameness, pair.chance, self._compare(pair, newer, older),
            self._answers.get(pair.key, {}),
        )  # fmt: skip

    def _read_item(self, item: PlanItem) -> ReviewItem:
        body, ended_at = (item.body or "")[:_BODY], self._items[item.id].ended_at
        versions = list_versions(f"{item.title}\n{body}")[:_VERSIONS]
        ended, by = ("", None) if item.state == "open" else self._read_ending(item)
        return ReviewItem(
            shown_ref(self._forge, item.kind, item.number), item.number, item.title, body, item.url or "",
            item.state or "", item.author or "", item.created_at, ended, ended_at if ended else None,
            by.number if by else None, versions,
        )  # fmt: skip

    def _read_ending(self, item: PlanItem) -> tuple[str, StoredItem | None]:
        """Return how an item ended, and the item that shows it. GitHub says "completed" of most closed items."""
        if item.state == "merged":
            return "merged", None
        reason = self._items[item.id].reason
        if original := load_original(self._store, item.id, is_marked=reason == "duplicate"):
            return "duplicate", original
        fix = load_fix(self._store, item.id) if reason in ("", "completed") else None
        return ("fixed", fix) if fix else ("closed" if reason in ("", "completed") else reason, None)

    def _compare(self, pair: CandidatePair, newer: ReviewItem, older: ReviewItem) -> PairDifferences:
        titles = compare_titles(newer.title, older.title)
        lines = compare_lines(newer.body, older.body, boilerplate=self._boilerplate)
        named = [
            {other for item, other, _ in self._mentions if item == mine} for mine in (pair.item_id, pair.target_id)
        ]
        both = load_pair_items(self._store, named[0] & named[1])
        kinds = titles.vetoes or (titles.additions if titles.is_twin else ())
        return PairDifferences(
            list(titles.only_first), list(titles.only_second), list(kinds),
            lines[0], lines[1], lines[2], sorted(one.number for one in both.values()),
        )  # fmt: skip


def list_versions(text: str) -> list[str]:
    """Return the versions that a text names; "2.39 s" and "4.5 MB" are none."""
    found = [mark.written for mark in parse_signature(text).marks if mark.what == "version"]
    return [one for one in found if not re.search(re.escape(one) + _UNIT, text)]


def newer_first(one: PairItem, other: PairItem) -> tuple[PairItem, PairItem]:
    """Return two items, the one that was filed later first; of those of one moment, the one with the larger number."""
    first, second = sorted((one, other), key=lambda each: (each.created_at or 0, each.number))
    return second, first


def _by_pair(answers: Sequence[HumanDecision]) -> dict[frozenset[int], dict[str, str]]:
    """Return pair -> who -> answer, in the order in which they were given."""
    found: dict[frozenset[int], dict[str, str]] = {}
    for one in answers:
        found.setdefault(frozenset((one.item_id, one.target_id)), {})[one.said_by] = one.decision
    return found


def _list_known(answers: Sequence[HumanDecision]) -> Iterator[tuple[float, bool]]:
    """Yield, of every pair that people agree on, the chance that it had and whether it was the same, oldest first."""
    chances = {frozenset((one.item_id, one.target_id)): one.chance for one in answers}
    for key, by in _by_pair(answers).items():
        (answer, _), chance = settle(by), chances[key]
        if chance is not None and answer not in ("", "unsure"):
            yield chance, answer == "same"


def answer_pair(
    store: Store, project: StoredProject, item_ids: tuple[int, int], answer: ReviewAnswer, *, said_by: str, now_ms: int
) -> AnsweredPair:
    """Save a person's answer about two items, in a transaction of its own; it replaces their earlier answer. Raises
    InvalidValue for items that cannot be a pair.
    """
    items = load_pair_items(store, item_ids)
    newer, older = newer_first(*(items[item_id] for item_id in item_ids))
    check_pair(newer.kind, older.kind, is_same=newer.id == older.id)
    with store.transaction():
        chance = _find_chance(store, project.id, newer, older)
        save_answer(store, project.id, HumanDecision(newer.id, older.id, answer, said_by, now_ms, chance))
    return _find_answered(store, project, newer, older)


def take_back(store: Store, project: StoredProject, *, said_by: str, now_ms: int) -> AnsweredPair:
    """Take back the last answer of a person; its edge goes with it. Raises NotFound without one."""
    with store.transaction():
        last = find_last_answer(store, project.id, said_by)
        if last is None:
            raise NotFound(
                f"{said_by} has no answers to take back", hint="see the answers: forgelore dedupe review --answers"
            )
        save_answer(store, project.id, last._replace(decision=UNDONE, said_at=now_ms))
    items = load_pair_items(store, (last.item_id, last.target_id))
    return _find_answered(store, project, items[last.item_id], items[last.target_id])


def list_answered(store: Store, project: StoredProject, kinds: Sequence[str]) -> list[AnsweredPair]:
    """Return the pairs that people answered, the disputed ones first, then the newest."""
    found = []
    for kind in kinds:
        answers = list_standing(store, project.id, kind)
        items = load_pair_items(store, {item_id for one in answers for item_id in one[:2]})
        pairs = {frozenset((one.item_id, one.target_id)): one for one in answers}
        found += [
            _show_answered(project, items[pairs[key].item_id], items[pairs[key].target_id], by)
            for key, by in reversed(_by_pair(answers).items())
        ]
    return sorted(found, key=lambda one: not one.is_disputed)


def _find_answered(store: Store, project: StoredProject, newer: PairItem, older: PairItem) -> AnsweredPair:
    by = _by_pair(list_standing(store, project.id)).get(frozenset((newer.id, older.id)), {})
    return _show_answered(project, newer, older, by)


def _show_answered(project: StoredProject, newer: PairItem, older: PairItem, by: Mapping[str, str]) -> AnsweredPair:
    answer, is_disputed = settle(by)
    refs = [shown_ref(project.name.forge, one.kind, one.number) for one in (newer, older)]
    return AnsweredPair(newer.kind, refs[0], refs[1], newer.title, older.title, answer, is_disputed, dict(by))


def _find_chance(store: Store, project_id: int, newer: PairItem, older: PairItem) -> float | None:
    """Return the chance of a pair by its stored numbers; None where it was not a candidate."""
    known = load_pair_strength(store, newer.id, older.id)
    if known is None:
        return None
    strength, model = known
    return load_curve(store, CalibrationScope(project_id, newer.kind, model)).chance(strength).value
