"""`dedupe candidates`: for every open item of a kind, a kept list of what it could repeat.

Only what changed: a source with a fresh set of the same parameters is left alone. Each set is saved by itself, so that
a run that is killed goes on where it was. That others were filed since makes no set stale, because whichever of two
came later has both in its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from forgelore.clock import machine_ms
from forgelore.flows.compare.reference import scope_of
from forgelore.flows.compare.sample import learn_boilerplate
from forgelore.flows.dedupe.candidate_ranking import FALLBACK, CandidateSetting, RankedSource, rank_source
from forgelore.flows.dedupe.reading_processes import WORTH_A_PROCESS, OpenRetriever, rank_in_processes
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever
from forgelore.store.candidate_sets import NewSet, list_settled, list_sources, save_set
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import begin_run, end_run, save_counters

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


class CandidateJob(NamedTuple):
    """Whose candidates are looked for, and how. `workers` above 1 need a way to open further retrievers."""

    project_id: int
    kind: str
    setting: CandidateSetting = CandidateSetting()
    workers: int = 1
    is_full: bool = False  # fresh sets are made anew, too
    open_retriever: OpenRetriever | None = None


def make_candidates(
    retriever: Retriever, job: CandidateJob, *, watcher: Watcher | None = None,
    should_stop: Callable[[], bool] = lambda: False, now_ms: Callable[[], int] = machine_ms,
) -> CandidatesMade:  # fmt: skip
    """Find and keep the candidates of every open item that has no fresh set of them."""
    store = retriever.store
    learn_boilerplate(store, job.project_id, now_ms=now_ms)
    sources = [one.item_id for one in list_sources(store, job.project_id, job.kind)]
    settled = set[int]() if job.is_full else _list_settled(retriever, job)
    todo = [item_id for item_id in sources if item_id not in settled]
    done = CandidatesMade(job.kind, None, len(sources), len(sources) - len(todo), 0, 0, 0, 0, 0)
    if not todo:
        return done
    with store.transaction():
        run_id = begin_run(store, job.project_id, "candidates", _parameters(job), now_ms())
    run = _CandidateRun(store, run_id, watcher or Watcher(), f"candidates of {job.kind}s", now_ms)
    counts = run.save_all(_rank_all(retriever, job, todo, should_stop), len(todo), should_stop)
    return done._replace(
        run_id=run_id, made=counts["made"], empty=counts["empty"], members_written=counts["members_written"],
        stale_marked=counts["stale_marked"], missing_embeddings=counts["missing_embeddings"], is_stopped=should_stop(),
        raw_fallbacks=counts["raw_fallbacks"],
    )  # fmt: skip


def _list_settled(retriever: Retriever, job: CandidateJob) -> set[int]:
    model, setting = scope_of(retriever, job.project_id, job.kind).model, job.setting
    new = NewSet(job.project_id, 0, 0, setting.representation, model, setting.k, setting.min_score, setting.states)
    return list_settled(retriever.store, job.project_id, job.kind, new)


def _parameters(job: CandidateJob) -> dict[str, str | int | float | bool | None]:
    return {"kind": job.kind, **job.setting._asdict(), "workers": job.workers, "is_full": job.is_full}


def _rank_all(
    retriever: Retriever, job: CandidateJob, todo: Sequence[int], should_stop: Callable[[], bool]
) -> Iterator[RankedSource | None]:
    if job.workers > 1 and job.open_retriever and len(todo) >= WORTH_A_PROCESS:
        return rank_in_processes(job.open_retriever, todo, job.setting, workers=job.workers, should_stop=should_stop)
    return (rank_source(retriever, item_id, job.setting) for item_id in todo)


class _CandidateRun:
    """One run that writes: the only one that does, however many processes rank."""

    def __init__(self, store: Store, run_id: int, watcher: Watcher, part: str, now_ms: Callable[[], int]) -> None:
        self._store, self._id, self._watcher, self._part, self._now_ms = store, run_id, watcher, part, now_ms
        self._counts: Counter[str] = Counter(
            made=0, empty=0, members_written=0, stale_marked=0, missing_embeddings=0, raw_fallbacks=0
        )

    def save_all(
        self, ranked: Iterator[RankedSource | None], total: int, should_stop: Callable[[], bool]
    ) -> dict[str, int]:
        self._watcher.begin(self._part, self._part, total)
        is_stopped = True
        try:
            for at, one in enumerate(ranked, start=1):
                with self._store.transaction():
                    self._save(one)
                    if at % _SAVED_EVERY == 0:
                        save_counters(self._store, self._id, self._counts)
                self._watcher.saved(self._part, 1)
                if should_stop():
                    break
            is_stopped = should_stop()
        finally:
            with self._store.transaction():
                save_counters(self._store, self._id, self._counts)
                end_run(self._store, self._id, "stopped" if is_stopped else "done", self._now_ms())
        self._watcher.done(self._part)
        return dict(self._counts)

    def _save(self, one: RankedSource | None) -> None:
        if one is None:
            return
        _, stale = save_set(self._store, one.new, one.members, self._now_ms())
        self._counts.update(
            made=1, empty=not one.members, members_written=len(one.members), stale_marked=stale,
            missing_embeddings=not one.has_vector, raw_fallbacks=one.new.representation == FALLBACK,
        )  # fmt: skip
