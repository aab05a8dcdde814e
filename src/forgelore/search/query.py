"""The search query: what somebody typed, read once, with its filters, order and page.

text -> language.parse_typed -> qualifiers joined with flags -> filters; text conditions; order; known items

Text conditions (what must occur, what must not, and where) are conditions on documents, so they hold for both lists. A
phrase must occur in the document that is shown; an excluded word may occur nowhere in the item, threads included.

A query that consists of numbers, refs or addresses names items (`known items`):

28601   #28601   !12   owner/repo#28601   gitlab:group/p!3   https://…/issues/12#issuecomment-5   …/releases/tag/v1
github.com/owner/repo/issues/12   GH-28601   rust#28601 (the last part of a project's path)
issue 28601   PR #28617   bug 28601   MR !12   #28601 #28617

Among other words an item is named by its sign (`#28601 panic`); a bare number is text there (`error 404 page`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from forgelore.errors import InvalidValue, NotFound
from forgelore.profiles import profile_of
from forgelore.search.filters import (
    Field,
    QueryFilters,
    SortOrder,
    join_words,
    only_projects,
    parse_filters,
    parse_sort,
    read_qualifiers,
    refuse_code,
)
from forgelore.search.ftsquery import MAX_WORDS, Word, build_and, build_any_of, build_within, parse_words
from forgelore.search.language import TypedQuery, parse_typed
from forgelore.store.database import Store
from forgelore.store.filters import Allowed, Condition, Filters, any_of, are_documents_of, build_allowed
from forgelore.store.hits import (
    load_known,
    load_permitted,
    load_texts,
)
from forgelore.store.projects import StoredProject, find_by_last_part, find_named, resolve_project
from forgelore.store.sqlite.fulltext import (
    has_words,
    lacks_words,
    list_with_words,
)
from forgelore.text.refs import Hosts, Ref, page_in_url, parse_ref, shown_ref
from forgelore.words import KIND_WORDS, FilterWords, Kind, Source

NamedRef = tuple[
    Ref, str
]  # an item that a query names; as it was typed where a word or GH- says what it is: `pr 28617`

SearchMode = Literal["hybrid", "lexical", "semantic"]
MAX_OFFSET = 10_000
_HINT = f"use a number up to {MAX_OFFSET:,}, or the value that the previous page ended with"


def parse_start(given: int | str) -> tuple[int, str]:
    """Return the offset and the seal of a page as people and programs write its start: 40, "40" or "40:9f2c01d3ab"."""
    match = re.fullmatch(r"(\d{1,9})(?::([0-9a-f]{10}))?", str(given).strip(), re.ASCII)
    if not match or int(match[1]) > MAX_OFFSET:
        raise InvalidValue(f"no page starts at {str(given)[:60]!r}", hint=_HINT)
    return int(match[1]), match[2] or ""


class KnownItems(NamedTuple):
    """The documents of the items that a query names, best first, and a sentence about them. `shown`: the query, as
    people of that forge write it.
    """

    document_ids: tuple[int, ...] = ()
    note: str = ""
    shown: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.note,) if self.note else ()


class Query(NamedTuple):
    """A search: what to look for, within which filters, in which order, and which page. Terms of `required` and
    `excluded` are words, or "phrases" in quotes.
    """

    text: str
    mode: SearchMode = "hybrid"
    filters: Filters = Filters()
    limit: int = 20
    is_raw: bool = False  # the text is FTS5 syntax
    is_bare: bool = False  # ranks alone: no snippets, no matched words
    required: tuple[tuple[str, ...], ...] = ()  # of each group one must occur
    excluded: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()  # where the words must stand; none: anywhere
    sort: SortOrder = SortOrder()
    known: KnownItems = KnownItems()  # what the query names
    is_named: bool = False  # it is nothing but numbers and addresses of items, which have no meaning
    notes: tuple[str, ...] = ()  # how the query was understood
    offset: int = 0  # where the page begins
    seal: str = ""  # the hash of what comes before it; "": nobody asks
    source: Source = "raw"
    code_keys: tuple[str, ...] = ()  # of commits and files that the query names: commit:9
    with_facets: bool = False

    @property
    def end(self) -> int:
        return self.offset + self.limit


_SAMPLE = 200  # documents with the word of an option that are looked at, the newest ones
_MIN_DOCUMENTS = 2  # one person may write anything
_SHARE, _SHARE_WITHIN = 0.25, 0.01  # of documents that write it with a dash: at the end of a query, within a sentence
_SURE = 0.5  # of documents, be it a single one


class QuerySetting(NamedTuple):
    """Where and when a query is asked: the project of flags or clone (None: all), what short names mean, the time."""

    project: StoredProject | None
    hosts: Hosts
    now_ms: int


def build_query(
    store: Store, text: str, flags: FilterWords, setting: QuerySetting, *, mode: SearchMode = "hybrid", limit: int = 20,
    is_literal: bool = False, order: str | None = None,
) -> Query:  # fmt: skip
    """Return the request for what somebody typed. `is_literal`: all of it is text, as for something pasted. `order`: as
    `sort:` has it, which comes first.

    Raises InvalidValue for values that make no sense, NotFound for a project that is not here.
    """
    typed = TypedQuery(text) if is_literal else parse_typed(text, partial(_is_option, store))
    said = read_qualifiers(typed.qualifiers)
    named, is_all = (
        ((), False) if is_literal else _name_items(store, typed, setting.hosts, is_pasted="\n" in text.strip())
    )
    place = named[0][0].project if is_all and len(named) == 1 else ""
    if place and not said.projects and _has_project(store, place, setting.hosts):
        said = said._replace(projects=(place,))  # acme/web#12 says it as project:acme/web does
    filters = _filters(store, flags, said, setting).leaving_out_threads()
    if "comments" in said.fields:  # is:issue in:comments means what people said below issues
        filters = filters._replace(with_threads=True)
    known, missed = find_named_items(store, named, setting.hosts, filters.project_ids)
    sort = said.sort or (parse_sort(order) if order else SortOrder())
    required, notes = _bounded(typed)
    if known.document_ids and not is_all and sort.key != "relevance":
        known = KnownItems()  # another order is that of all that have the words
    if known.document_ids:
        sort = SortOrder()  # the item is first
    elif sort.key == "relevance" and not typed.text.strip() and (not typed.is_plain or any(flags.values())):
        sort = SortOrder("updated")  # nothing to be relevant to
    return Query(
        (_mentions(named) if is_all else "") or typed.text if known.document_ids else typed.text, mode, filters, limit,
        required=required, excluded=typed.excluded, fields=said.fields, sort=sort, known=known,
        is_named=is_all and known != KnownItems(), notes=(*notes, *missed),  # C#7 names none
    )  # fmt: skip


def _is_option(store: Store, word: str, is_within: bool) -> bool:  # noqa: FBT001
    """Whether the project writes the word behind a dash often enough. `is_within`: it stands in a sentence."""
    expression = build_and(parse_words(word))
    if expression is None:
        return False
    ids = list_with_words(store, expression, _SAMPLE, build_allowed(store, Filters()))
    dashed = re.compile(rf"(?<![\w-])--?{re.escape(word)}(?![\w-])")
    found = sum(1 for title, text in load_texts(store, ids).values() if dashed.search(title) or dashed.search(text))
    if found and found >= _SURE * len(ids):
        return True
    return found >= max(_MIN_DOCUMENTS, (_SHARE_WITHIN if is_within else _SHARE) * len(ids))


def _name_items(store: Store, typed: TypedQuery, hosts: Hosts, *, is_pasted: bool) -> tuple[tuple[NamedRef, ...], bool]:
    """Return the items that a query names, and whether it is nothing else. What has several lines is pasted, and names
    none among its words: the frames of a backtrace are numbered.
    """
    words = [piece.typed for piece in typed.pieces if piece.role == "text"] if typed.pieces else typed.text.split()
    is_all = not any(piece.role == "phrase" for piece in typed.pieces)
    named, is_all = parse_known_items(words, is_all=is_all)
    if is_pasted and not is_all:
        return (), False
    return tuple((_place_ref(store, ref, hosts), said) for ref, said in named), is_all


def _place_ref(store: Store, ref: Ref, hosts: Hosts) -> Ref:
    """Return a ref with the whole name of its project: `rust#12` has the last part of one."""
    if not ref.project or "/" in ref.project or _has_project(store, ref.project, hosts):
        return ref
    project = find_by_last_part(store, ref.project)
    return ref._replace(project=str(project.name)) if project else ref


def _mentions(named: Sequence[NamedRef]) -> str:
    """Return what finds items that speak of these; "" for a release's page."""
    return "" if any(ref.tag for ref, _ in named) else " ".join(f"#{ref.number}" for ref, _ in named)


