"""A word behind a dash: an option of the program where the project writes it so, else a word to leave out."""

import json

import pytest

from forgelore.index.update import index_items
from forgelore.search.query import QuerySetting, build_query
from forgelore.search.retriever import Retriever
from forgelore.search.run import search
from forgelore.store.sqlite.schema import open_store
from forgelore.sync.archive import import_lines
from forgelore.words import ProjectName


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Everybody writes -dbcache; -proxy is written with its dash by some, and windows by nobody."""
    store = open_store(str(tmp_path_factory.mktemp("options") / "options.db"))
    titles = ["-dbcache too high", "start with -dbcache and wait", "dbcache is ignored", "crash on Windows at exit"]
    titles += ["crash at exit", "-proxy is slow", "use -proxy for tor", *(f"proxy number {at}" for at in range(20))]
    lines = [
        json.dumps({"kind": "issue", "number": at, "title": title, "state": "open"}).encode() + b"\n"
        for at, title in enumerate(titles, 1)
    ]
    import_lines(store, ProjectName("local", "local", "options"), lines, 1)
    index_items(store, [1])
    yield store
    store.close()


def ask(store, text):
    return search(Retriever(store), build_query(store, text, {}, QuerySetting(None, {}, 0), mode="lexical"))


def numbers(answer):
    return [hit.row.number for hit in answer.hits]


def test_a_title_that_begins_with_an_option_finds_its_issue(store):
    answer = ask(store, "-dbcache too high")
    assert numbers(answer)[0] == 1
    assert answer.notes == ("-dbcache is searched for; to exclude the word, write NOT dbcache",)


def test_a_word_that_the_project_writes_without_a_dash_is_left_out_and_the_answer_says_so(store):
    answer = ask(store, "crash -windows")
    assert numbers(answer) == [5]
    assert answer.notes == (
        "items with windows are excluded; to search for a word instead, drop the dash or NOT before it",
    )


def test_an_option_that_others_write_as_a_word_is_one_within_a_sentence_only(store):
    assert 6 in numbers(ask(store, "-proxy is slow"))
    assert 7 in numbers(ask(store, "tor with -proxy"))
    assert not {6, 7} & set(numbers(ask(store, "tor slow -proxy")))


def test_a_word_that_nobody_writes_is_left_out(store):
    assert "items with sourdough are excluded" in ask(store, "crash -sourdough").notes[0]


@pytest.mark.parametrize("typed", ["lable:bug", "Label:bug", "labels:bug"])
def test_a_misspelt_qualifier_is_text_and_the_answer_says_what_was_meant(store, typed):
    name = typed.partition(":")[0]
    assert ask(store, f"crash {typed}").notes == (f"{name}: is searched for as text; did you mean label:?",)


@pytest.mark.parametrize("typed", ["std::vec", "https://example.org/a", "error:foo", "E0277:x", "note:this"])
def test_other_words_with_a_colon_get_no_hint(store, typed):
    assert ask(store, f"crash {typed}").notes == ()
