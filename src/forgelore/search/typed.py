"""A typed query as a request: the query language, the flags beside it, and the item that it may name.

text -> parse_typed -> qualifiers joined with flags -> filters; text conditions; order; known items

Is `-dbcache` the name of an option, or is dbcache to be left out? The project's own texts decide: how many of those
that have the word write it with a dash. Behind the last word of a query people leave things out (`crash -windows`);
within a sentence they rather write of an option.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from forgelore.errors import InvalidValue
from forgelore.search.filters import TextTerms, only_projects, parse_filters, refuse_code
from forgelore.search.ftsquery import MAX_WORDS, build_and, parse_query
from forgelore.search.known_items import KnownItems, find_named_items
from forgelore.search.language import TypedQuery, parse_typed
from forgelore.search.qualifiers import (
    NamedRefs,
    QueryFilters,
    SortOrder,
    join_words,
    parse_known_items,
    parse_sort,
    read_qualifiers,
)
from forgelore.search.run import SearchMode, SearchRequest
from forgelore.store.database import Store
from forgelore.store.filters import Filters, build_allowed
from forgelore.store.hits import load_texts
from forgelore.store.projects import StoredProject, find_by_last_part, find_named, resolve_project
from forgelore.store.sqlite.fulltext import list_with_words
from forgelore.text.refs import Hosts, Ref
from forgelore.words import FilterWords

_SAMPLE = 200  # documents with the word of an option that are looked at, the newest ones
_MIN_DOCUMENTS = 2  # one person may write anything
_SHARE, _SHARE_WITHIN = 0.25, 0.01  # of documents that write it with a dash: at the end of a query, within a sentence
_SURE = 0.5  # of documents, be it a single one


class QuerySetting(NamedTuple):
    """Where and when a query is asked: the project of flags or clone (None: all), what short names mean, the time."""

    project: StoredProject | None
    hosts: Hosts
    now_ms: int
    is_public: bool = False  # confidential items are not there


def build_request(
    store: Store, text: str, flags: FilterWords, setting: QuerySetting, *, mode: SearchMode = "hybrid", limit: int = 20,
    is_literal: bool = False, order: str | None = None,
) -> SearchRequest:  # fmt: skip
    """Return the request for what somebody typed. `is_literal`: all of it is text, as for something pasted. `order`: as
    `sort:` has it, which comes first.

    Raises InvalidValue for values that cannot be meant, NotFound for a project that is not here.
    """
    typed = (
        TypedQuery(text) if is_literal else parse_typed(text, partial(_is_option, store, is_public=setting.is_public))
    )
    said = read_qualifiers(typed.qualifiers)
    named = NamedRefs() if is_literal else _name_items(store, typed, setting.hosts, is_pasted="\n" in text.strip())
    place = named.refs[0].ref.project if named.is_all and len(named.refs) == 1 else ""
    if place and not said.projects and _has_project(store, place, setting.hosts):
        said = said._replace(projects=(place,))  # acme/web#12 says it as project:acme/web does
    filters = _filters(store, flags, said, setting).leaving_out_threads()
    if "comments" in said.fields:  # is:issue in:comments means what people said below issues
        filters = filters._replace(with_threads=True)
    known, missed = find_named_items(store, named.refs, setting.hosts, filters.project_ids, is_public=setting.is_public)
    sort = said.sort or (parse_sort(order) if order else SortOrder())
    required, notes = _bounded(typed)
    if known.document_ids and not named.is_all and sort.key != "relevance":
        known = KnownItems()  # another order is that of all that have the words
    if known.document_ids:
        sort = SortOrder()  # the item is first
    elif sort.key == "relevance" and not typed.text.strip() and (not typed.is_plain or any(flags.values())):
        sort = SortOrder("updated")  # nothing to be relevant to
    return SearchRequest(
        _mentions(named) or typed.text if known.document_ids else typed.text, mode, filters, limit,
        terms=TextTerms(required, typed.excluded, said.fields), sort=sort, known=known,
        is_named=named.is_all and known != KnownItems(), notes=(*notes, *missed),  # C#7 names none
    )  # fmt: skip


def _is_option(store: Store, word: str, is_within: bool, *, is_public: bool = False) -> bool:  # noqa: FBT001
    """Whether the project writes the word behind a dash often enough. `is_within`: it stands in a sentence."""
    expression = build_and(parse_query(word).words)
    if expression is None:
        return False
    ids = list_with_words(store, expression, _SAMPLE, build_allowed(Filters(is_public=is_public)))
    dashed = re.compile(rf"(?<![\w-])--?{re.escape(word)}(?![\w-])")
    found = sum(1 for title, text in load_texts(store, ids).values() if dashed.search(title) or dashed.search(text))
    if found and found >= _SURE * len(ids):
        return True
    return found >= max(_MIN_DOCUMENTS, (_SHARE_WITHIN if is_within else _SHARE) * len(ids))


def _name_items(store: Store, typed: TypedQuery, hosts: Hosts, *, is_pasted: bool) -> NamedRefs:
    """Return the items that a query names. What has several lines is pasted, and names none among its words: the frames
    of a backtrace are numbered.
    """
    words = [piece.typed for piece in typed.pieces if piece.role == "text"] if typed.pieces else typed.text.split()
    is_all = not any(piece.role == "phrase" for piece in typed.pieces)
    named = parse_known_items(words, is_all=is_all)
    if is_pasted and not named.is_all:
        return NamedRefs()
    return named._replace(refs=tuple(one._replace(ref=_place_ref(store, one.ref, hosts)) for one in named.refs))


def _place_ref(store: Store, ref: Ref, hosts: Hosts) -> Ref:
    """Return a ref with the whole name of its project: `rust#12` has the last part of one."""
    if not ref.project or "/" in ref.project or _has_project(store, ref.project, hosts):
        return ref
    project = find_by_last_part(store, ref.project)
    return ref._replace(project=str(project.name)) if project else ref


def _mentions(named: NamedRefs) -> str:
    """Return what finds items that speak of these; "" where there is more to search for, or a release's page."""
    if not named.is_all or any(one.ref.tag for one in named.refs):
        return ""
    return " ".join(f"#{one.ref.number}" for one in named.refs)


