"""One item per line: what was written is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.errors import InvalidValue
from forgelore.model import File, Link
from forgelore.text.fence import storable
from forgelore.text.items import StoredFile, StoredItem, StoredLink, StoredNote, StoredThread
from forgelore.text.jsonl import parse_line, write_line

TEXTS = st.text(max_size=40).map(storable)
SOME = st.none() | TEXTS
TIMES = st.none() | st.integers(0, 4_000_000_000).map(lambda seconds: seconds * 1000)
NUMBERS = st.integers(0, (1 << 63) - 1)
CHANGE = StoredItem(1, 1, "local", "local", "web", "change", 1, "")


@given(number=NUMBERS, title=TEXTS, body=SOME, author=SOME, created=TIMES, labels=st.lists(TEXTS), draft=st.booleans())
def test_an_item_that_was_written_is_read_back(number, title, body, author, created, labels, draft):
    said = {"number": number, "title": title, "body": body, "author": author, "created_ms": created}
    line = write_line(CHANGE._replace(**said, labels=tuple(labels), is_draft=draft))
    found = parse_line(line)
    item = found.item
    assert (item.key, item.title, item.body, item.author) == (("change", number), title, body, author)
    assert (item.created_at, item.labels, item.is_draft) == (created, sorted(set(labels)), draft)
    assert (line.count(b"\n"), found.unknown) == (1, [])


@given(
    body=SOME,
    when=TIMES,
    thread=st.sampled_from(["comments", "a.py:7", "review 3"]),
    path=st.sampled_from([None, "a.py"]),
    internal=st.booleans(),
    answer=st.booleans(),
)
def test_a_note_comes_back_to_its_thread(body, when, thread, path, internal, answer):
    place = 7 if path else None
    note = StoredNote("c1", "ana", body, when, path, place, is_internal=internal, is_answer=answer)
    (found,) = parse_line(write_line(CHANGE._replace(threads=(StoredThread(thread, [note]),)))).threads
    assert found.key == thread
    (again,) = found.notes
    assert (again.body, again.created_at, again.path, again.line) == (body, when, path, place)
    assert (again.is_internal, again.is_answer) == (internal, answer)


@given(number=NUMBERS, kind=st.sampled_from([None, "issue", "change"]), withdrawn=st.booleans())
def test_links_and_files_are_read_back(number, kind, withdrawn):
    files = [File("a.py", "a.py"), File("new.py", "old.py", "renamed"), File("gone.py", "gone.py", "deleted")]
    link = StoredLink("closes", "acme/web", kind, number, "forge", withdrawn)
    lines = tuple(StoredFile(file.new_path, file.old_path, file.status) for file in files)
    found = parse_line(write_line(CHANGE._replace(files=lines, links=(link,))))
    assert found.files == files
    assert found.item.links == [Link("closes", number, kind, "acme/web", "forge", withdrawn)]


@given(text=st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_at_all_can_be_stored_afterwards(text):
    """NUL and lone surrogates become U+FFFD, also those that arrive as escapes."""
    found = parse_line(json.dumps({"kind": "issue", "number": 1, "body": text}).encode())
    assert found.item.body == storable(text)
    assert "\0" not in found.item.body.encode().decode()


@given(line=st.binary(max_size=60))
def test_any_bytes_at_all_are_read_or_refused(line):
    try:
        assert parse_line(line).item
    except InvalidValue as error:
        assert error.message


@given(blanks=st.text(" \t\n", max_size=4))
def test_the_checksum_knows_a_line_by_what_it_says(blanks):
    line = b'{"kind": "issue", "number": 1, "title": "a"}'
    assert parse_line(line + blanks.encode()).item.raw == parse_line(line).item.raw
    assert parse_line(line.replace(b'"a"', b'"b"')).item.raw != parse_line(line).item.raw


def test_keys_that_are_none_of_ours_are_named():
    line = b'{"kind": "issue", "number": 1, "colour": 1, "notes": [{"body": "b", "edited_at": 2}]}'
    found = parse_line(line)
    assert found.unknown == ["colour", "notes[].edited_at"]
    assert found.threads[0].notes[0].body == "b"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b'{"number": 1}',
        b'{"kind": "wiki", "number": 1}',
        b'{"kind": "issue", "number": -1}',
        b'{"kind": "issue", "number": 9223372036854775808}',
        b'{"kind": "issue", "number": 1, "state": "ajar"}',
        b'{"kind": "change", "number": 1, "files": [{}]}',
        b'{"kind": "issue", "number": NaN}',
    ],
)
def test_a_line_that_says_nothing_is_refused(line):
    with pytest.raises(InvalidValue):
        parse_line(line)
