"""The reading text of an item: one definition of its lines, for windows and citations."""

import hashlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forgelore
from forgelore.errors import InvalidValue, NotFound
from forgelore.sync.archive import import_lines
from forgelore.text.items import StoredNote, StoredThread
from forgelore.text.reading import build_lines, split_lines


@pytest.fixture
def history(tmp_path):
    with forgelore.open(tmp_path / "lore.db", create=True, environ={"FORGELORE_EMBEDDER": "none"}) as opened:
        yield opened


@pytest.fixture
def make_items(history):
    def make(*items):
        lines = io.BytesIO("".join(json.dumps(item) + "\n" for item in items).encode())
        import_lines(history.app.store(), history.app.parse_project("acme/web"), lines, 0)

    return make


def test_every_note_is_there_uncut_with_author_and_time():
    long = "\n".join(f"line {number}" for number in range(20_000))
    threads = [
        StoredThread("comments", [StoredNote("c1", "ana", long, 1_709_294_400_000), StoredNote("c2", body="end")]),
        StoredThread("d1", [StoredNote("c3", "bo", "x", 0)], "src/a.py", 12),
    ]
    lines, sections = build_lines("[[Issue]] #1: T", "body\r\nsecond", threads)
    assert lines[:7] == ("[[Issue]] #1: T", "", "--- Description ---", "", "body", "second", "")
    assert "@ana (2024-03-01 12:00):" in lines
    assert "line 19999" in lines
    assert lines[-5:] == ("", "--- Thread on src/a.py:12 ---", "", "@bo (1970-01-01 00:00):", "x")
    assert [lines[one.first - 1 : one.last][-1] for one in sections] == ["second", "end", "x"]


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=60), max_size=4))
def test_sections_hold_what_was_written_and_nothing_else(body, notes):
    threads = [StoredThread(f"t{at}", [StoredNote("c1", "a", note)]) for at, note in enumerate(notes)]
    lines, sections = build_lines("H", body, threads)
    assert lines[sections[0].first - 1 : sections[0].last] == split_lines(body)
    for one, note in zip(sections[1:], notes, strict=True):
        assert lines[one.first + 1 : one.last] == split_lines(note)


def test_an_item_is_read_by_its_key_and_a_label_makes_another_version(history, make_items):
    make_items(
        {
            "kind": "issue", "number": 1, "title": "Deleted files", "body": "They come back.\nTwice.", "author": "mira",
            "labels": ["bug"],
            "notes": [
                {"author": "bo", "body": "Same here.", "created_at": "2024-03-01T12:00:00Z"},
                {"author": "forge", "body": "closed this", "is_system": True},
            ],
        }
    )  # fmt: skip
    item = history.get("#1")
    read = history.read_text(item.reading_id)
    assert (read.kind, read.ref, read.title) == ("issue", "#1", "Deleted files")
    assert "closed this" not in read.text
    assert read.lines[-4:] == ("--- Thread ---", "", "@bo (2024-03-01 12:00):", "Same here.")
    assert read.hash == hashlib.sha256(read.text.encode()).hexdigest()[:16]
    assert history.show("#1", with_document=True).document == read.text
    assert history.read_text(item.reading_id).hash == read.hash


@pytest.mark.parametrize("key", ["", "12", "item:", "item:x", "thing:1", "item:" + "9" * 30])
def test_what_names_nothing_is_told(history, make_items, key):
    make_items({"kind": "issue", "number": 1, "title": "T"})
    with pytest.raises(InvalidValue):
        history.read_text(key)


def test_what_is_not_here_is_told(history, make_items):
    make_items({"kind": "issue", "number": 1, "title": "T"})
    with pytest.raises(NotFound):
        history.read_text("item:999")
