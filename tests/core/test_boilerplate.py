"""Lines that every report of a project has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.core.boilerplate import LEAST, learn, line_key, without_boilerplate

TEMPLATE = "### Steps to reproduce\n{}\n- [ ] I have searched\n**Version:**"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("### Steps to reproduce", "**Steps to Reproduce:**"),
        ("- [x] I have searched", "- [ ] I have searched"),
        ("> Expected", "expected"),
    ],
)
def test_a_line_is_known_by_its_words(one, other):
    assert line_key(one) == line_key(other) is not None


def test_signs_and_essays_are_no_lines_of_a_template():
    assert line_key("-----") is None
    assert line_key("word " * 100) is None


def test_lines_that_many_share_are_learned_and_left_out():
    texts = [TEMPLATE.format(f"press button number {number}") for number in range(50)]
    lines, total = learn(texts)
    assert (len(lines), total) == (3, 50)
    assert without_boilerplate(texts[7], lines).strip() == "press button number 7"


def test_what_a_few_people_paste_is_a_shared_symptom():
    texts = ["the same error line"] * (LEAST - 1) + [f"text {number}" for number in range(20)]
    assert learn(texts)[0] == {}


def test_a_line_counts_once_per_item():
    assert learn(["again\n" * 100] + [f"text {number}" for number in range(20)])[0] == {}


@given(st.text(max_size=300))
def test_without_known_lines_nothing_is_lost(text):
    assert without_boilerplate(text, frozenset()) == text
    assert without_boilerplate(text, {1}) == text


@given(st.lists(st.sampled_from(["a b", "### c", "", "d\r", "- [x] e f"]), max_size=12))
def test_only_known_lines_go(lines):
    text = "\n".join(lines)
    known = {line_key("### c")}
    assert [line for line in without_boilerplate(text, known).split("\n") if line.strip()] == [
        line for line in lines if line.strip() and line != "### c"
    ]
