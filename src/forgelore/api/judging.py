"""Finding and judging duplicates, put together: kinds, limits, and retrievers for processes of their own."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import get_args

from forgelore.api.find import make_retriever
from forgelore.app import App
from forgelore.errors import InvalidValue
from forgelore.flows.compare.sample import KINDS
from forgelore.flows.dedupe.candidate_ranking import CandidateSetting, TargetStates
from forgelore.flows.dedupe.candidates import CandidateJob, CandidatesMade
from forgelore.flows.dedupe.candidates import make_candidates as make_flow
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever

MOST_CANDIDATES = 50


def make_candidates(
    app: App, retriever: Retriever, project_id: int, setting: CandidateSetting, *, kind: str | None, workers: int,
    is_full: bool, watcher: Watcher | None,
) -> list[CandidatesMade]:  # fmt: skip
    """Keep the candidates of every open item of the kinds that are meant."""
    check_setting(setting)
    if not 1 <= workers <= 64:
        raise InvalidValue(f"{workers} workers are too few or too many", hint="1 to 64; two are a good choice")
    app.store(create=True)
    opening = partial(opened_retriever, dict(app.environ), app.cwd, app.config.db)
    jobs = [CandidateJob(project_id, one, setting, workers, is_full, opening) for one in meant_kinds(kind)]
    return [
        make_flow(retriever, job, watcher=watcher, should_stop=app.stop.is_set, now_ms=app.now_ms)
        for job in jobs
        if not app.stop.is_set()
    ]


def meant_kinds(kind: str | None) -> tuple[str, ...]:
    """Return the kinds that have duplicates, or the one that is meant."""
    if kind is None:
        return KINDS
    if kind not in KINDS:
        raise InvalidValue(f"{kind!r} is no kind that has duplicates", hint=f"use {' or '.join(KINDS)}")
    return (kind,)


def check_setting(setting: CandidateSetting) -> None:
    """Refuse parameters that mean nothing: people who write Python are told as those who type it are."""
    if not 1 <= setting.k <= MOST_CANDIDATES:
        raise InvalidValue(f"k is {setting.k}", hint=f"1 to {MOST_CANDIDATES} candidates")
    if not 0 <= setting.min_score <= 1:
        raise InvalidValue(f"the least similarity is {setting.min_score}", hint="0 to 1")
    if setting.states not in get_args(TargetStates):
        raise InvalidValue(f"{setting.states!r} are no states", hint=f"use {', '.join(get_args(TargetStates))}")


@contextlib.contextmanager
def opened_retriever(environ: Mapping[str, str], cwd: str, db: str) -> Iterator[Retriever]:
    """Return what a process of its own ranks with."""
    app = App(environ, cwd=cwd, db=os.path.abspath(db))
    try:
        yield make_retriever(app, app.config.embedder)
    finally:
        app.close()
