"""What a text asks last, and what only looks like a question."""

import pytest

from forgelore.history.people import question_in
from forgelore.text.links import login_in_address, possible_logins
from growth import assert_grows_slowly


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Does it fail?", "Does it fail?"),
        ("Thanks. Which version? Ours is 3.", "Which version?"),
        ("First? Second?\nNo more.", "Second?"),
        ("see https://x.io/?q=1", ""),
        ("`a ? b : c`", ""),
        ("Thanks. Does it happen on `a?b` too?", "Does it happen on `a?b` too?"),
        ("Is `lantern.toml` read? It says `why?`.", "Is `lantern.toml` read?"),
        ("Did you see https://x.io/?q=1 already?", "Did you see https://x.io/?q=1 already?"),
        ("Log:\n```\nstop?\n```\nWhich one?", "Which one?"),
        ("```\nwhy?\n```", ""),
        ("> why?\nBecause.", ""),
        ("a?.b and x?y", ""),
        ("???", ""),
        ("<!-- did you search? -->\nIt crashes.", ""),
        ("本当ですか\uff1f", "本当ですか\uff1f"),
        (None, ""),
    ],
)
def test_the_last_question_is_found(text, asked):
    assert question_in(text) == asked


@pytest.mark.parametrize("unit", ["?", "a?b", "> ?\n", "`?", "x "])
def test_a_text_full_of_marks_is_read_without_quadratic_cost(unit):
    assert_grows_slowly(question_in, lambda size: unit * (size // len(unit)) + "?")


def test_logins_come_from_addresses_that_forges_give_out():
    assert login_in_address("12+ana@users.noreply.github.com") == "ana"
    assert login_in_address("7-ben@users.noreply.gitlab.com") == "ben"
    assert login_in_address("ana@example.org") is None
    assert possible_logins("Ana Lee", "12+ana@users.noreply.github.com") == ["ana", "12+ana"]
    assert possible_logins("ben", "b.lee@example.org") == ["ben", "b.lee"]
    assert possible_logins("", "") == []
