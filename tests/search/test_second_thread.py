"""Vectors compared in another thread: the same answers, and errors where they are waited for."""

import os

import pytest

from forgelore.errors import StoreError
from forgelore.flows.search import retriever as module
from forgelore.flows.search.run import SearchRequest, search
from forgelore.store.engine.vectors import VectorCache
from forgelore.store.filters import Filters

QUERIES = ["deleted files come back", "watcher", '"connection reset"', "zzzz qqqq", "E0308 mismatched types"]


@pytest.fixture
def threaded(monkeypatch):
    monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize("filters", [Filters(), Filters(states=("open",))], ids=["everything", "filtered"])
def test_answers_are_the_same(retriever, monkeypatch, mode, filters):
    alone = [search(retriever, SearchRequest(text, mode, filters)) for text in QUERIES]
    monkeypatch.setattr(module, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    began = []
    monkeypatch.setattr(module, "_begin", lambda call, begin=module._begin: began.append(1) or begin(call))
    assert [search(retriever, SearchRequest(text, mode, filters)) for text in QUERIES] == alone
    assert began


def test_what_fails_in_the_thread_is_raised_by_the_search(retriever, threaded, monkeypatch):
    def fail(*_):
        raise StoreError("the disk is gone")

    monkeypatch.setattr(VectorCache, "nearest", fail)
    with pytest.raises(StoreError, match="the disk is gone"):
        search(retriever, SearchRequest("watcher"))


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
    assert search(retriever, SearchRequest("watcher")).hits
