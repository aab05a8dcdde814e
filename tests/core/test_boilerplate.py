"""Lines that every report of a project has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.differences import line_key
from forgelore.compare.sameness import MIN, learn, without_boilerplate

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


def by_all(texts):
    return [(f"author {number}", text) for number, text in enumerate(texts)]


def test_lines_that_many_share_are_learned_and_left_out():
    texts = [TEMPLATE.format(f"press button number {number}") for number in range(50)]
    lines, total = learn(by_all(texts))
    assert (len(lines), total) == (3, 50)
    assert without_boilerplate(texts[7], lines).strip() == "press button number 7"


def test_what_a_few_people_paste_is_a_shared_symptom():
    texts = ["the same error line"] * (MIN - 1) + [f"text {number}" for number in range(20)]
    assert learn(by_all(texts))[0] == {}


def test_a_line_counts_once_per_item():
    assert learn(by_all(["again\n" * 100] + [f"text {number}" for number in range(20)]))[0] == {}


OTHERS = [(f"other {number}", f"text {number}") for number in range(50)]


@pytest.mark.parametrize("author", ["one", None, "each"])
def test_copies_of_one_text_are_no_template_however_many_there_are(author):
    text = "The client dies.\nIt hangs on start."
    copies = [
        (f"author {n}" if author == "each" else author, text.upper() if n % 2 else f"{text} \r\n") for n in range(40)
    ]
    assert learn([*copies, *OTHERS])[0] == {}


def test_a_form_that_many_filed_untouched_is_one_however_rare():
    """A template that was in use for some months has not two in a hundred of all items."""
    untouched = [(f"author {n}", "Reports about the GUI belong elsewhere\nSee the other tracker") for n in range(MIN)]
    filled_in = [(f"user {n}", f"Reports about the GUI belong elsewhere\nIt hangs {n}") for n in range(MIN)]
    many = [(f"other {n}", f"text {n}") for n in range(2_000)]
    form = line_key("Reports about the GUI belong elsewhere")
    assert set(learn([*many, *untouched, *filled_in])[0]) == {form}
    assert form not in learn([*many, *untouched[1:], *filled_in])[0]


def test_one_persons_way_of_writing_is_no_template():
    mine = [("ann", TEMPLATE.format(f"press button {number}")) for number in range(40)]
    assert learn([*mine, *OTHERS])[0] == {}


@pytest.mark.parametrize(("authors", "learned"), [(MIN - 1, 0), (MIN, 3)])
def test_a_template_needs_many_authors(authors, learned):
    texts = [(f"author {number % authors}", TEMPLATE.format(f"press button {number}")) for number in range(40)]
    assert len(learn([*texts, *OTHERS])[0]) == learned


def test_where_nobody_knows_the_authors_the_texts_stand_for_them():
    assert len(learn([(None, TEMPLATE.format(f"press button {number}")) for number in range(50)])[0]) == 3


def test_an_empty_form_of_many_people_helps_to_learn_it():
    """Half of the pull requests of a large project leave the template as it is."""
    empty = [(f"author {number}", TEMPLATE.format("")) for number in range(40)]
    filled = [(f"writer {number}", TEMPLATE.format(f"press button {number}")) for number in range(MIN)]
    assert len(learn([*empty, *filled])[0]) == 3


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x y\nz", "q", "p\nq"])), max_size=60))
def test_three_people_never_make_a_template(written):
    assert learn(written)[0] == {}


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
