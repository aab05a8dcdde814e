"""Acronyms that a project writes out are searched for in both forms."""

import json

import pytest

from forgelore.index.update import index_items
from forgelore.search.query import Query
from forgelore.search.retriever import Retriever, find_meaning
from forgelore.search.run import search
from forgelore.store.sqlite.schema import open_store
from forgelore.sync.archive import import_lines
from forgelore.words import ProjectName


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Three people write out RBF; one person alone writes out GUI, in nine items."""
    store = open_store(str(tmp_path_factory.mktemp("acronyms") / "acronyms.db"))
    rows = [("ana", "Replace by fee (RBF)"), ("bob", "RBF (replace-by-fee) fails"), ("cy", "replace-by-fee or RBF")]
    rows += [("dee", "wallet with RBF alone"), ("eve", "wallet: replace a transaction by fee")]
    rows += [("eve", "replace by fee is slow"), ("dee", "GUI freezes")]
    rows += [("mal", "garlic under ice (GUI)")] * 9
    lines = [
        json.dumps({"kind": "issue", "number": at, "title": title, "author": author}).encode() + b"\n"
        for at, (author, title) in enumerate(rows, 1)
    ]
    import_lines(store, ProjectName("local", "local", "acronyms"), lines, 1)
    index_items(store, [1])
    yield store
    store.close()


def ask(store, text):
    return search(Retriever(store), Query(text, "lexical"))


def numbers(answer):
    return {hit.row.number for hit in answer.hits}


def test_an_acronym_finds_what_is_written_out(store):
    answer = ask(store, "RBF")
    assert numbers(answer) >= {1, 2, 3, 4, 6}
    assert answer.synonyms == ("RBF is also searched for as replace by fee",)


def test_what_is_written_out_finds_the_acronym(store):
    answer = ask(store, "replace by fee")
    assert numbers(answer) >= {1, 2, 3, 4, 6}
    assert answer.synonyms == ("replace by fee is also searched for as RBF",)


def test_one_person_cannot_teach_an_acronym(store):
    assert ask(store, "GUI").synonyms == ()
    assert ask(store, "garlic under ice").synonyms == ()


@pytest.mark.parametrize("text", ["rbf", "wallet", "RBFX", "fee by replace"])
def test_other_words_mean_themselves(store, text):
    assert ask(store, text).synonyms == ()


def test_somebody_who_writes_while_an_acronym_is_learned_breaks_no_search(store, monkeypatch):
    """What was kept is forgotten when the store changes, also between two lines of the same search."""
    other, retriever = open_store(store.path, create=False), Retriever(store)
    keep = retriever.acronyms.keep

    def keep_beside_a_writer(acronym, meaning):
        keep(acronym, meaning)
        other.run("UPDATE projects SET path = path || '.'")

    monkeypatch.setattr(retriever.acronyms, "keep", keep_beside_a_writer)
    assert find_meaning(retriever, "RBF") == "replace by fee"
    other.close()
