"""Asking a judge about many cases, several at once: a model takes seconds to answer, and none of them here.

The caller's thread makes the cases and takes the answers, in the order in which they come; the store is its alone.
"""

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from queue import SimpleQueue
from typing import NamedTuple, Protocol, TypeVar

from forgelore.core.dedupe.question import AnyJudge, JudgeAnswer
from forgelore.errors import AuthError, ChatModelNotFound, ConfigError
from forgelore.flows.dedupe.deciding import PreparedCase
from forgelore.store.candidate_sets import CandidateSet


class JudgePatience:
    """How long a judge that does not answer is asked on: not after what no other question would change, nor after five
    failures in a row.
    """

    def __init__(self) -> None:
        self._failures = 0

    def take(self, answer: JudgeAnswer) -> None:
        """Raise what keeps the judge from answering."""
        self._failures = self._failures + 1 if answer.error else 0
        if answer.error and (self._failures >= _FAILURES or isinstance(answer.error, _FOR_ALL)):
            raise answer.error


class HasQuestion(Protocol):
    """Whatever a judge is asked about: it carries the question."""

    @property
    def prepared(self) -> PreparedCase: ...


class AskedCase(NamedTuple):
    """A set of candidates with the question that it makes."""

    candidate_set: CandidateSet
    prepared: PreparedCase


_FAILURES = 5
_FOR_ALL = (AuthError, ChatModelNotFound, ConfigError)
_Case = TypeVar("_Case", bound=HasQuestion)


def ask_all(judge: AnyJudge, cases: Iterable[_Case], *, workers: int) -> Iterator[tuple[_Case, JudgeAnswer]]:
    """Yield each case with its answer. A case is taken when there is somebody to ask about it, so that whoever makes
    them may stop; what was asked is waited for.
    """
    if workers == 1:
        for case in cases:
            yield case, judge.ask(case.prepared.question)
        return
    waiting = iter(cases)
    todo: SimpleQueue[_Case | None] = SimpleQueue()
    done: SimpleQueue[tuple[_Case, JudgeAnswer | BaseException]] = SimpleQueue()
    for _ in range(workers):
        threading.Thread(target=_work, args=(judge, todo, done), daemon=True).start()
    under_way = 0
    try:
        for case in islice(waiting, workers):
            todo.put(case)
            under_way += 1
        while under_way:
            case, answer = done.get()
            under_way -= 1
            if isinstance(answer, BaseException):
                raise answer
            yield case, answer
            if (following := next(waiting, None)) is not None:
                todo.put(following)
                under_way += 1
    finally:
        for _ in range(workers):
            todo.put(None)


def _work(
    judge: AnyJudge, todo: "SimpleQueue[_Case | None]", done: "SimpleQueue[tuple[_Case, JudgeAnswer | BaseException]]"
) -> None:
    while (case := todo.get()) is not None:
        try:
            done.put((case, judge.ask(case.prepared.question)))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            done.put((case, error))
