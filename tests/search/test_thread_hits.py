"""Hits in threads: whose they are, and whose the item is."""

import pytest

from forgelore.index.update import index_items, reindex_items
from forgelore.search.query import Query
from forgelore.search.run import search
from forgelore.store.filters import Filters
from forgelore.store.jobs import queue_documents
from forgelore.store.sqlite.schema import migrate
from old_stores import forget_migrations


def facts(store, document_id):
    sql = """
        SELECT i.author, i.created_at, i.updated_at, d.thread_author, d.thread_created_at, d.thread_updated_at
        FROM documents d
        JOIN items i ON i.id = d.item_id
        WHERE d.id = ?
    """
    row = store.row(sql, document_id)
    return row[:3], row[3:]


@pytest.mark.parametrize("types", [(), ("thread",)])
def test_a_hit_in_a_thread_tells_the_author_that_filters_ask(retriever, types):
    """An item is found by what was said below it; its author is who wrote it, unless threads are what is asked for."""
    hits = search(retriever, Query("deleted files", filters=Filters(types=types), limit=50)).hits
    in_threads = [hit.row for hit in hits if hit.row.representation == "thread"]
    unlike = 0
    for row in in_threads:
        item, thread = facts(retriever.store, row.document_id)
        assert (row.author, row.created_at, row.updated_at) == (thread if types else item)
        assert row.thread[:3] == thread
        unlike += item[0] != thread[0]
    assert unlike, "no thread was begun by somebody else"
    assert all(hit.row.thread is None for hit in hits if hit.row.representation == "item")


def test_a_search_by_author_finds_only_what_they_wrote(retriever):
    for author in ("mira-k", "s-abara"):
        for mode in ("hybrid", "lexical", "semantic"):
            hits = search(retriever, Query("files", mode, Filters(authors=(author,)), limit=50)).hits
            assert hits
            assert {hit.row.author for hit in hits} == {author}


def test_a_change_that_touches_a_file_is_found_by_what_was_said_below_it(retriever):
    """Where its comments are about no file in particular, too."""
    store = retriever.store
    item_id, path, thread_id = store.row("""
        SELECT i.id, f.new_path, t.id
        FROM items i
        JOIN item_files f ON f.item_id = i.id
        JOIN threads t ON t.item_id = i.id
        JOIN notes n ON n.thread_id = t.id AND NOT n.is_system AND NOT n.is_internal AND n.path IS NULL
        LIMIT 1
    """)
    store.run("UPDATE notes SET body = 'a wallaby did it' WHERE thread_id = ?", thread_id)
    with store.transaction():
        queue_documents(store, 1, [item_id])
    index_items(store, [1])
    for mode in ("hybrid", "lexical"):
        hits = search(retriever, Query("wallaby", mode, Filters(paths=(path,)))).hits
        assert [hit.row.item_id for hit in hits][:1] == [item_id]
    threads = Filters(types=("thread",), paths=(path,))
    assert item_id not in {hit.row.item_id for hit in search(retriever, Query("wallaby", "lexical", threads)).hits}


def test_threads_of_an_older_store_get_the_author_of_their_item(demo):
    """And keep their own: nothing has to be built anew."""
    rows = demo.rows("SELECT * FROM documents ORDER BY id")
    assert demo.value("SELECT count(*) FROM documents WHERE thread_author <> author") > 10
    forget_migrations(demo.run, after=18)
    assert "thread_author" not in str(demo.rows("SELECT sql FROM sqlite_schema WHERE name = 'documents'"))
    migrate(demo)
    assert demo.rows("SELECT * FROM documents ORDER BY id") == rows
    assert reindex_items(demo, [1]).total_written == 0
