"""Vectors compared in another thread: the same answers, and errors where they are waited for."""

import os
import threading

import pytest

from forgelore.errors import StoreError
from forgelore.search import retriever as module
from forgelore.search.query import Query
from forgelore.search.run import search
from forgelore.store.filters import Filters
from forgelore.store.sqlite import vector_memory
from forgelore.store.sqlite.vectors import VectorScan

QUERIES = ["deleted files come back", "watcher", '"connection reset"', "zzzz qqqq", "E0308 mismatched types"]


@pytest.fixture
def threaded(monkeypatch):
    monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize("filters", [Filters(), Filters(states=("open",))], ids=["everything", "filtered"])
def test_answers_are_the_same(retriever, monkeypatch, mode, filters):
    alone = [search(retriever, Query(text, mode, filters)) for text in QUERIES]
    monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    began = []
    monkeypatch.setattr(module, "_begin", lambda one, begin=module._begin: began.append(1) or begin(one))
    assert [search(retriever, Query(text, mode, filters)) for text in QUERIES] == alone
    assert began


def is_main():
    return threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize("where", ["in the thread", "where it is waited for"])
def test_what_fails_is_raised_by_the_search(retriever, threaded, monkeypatch, where):
    """Whoever of the two compares the rows at which it happens; the other one has some rows of its own."""
    monkeypatch.setattr(vector_memory, "_BLOCK", 50)
    failed, score = threading.Event(), VectorScan._score

    def fail(self, *given):
        if is_main() == (where == "where it is waited for"):
            failed.set()
            raise StoreError("the disk is gone")
        assert failed.wait(30)
        score(self, *given)

    monkeypatch.setattr(VectorScan, "_score", fail)
    with pytest.raises(StoreError, match="the disk is gone"):
        search(retriever, Query("watcher"))


def test_who_waits_gets_what_the_thread_found_in_the_end(retriever, threaded, monkeypatch):
    """The thread has taken the last rows, and ends after the other one saw that there are none left."""
    expected = retriever.by_vector(retriever.query_vector("watcher"), 20, module.SearchScope())
    taken, none_left, score, take = threading.Event(), threading.Event(), VectorScan._score, VectorScan._take

    def score_late(self, *given):
        taken.set()
        assert not is_main() and none_left.wait(30)
        score(self, *given)

    def take_told(self):
        piece = take(self)
        if is_main():
            assert piece is None
            none_left.set()
        return piece

    monkeypatch.setattr(VectorScan, "_score", score_late)
    monkeypatch.setattr(VectorScan, "_take", take_told)
    wait = retriever.begin_by_vector(retriever.query_vector("watcher"), 20, module.SearchScope())
    assert taken.wait(30)
    assert wait() == expected


def test_where_the_system_gives_no_thread_the_search_does_all_of_it(retriever, threaded, monkeypatch):
    expected = search(retriever, Query("watcher"))

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module._thread, "start_new_thread", refuse)
    assert search(retriever, Query("watcher")) == expected


@pytest.mark.parametrize("load", [None, 64.0])
def test_a_busy_machine_and_one_that_does_not_tell_get_no_thread(retriever, monkeypatch, load):
    def getloadavg():
        if load is None:
            raise OSError
        return load, load, load

    monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(os, "getloadavg", getloadavg)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(module, "_begin", None)
    assert search(retriever, Query("watcher")).hits
