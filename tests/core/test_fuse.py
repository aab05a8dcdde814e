"""Several ranked lists into one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.search.fusion import fuse, fuse_scores

WAYS = pytest.mark.parametrize("way", [fuse, fuse_scores])


def ids(fused):
    return [one.id for one in fused]


@st.composite
def ranked_lists(draw, max_size=30):
    """A list as a retriever gives it: each document once, best first."""
    documents = draw(st.lists(st.integers(1, 60), unique=True, max_size=max_size))
    scores = draw(st.lists(st.integers(-1000, 1000), min_size=len(documents), max_size=len(documents)))
    return list(zip(documents, sorted((score / 10 for score in scores), reverse=True), strict=True))


@st.composite
def lists_without_ties(draw):
    documents = draw(st.lists(st.integers(1, 60), unique=True, max_size=30))
    return [(document, 100.0 - rank) for rank, document in enumerate(documents)]


@WAYS
@given(ranked=lists_without_ties(), times=st.integers(1, 3))
def test_fusing_one_list_with_itself_keeps_its_order(way, ranked, times):
    assert ids(way([ranked] * times)) == [document for document, _ in ranked]


@WAYS
@given(ranked=ranked_lists())
def test_an_empty_list_changes_no_order(way, ranked):
    assert ids(way([ranked, []])) == ids(way([ranked])) == ids(way([[], ranked]))


@WAYS
@given(first=ranked_lists(), second=ranked_lists())
def test_the_order_of_the_lists_does_not_matter(way, first, second):
    assert ids(way([first, second])) == ids(way([second, first]))


@WAYS
@given(first=ranked_lists(), second=ranked_lists())
def test_every_document_comes_back_once_with_its_ranks_and_scores(way, first, second):
    fused = way([first, second])
    assert sorted(ids(fused)) == sorted({document for document, _ in first + second})
    for one in fused:
        for ranked, rank, score in zip((first, second), one.ranks, one.scores, strict=True):
            assert (rank, score) == (None, None) or ranked[rank - 1] == (one.id, score)


@WAYS
@given(first=ranked_lists(), second=ranked_lists())
def test_the_best_of_both_lists_is_the_best(way, first, second):
    best = (99, 2000.0)
    assert ids(way([[best, *first], [best, *second]]))[0] == 99


@given(first=ranked_lists(), second=ranked_lists())
def test_the_score_is_a_share_of_the_best_possible(first, second):
    for one in fuse([first, second]):
        assert 0 < one.score <= 1


def test_reciprocal_ranks_add_up():
    (one, two, three) = fuse([[(1, 9.0), (2, 8.0)], [(2, 0.7), (3, 0.6)]])
    assert (one.id, one.ranks, one.scores) == (2, (2, 1), (8.0, 0.7))
    assert one.rrf == pytest.approx(1 / 62 + 1 / 61)
    assert one.score == pytest.approx((1 / 62 + 1 / 61) / (2 / 61))
    assert (two.id, two.ranks) == (1, (1, None))
    assert (three.id, three.ranks) == (3, (None, 2))


def test_a_clear_lead_counts_by_score_and_not_by_rank():
    words = [(1, 90.0), (2, 30.0), (3, 29.0), (4, 28.0)]
    vectors = [(2, 0.52), (3, 0.51), (1, 0.50), (4, 0.30)]
    assert ids(fuse([words, vectors]))[0] == 2
    assert ids(fuse_scores([words, vectors]))[0] == 1


@given(first=ranked_lists(), second=ranked_lists(), factor=st.sampled_from([0.5, 2.0, 8.0]))
def test_scores_of_any_unit_may_be_fused(first, second, factor):
    """BM25 has no upper end and cosine has: a list may be stretched without changing the answer."""
    stretched = [(document, score * factor) for document, score in second]
    assert ids(fuse_scores([first, stretched])) == ids(fuse_scores([first, second]))


def test_a_list_whose_scores_are_all_alike_says_nothing():
    assert ids(fuse_scores([[(1, 3.0), (2, 2.0)], [(2, 5.0), (1, 5.0)]])) == [1, 2]


def test_of_equally_near_items_the_younger_comes_first():
    ranked = [(1, 5.0), (2, 5.0), (3, 1.0)]
    assert ids(fuse_scores([ranked], ages_days={1: 300.0, 2: 3.0, 3: 3.0}))[:2] == [2, 1]
    assert ids(fuse_scores([ranked], ages_days={2: 3.0, 3: 3.0}))[:2] == [1, 2], "an unknown age is the oldest known"


def test_a_clear_lead_beats_age():
    near = [(1, 0.95), *((document, 0.3) for document in range(2, 40))]
    ages = {1: 2000.0} | dict.fromkeys(range(2, 40), 1.0)
    assert ids(fuse_scores([near, near], ages_days=ages))[0] == 1


@given(first=ranked_lists(), second=ranked_lists())
def test_items_of_the_same_day_are_ordered_by_likeness_alone(first, second):
    ages = {document: 0.0 for document, _ in first + second}
    assert ids(fuse_scores([first, second], ages_days=ages)) == ids(fuse_scores([first, second]))
