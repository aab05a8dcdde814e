"""Lines of hits: those of the whole reading text, though no more of it is read than is needed."""

import pytest

from forgelore.browse.reading_text import load_item_readings
from forgelore.search.query import Query
from forgelore.search.run import search_everything
from forgelore.search.snippets import find_worded_line
from forgelore.store.documents import load_document_places
from forgelore.store.filters import Filters
from forgelore.text.reading import ReadingLines


@pytest.mark.parametrize("types", [("issue", "change"), ("thread",), ()])
@pytest.mark.parametrize("text", ["deleted files", "relay", "LNT-2003", "sync on windows"])
def test_lines_are_those_of_the_whole_text(retriever, text, types):
    hits = search_everything(retriever, Query(text, filters=Filters(types=types), limit=50)).hits
    assert hits
    places = load_document_places(retriever.store, [hit.row.document_id for hit in hits])
    readings = load_item_readings(retriever.store, {hit.row.item_id for hit in hits})
    for hit in hits:
        reading, (_, thread) = readings[hit.row.item_id], places[hit.row.document_id]
        whole = ReadingLines(reading.lines, reading.sections)
        assert hit.line == (whole.find(find_worded_line(hit.row.text, hit.words), thread) or 1)
    assert any(hit.line > 1 for hit in hits)
