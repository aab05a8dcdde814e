"""What a report quotes besides its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.signatures import READ, Place, parse_signature
from growth import assert_grows_slowly


def keys(text, what):
    return [mark.key for mark in parse_signature(text).marks if mark.what == what]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("java.lang.NullPointerException at once", "nullpointerexception"),
        ("OSError: File name too long", "oserror"),
        ("OSError: File name too long", "oserror file name too long"),
        ("2024-01-02 ERROR: Disk full at 0x7f (12 MB left)", "error disk full at mb left"),
        ("thread 'main' panicked at src/net.rs:12: no route", "panicked at src net rs no route"),
        ("Assertion `node != nullptr' failed.", "assertion node nullptr failed"),
        ("error[E0382]: borrow of moved value: `x`", "error borrow of moved value"),
    ],
)
def test_an_error_is_known_by_its_words_without_what_changes_from_run_to_run(text, key):
    assert any(key in found or found in key for found in keys(text, "error"))


@pytest.mark.parametrize("text", ["I get an error when I save", "it failed twice", "no exception was made", "errors"])
def test_prose_about_an_error_is_no_message(text):
    assert keys(text, "error") == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("  at org.acme.Cache.put(Cache.java:218)", "cache.put"),
        ("    at async loadConfig (/srv/app/index.js:3:7)", "loadconfig"),
        ('  File "/usr/lib/app/cache.py", line 12, in put', "put of cache.py"),
        ("#3  0x00005581 in Cache::put (this=0x0)", "cache::put"),
        ("   4:     0x55d0 - lantern::sync::resolver::run", "lantern::sync::resolver::run"),
    ],
)
def test_a_frame_is_known_by_its_function(text, key):
    assert keys(text, "frame") == [key]


@pytest.mark.parametrize(
    ("text", "what", "expected"),
    [
        ("see ChunkCache::insert and merge_base() with --dry-run", "identifier",
         ["chunkcache::insert", "merge_base", "--dry-run"]),
        ("e.g. the cache. The next", "identifier", []),
        ("in src/net/cache.cpp:218 and C:\\logs\\debug.log", "path", ["cache.cpp", "debug.log"]),
        ("https://example.org/a/b.html is down", "path", []),
        ("v2.1.0-rc1, 0.21, not 192.168.0.1", "version", ["2.1.0-rc1", "0.21"]),
    ],
)  # fmt: skip
def test_names_paths_and_versions(text, what, expected):
    assert keys(text, what) == expected


def test_numbers_of_other_items_are_read_from_marks_and_addresses():
    text = "like #12 and !34, https://github.com/a/b/issues/56, bug 78, but not C#9 or &#10;"
    assert parse_signature(text).refs == {12, 34, 56, 78}


@pytest.mark.parametrize(
    ("asked", "other", "quote"),
    [
        ("at 1.2 it hangs", "since v1.2 it hangs", "1.2"),
        ("in src/net.cpp", "see `lib/src/net.cpp` there", "lib/src/net.cpp"),
        ("OSError: File name too long: a.txt", "We saw OSError: File name too long: 'b'", "OSError"),
        ("calls merge_base()", "Merge_Base is slow", "Merge_Base"),
    ],
)
def test_a_mark_is_found_and_quoted_as_the_other_wrote_it(asked, other, quote):
    place = Place.of(other)
    found = [place.quote(mark) for mark in parse_signature(asked).marks if place.has(mark)]
    assert any(quote in each for each in found)


@pytest.mark.parametrize(("asked", "other"), [("at 1.2", "at 11.2"), ("at 1.2", "at 1.21"), ("a_b", "aa_bc")])
def test_a_mark_inside_a_longer_one_is_another(asked, other):
    place = Place.of(other)
    assert not any(place.has(mark) for mark in parse_signature(asked).marks)


@given(st.text(max_size=400))
def test_any_text_has_itself(text):
    place = Place.of(text)
    for mark in parse_signature(text).marks:
        assert mark.key
        place.quote(mark)


def test_a_megabyte_is_read_to_a_limit():
    text = "at a.b.C.d(E.java:1)\n" * 50_000
    assert len(Place.of(text).text) == READ
    assert len(parse_signature(text).marks) < 10


@pytest.mark.parametrize("unit", ["a.", "a/", "a_", "::a", "1.", "#1 ", "Error: ", "at a.", "(a", "--a-", "Aa"])
def test_time_does_not_explode_with_repetitions(unit):
    assert_grows_slowly(parse_signature, lambda size: unit * (size // len(unit)))
