"""`dedupe candidates`: for every open item of a kind, a kept list of what it could repeat, ranked now.

A source with a fresh set of the same parameters is left alone. Each set is saved by itself, so a run that is killed
goes on where it was. That others were filed since makes no set stale: the later of two has both in its own.

Targets may be earlier or later than their source: of two copies each finds the other, and which of them stays is chosen
later (dedupe/clusters). An audit asks about the past: what was there at `as_of`, in the states of then. All states are
ranked together, because the evidence of a pair compares it with the rest of its list, and then cut: `k` of the wanted
states, and a few closed ones beside them, which are shown and never offered to a judge.
"""

import contextlib
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Literal, NamedTuple

from forgelore.compare.calibrate import learn_boilerplate
from forgelore.compare.evidence import was_open
from forgelore.compare.rank import CANDIDATES, CompareRequest, Match, Ranking, rank_matches
from forgelore.compare.reference import scope_of
from forgelore.compare.sameness import Sameness
from forgelore.context import JobContext
from forgelore.dedupe.gates import BATCH_K, MIN_SCORE, SHOWN_CLOSED
from forgelore.dedupe.intent import has_current_card
from forgelore.errors import LoreError, StoreError
from forgelore.search.retriever import Retriever
from forgelore.store.candidates import Candidate, CandidateSet, list_settled, list_sources, load_versions, save_set
from forgelore.store.database import Store
from forgelore.store.decisions import begin_run, end_run, save_counters
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.words import Source

TargetStates = Literal["open", "closed", "all"]
FALLBACK = "intent_raw"  # kept of a set: cards were to choose, its source has no current one, and texts did
_ORDER: dict[Sameness, int] = {"same_text": 0, "nearly_same_text": 1, "similar": 2}
_DIGITS = 4  # of a kept feature


class CandidateSetting(NamedTuple):
    """Parameters of a set. `states`: of the targets that `k` counts; only open ones are ever offered to a judge.
    `representation`: whether texts or intent cards choose who is compared.
    """

    k: int = BATCH_K
    min_score: float = MIN_SCORE  # of similarity
    states: TargetStates = "open"
    representation: Source = "raw"


DEFAULTS = CandidateSetting()


def rank_source(
    retriever: Retriever, item_id: int, setting: CandidateSetting, *, as_of: int | None = None
) -> CandidateSet | None:
    """Return the candidates of an item; None when it is gone. `as_of`: among those that were there then, in the states
    that they had.
    """
    store = retriever.store
    # The version first: an edit between the two reads makes the set stale, and the other way round it would not.
    known = load_versions(store, [item_id]).get(item_id)
    if known is None:
        return None
    subject = load_subject(store, item_id)
    source = setting.representation
    if source == "intent" and not has_current_card(store, item_id):
        source = "raw"
    ranking = _rank(retriever, subject, setting, as_of, source)
    chosen = _choose(ranking, setting)
    versions = load_versions(store, [match.hit.row.item_id for match in chosen])
    members = [
        _as_member(match, versions[match.hit.row.item_id], ranking, as_of)
        for match in chosen
        if match.hit.row.item_id in versions
    ]
    # Candidates that are only shown come last, however strong they are.
    ordered = sorted(members, key=lambda one: not one.is_offered)
    numbered = tuple(one._replace(rank=rank) for rank, one in enumerate(ordered, start=1))
    chosen_by = source if source == setting.representation else FALLBACK
    model = scope_of(retriever, subject.project_id, subject.kind).model
    return CandidateSet(
        subject.project_id, item_id, known[0], chosen_by, model, setting.k, setting.min_score, setting.states,
        members=numbered, has_vector=_has_vector(retriever, subject),
    )  # fmt: skip


def _rank(
    retriever: Retriever, subject: Subject, setting: CandidateSetting, as_of: int | None, source: Source
) -> Ranking:
    filters = Filters(
        types=(subject.kind,), project_ids=(subject.project_id,), not_items=(subject.item_id,),
        before=as_of,
    )  # fmt: skip
    most = max(setting.k, SHOWN_CLOSED)
    request = CompareRequest(
        subject, filters, limit=CANDIDATES, per_state=most, min_similarity=setting.min_score, source=source,
        as_of=as_of, with_explanations=False,
    )  # fmt: skip
    return rank_matches(retriever.seen_by(retriever.store.viewer.without_internal()), request)


