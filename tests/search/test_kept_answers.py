"""What a filter allows, and how rare words are, is kept between queries, and forgotten when anything is written."""

import contextlib
import threading

import pytest
from hashed import HashedEmbedder

from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.search import retriever as module
from forgelore.search.query import Query
from forgelore.search.run import search
from forgelore.store.database import QueryCache
from forgelore.store.filters import Filters
from forgelore.store.jobs import queue_documents
from forgelore.store.sqlite.connection import SqliteStore

BY_ANA = Filters(authors=("ana-of-the-test",))


def found(retriever, mode="hybrid"):
    return [hit.row.item_id for hit in search(retriever, Query("zebra crossing", mode, BY_ANA)).hits]


def found_elsewhere(retriever):
    """Asked by a thread of its own, which has a connection of its own."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(found(retriever)))
    thread.start()
    thread.join()
    return answers[0]


def write(store, item_id):
    """Make an item one of ana's, about zebras."""
    with store.transaction():
        store.run("UPDATE items SET author = ?, title = 'zebra crossing' WHERE id = ?", *BY_ANA.authors, item_id)
        queue_documents(store, 1, [item_id])
    index_items(store, [1])
    embed_documents(store, HashedEmbedder(), [1])


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_ids_are_asked_for_once_until_something_is_written(retriever, monkeypatch, mode):
    asked = []
    load = module.load_allowed
    monkeypatch.setattr(module, "load_allowed", lambda *given: asked.append(1) or load(*given))
    times = mode != "lexical"  # where nothing is compared, full text asks of each match
    write(retriever.store, 3)
    assert [found(retriever, mode), found(retriever, mode), len(asked)] == [[3], [3], times]
    write(retriever.store, 5)
    assert sorted(found(retriever, mode)) == [3, 5]
    other = SqliteStore(retriever.store.path)
    write(other, 6)
    other.close()
    assert sorted(found(retriever, mode)) == [3, 5, 6]
    assert len(asked) == 3 * times


def test_another_thread_sees_what_was_written_since(retriever):
    """Each thread has its own connection, which counts what others wrote from its own beginning."""
    writer = SqliteStore(retriever.store.path)
    write(writer, 3)
    assert found(retriever) == [3]
    write(writer, 5)
    assert sorted(found_elsewhere(retriever)) == [3, 5]
    write(writer, 6)
    assert sorted(found_elsewhere(retriever)) == [3, 5, 6]
    assert sorted(found(retriever)) == [3, 5, 6]
    writer.close()


def test_few_filters_are_kept(retriever):
    for number in range(3 * module._MAX_SCOPES):
        search(retriever, Query("watcher", filters=Filters(authors=(f"nobody-{number}",))))
    assert 0 < len(retriever._scopes._answers) <= module._MAX_SCOPES


def test_as_many_filters_as_are_kept_are_resolved_once_each(retriever, monkeypatch):
    asked = []
    load = module.load_allowed
    monkeypatch.setattr(module, "load_allowed", lambda *given: asked.append(1) or load(*given))
    names = [f"nobody-{number}" for number in range(module._MAX_SCOPES)]
    for name in names * 3:
        search(retriever, Query("watcher", filters=Filters(authors=(name,))))
    assert len(asked) == len(names)
    for name in ("one-more", *names[1:]):  # the oldest made room
        search(retriever, Query("watcher", filters=Filters(authors=(name,))))
    assert len(asked) == len(names) + 1


def test_words_are_counted_right_where_few_counts_are_kept(retriever):
    """Also where the words of one question push each other out, or push out what the same question found there."""
    words = ["watcher", "lantern", "sync", "file", "error", "zebra"]
    expected = retriever.count_documents(words)
    assert len(set(expected.values())) > 3
    retriever._counts = QueryCache(retriever.store, 3)
    for size in (1, 2, 3, 6, 2, 4):
        for first in range(len(words)):
            asked = (words[first:] + words[:first])[:size]
            assert retriever.count_documents(asked) == {word: expected[word] for word in asked}
            assert 0 < len(retriever._counts.current()) <= 3


def test_what_is_kept_twice_pushes_nothing_out(retriever):
    kept = QueryCache(retriever.store, 2)
    kept.current()
    for key, value in (("a", 1), ("b", 2), ("b", 3)):
        kept.keep(key, value)
    assert kept.current() == {"a": 1, "b": 3}


def test_what_an_undone_change_let_one_see_is_forgotten(retriever):
    store = retriever.store
    assert found(retriever) == []
    with contextlib.suppress(LookupError), store.transaction():
        store.run("UPDATE items SET author = ?, title = 'zebra crossing' WHERE id = 3", *BY_ANA.authors)
        store.run("UPDATE documents SET author = ? WHERE item_id = 3", *BY_ANA.authors)
        assert found(retriever, "semantic") == [3]
        raise LookupError
    assert found(retriever, "semantic") == []


def test_words_are_counted_once_until_something_is_written(retriever, monkeypatch):
    asked = []
    load = module.load_document_counts
    monkeypatch.setattr(module, "load_document_counts", lambda *given: asked.append(set(given[1])) or load(*given))
    assert retriever.count_documents(["zebra", "watcher"])["zebra"] == 0
    assert retriever.count_documents(["Watchers", "zebras", "lantern"])["zebras"] == 0
    assert [len(stems) for stems in asked] == [2, 1]
    write(retriever.store, 3)
    assert retriever.count_documents(["zebra"])["zebra"] > 0
