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

Known items: the numbers, refs and addresses of items in a query.

28601   #28601   !12   owner/repo#28601   gitlab:group/p!3   https://…/issues/12#issuecomment-5   …/releases/tag/v1
github.com/owner/repo/issues/12   GH-28601   rust#28601 (the last part of a project's path)
issue 28601   PR #28617   bug 28601   MR !12   #28601 #28617

A query that is nothing else names these items. Among other words an item is named by its sign (`#28601 panic`); a bare
number is text there (`error 404 page`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, cast, get_args

from forgelore.errors import InvalidValue
from forgelore.search.language import Qualifier
from forgelore.text.refs import Ref, page_in_url, parse_ref
from forgelore.words import KIND_WORDS, STATE_WORDS, FilterWords, Kind

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


# No forge has numbers like this, and no column would hold one; somebody who writes the # asks for an item all the same.
_TOO_LARGE = r"(?P<project>\S*?)(?P<mark>[#!])(?P<number>[0-9]{19,99})"
_HOST = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?/"
_SIGNED = re.compile(r"[^\s#!]*[#!][0-9]{1,18}|(?i:GH)-[0-9]{1,18}", re.ASCII)
# Words that only say what a number is. A release is known by its tag.
_SAID_KINDS: dict[str, Kind | None] = {
    **{word.replace("_", " "): kind for word, kind in KIND_WORDS.items() if kind != "release"},
    "bug": None, "ticket": None,
}  # fmt: skip
_MAX_AMONG_WORDS = 5  # more are the frames of a backtrace
_AROUND = "()[]{}.,;:?\"'"


class NamedRef(NamedTuple):
    """An item that a query names. `said`: as it was typed, where a word or GH- says what it is: `pr 28617`."""

    ref: Ref
    said: str = ""


class NamedRefs(NamedTuple):
    """All of them, in their order. `is_all`: the query is nothing else."""

    refs: tuple[NamedRef, ...] = ()
    is_all: bool = False


def parse_known_items(words: Sequence[str], *, is_all: bool = True) -> NamedRefs:
    """Return the items that the words of a query name. `is_all`: there is nothing beside these words."""
    if is_all:
        spoken = _read_spoken(words)
        if spoken:
            return NamedRefs(spoken, is_all=True)
    signed = [one for word in words if (one := _read_signed(word.strip(_AROUND))) and one.ref.number > 0]
    return NamedRefs(tuple(dict.fromkeys(signed))) if len(signed) <= _MAX_AMONG_WORDS else NamedRefs()


def parse_known_item(text: str) -> Ref | None:
    """Return the item that a query names, None when it is something to search for. A bare tag is: `v1.2`, `crash`."""
    word = text.strip()
    if not word or any(map(str.isspace, word)) or not word[-1].isascii():
        return None
    if "/" in word and re.match(_HOST, word) and page_in_url(f"https://{word}"):
        word = f"https://{word}"  # as browsers show it
    if len(word) > 19 and (large := re.fullmatch(_TOO_LARGE, word)):
        return Ref(large["project"], int(large["number"]), "change" if large["mark"] == "!" else None)
    try:
        ref = parse_ref(word)
    except (InvalidValue, ValueError):  # the second for a URL that is none: http://[::1
        return None
    is_of_code = ref.is_of_commit or (ref.sha and ref.tag) or ref.key or (ref.tag and ref.kind is None)
    return None if is_of_code or (ref.tag and not ref.project) else ref


def _read_spoken(words: Sequence[str]) -> tuple[NamedRef, ...]:
    """Return the items, if the words name items and say nothing else; none otherwise."""
    if len(words) == 1 and (ref := parse_known_item(words[0])):
        return (NamedRef(ref),)
    found = list(_each_spoken(words))
    return tuple(dict.fromkeys(one for one in found if one)) if all(found) else ()


def _each_spoken(words: Sequence[str]) -> Iterator[NamedRef | None]:
    """Yield the items of words that name nothing else, and None at the first word that does not."""
    at = 0
    while at < len(words):
        kind = next((size for size in (2, 1) if " ".join(words[at : at + size]).lower() in _SAID_KINDS), 0)
        at += kind
        word = words[at] if at < len(words) else ""
        one = _read_signed(word)
        if kind and word.isascii() and word.isdecimal() and len(word) < 19:
            one = NamedRef(Ref("", int(word)))
        elif not one and (page := parse_known_item(word)) and page.project:
            one = NamedRef(page)
        if kind and one:
            said = " ".join(words[at - kind : at])
            meant = one.ref.kind or _SAID_KINDS[said.lower()]
            one = NamedRef(one.ref._replace(kind=meant), f"{said} {word}")
        yield one
        if one is None:
            return
        at += 1


def _read_signed(word: str) -> NamedRef | None:
    """Return the item of a word that can be nothing but a ref: #12, !34, owner/repo#12, GH-12."""
    if not _SIGNED.fullmatch(word) or "//" in word:
        return None
    if word[:3].lower() == "gh-":
        return NamedRef(Ref("", int(word[3:])), word)
    ref = parse_known_item(word)
    return NamedRef(ref) if ref else None
