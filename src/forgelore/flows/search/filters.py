"""Filters as people type them: what a search, a list or a count is limited to.

Raises InvalidValue for what cannot be meant. Something empty is never "no filter": it is an unset variable.
"""

from collections.abc import Iterable

from forgelore.core.values import check_filled
from forgelore.errors import InvalidValue
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.projects import StoredProject, has_other_projects
from forgelore.words import KIND_WORDS, FilterWords, Words

_TYPES = {"thread": "thread", "threads": "thread", "comment": "thread", "comments": "thread"}
_STATES = {"open": "open", "opened": "open", "closed": "closed", "merged": "merged"}


def parse_filters(
    words: FilterWords, *, now_ms: int, project_ids: Iterable[int] = (), is_public: bool = False
) -> Filters:
    """Return the filters for words such as `pr`, `opened`, `@ana`, `3 months ago`; "ago" is counted from `now_ms`.
    Which project is meant is the caller's to find.
    """
    unknown = set(words) - set(FilterWords.__annotations__)
    if unknown:
        raise TypeError(f"no filter is called {min(unknown)!r}")
    after, before = words.get("after"), words.get("before")
    filters = Filters(
        types=tuple(_type(word) for word in _several("type", words.get("type"))),
        states=tuple(_state(word) for word in _several("state", words.get("state"))),
        authors=tuple(_person(word) for word in _several("author", words.get("author"))),
        project_ids=tuple(project_ids),
        labels=_several("label", words.get("label")),
        paths=_several("path", words.get("path")),
        after=_moment("after", after, now_ms),
        before=_moment("before", before, now_ms),
        updated_after=_moment("updated-after", words.get("updated_after"), now_ms),
        is_public=is_public,
    )
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
