"""Absent values: what a filter names and nobody has, with what was probably meant.

Labels and authors are looked up by an index wherever what was found does not tell; milestones and assignees, which have
none, only when nothing was found.
"""

from collections.abc import Iterator

from forgelore.core.suggestions import suggest
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.known_values import has_value, list_values

_MOST = 5  # that are named
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
    absent = list(dict.fromkeys(_absent(store, filters, is_empty=is_empty)))
    named = [_tell(store, what, value, is_public=filters.is_public) for what, value in absent[:_MOST]]
    return [*named, f"and {len(absent) - _MOST} more values that nobody has"] if len(absent) > _MOST else named


def _absent(store: Store, filters: Filters, *, is_empty: bool) -> Iterator[tuple[str, str]]:
    is_public = filters.is_public
    for one in (filters, *filters.without):
        for what, values in (("label", one.labels), ("author", one.authors)):
            if one is filters and not is_empty and (what == "label" or len(values) == 1):
                continue  # whatever was found has them
            names = ((value, value.removeprefix("@")) for value in values)
            yield from ((what, value) for value, name in names if not has_value(store, what, name, is_public=is_public))
        if not is_empty:
            continue
        for what, values in (("milestone", one.milestones), ("assignee", one.assignees)):
            there = list_values(store, what, is_public=is_public) if values else []
            known = {name.lower().removeprefix("@") for name in there}
            yield from ((what, value) for value in values if value.lower().removeprefix("@") not in known)


def _tell(store: Store, what: str, value: str, *, is_public: bool) -> str:
    if what in ("author", "assignee") and value.lower() == "me":
        return "who @me is is not known here; write the name"
    if "," in value:
        return f"{_SAID[what]} {value!r}; write several values one by one"
    meant = suggest(value, list_values(store, what, is_public=is_public))
    return f"{_SAID[what]} {value!r}" + (f"; did you mean {meant!r}?" if meant else "")
