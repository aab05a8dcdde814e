"""Filters as people type them, in flags and in qualifiers: parsed, checked, and explained when they match nothing.

    author: label: milestone: assignee: path: project: type: state:     as the flags of the same name
    commenter: mentions: involves:     wrote a comment, is mentioned, has to do with it in any way
    is:open  is:closed  is:merged     a state          is:issue  is:pr  is:mr     a type
    no:label  no:milestone  no:assignee                                 has none
    label:bug,"good first issue"                                        one of these labels
    created:>2024-01-01  updated:2024-01..2024-03  comments:>10         comparisons and ranges
    in:title  in:body  in:comments                                      where the words must stand
    sort:created  sort:updated-asc  sort:comments  sort:relevance       the order, newest or most first

With a minus a value is left out. Raises InvalidValue for values that make no sense or contradict each other. An empty
value is never "no filter": it is an unset variable.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, cast, get_args

from forgelore.errors import InvalidValue
from forgelore.search.language import Qualifier
from forgelore.store.database import Store
from forgelore.store.filters import PARTS, Filters
from forgelore.store.known_values import find_path_in_other_case, has_path, has_value, list_values
from forgelore.store.projects import StoredProject, has_other_projects
from forgelore.text.dates import Bounds, as_ms, parse_dates, parse_numbers
from forgelore.text.globs import MAX_STARS, count_stars, is_glob
from forgelore.text.values import check_filled, suggest
from forgelore.words import KIND_WORDS, STATE_WORDS, FilterWords, Moment, Numbers, Words

# Values of one filter, and all that is left out. SQLite joins a table per label, 64 at most, and other values make its
# expressions deeper, 1,000 at most: more would be answered with its own words.
MAX_VALUES = {"label": 50}
_MAX_OTHER = 200
_BOTH = "remove one of the two"
_TYPES = {
    "thread": "thread", "threads": "thread", "comment": "thread", "comments": "thread",
    "code": "code", "file": "code", "files": "code", "commit": "commit", "commits": "commit", "all": "all",
}  # fmt: skip


def parse_filters(
    words: FilterWords, *, now_ms: int, project_ids: Iterable[int] = (), not_project_ids: Iterable[int] = (),
    store: Store | None = None,
) -> Filters:  # fmt: skip
    """Return the filters for words such as `pr`, `opened`, `@ana`, `3 months ago`; "ago" is counted from `now_ms`.
    The caller finds the projects. `store`: a label in it that contains a comma is one label, not a list.
    """

    def is_label(name: str) -> bool:
        return store is not None and has_value(store, "label", name)

    filters = _parse(words, now_ms, is_label)._replace(project_ids=tuple(project_ids))
    without = [_parse(one, now_ms, is_label) for one in _each_value(words.get("without") or {})]
    _check_count("left out", len(without), _MAX_OTHER)
    without += [Filters(project_ids=(project_id,)) for project_id in not_project_ids]
    _check_possible(filters, without)
    return filters._replace(without=tuple(without))


def only_projects(store: Store, project: StoredProject | None) -> tuple[int, ...]:
    """Return what to filter by for a project: nothing when the store holds no other, since every filter costs."""
    if project is None or not has_other_projects(store, project.id):
        return ()
    return (project.id,)


def refuse_code(filters: Filters) -> Filters:
    """Return filters for items. Raises InvalidValue where they ask for files or commits, which only a search finds."""
    asked = next((one for one in filters.types if one in ("code", "commit", "all")), None)
    if asked:
        hint = f"search for them: forgelore search 'type:{asked}'"
        raise InvalidValue(f"unknown kind of item: {asked!r}", hint=hint)
    return filters


def _parse(words: FilterWords, now_ms: int, is_label: Callable[[str], bool]) -> Filters:
    unknown = set(words) - set(FilterWords.__annotations__)
    if unknown:
        raise TypeError(f"unknown filter: {min(unknown)!r}")
    created = _bounds_of_created(words, now_ms)
    updated = _bounds_of_updated(words, now_ms)
    comments = Bounds()
    for text in _several("comments", words.get("comments")):
        comments = comments.within(parse_numbers(text))
    if comments.is_empty:
        raise InvalidValue("no number of comments meets all conditions", hint="write one range, such as 5..20")
    labels = [_labels(word, is_label) for word in _several("label", words.get("label"))]
    return Filters(
        types=tuple(_type(word) for word in _several("type", words.get("type"))),
        states=tuple(_state(word) for word in _several("state", words.get("state"))),
        authors=tuple(_person("author", word) for word in _several("author", words.get("author"))),
        labels=tuple(names[0] for names in labels if len(names) == 1),
        any_labels=tuple(names for names in labels if len(names) > 1),
        paths=tuple(_path(word) for word in _several("path", words.get("path"))),
        milestones=_several("milestone", words.get("milestone")),
        assignees=tuple(_person("assignee", word) for word in _several("assignee", words.get("assignee"))),
        commenters=tuple(_person("commenter", word) for word in _several("commenter", words.get("commenter"))),
        mentions=tuple(_person("mentions", word) for word in _several("mentions", words.get("mentions"))),
        involves=tuple(_person("involves", word) for word in _several("involves", words.get("involves"))),
        missing=tuple(_part(word) for word in _several("no", words.get("no"))),
        after=created.low,
        before=created.high,
        updated_after=updated.low,
        updated_before=updated.high,
        min_comments=comments.low,
        max_comments=None if comments.high is None else comments.high - 1,
    )


def _bounds_of_created(words: FilterWords, now_ms: int) -> Bounds:
    after, before, ranges = words.get("after"), words.get("before"), _several("created", words.get("created"))
    bounds = Bounds(_moment("after", after, now_ms), _moment("before", before, now_ms))
    for text in ranges:
        bounds = bounds.within(parse_dates(text, now_ms))
    if bounds.is_empty:
        said = [f"after {after}"] * (after is not None) + [f"before {before}"] * (before is not None) + [*ranges]
        hint = "put the earlier date first"
        raise InvalidValue(f"no creation date meets all conditions: {' and '.join(said)}", hint=hint)
    return bounds


def _bounds_of_updated(words: FilterWords, now_ms: int) -> Bounds:
    after, ranges = words.get("updated_after"), _several("updated", words.get("updated"))
    bounds = Bounds(_moment("updated_after", after, now_ms))
    for text in ranges:
        bounds = bounds.within(parse_dates(text, now_ms))
    if bounds.is_empty:
        said = [f"after {after}"] * (after is not None) + [*ranges]
        hint = "put the earlier date first"
        raise InvalidValue(f"no update date meets all conditions: {' and '.join(said)}", hint=hint)
    return bounds


def _each_value(words: FilterWords) -> Iterator[FilterWords]:
    """Yield what is left out, one value at a time: none of them may hold."""
    if not isinstance(words, Mapping) or not set(words) <= set(FilterWords.__annotations__):
        raise InvalidValue(f"not a filter to exclude: {str(words)[:60]}", hint="name filters, such as {'label': 'bug'}")
    if "without" in words or "project" in words:
        raise InvalidValue("exclusions cannot be nested", hint="name values, such as a label")
    for name, values in words.items():
        for value in _several(name, values):  # type: ignore[arg-type]  # the values of a TypedDict are objects
            yield {name: value}  # type: ignore[misc]


def _check_possible(filters: Filters, without: list[Filters]) -> None:
    """Refuse what no row can meet: asked for and left out, updated before it was created."""
    no_labels = {name for one in without for names in ((*one.labels,), *one.any_labels) for name in names}
    for name in filters.labels:
        _check_wanted((name,), no_labels)
    for names in filters.any_labels:
        _check_wanted(names, no_labels)
    for what in ("types", "states", "authors", "milestones", "commenters", "mentions", "involves"):
        _check_wanted(getattr(filters, what), {value for one in without for value in getattr(one, what)})
    if filters.after is not None and filters.updated_before is not None and filters.after >= filters.updated_before:
        raise InvalidValue("nothing can be updated before it was created", hint="compare the dates")


def _check_wanted(asked: tuple[str, ...], left_out: set[str]) -> None:
    """Refuse alternatives that are all left out."""
    excluded = {value.lower() for value in left_out}
    if asked and all(value.lower() in excluded for value in asked):
        raise InvalidValue(f"{asked[0].lower()!r} is both required and excluded", hint=_BOTH)


def _several(name: str, words: Words | Moment | Numbers) -> tuple[str, ...]:
    """One word is a list of one, nothing a list of none; what is repeated counts once."""
    found: Iterable[object] = () if words is None else (words,)
    if isinstance(words, Iterable) and not isinstance(words, str | bytes | Mapping):
        found = words
    values = tuple(dict.fromkeys(_one_word(name, word) for word in found))
    _check_count(f"of {name}", len(values), MAX_VALUES.get(name, _MAX_OTHER))
    return values


def _one_word(name: str, word: object) -> str:
    """A value as it would be typed: from Python also a date, and a number of comments."""
    if isinstance(word, dt.date):
        return word.isoformat()
    if name == "comments" and isinstance(word, int) and not isinstance(word, bool):
        return str(word)
    return check_filled(name, word)


def _check_count(what: str, count: int, most: int) -> None:
    if count > most:
        raise InvalidValue(f"too many values {what}: {count:,}", hint=f"use at most {most}")


def _moment(name: str, text: object, now_ms: int) -> int | None:
    if text is None:
        return None
    if isinstance(text, dt.datetime):
        return as_ms(text)
    if isinstance(text, dt.date):
        text = text.isoformat()
    if not isinstance(text, str):
        hint = "give a text such as 2026-03-01 or 7d, a date or a datetime"
        raise InvalidValue(f"not a date for {name}: {str(text)[:60]}", hint=hint)
    from forgelore.text.dates import parse_when  # most lists have no date to read

    return parse_when(check_filled(name, text), now_ms)


def _person(name: str, word: str) -> str:
    """`@ana` is `ana`."""
    return check_filled(name, word.strip().removeprefix("@"))


def _labels(word: str, is_label: Callable[[str], bool]) -> tuple[str, ...]:
    """Return one label, or several of which one is enough: a label may itself contain a comma."""
    if "," not in word or is_label(word):
        return (word,)
    names = split_labels(word)
    _check_count("of one list of labels", len(names), _MAX_OTHER)
    return tuple(check_filled(f"one of the labels in {word[:60]!r}", name) for name in names)


def _path(word: str) -> str:
    if count_stars(word) > MAX_STARS:
        raise InvalidValue(
            f"{word[:60]!r} has more than {MAX_STARS} wildcards", hint="use ** to match everything in between"
        )
    return word


def _type(word: str) -> str:
    key = word.lower().replace("-", "_")
    kind = _TYPES.get(key) or KIND_WORDS.get(key)
    if kind is None:
        raise InvalidValue(
            f"{word!r} is not a type",
            hint="use issue, change (pr, mr), discussion, release, thread, code, commit or all",
        )
    return kind


def _part(word: str) -> str:
    if word.lower() not in PARTS:
        raise InvalidValue(
            f"unknown qualifier value: no:{word}", hint=f"use {', '.join(PARTS)}; quote it to search for it as text"
        )
    return word.lower()


def _state(word: str) -> str:
    state = STATE_WORDS.get(word.lower())
    if state is None:
        raise InvalidValue(f"{word!r} is not a state", hint="use open, closed or merged")
    return state


_MAX = 5  # that are named
_SAID = {
    "label": "no item has the label",
    "author": "unknown person",
    "person": "unknown person",
    "milestone": "no item has the milestone",
    "assignee": "no item is assigned to",
    "path": "no item touches",
}


def warn_of_absent(store: Store, filters: Filters, *, is_empty: bool) -> list[str]:
    """Return a sentence for each value that nobody has, also of those that are left out. `is_empty`: nothing was found.

    no item has the label 'I-ICEE'; did you mean 'I-ICE'?
    """
    absent = list(dict.fromkeys(_absent(store, filters, is_empty=is_empty)))
    named = [_tell(store, what, value) for what, value in absent[:_MAX]]
    return [*named, f"and {len(absent) - _MAX} more unknown values"] if len(absent) > _MAX else named


def _absent(store: Store, filters: Filters, *, is_empty: bool) -> Iterator[tuple[str, str]]:
    if is_empty and len(filters.paths) <= _MAX:  # each may be a look at all paths
        yield from (("path", path) for path in filters.paths if not has_path(store, path))
    for one in (filters, *filters.without):
        labels = [("label", names) for names in (*((name,) for name in one.labels), *one.any_labels)]
        for what, values in (*labels, ("author", one.authors)):
            if one is filters and not is_empty and len(values) == 1:
                continue  # what was found has it
            names = ((value, value.removeprefix("@")) for value in values)
            yield from ((what, value) for value, name in names if not has_value(store, what, name))
        if not is_empty:
            continue
        people = dict.fromkeys((*one.commenters, *one.mentions, *one.involves))
        names = ((value, value.removeprefix("@")) for value in people)
        yield from (("person", value) for value, name in names if not has_value(store, "person", name))
        for what, values in (("milestone", one.milestones), ("assignee", one.assignees)):
            there = list_values(store, what) if values else []
            known = {name.lower().removeprefix("@") for name in there}
            yield from ((what, value) for value in values if value.lower().removeprefix("@") not in known)


def _tell(store: Store, what: str, value: str) -> str:
    if what in ("author", "assignee", "person") and value.lower() == "me":
        return "@me is not supported here; use your login"
    if what == "path":
        return f"{_SAID[what]} {value!r}{_suggest_path(store, value)}"
    if "," in value and what != "label":  # of labels that is a list, and this one was quoted
        return f"{_SAID[what]} {value!r}; give several values one by one"
    meant = suggest(value, list_values(store, "author" if what == "person" else what))
    return f"{_SAID[what]} {value!r}" + (f"; did you mean {meant!r}?" if meant else "")


def _suggest_path(store: Store, path: str) -> str:
    """Return what to write instead: a folder has a slash at its end and none before it, and capitals count."""
    bare = path.removeprefix("./").lstrip("/")
    spellings = [bare] if is_glob(bare) or bare.endswith("/") else [bare, f"{bare}/"]
    for one in spellings:
        if one not in ("", "/", path) and has_path(store, one):
            return f"; did you mean {one!r}?"
    for one in spellings:
        found = find_path_in_other_case(store, one) if one.strip("/") else None
        if found:
            return _tell_case(one, found)
    return ""


def _tell_case(path: str, found: str) -> str:
    if is_glob(path):
        return f"; paths are case-sensitive; did you mean {found!r}?"
    return f"; did you mean {found[: len(path)]!r}?"


Field = Literal["title", "body", "comments"]
SortKey = Literal["relevance", "created", "updated", "comments"]

_FIELDS: dict[str, Field] = {"title": "title", "body": "body", "comments": "comments", "comment": "comments"}
_QUOTE = "quote it to search for it as text"


class SortOrder(NamedTuple):
    key: SortKey = "relevance"
    is_ascending: bool = False


class QueryFilters(NamedTuple):
    """What the qualifiers of a query say. Projects are names here: finding them takes a store."""

    words: FilterWords
    projects: tuple[str, ...] = ()
    not_projects: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()  # none: everywhere
    sort: SortOrder | None = None


def read_qualifiers(qualifiers: Iterable[Qualifier]) -> QueryFilters:
    """Return what they say together. Raises InvalidValue for `is:`, `in:` and `sort:` with a value nobody knows."""
    asked: dict[str, list[str]] = {}
    left_out: dict[str, list[str]] = {}
    fields: list[Field] = []
    sorts: list[SortOrder] = []
    for one in qualifiers:
        if one.name in ("in", "sort") and one.is_excluded:
            raise InvalidValue(f"{one.name}: cannot be excluded", hint=f"use {one.name}: without the minus; {_QUOTE}")
        if one.name == "in":
            fields += [_field(value) for value in one.value.split(",")]
        elif one.name == "sort":
            sorts.append(parse_sort(one.value))
        else:
            name = _name_of_is(one.value) if one.name == "is" else one.name
            (left_out if one.is_excluded else asked).setdefault(name, []).append(one.value)
    if len(set(sorts)) > 1:
        raise InvalidValue("sort: was given twice", hint="give it once")
    projects, not_projects = asked.pop("project", ()), left_out.pop("project", ())
    words = cast(FilterWords, asked)
    if left_out:
        words["without"] = cast(FilterWords, left_out)
    return QueryFilters(
        words, tuple(projects), tuple(not_projects), tuple(dict.fromkeys(fields)), sorts[0] if sorts else None
    )


def join_words(flags: FilterWords, typed: FilterWords) -> FilterWords:
    """Return the filters of flags and query together: all of them hold."""
    joined: dict[str, object] = dict(flags)
    for name, values in typed.items():
        before = joined.get(name)
        if name == "without":
            joined[name] = join_words(cast(FilterWords, before or {}), cast(FilterWords, values))
        else:
            joined[name] = [*_listed(before), *_listed(values)]
    return cast(FilterWords, joined)


def parse_sort(word: str) -> SortOrder:
    """Return the order that a person names: `created`, `updated-asc`."""
    key, _, direction = word.lower().partition("-")
    if key not in get_args(SortKey) or direction not in ("", "asc", "desc") or (key == "relevance" and direction):
        hint = f"use sort:created, updated, comments (with -asc: oldest or fewest first) or relevance; {_QUOTE}"
        raise InvalidValue(f"unknown sort order: {word}", hint=hint)
    return SortOrder(cast(SortKey, key), direction == "asc")


def split_labels(text: str) -> tuple[str, ...]:
    """Return the labels of a list, of which one is enough; a comma within quotes is a label's own. What is no list is
    one label.

    'bug,"a, b"' -> ("bug", "a, b")      'the "new" one' -> ('the "new" one',)
    """
    if "," not in text:
        return (text,)
    import csv  # few labels have a comma

    try:
        (parts,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        return (text,)
    return tuple(dict.fromkeys(part.strip() for part in parts))


def _name_of_is(value: str) -> str:
    word = value.lower()
    if word in STATE_WORDS:
        return "state"
    if word in KIND_WORDS:
        return "type"
    hint = f"use is:open, closed, merged, issue, pr, mr, discussion or release; {_QUOTE}"
    raise InvalidValue(f"unknown qualifier value: is:{value}", hint=hint)


def _field(value: str) -> Field:
    field = _FIELDS.get(value.lower())
    if field is None:
        raise InvalidValue(
            f"unknown qualifier value: in:{value}", hint=f"use in:title, in:body or in:comments; {_QUOTE}"
        )
    return field


def _listed(values: object) -> list[str]:
    if values is None:
        return []
    return [values] if isinstance(values, str) else list(cast(Iterable[str], values))
