"""Citations: what stands where it is said to stand, and which sentences rest on it."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.ask.claims import CitedText, check_citation, find_quote, split_claims
from forgelore.ask.quotes import find_evidence
from forgelore.ask.tool_calls import ClaimedCitation
from growth import assert_grows_slowly

LINES = (
    "# Crash on start",
    "",
    "The daemon stops when the",
    "index is older than  three days.",
    "",
    "@mira: we purge Tombstones after 30 days.",
)


def check(first, last, quote, lines=LINES):
    return check_citation(1, ClaimedCitation("#1", first, last, quote), CitedText("Crash", None, lines, "h"))


@pytest.mark.parametrize(
    ("first", "last", "quote", "status", "where"),
    [
        (3, 4, "stops when the index is older than three days", "found", (3, 4)),
        (4, 4, "index is OLDER than three days", "quote_not_found", (4, 4)),
        (1, 1, "We purge Tombstones after 30 days", "moved", (6, 6)),
        (6, 6, "we purge after 30 days", "quote_not_found", (6, 6)),  # a word is left out
        (6, 6, "we purge Tombstones after 31 days", "quote_not_found", (6, 6)),
        (90, 91, "we purge Tombstones after 30 days", "moved", (6, 6)),
        (90, 91, "nobody wrote these words", "no_such_lines", (90, 91)),
        (6, 6, "", "no_quote", (6, 6)),
        (3, 3, "the", "not_evidence", (3, 3)),
        (6, 6, "…!?", "no_quote", (6, 6)),
    ],
)
def test_a_quote_must_stand_there(first, last, quote, status, where):
    found = check(first, last, quote)
    assert (found.status, (found.first_line, found.last_line)) == (status, where)


def test_an_item_that_nobody_knows():
    assert check_citation(2, ClaimedCitation("#9", 1, 1, "whatever it says"), None).status == "no_such_item"


_LINE = st.sampled_from(["", "a b.", "ab  c", "b", "c. a a b", "a"])


@given(st.lists(_LINE, max_size=8), st.integers(0, 30), st.integers(1, 30))
def test_words_that_stand_side_by_side_are_found(lines, start, count):
    words = " ".join(lines).replace(".", " ").split()[start : start + count]
    found = find_quote(lines, " ".join(words))
    if not words:
        assert found is None
        return
    first, last = found
    assert 1 <= first <= last <= len(lines)
    assert " ".join(words) in " ".join(" ".join(lines[first - 1 : last]).replace(".", " ").split())


def test_sentences_and_what_they_rest_on():
    good = check(6, 6, "we purge Tombstones after 30 days")._replace(number=1)
    bad = check(6, 6, "made up by a model altogether")._replace(number=2)
    text = "## Why\nThey are purged. [1] It was wrong [2]! Both [1, 2] hold.\n- a point\n\nIn short:\n[1]"
    claims = split_claims(text, [good, bad])
    assert [(claim.text, claim.is_checked) for claim in claims] == [
        ("They are purged. [1]", True),
        ("It was wrong [2]!", False),
        ("Both [1, 2] hold.", True),
        ("- a point", False),
        ("In short:\n[1]", True),
    ]
    assert claims[2].citations == (1, 2)


def test_a_number_that_no_citation_has_proves_nothing():
    assert [claim.is_checked for claim in split_claims("So it is [7].", [])] == [False]


@pytest.mark.parametrize("unit", ["`a` ", "```\na\n```\n`x`\n", "<!--a-->\n", " **a", " ~~a ~", "`", "- a\n", "> "])
def test_a_quote_is_looked_for_in_linear_time_whatever_its_source_repeats(unit):
    versions = count()

    def find(text):  # each time another source: one that was read before is kept
        find_evidence([*text.split("\n"), str(next(versions))], "some words that stand nowhere", (1, 1))

    # Of short sources what is done once takes longest.
    assert_grows_slowly(find, lambda size: unit * (16 * size // len(unit)) + "x", largest=4_000)
