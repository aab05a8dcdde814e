"""Recalibration: what was learned by an earlier ranking is learned again, by itself and once.

Strengths of two versions of the ranking are never compared, so after an upgrade a project would go on with what comes
with the program, as if nobody had calibrated it. Whatever updates the index looks here.
"""

from collections.abc import Callable, Iterable

from forgelore.clock import machine_ms
from forgelore.core.compare.shipped import VERSION
from forgelore.flows.compare.calibrate import Calibrated, calibrate
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import list_outdated
from forgelore.store.db import Store


def recalibrate(
    store: Store, project_ids: Iterable[int], make_retriever: Callable[[], Retriever], *,
    watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> list[str]:  # fmt: skip
    """Calibrate projects anew that an earlier version of the ranking has calibrated; return what to tell of it.

    A run that is stopped keeps its sample, and the next one goes on.
    """
    said: list[str] = []
    for project_id in project_ids:
        kinds = list_outdated(store, project_id, VERSION)
        if not kinds or should_stop():
            continue
        try:
            done = calibrate(make_retriever(), project_id, watcher=watcher, should_stop=should_stop, now_ms=now_ms)
        except KeyboardInterrupt:  # what was asked for, the update of the index, is done
            return said
        said += [_tell(one) for one in done if one.kind in kinds]
    return said


def _tell(one: Calibrated) -> str:
    changed = f"the ranking has changed since the {one.kind}s were calibrated, so they were calibrated anew"
    return f"{changed}: {f'the shipped chance is kept, {one.kept}' if one.kept else f'{one.pairs:,} known duplicates'}"
