"""`evaluate`: the product's own search, asked questions whose answers are known.

An item's query is answered by `similar`, among earlier items of its kind; words are answered by `search`, down to the
first `DEPTH` hits. What cannot be asked is left out and listed: a line that cannot be read, an item that is not in the
store, answers none of which is. Answers that the protocol hides (later, excluded) count as missed.

With a threshold, each query is also decided as triage would have decided it when the item was filed: similarity is a
position among what was usual then, so a sample of older items is ranked first, without looking at labels.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import BinaryIO, Literal, NamedTuple

from forgelore.browse.refs import find_item
from forgelore.compare.calibrate import rank_earlier
from forgelore.compare.calibration import MIN, Distributions
from forgelore.compare.rank import CompareRequest, Match, as_answer, rank_matches
from forgelore.compare.reference import shipped_distribution, similarity_of
from forgelore.compare.scoring import (
    DEPTH,
    Decided,
    DecisionScores,
    Duplicate,
    Golden,
    Score,
    parse_query_line,
    score_decisions,
    score_ranks,
)
from forgelore.errors import InvalidValue, NotFound
from forgelore.ports.progress import Watcher
from forgelore.records import BestMatch
from forgelore.search.filters import parse_filters
from forgelore.search.query import Query, SearchMode
from forgelore.search.retriever import Retriever
from forgelore.search.run import SearchAnswer, search, warn_of_waiting
from forgelore.store.calibration import CalibrationScope
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import count_live, find_live, is_live, list_numbered, list_oldest
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.sqlite.fulltext import has_documents
from forgelore.sync.archive import BadLine
from forgelore.text.jsonl import numbered_lines
from forgelore.text.refs import Hosts, Ref, shown_ref

SIZE = 800  # items that are ranked to know what is usual, spread over the project's history
WINDOW = 250  # of them that make a query's distribution: the newest that are older than it


def decide_queries(
    retriever: Retriever, scope: CalibrationScope, asked: "Sequence[_Asked]", *, threshold: float, watcher: Watcher
) -> DecisionScores:
    """Return what a threshold on similarity would have done with the queries of one kind."""
    past = _rank_past(retriever, scope, watcher)
    decided = []
    for query in asked:
        similarity = _similarity(past, scope, query)
        decided.append(Decided(similarity, query.has_gold, query.is_right))
    duplicates = sum(query.has_gold for query in asked)
    items = count_live(retriever.store, scope.project_id, scope.kind)
    return score_decisions(decided, threshold=threshold, prevalence=duplicates / items if items else None)


def _rank_past(retriever: Retriever, scope: CalibrationScope, watcher: Watcher) -> list[tuple[int, BestMatch]]:
    """Return (creation, best match) of items spread evenly over the project's history, oldest first."""
    store = retriever.store
    everything = list_oldest(store, scope.project_id, scope.kind)
    step = max(1, len(everything) // SIZE)
    chosen = everything[step - 1 :: step]
    part = f"sample of {scope.kind}s"
    watcher.begin(part, part, len(chosen))
    found = []
    for item_id in chosen:
        subject = load_subject(store, item_id)
        matches = rank_earlier(retriever, subject).matches
        if matches and subject.created_at is not None:
            found.append((subject.created_at, matches[0].best))
        watcher.saved(part, 1)
    watcher.done(part)
    return found


def _similarity(past: list[tuple[int, BestMatch]], scope: CalibrationScope, query: "_Asked") -> float:
    if query.first is None:
        return 0.0
    end = bisect_left(past, (query.created_at,))
    window = past[max(0, end - WINDOW) : end]
    distribution = Distributions.of([best for _, best in window]) if len(window) >= MIN else shipped_distribution(scope)
    return similarity_of(distribution, query.first.strength, query.first.features)


Group = Literal["issue", "change", "golden"]
GROUPS: tuple[Group, ...] = ("issue", "change", "golden")
FOUND_WITHIN = 10  # a query whose answer stands further down is listed as missed
_EXAMPLE = 'one JSON object per line: {"q": "words", "expect": ["#12"]} or {"query": 34, "kind": "issue", "gold": [12]}'


class Suite(NamedTuple):
    """A query file: usable lines with their numbers, and the others with the reason."""

    queries: list[tuple[int, Duplicate | Golden]]
    bad: list[BadLine]


class EvaluationSetup(NamedTuple):
    """How a suite is run. `excluded`: numbers of items that are not candidates."""

    project: StoredProject | None
    hosts: Hosts
    now_ms: int  # what "7 days ago" in a query is counted from
    mode: SearchMode = "hybrid"
    excluded: tuple[int, ...] = ()
    is_time_ordered: bool = True
    threshold: float | None = None  # of similarity, to decide by; None: nothing is decided


class FirstHit(NamedTuple):
    ref: str
    title: str


class QueryResult(NamedTuple):
    """One query: what was asked and hoped for, where it stood (None: not among the hits), and what stood first."""

    line: int
    group: Group
    query: str  # the words, or the item's ref
    title: str | None
    expected: tuple[str, ...]
    rank: int | None
    first: FirstHit | None

    @property
    def is_missed(self) -> bool:
        return self.rank is None or self.rank > FOUND_WITHIN


class Evaluation(NamedTuple):
    """How a file of queries was answered: one by one, and what a threshold would have decided."""

    outcomes: list[QueryResult]
    mode: SearchMode  # what was really done
    not_duplicates: int  # lines without gold: there is nothing to find
    left_out: list[BadLine]
    warnings: list[str]
    decisions: dict[Group, DecisionScores] = {}  # noqa: RUF012 - never changed

    def score(self, group: Group) -> Score:
        return score_ranks([one.rank for one in self.outcomes if one.group == group])


def read_suite(source: BinaryIO) -> Suite:
    """Return the queries of a file, one per line. Raises InvalidValue when not one line can be used."""
    suite = Suite([], [])
    for number, line in numbered_lines(source, hint="get a whole copy"):
        if not line.strip():
            continue
        try:
            suite.queries.append((number, parse_query_line(line)))
        except InvalidValue as error:
            suite.bad.append(BadLine(number, error.message))
    if not suite.queries:
        reason = f"; line {suite.bad[0].number}: {suite.bad[0].reason}" if suite.bad else ""
        raise InvalidValue(f"no query in the file{reason}", hint=_EXAMPLE)
    return suite


def evaluate(
    retriever: Retriever, suite: Suite, setting: EvaluationSetup, *, watcher: Watcher | None = None
) -> Evaluation:
    """Ask every query of the suite and return where the answers stood."""
    if not has_documents(retriever.store):
        raise NotFound("nothing is indexed yet", hint="run: forgelore sync OWNER/REPO, or: forgelore generate-docs")
    is_deciding = setting.threshold is not None
    asked = [
        (line, query) for line, query in suite.queries
        if is_deciding or not isinstance(query, Duplicate) or query.gold
    ]  # fmt: skip
    watcher = watcher or Watcher()
    run = _Run(retriever, _with_project(retriever.store, suite, setting), watcher)
    watcher.begin("queries", "queries", len(asked))
    for line, query in asked:
        run.take(line, query)
        watcher.saved("queries", 1)
    watcher.done("queries")
    if run.left_out and not run.outcomes:
        first = run.left_out[0]
        hint = "check the project, or fetch the items: forgelore sync"
        raise NotFound(f"no query in the file can be run; line {first.number}: {first.reason}", hint=hint)
    mode = run.modes.pop() if len(run.modes) == 1 else setting.mode
    left_out = sorted([*suite.bad, *run.left_out], key=lambda bad: bad.number)
    empty = sum(isinstance(query, Duplicate) and not query.gold for _, query in suite.queries)
    return Evaluation(run.outcomes, mode, empty, left_out, list(run.warnings), run.decide())


def _with_project(store: Store, suite: Suite, setting: EvaluationSetup) -> EvaluationSetup:
    """A number means an item of one project: find out which before anything is asked."""
    needs_one = setting.excluded or any(isinstance(query, Duplicate) for _, query in suite.queries)
    if setting.project or not needs_one:
        return setting
    known = list_projects(store)
    if len(known) == 1:
        return setting._replace(project=known[0])
    names = ", ".join(str(project.name) for project in known[:8])
    raise InvalidValue("numbers of items need a project", hint=f"name a project: {names}")


class _Asked(NamedTuple):
    """A question with its answer, before they are compared."""

    group: Group
    query: str
    title: str | None
    expected: dict[int, str]  # item -> as it is written
    answer: SearchAnswer
    created_at: int | None = None
    matches: tuple[Match, ...] = ()
    has_gold: bool = True
    scope: CalibrationScope | None = None

    @property
    def first(self) -> Match | None:
        return self.matches[0] if self.matches else None

    @property
    def is_right(self) -> bool:
        return self.first is not None and self.first.hit.row.item_id in self.expected


class _Run:
    """One evaluation on one store: the retriever keeps its vectors in memory from query to query."""

    def __init__(self, retriever: Retriever, setting: EvaluationSetup, watcher: Watcher) -> None:
        self._retriever, self._store, self._setting, self._watcher = retriever, retriever.store, setting, watcher
        self._excluded = _load_excluded(self._store, setting)
        self.outcomes: list[QueryResult] = []
        self.left_out: list[BadLine] = []
        self.modes: set[SearchMode] = set()
        self._decided: dict[Group, list[_Asked]] = {}
        self._scopes: dict[Group, CalibrationScope] = {}
        # Each once: every query would warn of a missing embedder.
        projects = (setting.project.id,) if setting.project else ()
        self.warnings = dict.fromkeys(warn_of_waiting(self._store, Filters(project_ids=projects)))

    def take(self, line: int, query: Duplicate | Golden) -> None:
        try:
            asked = self._ask_item(query) if isinstance(query, Duplicate) else self._ask_words(query)
        except (NotFound, InvalidValue) as error:
            self.left_out.append(BadLine(line, error.message))
            return
        self.modes.add(asked.answer.mode)
        self.warnings.update(dict.fromkeys(asked.answer.warnings))
        self._keep_for_decision(asked)
        if not asked.has_gold:
            return
        rows = [hit.row for hit in asked.answer.hits]
        rank = next((at for at, row in enumerate(rows, 1) if row.item_id in asked.expected), None)
        expected = tuple(asked.expected.values())
        first = FirstHit(rows[0].ref, rows[0].title) if rows else None
        self.outcomes.append(QueryResult(line, asked.group, asked.query, asked.title, expected, rank, first))

    def _keep_for_decision(self, asked: _Asked) -> None:
        if self._setting.threshold is None or asked.scope is None or asked.created_at is None:
            return
        self._scopes[asked.group] = asked.scope
        self._decided.setdefault(asked.group, []).append(asked)

    def decide(self) -> dict[Group, DecisionScores]:
        """Return what the threshold would have done, by group; golden queries are not decided on."""
        threshold = self._setting.threshold
        if threshold is None:
            return {}
        return {
            group: decide_queries(
                self._retriever, self._scopes[group], asked, threshold=threshold, watcher=self._watcher
            )
            for group, asked in self._decided.items()
        }

    def _ask_item(self, query: Duplicate) -> _Asked:
        """Ask what an item repeats, as if it had just been filed."""
        project, store = self._setting.project, self._store
        assert project is not None
        refs = {number: shown_ref(project.name.forge, query.kind, number) for number in (query.number, *query.gold)}
        ids = {number: find_live(store, project.id, query.kind, number) for number in refs}
        item_id = ids[query.number]
        subject = load_subject(store, item_id) if item_id else None
        if subject is None:
            raise NotFound(f"{query.kind} {refs[query.number]} is not in {project.name}")
        expected = {gold_id: refs[number] for number in query.gold if (gold_id := ids[number])}
        if query.gold and not expected:
            raise NotFound(f"none of the items that {refs[query.number]} repeats is in {project.name}")
        created_at = subject.created_at if query.created_at is None else query.created_at
        if self._setting.is_time_ordered and created_at is None:
            raise InvalidValue(f"{refs[query.number]} has no creation time: which items came before it is unknown")
        filters = Filters(
            types=(query.kind,), project_ids=(project.id,), not_items=(*self._excluded, subject.item_id),
            before=created_at if self._setting.is_time_ordered else None,
        )  # fmt: skip
        subject = subject._replace(created_at=created_at)  # as old as the protocol says it was
        request = CompareRequest(
            subject, filters, self._setting.mode, DEPTH, is_bare=True, as_of=filters.before
        )  # fmt: skip
        ranking = rank_matches(self._retriever, request)
        group: Group = "issue" if query.kind == "issue" else "change"
        return _Asked(
            group, refs[query.number], subject.title, expected, as_answer(self._retriever, ranking), created_at,
            tuple(ranking.matches), bool(query.gold), ranking.scope,
        )  # fmt: skip

    def _ask_words(self, query: Golden) -> _Asked:
        project = self._setting.project
        found = [(self._find(ref), text) for text, ref in query.expect]
        expected = {item_id: text for item_id, text in found if item_id}
        if not expected:
            raise NotFound(f"none of {', '.join(text for _, text in found)} is in this database")
        ids = (project.id,) if project else ()
        filters = parse_filters(query.filters, now_ms=self._setting.now_ms, project_ids=ids, store=self._store)
        request = Query(query.text, self._setting.mode, filters._replace(not_items=self._excluded), DEPTH, is_bare=True)
        return _Asked("golden", query.text, None, expected, search(self._retriever, request))

    def _find(self, ref: Ref) -> int | None:
        try:
            item_id = find_item(self._store, ref, self._setting.project, self._setting.hosts)
        except (NotFound, InvalidValue):
            return None
        return item_id if is_live(self._store, item_id) else None


def _load_excluded(store: Store, setting: EvaluationSetup) -> tuple[int, ...]:
    if not setting.excluded or not setting.project:
        return ()
    return tuple(list_numbered(store, setting.project.id, setting.excluded))
