"""Finding, put together: the retriever that a search needs, the item that is compared, the suite that is measured."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, cast, get_args

from forgelore.api.options import SearchOptions
from forgelore.app import App
from forgelore.browse.reading_text import find_file_key
from forgelore.browse.refs import find_item
from forgelore.errors import ConfigError, EmbedderError, InvalidValue
from forgelore.search.filters import SortOrder, only_projects, parse_filters, parse_sort
from forgelore.search.query import KnownItems, Query, QuerySetting, SearchMode, build_query, parse_start
from forgelore.search.retriever import Retriever
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.projects import StoredProject, list_projects
from forgelore.text.values import check_filled, check_text
from forgelore.words import FilterWords, Source

if TYPE_CHECKING:
    from forgelore.compare.evaluate import Suite
    from forgelore.ports.embedder import Embedder
    from forgelore.search.hits import Hit

MAX_NAMED = 1_000  # characters of a commit's name or page
SOURCES = get_args(Source)
_MODES = {"fts": "lexical", "vector": "semantic"}


def read_mode(mode: str) -> SearchMode:
    """Return how to search; `fts` and `vector` are other names. Raises InvalidValue for a mode that there is not:
    people who write Python are told as those who type it are.
    """
    named = _MODES.get(mode, mode) if isinstance(mode, str) else mode
    if named not in get_args(SearchMode):
        raise InvalidValue(f"unknown search mode: {mode!r}", hint=f"use {', '.join(get_args(SearchMode))}")
    return cast(SearchMode, named)


def read_source(source: str) -> Source:
    """Return what to search; raises InvalidValue for anything else."""
    if source not in SOURCES:
        raise InvalidValue(f"unknown source: {source!r}", hint=f"use {' or '.join(SOURCES)}")
    return cast(Source, source)


def make_retriever(app: App, name: str) -> Retriever:
    """Return what searches with an embedder; "": by words alone. One that cannot even be made (not installed, a wrong
    address) leaves the words, as one that fails.
    """
    try:
        return Retriever(
            app.store(), app.embedder(name) if name else None, find_second=partial(app.second_embedder, name)
        )
    except (ConfigError, EmbedderError) as problem:
        return Retriever(app.store(), problem=problem)


def find_rescorer(app: App, options: SearchOptions) -> "Embedder | None":
    """Return what looks again at the best candidates, where that is asked for and the stored vectors are not its own.

    Raises EmbedderUnreachable when it is not installed.
    """
    if not options.get("rescore"):
        return None
    found = app.embedder("minilm")
    return None if (options.get("embedder") or app.config.embedder) == "minilm" else found


def find_subject(app: App, ref: str | int, project: StoredProject | None) -> Subject:
    """Return the item that others are compared with."""
    from forgelore.text.refs import parse_ref

    return load_subject(app.store(), find_item(app.store(), parse_ref(ref), project, app.hosts))


def draft_subject(app: App, text: str, project: StoredProject | None, kind: str) -> Subject:
    """Return a text that nobody has filed yet as an item: its first line or `# heading` is the title."""
    title, _, body = check_filled("the text", text).strip().partition("\n")
    project_id = project.id if project else 0
    return Subject(0, project_id, kind, title.strip().lstrip("#").strip(), body.strip(), app.now_ms(), None)


def search_filters(app: App, words: FilterWords, project: StoredProject | None) -> Filters:
    """Return the filters of a search."""
    store, ids = app.store(), only_projects(app.store(), project)
    return parse_filters(words, now_ms=app.now_ms(), project_ids=ids, store=store)


def read_search(app: App, text: str, options: SearchOptions) -> Query:
    """Return the request for a typed query and the filters beside it; FTS5 syntax is not read as a query."""
    words, sort, limit = only_filters(options, SearchOptions), options.get("sort"), options.get("limit", 20)
    mode, source = read_mode(options.get("mode", "hybrid")), read_source(options.get("source", "raw"))
    check_text("the query", text)
    if sort is not None:
        check_filled("the order", sort)
    project, (start, seal) = app.named_project(words.get("project")), parse_start(options.get("offset", 0))
    if options.get("raw"):
        filters = search_filters(app, words, project).leaving_out_threads()
        order = parse_sort(sort) if sort else SortOrder()
        return Query(
            text, "lexical", filters, limit, True, sort=order, offset=start, seal=seal, source=source,
            with_facets=options.get("facets", False),
        )  # fmt: skip
    setting, is_literal = QuerySetting(project, app.hosts, app.now_ms()), options.get("literal", False)
    request = build_query(app.store(), text, words, setting, mode=mode, limit=limit, is_literal=is_literal, order=sort)
    named = name_code(app, request, text, project)
    return named._replace(offset=start, seal=seal, source=source, with_facets=options.get("facets", False))


def only_filters(options: Mapping[str, object], kind: type) -> FilterWords:
    """Return the filters among the options of a kind; an unknown word is left for them to refuse."""
    own = kind.__annotations__.keys() - FilterWords.__annotations__.keys()
    return cast("FilterWords", {name: value for name, value in options.items() if name not in own})


def name_code(app: App, request: Query, text: str, project: StoredProject | None) -> Query:
    """Return the request with what its text names by a commit's name or page, or by the key of a reading text. Several
    commits may begin alike: all of them are named.
    """
    from forgelore.store.commits import find_commits
    from forgelore.store.hits import load_document_of
    from forgelore.store.projects import find_named
    from forgelore.text.refs import match_ref

    try:
        ref = match_ref(text) if len(text) < MAX_NAMED else None
    except (InvalidValue, ValueError):
        ref = None
    is_file = ref is not None and bool(ref.tag) and ref.kind is None
    if ref is None or not (ref.sha or ref.key or is_file) or request.known.document_ids:
        return request
    if ref.key.startswith("item:"):
        found = load_document_of(app.store(), int(ref.key.partition(":")[2]))
        note = f"{ref.key} names the item at the top" if found else f"{ref.key} does not exist in this database"
        return request._replace(known=KnownItems((found,) if found else (), note, ref.key))
    if ref.project:
        project = find_named(app.store(), ref.project, app.hosts)
        if project is None:
            return request
    if is_file:
        key = find_file_key(app.store(), ref.tag, project.id if project else None)
        return request._replace(code_keys=(key,) if key else ())
    rows = find_commits(app.store(), ref.sha, project.id if project else None)
    keys = (ref.key,) if ref.key else tuple(f"commit:{row.id}" for row in rows)
    return request._replace(code_keys=keys)


def name_hits(app: App, hits: "list[Hit]") -> "list[Hit]":
    """Return hits whose refs can be asked for: where the store has several projects, they name the item's own."""
    return [hit._replace(names_project=True) for hit in hits] if app.has_several_projects else hits


def read_queries(path: str, exclude: str | None) -> "tuple[Suite, tuple[int, ...]]":
    """Return the queries of a file, and the numbers in another one of items that are no candidates."""
    from forgelore.compare.evaluate import read_suite
    from forgelore.compare.scoring import parse_numbers
    from forgelore.sync.archive import open_source

    with open_source(path) as source:
        suite = read_suite(source)
    if exclude is None:
        return suite, ()
    with open_source(exclude) as source:
        return suite, tuple(parse_numbers(source.read()))


def find_calibrated(app: App, project: StoredProject | None) -> StoredProject:
    """Return the one project that is calibrated."""
    if project is None:
        names = ", ".join(str(known.name) for known in list_projects(app.store())[:8])
        raise InvalidValue("calibration needs one project", hint=f"name a project: {names}")
    return project
