"""The measure that other tests trust: it lets linear work pass, and fails for the quadratic work that hostile text provokes."""

import re

import pytest

from growth import assert_grows_slowly


@pytest.mark.parametrize("work", [sorted, str.split, re.compile("b|c").findall, lambda text: None])
def test_work_that_grows_with_its_input_passes(work):
    assert_grows_slowly(work, "a ".__mul__)


@pytest.mark.parametrize("pattern", ["a*b", r"\s+$", r"<!--.*?-->"])
def test_a_pattern_that_begins_again_at_every_place_fails(pattern):
    unit = {"a*b": "a", r"\s+$": " ", r"<!--.*?-->": "<!--"}[pattern]
    with pytest.raises(AssertionError, match="times the work"):
        assert_grows_slowly(re.compile(pattern).search, lambda size: unit * (size // len(unit)) + "x")
