"""Qualifiers as filters: the words that flags take, where words are looked for, and the order of hits.

    author: label: milestone: assignee: path: project: type: state:     as the flags of the same name
    commenter: mentions: involves:     wrote a comment, is mentioned, has to do with it in any way
    is:open  is:closed  is:merged     a state          is:issue  is:pr  is:mr     a type
    no:label  no:milestone  no:assignee                                 has none
    label:bug,"good first issue"                                        one of these labels
    created:>2024-01-01  updated:2024-01..2024-03  comments:>10         comparisons and ranges
    in:title  in:body  in:comments                                      where the words must stand
    sort:created  sort:updated-asc  sort:comments  sort:relevance       the order, newest or most first

With a minus a value is left out. Whether a value makes sense is said by whoever reads filters, the same for flags and
qualifiers; only `is:`, `in:` and `sort:`, which no flag has, are read here.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, cast, get_args

from forgelore.core.search.query_language import Qualifier
from forgelore.errors import InvalidValue
from forgelore.words import KIND_WORDS, STATE_WORDS, FilterWords

Field = Literal["title", "body", "comments"]
SortKey = Literal["relevance", "created", "updated", "comments"]

_FIELDS: dict[str, Field] = {"title": "title", "body": "body", "comments": "comments", "comment": "comments"}
_QUOTE = "in quotes it is text"


class SortOrder(NamedTuple):
    key: SortKey = "relevance"
    is_ascending: bool = False


class QueryFilters(NamedTuple):
    """What the qualifiers of a query say. Which projects are meant is for somebody with a store to find."""

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
            raise InvalidValue(
                f"-{one.name}: leaves nothing out", hint=f"write {one.name}: without the minus; {_QUOTE}"
            )
        if one.name == "in":
            fields += [_field(value) for value in one.value.split(",")]
        elif one.name == "sort":
            sorts.append(parse_sort(one.value))
        else:
            name = _name_of_is(one.value) if one.name == "is" else one.name
            (left_out if one.is_excluded else asked).setdefault(name, []).append(one.value)
    if len(set(sorts)) > 1:
        raise InvalidValue("sort: is given twice", hint="give it once")
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
        raise InvalidValue(f"sort:{word} is no order", hint=hint)
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
    raise InvalidValue(f"is:{value} is not known", hint=hint)


def _field(value: str) -> Field:
    field = _FIELDS.get(value.lower())
    if field is None:
        raise InvalidValue(f"in:{value} is no place", hint=f"use in:title, in:body or in:comments; {_QUOTE}")
    return field


def _listed(values: object) -> list[str]:
    if values is None:
        return []
    return [values] if isinstance(values, str) else list(cast(Iterable[str], values))
