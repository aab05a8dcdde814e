"""Queries with known answers, a line each."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.scoring import Duplicate, Golden, parse_numbers, parse_query_line
from forgelore.errors import InvalidValue
from forgelore.text.dates import parse_ms
from forgelore.words import FilterWords

NUMBERS = st.integers(0, (1 << 63) - 1)


@given(
    query=NUMBERS, gold=st.lists(NUMBERS, max_size=5), kind=st.sampled_from(["issue", "change"]), is_dated=st.booleans()
)
def test_a_line_that_was_written_is_read_back(query, gold, kind, is_dated):
    when = {"created_at": "2011-03-08T14:47:03Z"} if is_dated else {}
    line = json.dumps({"query": query, "kind": kind, "gold": gold, "note": "for people", **when}).encode()
    assert parse_query_line(line) == Duplicate(query, kind, parse_ms(when.get("created_at")), tuple(gold))


@given(words=st.text(min_size=1, max_size=40).filter(str.strip), numbers=st.lists(st.integers(1, 10**9), min_size=1))
def test_words_and_what_they_should_find_are_read_back(words, numbers):
    found = parse_query_line(json.dumps({"q": words, "expect": [f"#{number}" for number in numbers]}).encode())
    assert isinstance(found, Golden)
    assert found.text == words
    assert [ref.number for _, ref in found.expect] == numbers


def test_filters_have_the_names_of_the_search():
    line = b'{"q": "slow", "expect": [1], "type": "issue", "label": ["a", "b"], "updated_after": "7d"}'
    filters = parse_query_line(line).filters
    assert (filters["type"], filters["label"], filters["updated_after"]) == ("issue", ["a", "b"], "7d")


@pytest.mark.parametrize("name", sorted(set(FilterWords.__annotations__) - {"project", "without"}))
def test_no_filter_of_a_line_is_left_out(name):
    """A filter that search knows and a file of queries does not would be ignored without a word."""
    line = json.dumps({"q": "slow", "expect": [1], name: "2026-01"}).encode()
    assert parse_query_line(line).filters[name] == "2026-01"


@given(line=st.binary(max_size=60))
def test_any_bytes_at_all_are_read_or_refused(line):
    try:
        assert isinstance(parse_query_line(line), Duplicate | Golden)
    except InvalidValue as error:
        assert error.message


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("[1]", "neither a query by number"),
        ('{"query": 1, "kind": "release", "gold": []}', "neither issue nor change"),
        ('{"query": -1, "kind": "issue", "gold": []}', "out of range"),
        ('{"query": 1, "kind": "issue", "gold": [9223372036854775808]}', "out of range"),
        ('{"query": "1", "kind": "issue", "gold": []}', "query"),
        ('{"q": "  ", "expect": ["#1"]}', "no words"),
        ('{"q": "slow", "expect": []}', "nothing is expected"),
    ],
)
def test_a_line_that_asks_nothing_is_refused_with_the_reason(line, why):
    with pytest.raises(InvalidValue) as refused:
        parse_query_line(line.encode())
    assert why in refused.value.message


@given(numbers=st.lists(NUMBERS))
def test_numbers_to_leave_out_are_read_back(numbers):
    assert parse_numbers(json.dumps(numbers).encode()) == numbers


@pytest.mark.parametrize("text", [b"", b"{}", b'["1"]', b"[-1]", b"[1.5]", b"\xff"])
def test_what_is_no_list_of_numbers_is_refused(text):
    with pytest.raises(InvalidValue):
        parse_numbers(text)
