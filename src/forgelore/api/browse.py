"""Lists and counts, put together: flags and typed qualifiers as filters, and what there is to say about them."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.app import App
from forgelore.browse import lists
from forgelore.errors import InvalidValue, LoreError, NotFound
from forgelore.search.filters import SortOrder, warn_of_absent
from forgelore.search.query import QuerySetting, read_filter_query
from forgelore.store.filters import Filters
from forgelore.store.projects import StoredProject
from forgelore.text.refs import full_ref
from forgelore.text.values import check_text
from forgelore.words import FilterWords

if TYPE_CHECKING:
    from forgelore.store.item_lists import Facets
    from forgelore.text.items import StoredItem
    from forgelore.text.reading import ReadingText

MAX_DIFF = 200_000  # bytes of a commit's diff that are read


def list_matching(
    app: App, kinds: tuple[str, ...], query: str, words: FilterWords, *, sort: str, limit: int
) -> lists.ListedItems:
    """Return the items that match, in the order that the query names, or else the caller."""
    filters, order, notes = read_filters(app, kinds, query, words)
    key, is_ascending = _read_order(sort)
    if order and order.key != "relevance":  # there is nothing to be relevant to
        key, is_ascending = order
    load = lists.list_discussions if kinds == ("discussion",) else lists.list_items
    items = load(app.store(), filters, sort=key, limit=limit, is_ascending=is_ascending)
    if app.has_several_projects:
        items[:] = [item._replace(name=full_ref(item.project, item.kind, item.ref)) for item in items]
    items.order = key
    items.warnings = (*notes, *warn_of_absent(app.store(), filters, is_empty=not items))
    return items


def _read_order(sort: str) -> tuple[str, bool]:
    """Return what a list is ordered by, and whether the oldest or fewest come first: `created-asc`."""
    key, _, direction = check_text("the order", sort).partition("-")
    return (key, direction == "asc") if direction in ("asc", "desc") else (sort, False)


def count_matching(app: App, what: str, query: str, words: FilterWords) -> lists.RowCount:
    """Return how many rows match."""
    name, kinds = lists.parse_countable(what)
    filters, _, notes = read_filters(app, kinds, query, words)
    count = lists.count_rows(app.store(), name, filters)
    absent = warn_of_absent(app.store(), filters, is_empty=not count.total)
    return count._replace(warnings=(*notes, *absent))


def count_facets(app: App, query: str, words: FilterWords) -> "Facets":
    """Return how many of the items that match have which type, state, label and author."""
    from forgelore.store.item_lists import count_listed_facets

    return count_listed_facets(app.store(), read_filters(app, (), query, words)[0])


def read_filters(
    app: App, kinds: tuple[str, ...], query: str, words: FilterWords
) -> tuple[Filters, SortOrder | None, tuple[str, ...]]:
    """Return the filters that a query and words name, the order, and how the query was understood. The project is
    always one of the filters: items lie by project.
    """
    check_text("the query", query)
    project = app.named_project(words.get("project"))
    given: FilterWords = {**words, "type": kinds} if kinds else {**words}
    setting = QuerySetting(project, app.hosts, app.now_ms())
    filters, order, notes = read_filter_query(app.store(), query, given, setting)
    if project and not filters.project_ids:
        filters = filters._replace(project_ids=(project.id,))
    return filters, order, notes


def load_named(app: App, words: "tuple[str | int, ...]", project: StoredProject | None) -> "StoredItem":
    """Return the item, the commit or the file that words name. A path may have blanks and signs that no ref has."""
    from forgelore.browse.items import load_shown
    from forgelore.browse.reading_text import find_file_key
    from forgelore.browse.refs import parse_spoken_ref
    from forgelore.text.refs import Ref

    store = app.store()
    try:
        ref = parse_spoken_ref(words)
    except InvalidValue:
        key = find_file_key(store, str(words[0]), project.id if project else None) if len(words) == 1 else None
        if key is None:
            raise
        ref = Ref("", key=key)
    return load_shown(store, ref, project, app.hosts)


def add_diff(app: App, text: "ReadingText") -> "ReadingText":
    """Return the reading text of a commit with its diff behind it, read from the clone on this machine. Where there is
    no clone any more, a line says so.
    """
    from forgelore.store.commits import load_commits
    from forgelore.text.reading import split_lines

    commit_id = int(text.key.partition(":")[2])
    commit = load_commits(app.store(), [commit_id]).get(commit_id)
    shown: tuple[str, ...] = ("not available: the clone that the commit was indexed from is not on this machine",)
    if commit and commit.folder:
        parents = commit.parents.split()
        try:
            parent = parents[0] if len(parents) > 1 else None
            diff, is_cut = app.local_clone(commit.folder).read_diff(commit.sha, parent, MAX_DIFF)
            shown = (*split_lines(diff), *([f"[diff truncated after {MAX_DIFF:,} bytes]"] if is_cut else []))
        except LoreError:
            pass
    # The hash stays that of the stored text: citations name it, and their lines stand before the diff.
    return text._replace(lines=(*text.lines, "", "--- Diff ---", "", *shown))


class TreeEntry(NamedTuple):
    """A file, or a folder (`src/`) with how many files are below it."""

    path: str
    files: int


def list_tree(app: App, folder: str, project: str | None) -> tuple[TreeEntry, ...]:
    from forgelore.store.paths import list_tree_paths

    found = app.require_project(project)
    prefix = check_text("the folder", folder).strip().removeprefix("./").strip("/")
    prefix = "" if prefix in ("", ".") else f"{prefix}/"
    paths = list_tree_paths(app.store(), found.id, prefix)
    if not paths:
        hint = "name a folder of the indexed code; for paths that only changes touched, use `history`"
        raise NotFound(f"no indexed code below {prefix or '/'} in {found.name}", hint=hint)
    folders: dict[str, int] = {}
    files = []
    for path in paths:
        name, slash, _ = path[len(prefix) :].partition("/")
        if slash:
            folders[f"{prefix}{name}/"] = folders.get(f"{prefix}{name}/", 0) + 1
        else:
            files.append(TreeEntry(path, 1))
    return (*(TreeEntry(name, folders[name]) for name in sorted(folders)), *sorted(files))
