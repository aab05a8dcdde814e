"""Absent values: what a filter names and nobody has, with what was probably meant.

Labels and authors are looked up by an index whenever they are asked for; milestones and assignees, which have none,
only when nothing was found.
"""

from collections.abc import Iterator

from forgelore.core.suggestions import suggest
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.known_values import has_value, list_values

_SAID = {
    "label": "no item has the label",
    "author": "nobody here is called",
    "milestone": "no item has the milestone",
    "assignee": "no item is assigned to",
}


def warn_of_absent(store: Store, filters: Filters, *, is_empty: bool) -> list[str]:
    """Return a sentence for each value that nobody has, also of those that are left out. `is_empty`: nothing was found.

    no item has the label 'I-ICEE'; did you mean 'I-ICE'?
    """
    return [_tell(store, what, value) for what, value in dict.fromkeys(_absent(store, filters, is_empty=is_empty))]


def _absent(store: Store, filters: Filters, *, is_empty: bool) -> Iterator[tuple[str, str]]:
    for one in (filters, *filters.without):
        for what, values in (("label", one.labels), ("author", one.authors)):
            yield from ((what, value) for value in values if not has_value(store, what, value.removeprefix("@")))
        if not is_empty:
            continue
        for what, values in (("milestone", one.milestones), ("assignee", one.assignees)):
            known = {name.lower().removeprefix("@") for name in list_values(store, what)} if values else set()
            yield from ((what, value) for value in values if value.lower().removeprefix("@") not in known)


def _tell(store: Store, what: str, value: str) -> str:
    meant = suggest(value, list_values(store, what))
    return f"{_SAID[what]} {value!r}" + (f"; did you mean {meant!r}?" if meant else "")
