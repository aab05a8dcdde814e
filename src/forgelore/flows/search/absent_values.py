"""Absent values: what a filter names and nobody has, with what was probably meant.

Labels and authors are looked up by an index wherever what was found does not tell; milestones and assignees, which have
none, and paths only when nothing was found.
"""

from collections.abc import Iterator

from forgelore.core.globs import is_glob
from forgelore.core.suggestions import suggest
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.known_values import find_path_in_other_case, has_path, has_value, list_values

_MOST = 5  # that are named
_SAID = {
    "label": "no item has the label",
    "author": "nobody here is called",
    "person": "nobody here is called",
    "milestone": "no item has the milestone",
    "assignee": "no item is assigned to",
    "path": "no item touches",
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
    if is_empty and len(filters.paths) <= _MOST:  # each may be a look at all paths
        yield from (("path", path) for path in filters.paths if not has_path(store, path, is_public=is_public))
    for one in (filters, *filters.without):
        labels = [("label", names) for names in (*((name,) for name in one.labels), *one.any_labels)]
        for what, values in (*labels, ("author", one.authors)):
            if one is filters and not is_empty and len(values) == 1:
                continue  # whatever was found has it
            names = ((value, value.removeprefix("@")) for value in values)
            yield from ((what, value) for value, name in names if not has_value(store, what, name, is_public=is_public))
        if not is_empty:
            continue
        people = dict.fromkeys((*one.commenters, *one.mentions, *one.involves))
        names = ((value, value.removeprefix("@")) for value in people)
        yield from (
            ("person", value) for value, name in names if not has_value(store, "person", name, is_public=is_public)
        )
        for what, values in (("milestone", one.milestones), ("assignee", one.assignees)):
            there = list_values(store, what, is_public=is_public) if values else []
            known = {name.lower().removeprefix("@") for name in there}
            yield from ((what, value) for value in values if value.lower().removeprefix("@") not in known)


def _tell(store: Store, what: str, value: str, *, is_public: bool) -> str:
    if what in ("author", "assignee", "person") and value.lower() == "me":
        return "who @me is is not known here; write the name"
    if what == "path":
        return f"{_SAID[what]} {value!r}{_suggest_path(store, value, is_public=is_public)}"
    if "," in value and what != "label":  # of labels that is a list, and this one was quoted
        return f"{_SAID[what]} {value!r}; write several values one by one"
    meant = suggest(value, list_values(store, "author" if what == "person" else what, is_public=is_public))
    return f"{_SAID[what]} {value!r}" + (f"; did you mean {meant!r}?" if meant else "")


def _suggest_path(store: Store, path: str, *, is_public: bool) -> str:
    """Return what to write instead: a folder has a slash at its end and none before it, and capitals count."""
    bare = path.removeprefix("./").lstrip("/")
    spellings = [bare] if is_glob(bare) or bare.endswith("/") else [bare, f"{bare}/"]
    for one in spellings:
        if one not in ("", "/", path) and has_path(store, one, is_public=is_public):
            return f"; did you mean {one!r}?"
    for one in spellings:
        found = find_path_in_other_case(store, one, is_public=is_public) if one.strip("/") else None
        if found:
            return _tell_case(one, found)
    return ""


def _tell_case(path: str, found: str) -> str:
    if is_glob(path):
        return f"; capitals count: there is {found!r}"
    return f"; did you mean {found[: len(path)]!r}?"