def _bounded(typed: TypedQuery) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return what must occur, each once and no more than a query has words, and the notes: SQLite refuses a thousand
    conditions.
    """
    required = tuple(dict.fromkeys(typed.required))
    if len(required) <= MAX_WORDS:
        return required, typed.notes
    note = f"only the first {MAX_WORDS} of {len(required):,} phrases are used; the rest are ignored"
    return required[:MAX_WORDS], (*typed.notes, note)


def read_filter_query(
    store: Store, text: str, flags: FilterWords, setting: QuerySetting
) -> tuple[Filters, SortOrder | None, tuple[str, ...]]:
    """Return the filters and the order of a query for a list or a count, which have no words to search for, and how it
    was understood. The types of the flags are what is listed: a query may name these and no others.
    """
    typed = parse_typed(text)
    said = read_qualifiers(typed.qualifiers)
    if typed.text.strip() or typed.excluded or said.fields:
        words = typed.text.strip() or " ".join(typed.excluded) or "in:"
        raise InvalidValue(f"not a filter: {words!r}", hint="lists take qualifiers such as label:bug; search for words")
    filters = refuse_code(_filters(store, flags, said, setting))
    if flags.get("type") and "type" in said.words:
        asked = parse_filters({"type": flags["type"]}, now_ms=setting.now_ms).types
        typed_too = parse_filters({"type": said.words["type"]}, now_ms=setting.now_ms).types
        both = tuple(kind for kind in asked if kind in typed_too)
        if not both:
            raise InvalidValue(f"conflicting types: {asked[0]}s and others", hint="remove type: or is:")
        filters = filters._replace(types=both)
    return filters, said.sort, typed.notes


def find_project_ids(store: Store, names: Iterable[str], hosts: Hosts) -> tuple[int, ...]:
    """Return the stored projects that people name. Raises NotFound with the likeliest name."""
    return tuple(dict.fromkeys(resolve_project(store, name, hosts).id for name in names))


def _filters(store: Store, flags: FilterWords, said: QueryFilters, setting: QuerySetting) -> Filters:
    """The projects that a query names stand in place of the one of flags or clone."""
    named = find_project_ids(store, said.projects, setting.hosts)
    return parse_filters(
        join_words(flags, said.words),
        now_ms=setting.now_ms,
        project_ids=named or only_projects(store, setting.project),
        not_project_ids=find_project_ids(store, said.not_projects, setting.hosts),
        store=store,
    )


def _has_project(store: Store, name: str, hosts: Hosts) -> bool:
    try:
        return find_named(store, name, hosts) is not None
    except InvalidValue:
        return False


_LARGEST = 2**63 - 1  # that a column holds
_AND = " and "  # between several that are shown


def find_named_items(
    store: Store, named: Sequence[NamedRef], hosts: Hosts, project_ids: tuple[int, ...] = ()
) -> tuple[KnownItems, tuple[str, ...]]:
    """Return the items that a query names, in its order, and a sentence about each ref beside them that has none."""
    each = [_find_named(store, one, hosts, project_ids) for one in named]
    found = [one for one in each if one.document_ids]
    if len(each) <= 1 or not found:
        return (each[0] if each else KnownItems()), tuple(note for one in each[1:] for note in one.notes)
    missed = tuple(note for one in each if not one.document_ids for note in one.notes)
    if len(found) == 1:
        return found[0], missed
    documents = tuple(dict.fromkeys(document for one in found for document in one.document_ids))
    shown = _AND.join((", ".join(one.shown for one in found[:-1]), found[-1].shown))
    return KnownItems(documents, f"{shown} name {_items(len(documents))} at the top", shown), missed


def _find_named(store: Store, named: NamedRef, hosts: Hosts, project_ids: tuple[int, ...]) -> KnownItems:
    ref, said = named
    found = find_known_items(store, ref, hosts, project_ids, said=said)
    if said and ref.kind and not found.document_ids:  # people say issue to a pull request
        loose = ref._replace(kind=None)
        return find_known_items(store, loose, hosts, project_ids, said=said)
    return found


def find_known_items(
    store: Store, ref: Ref, hosts: Hosts, project_ids: tuple[int, ...] = (), *, said: str = ""
) -> KnownItems:
    """Return the items that a ref means within these projects (none: all of them). One number may stand for several: in
    several projects, or an issue and a change where a forge numbers them apart. What the viewer may not see is not
    there, in the same words as anything else that is not. `said`: how the query calls it, `pr 12`.
    """
    shown = said or _typed(ref)
    where = "here" if project_ids else "in this database"
    if ref.project:
        try:
            project = resolve_project(store, ref.project, hosts)
        except (InvalidValue, NotFound) as error:
            # C#7 and wow!12 have the shape of a ref, and mean no project.
            return KnownItems(note=error.message if "/" in ref.project else "")
        where, shown = f"in {project.name}", said or _shown(ref, project.name.forge)
        if project_ids and project.id not in project_ids:
            return KnownItems(note=f"{shown} {where} is outside the searched projects")
        project_ids = (project.id,)
        if ref.number and profile_of(project.name.forge).numbering == "shared":
            ref = ref._replace(kind=None)  # such a forge leads from /issues/7 to /pull/7
    rows = load_known(store, ref, project_ids) if ref.number <= _LARGEST else []
    live = [document_id for is_deleted, document_id in rows if not is_deleted]
    documents = tuple(document_id for document_id in live if document_id is not None)
    if documents:
        return KnownItems(documents, f"{shown} names {_items(len(documents))} at the top", shown)
    if live:
        return KnownItems(note=f"{shown} is {where}, but not indexed yet; run: forgelore generate-docs")
    if rows:
        return KnownItems(note=f"{shown} was deleted on its forge")
    return KnownItems(note=f"{shown} does not exist {where}; run a sync to fetch what is new")


def permit_known(store: Store, known: KnownItems, allowed: Allowed | None) -> KnownItems:
    """Return those of the items that filters allow."""
    if not known.document_ids or allowed is None:
        return known
    permitted = load_permitted(store, allowed, known.document_ids)
    kept, gone = tuple(one for one in known.document_ids if one in permitted), len(known.document_ids) - len(permitted)
    if not gone:
        return known
    if not kept:
        return KnownItems(note=f"{known.shown} {'are' if _AND in known.shown else 'is'} excluded by the filters")
    named = f"{_items(len(kept))} at the top, and {'one' if gone == 1 else gone} excluded by the filters"
    return KnownItems(kept, f"{known.shown} {'name' if _AND in known.shown else 'names'} {named}", known.shown)


def _typed(ref: Ref) -> str:
    return ref.tag or f"{'!' if ref.kind == 'change' else '#'}{ref.number}"


def _shown(ref: Ref, forge: str) -> str:
    """An address says what it is, /pull/41, and only some forges have a sign for that."""
    return ref.tag or shown_ref(forge, ref.kind or "issue", ref.number)


def _items(count: int) -> str:
    return "the item" if count == 1 else f"the {count} items"


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


def parse_known_items(words: Sequence[str], *, is_all: bool = True) -> tuple[tuple[NamedRef, ...], bool]:
    """Return the items that the words of a query name, and whether they say nothing else. `is_all`: there is nothing
    beside these words.
    """
    if is_all:
        spoken = _read_spoken(words)
        if spoken:
            return spoken, True
    signed = [one for word in words if (one := _read_signed(word.strip(_AROUND))) and one[0].number > 0]
    return (tuple(dict.fromkeys(signed)) if len(signed) <= _MAX_AMONG_WORDS else ()), False


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
        return ((ref, ""),)
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
            one = Ref("", int(word)), ""
        elif not one and (page := parse_known_item(word)) and page.project:
            one = page, ""
        if kind and one:
            said = " ".join(words[at - kind : at])
            meant = one[0].kind or _SAID_KINDS[said.lower()]
            one = one[0]._replace(kind=meant), f"{said} {word}"
        yield one
        if one is None:
            return
        at += 1


def _read_signed(word: str) -> NamedRef | None:
    """Return the item of a word that can be nothing but a ref: #12, !34, owner/repo#12, GH-12."""
    if not _SIGNED.fullmatch(word) or "//" in word:
        return None
    if word[:3].lower() == "gh-":
        return Ref("", int(word[3:])), word
    ref = parse_known_item(word)
    return (ref, "") if ref else None


