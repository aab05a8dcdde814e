"""Recalibration: what was learned by an earlier ranking is learned again, by itself and once.

Strengths of two versions of the ranking are never compared, so after an upgrade a project would go on with what comes
with the program, as if nobody had calibrated it. Whatever updates the index looks here.
"""

from collections.abc import Callable, Iterable

from forgelore.clock import machine_ms
from forgelore.core.compare.shipped import VERSION
from forgelore.flows.compare.calibrate import Calibrated, calibrate
from forgelore.flows.compare.reference import scope_of
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import list_outdated
from forgelore.store.db import Store

_ANNOUNCED = (
    "the ranking has changed since the {kinds} were calibrated, so they are calibrated anew, once;"
    " Ctrl-C leaves that for the next time"
)


def recalibrate(
    store: Store, project_ids: Iterable[int], make_retriever: Callable[[], Retriever], *,
    watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
    now_ms: Callable[[], int] = machine_ms,
) -> list[str]:  # fmt: skip
    """Calibrate projects anew that an earlier version of the ranking has calibrated; return what to tell of it.

    It is announced before it begins. A run that is stopped keeps its sample and changes nothing else, and the next one
    goes on.
    """
    said: list[str] = []
    for project_id in project_ids:
        outdated = list_outdated(store, project_id, VERSION)
        if not outdated or should_stop():
            continue
        retriever = make_retriever()
        kinds = {kind for kind, name in outdated if name == _name_of(retriever, project_id, kind)}
        if not kinds:  # without the embedder of then something else would be calibrated
            continue
        if watcher:
            watcher.announce(_ANNOUNCED.format(kinds=" and ".join(f"{kind}s" for kind in sorted(kinds))))
        try:
            done = calibrate(retriever, project_id, watcher=watcher, should_stop=should_stop, now_ms=now_ms)
        except KeyboardInterrupt:  # what was asked for, the update of the index, is done
            return said
        said += [_tell(one) for one in done if one.kind in kinds]
    return said


def _name_of(retriever: Retriever, project_id: int, kind: str) -> str:
    """Return what would give the cosines now: an embedder's name, or "words"."""
    return scope_of(retriever, project_id, kind).model.partition(" ")[0]


def _tell(one: Calibrated) -> str:
    changed = f"the ranking has changed since the {one.kind}s were calibrated, so they were calibrated anew"
    return f"{changed}: {f'the shipped chance is kept, {one.kept}' if one.kept else f'{one.pairs:,} known duplicates'}"
