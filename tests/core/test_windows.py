"""Reading windows: what is seen of a text, and that scrolling passes all of it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.reading import (
    MAX_WINDOW_CHARS,
    MORE_ABOVE,
    MORE_BELOW,
    TextPlace,
    find_lines,
    open_window,
    scroll_to,
    scroll_window,
)

NUMBERED = [f"line {number}" for number in range(1, 301)]
TEXTS = st.lists(st.text(max_size=60) | st.text("ab ", min_size=400, max_size=1_500), max_size=40)


def test_a_window_without_a_place_begins_at_the_top_and_says_that_there_is_more():
    window = open_window(NUMBERED)
    assert str(window).startswith("1: line 1\n2: line 2\n")
    assert str(window).endswith(f"\n{window.last}: line {window.last}\n{MORE_BELOW}")
    assert (window.first, window.last, window.total) == (1, 101, 300)


def test_a_window_reaches_fifty_lines_to_both_sides_of_its_centre():
    window = open_window(NUMBERED, TextPlace(150))
    assert (window.first, window.last) == (100, 200)
    assert str(window).startswith(f"{MORE_ABOVE}\n100: ")
    assert str(window).endswith(MORE_BELOW)


def test_long_lines_leave_room_for_fewer_and_the_centre_stays_in_the_middle():
    window = open_window([line + " " + "x" * 80 for line in NUMBERED], TextPlace(150))
    assert 150 - window.first in range(window.last - 150 - 1, window.last - 150 + 2)
    assert len(str(window)) <= MAX_WINDOW_CHARS


@pytest.mark.parametrize(("place", "line"), [(TextPlace(-5), 1), (TextPlace(0), 1), (TextPlace(10_000), 300)])
def test_a_place_outside_means_the_nearer_end(place, line):
    assert line in [part.place.line for part in open_window(NUMBERED, place).parts]


def test_a_line_longer_than_a_window_is_read_in_parts():
    text = "".join(f"{number:07d}" for number in range(2_000))
    window = open_window([text], TextPlace(1, 7_001))
    assert window.parts[0].place.column > 1
    assert any("0001000" in part.text for part in window.parts)
    assert str(window).startswith(f"{MORE_ABOVE}\n1:{window.parts[0].place.column}: ")


def test_scrolling_moves_four_fifths_of_a_window():
    window = open_window(NUMBERED)
    assert scroll_window(NUMBERED, window, "down").first == 81
    assert scroll_window(NUMBERED, window, "up") == window
    last = scroll_to(NUMBERED, None, "up")
    assert last.last == 300
    assert scroll_window(NUMBERED, last, "down") == last


def test_the_window_that_a_window_names_is_the_one_that_scrolling_gives():
    """Who keeps no window between two calls asks by place."""
    window = open_window(NUMBERED, TextPlace(150))
    assert scroll_to(NUMBERED, window.below, "down") == scroll_window(NUMBERED, window, "down")
    assert scroll_to(NUMBERED, window.above, "up") == scroll_window(NUMBERED, window, "up")


@pytest.mark.parametrize("direction", ["up", "down"])
def test_an_empty_text_is_an_empty_window(direction):
    for window in (open_window([]), open_window([], TextPlace(3)), scroll_to([], TextPlace(3), direction)):
        assert (str(window), window.first, window.last, window.total) == ("", 0, 0, 0)


@given(TEXTS, st.integers(-3, 200), st.integers(-3, 4_000))
def test_no_window_is_larger_than_it_may_be(lines, line, column):
    for window in (open_window(lines, TextPlace(line, column)), open_window(lines)):
        assert len(str(window)) <= MAX_WINDOW_CHARS
        assert window.last - window.first <= 100
        assert (window.above is None) == (window.parts == () or window.parts[0].place == TextPlace(1))


@given(TEXTS, st.sampled_from(["up", "down"]))
def test_scrolling_passes_every_character_once_in_order(lines, direction):
    window = scroll_to(lines, None, direction)
    seen = {part.place: part.text for part in window.parts}
    for _ in range(1_000):
        further = scroll_window(lines, window, direction)
        if further == window:
            break
        assert {part.place for part in further.parts} - seen.keys(), "a scroll shows something new"
        window = further
        seen.update({part.place: part.text for part in window.parts})
    by_line = itertools.groupby(sorted(seen.items()), key=lambda one: one[0].line)
    assert ["".join(text for _, text in parts) for _, parts in by_line] == lines


def test_words_are_found_as_they_stand_and_otherwise_one_by_one():
    lines = ["The Cache", "cache the file", "nothing", "a cache, and then THE CACHE"]
    assert find_lines(lines, "the  cache") == [TextPlace(1, 1), TextPlace(4, 19)]
    assert find_lines(lines, "file cache") == [TextPlace(2, 1)]
    assert find_lines(lines, "absent") == find_lines(lines, "  ") == []
