"""Ranking of what an item may repeat: the candidates, each pair's evidence, and how sure one may be.

    candidates -> evidence of each pair (texts, history, paths) -> strength -> best first
    strength -> similarity: a position among the best strengths of the project's own items
    strength of the first -> chance that it is a duplicate

`similar`, `search --similar-to`, `triage` and `evaluate` all rank here. `similar` asks by an item, or a draft of one:
the title and the body alone, as if it had just been filed, since what was said later is not known when it counts.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.compare.calibration import Chance, Distributions, Explanation, find_facts
from forgelore.compare.evidence import (
    SAME,
    Profile,
    QueryProfile,
    Quote,
    Signals,
    build_profile,
    build_query_profile,
    compare,
    compare_history,
    compare_paths,
    distinctive_paths,
    find_quotes,
    path_bonus,
    was_open,
    weigh_paths,
)
from forgelore.compare.reference import (
    compare_by_second,
    find_usual_cosines,
    load_curve,
    load_distribution,
    load_trees_of,
    name_model,
    shipped_distribution,
    similarity_of,
    warn_of_old_calibration,
)
from forgelore.compare.sameness import Sameness, without_boilerplate
from forgelore.compare.shortlist import (
    CANDIDATES,
    CompareRequest,
    Counts,
    Shortlist,
    Terms,
    find_shortlist,
    rescore_shortlist,
)
from forgelore.index.cleaning import clean
from forgelore.records import BestMatch
from forgelore.search.ftsquery import Phrase, Word
from forgelore.search.fusion import DEPTH, Fused, Scale
from forgelore.search.hits import Hit, build_hits
from forgelore.search.query import SearchMode
from forgelore.search.retriever import Retriever
from forgelore.search.run import (
    MAX_LIMIT,
    RESCORED,
    SearchAnswer,
    check_limit,
    find_next,
    warn_of_change,
    warn_of_waiting,
)
from forgelore.search.snippets import build_highlight_query
from forgelore.store.calibration import CalibrationScope, load_boilerplate
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.hits import HitRow, Subject, load_hits
from forgelore.store.item_history import load_histories
from forgelore.store.item_lists import load_number
from forgelore.store.paths import count_changes, count_changes_by_path, load_paths_of
from forgelore.store.sqlite.fulltext import has_documents, make_stems

if TYPE_CHECKING:
    from forgelore.ports.embedder import Embedder


__all__ = [
    "CANDIDATES", "CompareRequest", "Match", "Ranking", "SimilarAnswer", "SimilarHit", "as_answer", "find_similar",
    "narrow", "rank_matches",
]  # fmt: skip
_QUOTED = 3  # files that are named


class PathEvidence(NamedTuple):
    """What the change that asks touches, what its candidates do, and how much each path says."""

    mine: frozenset[str] = frozenset()
    theirs: Mapping[int, frozenset[str]] = {}  # by item
    weights: Mapping[str, float] = {}

    def features(self, item_id: int) -> dict[str, float]:
        """Return the numbers of a pair; none where paths are not known."""
        return compare_paths(self.mine, self.theirs.get(item_id, ()), self.weights)

    def quotes(self, item_id: int) -> tuple[Quote, ...]:
        """Return the rarest files that both touch."""
        found = distinctive_paths(self.mine, self.theirs.get(item_id, ()), self.weights)
        return tuple(Quote("file", path, path) for path in found[:_QUOTED])


def load_path_evidence(store: Store, subject: Subject, item_ids: Collection[int]) -> PathEvidence:
    """Return the path evidence of an item and these candidates, by three queries for all; empty for what touches no
    files: an issue does not. Paths of another project are other files.
    """
    if subject.kind != "change" or not subject.item_id:
        return PathEvidence()
    mine = load_paths_of(store, subject.project_id, [subject.item_id]).get(subject.item_id)
    if not mine:
        return PathEvidence()
    theirs = load_paths_of(store, subject.project_id, item_ids)
    # Of candidates without a path of this change nobody asks what their paths weigh.
    near = {item_id: paths for item_id, paths in theirs.items() if paths & mine}
    counts = count_changes_by_path(store, subject.project_id, mine.union(*near.values()))
    return PathEvidence(mine, near, weigh_paths(counts, count_changes(store, subject.project_id)))


_LONG = 50  # candidates of a list whose spread speaks for itself


class TextEvidence:
    """Compares the candidates of one shortlist. `usual`: mean and deviation of the embedder's cosines in a list, where
    they are known; `is_rescored`: another embedder than that of the lists gave the cosines.
    """

    def __init__(
        self, retriever: Retriever, found: Shortlist, *, usual: tuple[float, float] | None, is_rescored: bool
    ) -> None:
        self._retriever, self._found, self._usual = retriever, found, usual
        words, near = ([score for _, score in ranked[:DEPTH]] for ranked in found.lists.as_ranked())
        # How the scores of a list are spread, and how far a position among them may be trusted.
        self._words, self._words_trust = Scale.of(words), min(1.0, len(words) / _LONG)
        # Candidates that others chose are not a list of neighbours. By positions among them, 14 of 450 ordinary issues
        # had a similarity of 0.92 or more, by the embedder's usual cosines 35; 36 should have.
        self._near, self._near_trust = Scale.of(near), 0.0 if is_rescored else min(1.0, len(near) / _LONG)

    def compare(self, asked: QueryProfile, candidates: Sequence[tuple[Fused, Profile]]) -> list[dict[str, float]]:
        """Return the numbers of each candidate."""
        cosines, pairs = self._cosines([one for one, _ in candidates]), []
        for one, profile in candidates:
            cosine = cosines.get(one.id)
            signals = Signals(
                cosine, self._near.standardise(cosine), self._words.standardise(one.scores[0]), self._near_trust,
                self._words_trust, self._usual_position(cosine),
            )  # fmt: skip
            pairs.append(compare(asked, profile, signals))
        return pairs

    def _usual_position(self, cosine: float | None) -> float | None:
        if cosine is None or self._usual is None:
            return None
        mean, deviation = self._usual
        return (cosine - mean) / deviation

    def _cosines(self, candidates: list[Fused]) -> dict[int, float]:
        """Return how near candidates are, also those that only their words brought here; none without vectors."""
        known = {one.id: one.scores[1] for one in candidates if one.scores[1] is not None}
        vector = self._found.vector
        if vector is None or len(known) == len(candidates):
            return known
        from forgelore.store.sqlite.vectors import load_vectors
        from forgelore.text.values import unpack_vector

        unknown = [one.id for one in candidates if one.id not in known]
        packed = load_vectors(self._retriever.store, self._retriever.stored_embedder().id, unknown)
        return known | {each: float(unpack_vector(one) @ vector) for each, one in packed.items()}


class Match(NamedTuple):
    """A candidate that was compared: its evidence, the strength of that, and where that lies among what is usual."""

    hit: Hit
    features: dict[str, float]
    quotes: tuple[Quote, ...]
    strength: float
    similarity: float
    explanation: Explanation | None = None  # what moved the strength; None where numbers alone were asked for

    @property
    def sameness(self) -> Sameness:
        return next(name for name, value in SAME.items() if self.features.get("same", 0.0) >= value)

    @property
    def best(self) -> BestMatch:
        """As the first match of an item it is a part of the sample."""
        return BestMatch(self.strength, was_open(self.features))


class Ranking(NamedTuple):
    """Matches best first.

    `chance` is that the first is a duplicate; None without a match, across kinds, where the word is "related", and for
    the same or nearly the same text, which was not measured.
    `scope` says whose distribution gave the positions: the strength of the first belongs to that sample. None: other
    kinds or projects were looked at, and the shipped distribution gave them.
    """

    matches: list[Match]
    chance: Chance | None
    mode: SearchMode
    warnings: list[str]
    rest: tuple[Hit, ...] = ()  # hits behind the candidates, when more were asked for
    scope: CalibrationScope | None = None
    is_own: bool = False  # the positions are among the project's own items, not in the shipped distribution
    copies: tuple[
        Match, ...
    ] = ()  # all candidates of the same or nearly the same text, whatever the limit, oldest first
    order: tuple[int, ...] = ()  # the documents of the whole ranking, at least to the end of what was asked for
    total: int = 0  # items in it, among which one could page


class _Weighed(NamedTuple):
    """A candidate with its evidence."""

    fused: Fused
    features: dict[str, float]
    strength: float
    profile: Profile
    item_id: int


def rank_matches(retriever: Retriever, request: CompareRequest, *, rescorer: "Embedder | None" = None) -> Ranking:
    """Return what an item resembles, best first, with the evidence of each pair.

    A `rescorer` looks again at the first hundred candidates; what it raises is raised.
    """
    check_limit(request.limit)
    waiting = [] if request.is_bare else warn_of_waiting(retriever.store, request.filters)
    if not has_documents(retriever.store):
        return Ranking([], None, request.mode, waiting)
    ranking = _Ranker(retriever, request, rescorer).rank()
    return ranking._replace(warnings=[*waiting, *ranking.warnings])


class _Ranker:
    """One question. Holds what every step needs: the words' counts, the project's boilerplate, the model."""

    def __init__(self, retriever: Retriever, request: CompareRequest, rescorer: "Embedder | None") -> None:
        self._retriever, self._store, self._request = retriever, retriever.store, request
        self._subject, self._rescorer = request.subject, rescorer
        self._stems = make_stems(retriever.store)
        self._counts = Counts(retriever.store, self._stems)
        self._lines: dict[str, frozenset[int]] = {}
        self._body = self._plain(self._subject.body, self._subject.kind)
        self._paths = PathEvidence()

    def rank(self) -> Ranking:
        wanted = RESCORED if self._rescorer else max(self._request.limit, self._request.least)
        found = find_shortlist(self._retriever, self._request, body=self._body, counts=self._counts, wanted=wanted)
        judge, has_cosines = self._retriever, found.vector is not None
        if self._rescorer and found.fused:
            found = rescore_shortlist(self._store, self._rescorer, self._subject, found.first(wanted))
            judge, has_cosines = Retriever(self._store, self._rescorer), True
        rows = load_hits(self._store, [one.id for one in found.fused[:CANDIDATES]])
        asked = self._asked()
        # What is gone since the lists were made has no row.
        here = [(one, rows[one.id]) for one in found.fused[:CANDIDATES] if one.id in rows]
        second = None
        if found.vector is not None:
            second = compare_by_second(self._retriever, self._subject, [row.item_id for _, row in here])
        self._model = name_model(judge, with_vectors=has_cosines, with_second=second is not None)
        weighed = self._weigh(asked, found, here, second)
        return self._tell(asked, weighed, found)

    def _plain(self, text: str, kind: str) -> str:
        if kind not in self._lines:
            self._lines[kind] = load_boilerplate(self._store, self._subject.project_id, kind)
        return without_boilerplate(text, self._lines[kind])

    def _asked(self) -> QueryProfile:
        subject, counts = self._subject, self._counts
        number = load_number(self._store, subject.item_id) or 0
        profile = build_profile(subject.title, self._body, self._stems, number=number, created_at=subject.created_at)
        return build_query_profile(
            profile, clean(profile.text), self._stems, document_count=counts.of_stems, total=counts.total
        )

    def _weigh(
        self,
        asked: QueryProfile,
        found: Shortlist,
        candidates: list[tuple[Fused, HitRow]],
        second: list[dict[str, float]] | None,
    ) -> list[_Weighed]:
        """Return the candidates with their evidence, strongest first; of equals, as both lists together had them."""
        here, rows = [one for one, _ in candidates], [row for _, row in candidates]
        profiles = [self._profile(row) for row in rows]
        texts = TextEvidence(
            self._retriever, found, usual=find_usual_cosines(self._model), is_rescored=self._rescorer is not None
        ).compare(asked, list(zip(here, profiles, strict=True)))
        known = self._compare_histories(rows)
        items = [row.item_id for row in rows]
        self._paths = load_path_evidence(self._store, self._subject, items)
        paths = [self._paths.features(item_id) for item_id in items]
        parts = zip(texts, second or [{}] * len(here), known, paths, strict=True)
        pairs = [words | cosines | history | files for words, cosines, history, files in parts]
        # No model has seen a path: what shared files add is a rule beside the trees.
        strengths = [
            strength + path_bonus(files)
            for strength, files in zip(load_trees_of(self._model).strengths(pairs), paths, strict=True)
        ]
        weighed = [_Weighed(*each) for each in zip(here, pairs, strengths, profiles, items, strict=True)]
        return sorted(weighed, key=lambda one: -one.strength)

    def _compare_histories(self, rows: list[HitRow]) -> list[dict[str, float]]:
        """Return what was known of each candidate. Across kinds nothing is: a change that was merged is not what an
        issue that was closed is.
        """
        subject = self._subject
        alike = [row.item_id for row in rows if row.kind == subject.kind]
        known = load_histories(self._store, alike, before=self._request.as_of, not_from=subject.item_id)
        return [
            compare_history(known[row.item_id], author=subject.author, asked_at=subject.created_at)
            if row.item_id in known
            else {}
            for row in rows
        ]

    def _profile(self, row: HitRow) -> Profile:
        text = self._plain(row.text, row.kind)
        said = None if row.body is None else self._plain(row.body, row.kind)
        return build_profile(row.title, text, self._stems, said=said, number=row.number, created_at=row.created_at)

    def _tell(self, asked: QueryProfile, weighed: list[_Weighed], found: Shortlist) -> Ranking:
        request = self._request
        start, end = request.offset, request.offset + request.limit
        scope, is_own = (
            CalibrationScope(self._subject.project_id, self._subject.kind, self._model),
            self._is_among_its_own(),
        )
        distribution = load_distribution(self._store, scope) if is_own else shipped_distribution(scope)
        similarities = _similarities(weighed, distribution)
        best = _first_of_states(weighed[start:end], request.per_state)
        # The first one always: whether it is a duplicate is what `chance` is about.
        best = [*best[:1], *(one for one in best[1:] if similarities[one.fused.id] >= request.min_similarity)]
        rest = found.fused[max(CANDIDATES, start) : end]
        # Of twenty copies the nearest in time are the strongest, and the one to be named is the first.
        known = {one.fused.id for one in best}
        copies = (
            [] if request.is_bare else [one for one in weighed if one.features["same"] and one.fused.id not in known]
        )
        is_shown = request.with_explanations and not request.is_bare
        wanted = build_highlight_query(_as_words(found.terms), self._stems) if is_shown else None
        built = build_hits(self._retriever, [*(one.fused for one in (*best, *copies)), *rest], found.lists, wanted)
        hits = {hit.row.document_id: hit for hit in built}
        shown = [one for one in (*best, *copies) if one.fused.id in hits]
        by_id = {
            one.fused.id: Match(
                hits[one.fused.id], one.features, quotes, one.strength, similarities[one.fused.id], explanation
            )
            for one, (quotes, explanation) in zip(shown, self._explain(asked, shown), strict=True)
        }
        matches = [by_id[one.fused.id] for one in best if one.fused.id in by_id]
        is_measured = bool(matches) and is_own and not start and matches[0].sameness == "similar"
        chance = load_curve(self._store, scope).chance(matches[0].strength) if is_measured else None
        old = warn_of_old_calibration(self._store, scope) if chance and not request.is_bare else []
        return Ranking(
            matches, chance, found.mode, [*found.warnings, *old], tuple(hits[one.id] for one in rest if one.id in hits),
            scope if is_own else None, distribution.source == "project",
            tuple(sorted((one for one in by_id.values() if one.sameness != "similar"), key=_age)),
            (*(one.fused.id for one in weighed), *(one.id for one in found.fused[CANDIDATES:])), found.found,
        )  # fmt: skip

    def _explain(
        self, asked: QueryProfile, shown: list[_Weighed]
    ) -> Iterator[tuple[tuple[Quote, ...], Explanation | None]]:
        """Yield what people see of each: what both say, and which facts moved the strength."""
        facts: Sequence[Explanation | None] = [None] * len(shown)
        if self._request.with_explanations and not self._request.is_bare:
            facts = find_facts(load_trees_of(self._model), [one.features for one in shown])
        for one, explanation in zip(shown, facts, strict=True):
            quotes = () if self._request.is_bare else find_quotes(asked, one.profile) + self._paths.quotes(one.item_id)
            yield quotes, explanation

    def _is_among_its_own(self) -> bool:
        """Tell whether it is compared with items of its own kind and project alone."""
        filters, subject = self._request.filters, self._subject
        return filters.types == (subject.kind,) and filters.project_ids in ((), (subject.project_id,))


def _first_of_states(weighed: list[_Weighed], most: int | None) -> list[_Weighed]:
    """Return at most so many open candidates, and as many that are not, in their order."""
    if most is None:
        return weighed
    counts: Counter[bool] = Counter()
    kept = []
    for one in weighed:
        is_open = was_open(one.features) is True
        counts[is_open] += 1
        if counts[is_open] <= most:
            kept.append(one)
    return kept


def _similarities(weighed: list[_Weighed], distribution: Distributions) -> dict[int, float]:
    """Return the similarity of each candidate: what is ranked lower never reads as nearer, unless it is a copy."""
    found, most = dict[int, float](), 1.0
    for one in weighed:
        found[one.fused.id] = similarity_of(distribution, one.strength, one.features, most=most)
        if not one.features["same"]:
            most = found[one.fused.id]
    return found


def _age(match: Match) -> tuple[int, int]:
    return match.hit.row.created_at or 0, match.hit.row.number


def _as_words(terms: Terms) -> tuple[Word, ...]:
    """Return the telling words as words of a query, to be marked in snippets and named as the reason, best first."""
    return tuple(Word(term, (Phrase(term),)) for term, _ in terms)


class SimilarHit(NamedTuple):
    """An item that resembles another. `match` is what both have; None behind the candidates that were looked at."""

    hit: Hit
    match: Match | None

    @property
    def ref(self) -> str:
        return self.hit.ref

    @property
    def title(self) -> str:
        return self.hit.title

    @property
    def url(self) -> str | None:
        return self.hit.url


class SimilarAnswer(NamedTuple):
    """What an item resembles, best first; `Hit.words` are the telling words both have. `chance`: that the first is a
    duplicate, where that is known. `total`: how many are on all pages; everything is more or less like an item, and
    what is further away is on none. `next_page`: the offset of the next one, "" at the end.
    """

    title: str  # of the item that was asked about
    hits: list[SimilarHit]
    mode: SearchMode  # what was really done
    warnings: list[str]
    chance: Chance | None
    is_nothing_indexed: bool = False
    total: int = 0
    offset: int = 0
    next_page: str = ""
    is_draft: bool = False  # it was a text that nobody has filed


def find_similar(retriever: Retriever, request: CompareRequest, *, rescorer: "Embedder | None" = None) -> SimilarAnswer:
    """Return what an item resembles, from a place in the ranking on."""
    request = request._replace(least=MAX_LIMIT)
    ranking = rank_matches(retriever, request, rescorer=rescorer)
    found = [SimilarHit(match.hit, match) for match in ranking.matches]
    found += [SimilarHit(hit, None) for hit in ranking.rest]
    is_empty = not has_documents(retriever.store)
    end = request.offset + request.limit
    following = find_next(end, ranking.order, is_end=end >= ranking.total)
    warnings = [*ranking.warnings, *warn_of_change(request.offset, request.seal, ranking.order)]
    return SimilarAnswer(
        request.subject.title, found, ranking.mode, warnings, ranking.chance, is_empty, ranking.total, request.offset,
        following,
    )  # fmt: skip


def as_answer(retriever: Retriever, ranking: Ranking) -> SearchAnswer:
    hits = [*(match.hit for match in ranking.matches), *ranking.rest]
    return SearchAnswer(hits, ranking.mode, ranking.warnings, is_nothing_indexed=not has_documents(retriever.store))


def narrow(filters: Filters, subject: Subject, *, is_earlier: bool) -> Filters:
    """Return the filters for an item: of its own kind unless they name types, never itself."""
    ends = [filters.before, subject.created_at if is_earlier else None]
    return filters._replace(
        types=filters.types or (subject.kind,), not_items=(*filters.not_items, subject.item_id),
        before=min((end for end in ends if end is not None), default=None),
    )  # fmt: skip
