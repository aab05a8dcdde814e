"""Filters as people type them: what a search, a list or a count is limited to.

Raises InvalidValue for what cannot be meant. Something empty is never "no filter": it is an unset variable.
"""

import time
from collections.abc import Iterable

from forgelore.core.values import check_filled
from forgelore.errors import InvalidValue
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.projects import StoredProject, has_other_projects
from forgelore.words import KIND_WORDS

Words = str | Iterable[str] | None

_TYPES = {"thread": "thread", "threads": "thread", "comment": "thread", "comments": "thread"}
_STATES = {"open": "open", "opened": "open", "closed": "closed", "merged": "merged"}


def parse_filters(
    *, types: Words = (), states: Words = (), authors: Words = (), labels: Words = (), paths: Words = (),
    after: str | None = None, before: str | None = None, updated_after: str | None = None,
    project_ids: Iterable[int] = (), is_public: bool = False, now_ms: int | None = None,
) -> Filters:  # fmt: skip
    """Return the filters for words such as `pr`, `opened`, `@ana`, `3 months ago`. What several of one mean:
    store/filters. `now_ms` is what "ago" is counted from; None: this moment.
    """
    now = int(time.time() * 1000) if now_ms is None else now_ms
    filters = Filters(
        types=tuple(_type(word) for word in _several("type", types)),
        states=tuple(_state(word) for word in _several("state", states)),
        authors=tuple(_person(word) for word in _several("author", authors)), project_ids=tuple(project_ids),
        labels=_several("label", labels), paths=_several("path", paths), after=_moment("after", after, now),
        before=_moment("before", before, now), updated_after=_moment("updated-after", updated_after, now),
        is_public=is_public,
    )  # fmt: skip
    if filters.after is not None and filters.before is not None and filters.after >= filters.before:
        raise InvalidValue(
            f"nothing can be created after {after} and before {before}", hint="the first must be the earlier one"
        )
    return filters


def only_projects(store: Store, project: StoredProject | None) -> tuple[int, ...]:
    """Return what to filter by for a project: nothing when the store holds no other, since every filter costs."""
    if project is None or not has_other_projects(store, project.id):
        return ()
    return (project.id,)


def _several(name: str, words: Words) -> tuple[str, ...]:
    """One word is a list of one, nothing a list of none."""
    found = () if words is None else (words,) if isinstance(words, str) else tuple(words)
    return tuple(check_filled(name, word) for word in found)


def _moment(name: str, text: str | None, now_ms: int) -> int | None:
    if text is None:
        return None
    from forgelore.core.dates import parse_when  # most lists have no date to read

    return parse_when(check_filled(name, text), now_ms)


def _person(word: str) -> str:
    """`@ana` is `ana`."""
    return check_filled("author", word.strip().removeprefix("@"))


def _type(word: str) -> str:
    key = word.lower().replace("-", "_")
    kind = _TYPES.get(key) or KIND_WORDS.get(key)
    if kind is None:
        raise InvalidValue(f"{word!r} is not a type", hint="use issue, change (pr, mr), discussion, release or thread")
    return kind


def _state(word: str) -> str:
    state = _STATES.get(word.lower())
    if state is None:
        raise InvalidValue(f"{word!r} is not a state", hint="use open, closed or merged")
    return state