def _bounded(typed: TypedQuery) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return what must occur, each once and no more than a query has words, and the notes: SQLite refuses a thousand
    conditions.
    """
    required = tuple(dict.fromkeys(typed.required))
    if len(required) <= MAX_WORDS:
        return required, typed.notes
    note = f"of {len(required):,} phrases the first {MAX_WORDS} must occur; the others say nothing"
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
        raise InvalidValue(f"{words!r} is no filter", hint="lists take qualifiers such as label:bug; search for words")
    filters = refuse_code(_filters(store, flags, said, setting))
    if flags.get("type") and "type" in said.words:
        asked = parse_filters({"type": flags["type"]}, now_ms=setting.now_ms).types
        typed_too = parse_filters({"type": said.words["type"]}, now_ms=setting.now_ms).types
        both = tuple(kind for kind in asked if kind in typed_too)
        if not both:
            raise InvalidValue(f"{asked[0]}s are asked for, and something else too", hint="take type: or is: away")
        filters = filters._replace(types=both)
    return filters, said.sort, typed.notes


def find_project_ids(store: Store, names: Iterable[str], hosts: Hosts) -> tuple[int, ...]:
    """Return the stored projects that people name. Raises NotFound with the name that was probably meant."""
    return tuple(dict.fromkeys(resolve_project(store, name, hosts).id for name in names))


def _filters(store: Store, flags: FilterWords, said: QueryFilters, setting: QuerySetting) -> Filters:
    """The projects that a query names stand in place of the one of flags or clone."""
    named = find_project_ids(store, said.projects, setting.hosts)
    return parse_filters(
        join_words(flags, said.words),
        now_ms=setting.now_ms,
        project_ids=named or only_projects(store, setting.project),
        not_project_ids=find_project_ids(store, said.not_projects, setting.hosts),
        is_public=setting.is_public,
        store=store,
    )


def _has_project(store: Store, name: str, hosts: Hosts) -> bool:
    try:
        return find_named(store, name, hosts) is not None
    except InvalidValue:
        return False
