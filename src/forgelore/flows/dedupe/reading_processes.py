"""Reading processes: the ranking of many sources side by side. Each has its own connection and vectors; the caller
writes.

They are started anew (`spawn`), because a copy of a process that has threads and an open database is not safe. What
they need is handed over as a function that opens a retriever, since an open one cannot be.
"""

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from forgelore.errors import LoreError, StoreError
from forgelore.flows.dedupe.candidate_ranking import CandidateSetting, RankedSource, rank_source
from forgelore.flows.search.retriever import Retriever

OpenRetriever = Callable[[], contextlib.AbstractContextManager[Retriever]]  # has to be picklable

WORTH_A_PROCESS = 100  # sources: starting one takes a second, ranking an item a tenth
_BATCH = 8
_AHEAD = 4  # batches that wait for each process


def rank_in_processes(
    open_retriever: OpenRetriever, item_ids: Sequence[int], setting: CandidateSetting, *, workers: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[RankedSource | None]:  # fmt: skip
    """Yield the candidates of every item, in any order of batches. One that is gone gives None."""
    batches = [list(item_ids[at : at + _BATCH]) for at in range(0, len(item_ids), _BATCH)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_open, initargs=(open_retriever,)) as pool:
        try:
            waiting = [pool.submit(_rank_batch, batch, setting) for batch in batches[: workers * _AHEAD]]
            rest = iter(batches[workers * _AHEAD :])
            while waiting:
                yield from waiting.pop(0).result()
                if should_stop():
                    break
                waiting.extend(pool.submit(_rank_batch, batch, setting) for batch in [next(rest, [])] if batch)
        except BrokenProcessPool as error:
            hint = "what was found is kept: run it again, with one worker if memory is short"
            raise StoreError("a reading process was ended from outside", hint=hint) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_opened: Retriever | LoreError | None = None  # of this reading process


def _open(open_retriever: OpenRetriever) -> None:
    global _opened  # noqa: PLW0603 - an initializer can leave its result nowhere else
    try:
        _opened = contextlib.ExitStack().enter_context(open_retriever())
    except LoreError as error:
        _opened = error  # raised by the first batch: an initializer that raises says nothing


def _rank_batch(item_ids: list[int], setting: CandidateSetting) -> list[RankedSource | None]:
    if isinstance(_opened, LoreError):
        raise _opened
    assert _opened is not None, "the reading process was not initialised"
    return [rank_source(_opened, item_id, setting) for item_id in item_ids]
