"""Lists and counts, put together: flags and typed qualifiers as filters, and what there is to say about them."""

from forgelore.api.projects import has_several_projects, maybe_project
from forgelore.app import App
from forgelore.core.search.qualifiers import SortOrder
from forgelore.flows.browse import lists
from forgelore.flows.search.absent_values import warn_of_absent
from forgelore.flows.search.typed import QuerySetting, read_filter_query
from forgelore.store.filters import Filters
from forgelore.words import FilterWords


def list_matching(
    app: App, kinds: tuple[str, ...], query: str, words: FilterWords, *, sort: str, limit: int
) -> lists.ListedItems:
    """Return the items that match, in the order that the query names, or else the caller."""
    filters, order, notes = _read(app, kinds, query, words)
    if order is None or order.key == "relevance":  # nothing to be relevant to
        order = SortOrder()
    chosen = sort if order.key == "relevance" else order.key
    load = lists.list_discussions if kinds == ("discussion",) else lists.list_items
    items = load(app.store(), filters, sort=chosen, limit=limit, is_ascending=order.is_ascending)
    if has_several_projects(app):
        items[:] = [item._replace(ref=_full_ref(item)) for item in items]
    items.order = chosen
    items.warnings = (*notes, *warn_of_absent(app.store(), filters, is_empty=not items))
    return items


def _full_ref(item: lists.ListedItem) -> str:
    return f"{item.project} {item.ref}" if item.kind == "release" else f"{item.project}{item.ref}"


def count_matching(app: App, what: str, query: str, words: FilterWords) -> lists.RowCount:
    """Return how many rows match."""
    name, kinds = lists.parse_countable(what)
    filters, _, notes = _read(app, kinds, query, words)
    count = lists.count_rows(app.store(), name, filters)
    absent = warn_of_absent(app.store(), filters, is_empty=not count.total)
    return count._replace(warnings=(*notes, *absent))


def _read(
    app: App, kinds: tuple[str, ...], query: str, words: FilterWords
) -> tuple[Filters, SortOrder | None, tuple[str, ...]]:
    """Return filters, order, and how the query was understood. The project is always one of the filters: items lie by
    project.
    """
    project = maybe_project(app, words.get("project"))
    given: FilterWords = {**words, "type": kinds} if kinds else {**words}
    setting = QuerySetting(project, app.hosts, app.now_ms(), is_public=not app.include_internal)
    filters, order, notes = read_filter_query(app.store(), query, given, setting)
    if project and not filters.project_ids:
        filters = filters._replace(project_ids=(project.id,))
    return filters, order, notes
