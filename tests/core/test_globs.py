"""Globs with many stars are walked through: the same answers, and no pattern that takes for ever."""

import time

from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.globs import _compiled, _walks_to_end, glob_matches

PATTERNS = st.lists(st.sampled_from(["*", "**", "**/", "a", "b", "/", ".", "a/"]), max_size=7).map("".join)
PATHS = st.text(alphabet="ab/.", max_size=10)


@given(PATTERNS, PATHS)
def test_both_ways_give_the_same_answer(pattern, path):
    assert _walks_to_end(pattern, path) == (_compiled(pattern).fullmatch(path) is not None)


def test_no_pattern_takes_for_ever():
    begun = time.process_time()
    for pattern in ("*a" * 8 + "b", "**a" * 8 + "b", "**/*a" * 4 + "b", "*/" * 8 + "x"):
        assert not glob_matches(pattern, "a" * 4000)
        assert not glob_matches(pattern, "a/" * 2000 + "c")
    assert time.process_time() - begun < 2


def test_the_patterns_of_the_documentation_hold():
    assert glob_matches("src/**/*.py", "src/a.py")
    assert glob_matches("src/**/*.py", "src/x/y/a.py")
    assert glob_matches("src/pulumi/**.py", "src/pulumi/x/a.py")
    assert glob_matches("**/a*/**/b*.p*", "x/y/a1/b/c/b2.py")
    assert not glob_matches("src/*/*/*.py", "src/a/b.py")
