"""Lines of found items: where in an item's reading text the part stands that a search has found."""

from collections.abc import Mapping

from forgelore.core.search.best_line import find_worded_line
from forgelore.flows.browse.reading_text import load_item_lines
from forgelore.store.db import Store
from forgelore.store.reading import load_document_places


def find_item_lines(store: Store, found: Mapping[int, tuple[str, tuple[str, ...]]]) -> dict[int, int]:
    """Return document -> line, for documents of items and threads with their text and the words that matched. A hit
    whose title alone matched is told by the first line.
    """
    places = load_document_places(store, found)
    with_threads = {place.item_id for place in places.values() if place.thread_key}
    pages = load_item_lines(store, {place.item_id for place in places.values()}, with_threads=with_threads)
    lines = {}
    for document_id, place in places.items():
        text, words = found[document_id]
        page = pages.get(place.item_id)
        if page is not None:
            lines[document_id] = page.find(find_worded_line(text, words), place.thread_key) or 1
    return lines
