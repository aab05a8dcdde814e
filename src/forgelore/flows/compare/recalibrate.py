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
from forgelore.store.calibrations import list_learned, list_outdated
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
        if should_stop() or not (learned := list_learned(store, project_id)):
            continue
        retriever, outdated = make_retriever(), list_outdated(store, project_id, VERSION)
        if not outdated and retriever.second is None:  # nothing has changed: no server is asked who it is
            continue
        kinds = {kind for kind, _ in learned if _is_to_learn(retriever, project_id, kind, learned, outdated)}
        if not kinds:
            continue
        if watcher:
            watcher.announce(_ANNOUNCED.format(kinds=" and ".join(f"{kind}s" for kind in sorted(kinds))))
        try:
            done = calibrate(retriever, project_id, watcher=watcher, should_stop=should_stop, now_ms=now_ms)
        except KeyboardInterrupt:  # what was asked for, the update of the index, is done
            return said
        said += [_tell(one) for one in done if one.kind in kinds]
    return said


def _is_to_learn(
    retriever: Retriever, project_id: int, kind: str, learned: set[tuple[str, str]], outdated: set[tuple[str, str]]
) -> bool:
    """Tell whether what would rank now has learned nothing of a kind, and what has was the same embedder: of an earlier
    version, or before it had a second one beside it. Without the embedder of then something else would be calibrated.
    """
    name = scope_of(retriever, project_id, kind).model.partition(" ")[0]
    first, is_second = name.partition("+")[::2]
    if is_second and (kind, name) not in learned - outdated:
        return (kind, first) in learned or (kind, name) in learned
    return (kind, name) in outdated


def _tell(one: Calibrated) -> str:
    changed = f"the ranking has changed since the {one.kind}s were calibrated, so they were calibrated anew"
    return f"{changed}: {f'the shipped chance is kept, {one.kept}' if one.kept else f'{one.pairs:,} known duplicates'}"
