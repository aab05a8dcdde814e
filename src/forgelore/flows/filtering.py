"""What people say a search should be limited to, as filters. Raises InvalidValue for what cannot be meant."""

import time
from collections.abc import Iterable

from forgelore.core.dates import parse_when
from forgelore.errors import InvalidValue
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.projects import StoredProject
from forgelore.words import KIND_WORDS

_TYPES = {"thread": "thread", "threads": "thread", "comment": "thread", "comments": "thread"}
_STATES = {"open": "open", "opened": "open", "closed": "closed", "merged": "merged"}


def parse_filters(
    *, types: Iterable[str] = (), states: Iterable[str] = (), author: str | None = None, labels: Iterable[str] = (),
    paths: Iterable[str] = (), after: str | None = None, before: str | None = None, updated_after: str | None = None,
    project_ids: Iterable[int] = (), is_public: bool = False,
) -> Filters:  # fmt: skip
    """Return the filters for words such as `pr`, `opened`, `3 months ago`."""
    now = int(time.time() * 1000)
    return Filters(
        types=tuple(_type(word) for word in _several(types)), states=tuple(_state(word) for word in _several(states)),
        author=author, project_ids=tuple(project_ids), labels=_several(labels), paths=_several(paths),
        after=parse_when(after, now) if after else None, before=parse_when(before, now) if before else None,
        updated_after=parse_when(updated_after, now) if updated_after else None, is_public=is_public,
    )  # fmt: skip


def only_projects(store: Store, project: StoredProject | None) -> tuple[int, ...]:
    """Return what to filter by for a project: nothing when the store holds no other, since every filter costs."""
    if project is None or not store.value("SELECT EXISTS (SELECT 1 FROM projects WHERE id <> ?)", project.id):
        return ()
    return (project.id,)


def _several(words: Iterable[str]) -> tuple[str, ...]:
    """One word is a list of one."""
    return (words,) if isinstance(words, str) else tuple(words)


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
