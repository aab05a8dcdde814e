"""Which line of a text answers a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.search.snippets import find_worded_line
from forgelore.text.fence import folded

WORDS = st.sampled_from(
    ["crash", "Crash", "Straße", "connection reset", "İ", "e\u0301", "zero\u200bwidth", "tab\there"]
)
TEXTS = st.lists(st.one_of(WORDS, st.sampled_from([" ", "\n", "\r\n", "\t", "\u2028", "\xa0", "x"])), max_size=30)


def one_by_one(text, words):
    """The slow way: every line is folded by itself."""
    wanted = [folded(word) for word in words]
    best, most = "", 0
    for line in text.split("\n"):
        plain = folded(line)
        held = sum(word in plain for word in wanted)
        if held > most or (not best and plain):
            best, most = line, held
    return best


@given(TEXTS.map("".join), st.lists(WORDS, max_size=3))
def test_lines_are_those_of_folding_each_by_itself(text, words):
    assert find_worded_line(text, words) == one_by_one(text, words)


@pytest.mark.parametrize(
    ("words", "line"),
    [(("reset",), "Connection reset"), (("reset", "peer"), "reset by PEER"), (("absent",), "Hello"), ((), "Hello")],
)
def test_the_line_with_the_most_words_is_the_first_of_its_like(words, line):
    assert find_worded_line("\n \nHello\nConnection reset\nreset by PEER\npeer reset", words) == line