def _choose(ranking: Ranking, setting: CandidateSetting) -> list[Match]:
    """Return the first `k` of the wanted states, and the first closed ones beside them. Copies come first, of them the
    earliest; then the strongest.
    """
    known = {one.hit.row.item_id: one for one in (*ranking.copies, *ranking.matches)}
    ordered = sorted(known.values(), key=lambda one: _ORDER[one.sameness])
    near = [one for one in ordered if one.similarity >= setting.min_score]
    wanted = [one for one in near if setting.states in ("all", _state(one))][: setting.k]
    closed = [one for one in near if _state(one) == "closed" and one not in wanted][:SHOWN_CLOSED]
    return [*wanted, *closed]


def _state(match: Match) -> TargetStates:
    return "open" if was_open(match.features) else "closed"


def _as_member(match: Match, version: tuple[int, str], ranking: Ranking, as_of: int | None) -> Candidate:
    features = match.features
    state = version[1] if as_of is None else _state(match)
    is_first = match.hit.row.item_id == ranking.matches[0].hit.row.item_id
    return Candidate(
        rank=0, item_id=match.hit.row.item_id, content_version=version[0], state=state,
        is_offered=state == "open", cosine=features["cosine"] or None, strength=match.strength,
        similarity=match.similarity, chance=ranking.chance.value if ranking.chance and is_first else None,
        sameness=match.sameness, marks=tuple(quote.text for quote in match.quotes),
        features=keep_features(match),
    )  # fmt: skip


def keep_features(match: Match) -> dict[str, float]:
    """Return the numbers of a pair that are not 0, and how rare the rarest error line is that both have.

    A message of three words and more, that is: the name of an exception alone stands in unrelated reports.
    """
    rare = max((one.rarity for one in match.quotes if one.what == "error" and " " in one.text), default=0.0)
    rounded = {name: round(value, _DIGITS) for name, value in (match.features | {"rare_error": rare}).items()}
    return {name: value for name, value in rounded.items() if value}


def _has_vector(retriever: Retriever, subject: Subject) -> bool:
    if retriever.embedder is None or subject.document_id is None:
        return False
    return retriever.document_vector(subject.document_id) is not None


OpenRetriever = Callable[[], contextlib.AbstractContextManager[Retriever]]  # has to be picklable

WORTH_A_PROCESS = 100  # sources: starting one takes a second, ranking an item a tenth
_BATCH = 8
_AHEAD = 4  # batches that wait for each process


def rank_in_processes(
    open_retriever: OpenRetriever, item_ids: Sequence[int], setting: CandidateSetting, *, workers: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[CandidateSet | None]:  # fmt: skip
    """Yield the candidates of every item, in any order of batches. One that is gone gives None.

    Each process has its own connection and vectors, and the caller writes. They are started with `spawn`, because a
    copy of a process with threads and an open database is not safe; so they get a function that opens a retriever.
    """
    batches = _in_batches(item_ids)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_open, initargs=(open_retriever,)) as pool:
        try:
            waiting = [pool.submit(_rank_batch, batch, setting) for batch in batches[: workers * _AHEAD]]
            rest = iter(batches[workers * _AHEAD :])
            while waiting:
                yield from waiting.pop(0).result()
                if should_stop():
                    break
                waiting.extend(pool.submit(_rank_batch, batch, setting) for batch in [next(rest, ())] if batch)
        except BrokenProcessPool as error:
            hint = "results so far are kept: run it again, with one worker if memory is short"
            raise StoreError("a worker process was killed", hint=hint) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _in_batches(item_ids: Sequence[int]) -> list[Sequence[int]]:
    return [item_ids[at : at + _BATCH] for at in range(0, len(item_ids), _BATCH)]


_opened: Retriever | LoreError | None = None  # of this reading process


def _open(open_retriever: OpenRetriever) -> None:
    global _opened  # noqa: PLW0603 - an initializer can leave its result nowhere else
    try:
        _opened = contextlib.ExitStack().enter_context(open_retriever())
    except LoreError as error:
        _opened = error  # raised by the first batch: an initializer that raises says nothing


def _rank_batch(item_ids: Sequence[int], setting: CandidateSetting) -> list[CandidateSet | None]:
    if isinstance(_opened, LoreError):
        raise _opened
    assert _opened is not None, "the worker process was not initialised"
    return rank_batch(_opened, item_ids, setting)


def rank_batch(retriever: Retriever, item_ids: Sequence[int], setting: CandidateSetting) -> list[CandidateSet | None]:
    """Return the candidates of several items from one snapshot of the store: what others save meanwhile is seen by the
    next batch.
    """
    retriever.keep_word_scores()
    with retriever.store.snapshot():
        return [rank_source(retriever, item_id, setting) for item_id in item_ids]


