"""A history that is opened without what only members may see: confidential items and internal notes are not there."""

import json
import os

import apsw
import pytest

from forgelore.api import make_history
from forgelore.errors import LoreError, NotFound, StoreError
from forgelore.viewer import EVERYTHING, PUBLIC

SECRET = "zanzibar"
LINES = [
    {
        "kind": "issue", "number": 1, "title": "The cache forgets files", "body": "It forgets them.", "state": "open",
        "author": "ana", "labels": ["bug"],
        "notes": [
            {"author": "tom", "body": "Seen here too."},
            {"author": "eve", "body": f"Internal: {SECRET}, see #4", "is_internal": True},
        ],
    },
    {
        "kind": "issue", "number": 2, "title": f"The cache forgets files of {SECRET}", "body": "Same as #1.",
        "state": "open", "author": "mallory", "labels": ["leak-zanzibar"], "is_confidential": True,
        "assignees": ["zed"], "notes": [{"author": "oscar", "body": f"A note about {SECRET}."}],
    },
    {"kind": "issue", "number": 3, "title": "The cache forgets folders", "body": "Like files.", "state": "open"},
    {"kind": "issue", "number": 4, "title": "Another thing", "body": "Unrelated.", "state": "open"},
    *({"kind": "issue", "number": number, "title": f"Matter {number}", "body": "Else."} for number in range(10, 30)),
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "store.db"
    source = tmp_path / "lines.jsonl"
    source.write_text("\n".join(map(json.dumps, LINES)))
    with make_history(os.environ, cwd=str(tmp_path), db=str(path)) as history:
        history.sync.import_file(source, project="acme/web")
    return str(path)


@pytest.fixture
def public(file, tmp_path):
    with make_history(
        os.environ, cwd=str(tmp_path), db=file, viewer=PUBLIC, for_reading=True
    ) as history:  # fmt: skip
        yield history


@pytest.fixture
def member(file, tmp_path):
    with make_history(os.environ, cwd=str(tmp_path), db=file, viewer=EVERYTHING) as history:
        yield history


def test_a_search_finds_what_is_public(public, member):
    assert {hit.number for hit in member.search("cache").hits} == {1, 2, 3}
    assert {hit.number for hit in public.search("cache").hits} == {1, 3}
    assert public.search(SECRET).hits == []
    assert public.search("cache sort:created").total == 2
    assert public.search("cache", raw=True).total == 2


@pytest.mark.parametrize("query", ["#2", "acme/web#2", "2"])
def test_naming_a_confidential_item_is_like_naming_none(public, member, query):
    assert [hit.number for hit in member.search(query).hits][:1] == [2]
    absent = public.search(query.replace("2", "99"))
    found = public.search(query)
    assert 2 not in [hit.number for hit in found.hits]
    assert [note.replace("99", "2") for note in absent.notes] == list(found.notes)


def test_showing_it_is_refused_in_the_words_for_any_item_that_is_not_there(public, member):
    assert member.show("#2").is_confidential
    messages = set()
    for number in (2, 99):
        with pytest.raises(NotFound) as refused:
            public.show(f"#{number}", with_document=True)
        messages.add(f"{refused.value.message} {refused.value.hint}".replace(str(number), "N"))
    assert len(messages) == 1
    with pytest.raises(NotFound):
        public.similar("#2")
    with pytest.raises(NotFound):
        public.find_page("#2")


def test_an_item_is_shown_without_internal_notes_and_what_leads_to_hidden_ones(public, member):
    whole, shown = member.show("#1", with_document=True), public.show("#1", with_document=True)
    assert SECRET in repr(whole)
    assert SECRET not in repr(shown)
    assert [note.body for thread in shown.threads for note in thread.notes] == ["Seen here too."]
    assert [link.number for link in whole.links] == [4]
    assert shown.links == ()
    assert [link.number for link in whole.linked_from] == [2]
    assert shown.linked_from == ()
    assert [link.number for link in member.show("#4").linked_from] == [1]
    assert public.show("#4").linked_from == ()


def test_what_is_similar_is_public(public, member):
    assert 2 in {hit.hit.number for hit in member.similar("#1").hits}
    assert {hit.hit.number for hit in public.similar("#1").hits} == {3}


def test_lists_and_counts_are_public(public, member):
    assert (member.count("issues").total, public.count("issues").total) == (24, 23)
    assert SECRET not in repr(public.items())


@pytest.mark.parametrize(
    "query", ["label:leak-zanzibr", "label:leak-zanzibar", "author:mallori", "author:mallory", "author:oscar", "assignee:zedd"]
)  # fmt: skip
def test_no_suggestion_names_what_only_hidden_items_have(public, query):
    said = public.search(query).warnings
    assert len(said) == 1
    assert "did you mean" not in said[0]


def test_nothing_can_write_what_was_opened_for_reading(public, file):
    public.sync.status()
    with pytest.raises(StoreError):
        public.app.store().run("DELETE FROM items")
    with pytest.raises(StoreError):
        public.app.store(create=True)


def test_a_reader_sees_what_others_write_meanwhile(public, member, tmp_path):
    assert public.count("issues").total == 23
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({**LINES[0], "number": 5, "notes": []}))
    member.sync.import_file(more, project="acme/web")
    assert public.count("issues").total == 24


def test_a_file_of_an_earlier_version_is_refused_with_what_to_do(file, tmp_path):
    connection = apsw.Connection(file)
    connection.execute("DELETE FROM schema_version WHERE version = (SELECT max(version) FROM schema_version)")
    connection.close()
    history = make_history(os.environ, cwd=str(tmp_path), db=file, for_reading=True)
    with pytest.raises(LoreError) as refused:
        history.sync.status()
    assert "earlier forgelore" in refused.value.message
    assert "sync-status" in refused.value.hint


def test_an_item_is_read_through_a_window_with_its_version(public, member):
    read = public.read("#1")
    assert read.window.parts[0].text == "[[Issue]] #1: The cache forgets files"
    assert SECRET not in str(read)
    assert read.hash == member.read("#1").hash != public.read("#3").hash
    with pytest.raises(NotFound):
        public.read("#2")


def test_words_are_found_in_the_text_of_an_item(public):
    read = public.read("#1", find="seen HERE")
    assert len(read.found) == 1
    assert read.window.total >= read.found[0].line > 1
    assert str(read.window).count(f"{read.found[0].line}: Seen here too.") == 1
    assert public.read("#1", line=read.found[0].line, direction="down").window.first == read.found[0].line


def test_a_key_of_a_search_result_is_read_and_hides_nothing_less(public, member):
    keys = {number: member.show(f"#{number}").reading_id for number in (1, 2)}
    assert public.read(keys[1]).hash == member.read("#1").hash
    assert SECRET in str(member.read(keys[2]).window)
    with pytest.raises(NotFound):
        public.read(keys[2])
