"""Terms of a query that must occur or must not: valid expressions for any text, with the words as they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fulltext import FullText
from forgelore.search.ftsquery import build_and, build_any_of, build_within, join_groups, parse_words

TABLE = FullText()
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (['"mismatched types"'], '(("mismatched types"))'),
        (["panic", '"stack overflow"'], '(("panic")) OR (("stack overflow"))'),
        (['"ChunkCache"'], '(("ChunkCache"))'),
        (['"conn res"*'], '(("conn res"*))'),
        (["the"], '(("the"))'),
        (['"C++"'], '(("cplusplus"))'),
        (['"日本語"'], '(("日本語" OR "日本 本語"))'),
        (['"--"', "panic"], '(("panic"))'),
        (['"--"'], None),
        ([], None),
    ],
)  # fmt: skip
def test_terms_are_looked_for_as_they_are_written(terms, expected):
    assert build_any_of(terms) == expected


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ('"stack overflow"', '({title text} : (("stack overflow")))'),
        ("panic", '(("panic"))'),
        ('"ChunkCache"', '(("ChunkCache"))'),
        ('"modern C++"', '(("modern C++"))'),
        ('"conn res"*', '(("conn res"*))'),
    ],
)
def test_a_phrase_must_stand_in_what_people_wrote(term, expected):
    assert build_any_of([term], ("title", "text")) == expected


@given(st.lists(ANY_TEXT, max_size=4))
def test_any_terms_make_an_expression_that_full_text_accepts(terms):
    expression = build_any_of([*terms, *(f'"{term}"' for term in terms)])
    if expression:
        TABLE.find(expression)
        TABLE.find(build_within(expression, ["title", "text"]))
    within = build_any_of([*terms, *(f'"{term}"' for term in terms)], ("title", "text"))
    assert bool(within) == bool(expression)
    if within:
        TABLE.find(within)
        TABLE.find(build_within(within, ["title"]))


def test_a_group_is_one_word_of_the_query():
    words = join_groups(parse_words('panic "stack overflow" linker'), [("panic", '"stack overflow"')])
    assert build_and(words) == '("panic" OR "stack overflow") AND ("linker")'
    alone = parse_words('"stack overflow" linker')
    assert join_groups(alone, [('"stack overflow"',)]) == alone
    assert join_groups(alone, [("not", "there")]) == alone