_SAVED_EVERY = 20  # sources between two looks at the counters


class CandidatesMade(NamedTuple):
    """What became of the open items of a kind. `run_id` None: there was nothing to do."""

    kind: str
    run_id: int | None
    sources: int  # open items
    unchanged: int  # of them, those with a fresh set
    made: int
    empty: int  # sets without a candidate
    members_written: int
    stale_marked: int  # earlier sets that the new ones replaced
    missing_embeddings: int  # sources without a stored vector
    is_stopped: bool = False
    raw_fallbacks: int = 0  # sources without a current card, compared by their texts instead


def make_candidates(
    context: JobContext, retriever: Retriever, kind: str, setting: CandidateSetting = DEFAULTS, *,
    full: bool = False, workers: int = 1, open_retriever: OpenRetriever | None = None,
) -> CandidatesMade:  # fmt: skip
    """Find and keep the candidates of every open item that has no fresh set of them; of all with `full`. More than one
    of `workers` needs a way to open further retrievers.
    """
    store, project_id = context.store, context.project.id
    learn_boilerplate(store, project_id, now_ms=context.now_ms)
    sources = list_sources(store, project_id, kind)
    settled = set[int]() if full else _list_settled(retriever, project_id, kind, setting)
    # The newest first: what was filed lately is what a reviewer, who is shown pairs meanwhile, wants to know about.
    todo = [item_id for item_id in reversed(sources) if item_id not in settled]
    done = CandidatesMade(kind, None, len(sources), len(sources) - len(todo), 0, 0, 0, 0, 0)
    if not todo:
        return done
    parameters = {"kind": kind, **setting._asdict(), "workers": workers, "is_full": full}
    with store.transaction():
        run_id = begin_run(store, project_id, "candidates", parameters, context.now_ms())
    if workers > 1 and open_retriever and len(todo) >= WORTH_A_PROCESS:
        ranked = rank_in_processes(open_retriever, todo, setting, workers=workers, should_stop=context.should_stop)
    else:
        ranked = (one for batch in _in_batches(todo) for one in rank_batch(retriever, batch, setting))
    counts = _save_all(context, run_id, ranked, part=f"candidates of {kind}s", total=len(todo))
    return done._replace(
        run_id=run_id, made=counts["made"], empty=counts["empty"], members_written=counts["members_written"],
        stale_marked=counts["stale_marked"], missing_embeddings=counts["missing_embeddings"],
        raw_fallbacks=counts["raw_fallbacks"], is_stopped=context.should_stop(),
    )  # fmt: skip


def _list_settled(retriever: Retriever, project_id: int, kind: str, setting: CandidateSetting) -> set[int]:
    model = scope_of(retriever, project_id, kind).model
    new = CandidateSet(project_id, 0, 0, setting.representation, model, setting.k, setting.min_score, setting.states)
    return list_settled(retriever.store, project_id, kind, new)


def _save_all(
    context: JobContext, run_id: int, ranked: Iterator[CandidateSet | None], *, part: str, total: int
) -> dict[str, int]:
    """Save set by set, and what became of them. However many processes rank, this one alone writes."""
    store, watcher = context.store, context.watcher
    counts = Counter(made=0, empty=0, members_written=0, stale_marked=0, missing_embeddings=0, raw_fallbacks=0)
    watcher.begin(part, part, total)
    is_stopped = True
    try:
        for at, one in enumerate(ranked, start=1):
            with store.transaction():
                if one is not None:
                    _save(store, one, counts, context.now_ms())
                if at % _SAVED_EVERY == 0:
                    save_counters(store, run_id, counts)
            watcher.saved(part, 1)
            if context.should_stop():
                break
        is_stopped = context.should_stop()
    finally:
        with store.transaction():
            save_counters(store, run_id, counts)
            end_run(store, run_id, "stopped" if is_stopped else "done", context.now_ms())
    watcher.done(part)
    return dict(counts)


def _save(store: Store, one: CandidateSet, counts: Counter[str], now_ms: int) -> None:
    _, stale = save_set(store, one, now_ms)
    counts.update(
        made=1, empty=not one.members, members_written=len(one.members), stale_marked=stale,
        missing_embeddings=not one.has_vector, raw_fallbacks=one.representation == FALLBACK,
    )  # fmt: skip