_PROSE = ("title", "text")  # columns of full text that hold what people wrote


def build_text_conditions(query: Query, words: Sequence[Word]) -> list[Condition]:
    """Return the conditions; none where nothing was said. A term without a letter or digit says nothing. Of cards,
    what must occur must do so in a card; what must not, in nothing that people wrote.
    """
    required = [expression for group in query.required if (expression := build_any_of(group, _PROSE))]
    found = [has_words(expression, source=query.source) for expression in required]
    excluded = build_any_of(query.excluded, _PROSE)
    if excluded:
        found.append(lacks_words(excluded))
    if query.fields and query.source == "intent":
        raise InvalidValue("cards have no title, body or comments", hint="drop in:, or search the items themselves")
    if query.fields:
        found.append(_within_fields(query.fields, build_and(words)))
    return found


def _within_fields(fields: tuple[Field, ...], expression: str | None) -> Condition:
    """Title and body belong to the item's own document, comments to those of its threads."""
    columns = [name for field, name in (("title", "title"), ("body", "text")) if field in fields]
    places = (("item", columns), ("thread", ["text"] if "comments" in fields else []))
    return any_of(
        are_documents_of(representation, has_words(build_within(expression, looked_at)) if expression else None)
        for representation, looked_at in places
        if looked_at
    )
