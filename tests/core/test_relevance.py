"""How well a hit fits: between 0 and 1, by words and by meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.search.fusion import FLOOR, WeighedWord, nonsense_among, rate_hit

NONSENSE = 0.45
SHARE = st.floats(0, 1)
COSINE = st.none() | st.floats(-1, 1)


def words(**weights):
    return [WeighedWord(name, weight, is_exact=False) for name, weight in weights.items()]


def rate(asked, found=(), cosine=None, nonsense=NONSENSE):
    return rate_hit(asked, found, cosine=cosine, nonsense=nonsense)


def test_every_word_or_a_repetition_fits_wholly():
    asked = words(deleted=4, files=2)
    assert rate(asked, ["deleted", "files"], cosine=0.1) == 1
    assert rate(asked, [], cosine=NONSENSE + 0.3) == 1
    assert rate([], []) == 1, "where no words were asked for, what the filters allow is what was asked for"


def test_a_common_word_and_the_nearness_of_nonsense_do_not_fit():
    asked = words(sourdough=7.5, starter=5, does=0.5)
    assert rate(asked, ["does"], cosine=NONSENSE - 0.1) < FLOOR
    assert rate(asked, ["does"]) < FLOOR
    assert rate(asked, ["starter", "sourdough"], cosine=NONSENSE - 0.1) > FLOOR


def test_a_word_that_nobody_has_makes_every_hit_worse():
    asked = words(crash=3, wallet=3)
    unknown = [*asked, WeighedWord("woocommerce", 7.5, is_exact=False, is_known=False)]
    assert rate(unknown, ["crash"], cosine=0.5) < rate(asked, ["crash"], cosine=0.5)
    assert rate(unknown, [], cosine=0.9) == pytest.approx(1 - 0.5 * 7.5 / 13.5)


def test_where_no_word_is_known_nothing_fits_however_near():
    """A model is near to anything in a language it was not made for."""
    asked = [WeighedWord("内存", 7.5, is_exact=False, is_known=False), WeighedWord("泄漏", 7.5, False, False)]
    assert rate(asked, [], cosine=1.0) < FLOOR


def test_an_embedder_whose_nonsense_is_not_known_does_not_decide():
    asked = words(crash=3, wallet=3)
    assert (
        rate(asked, ["crash"], 0.99, nonsense=None) == rate(asked, ["crash"], None) == rate(asked, ["crash"], -1, None)
    )


def test_among_more_documents_nonsense_comes_nearer():
    assert nonsense_among(0.45, 12_000) == 0.45
    assert nonsense_among(0.45, 1_000) < 0.4 < 0.5 < nonsense_among(0.45, 100_000)
    assert nonsense_among(0.45, 0) > 0
    assert nonsense_among(-1.0, 12_000) is None


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 7.5), max_size=8), st.data(), COSINE, st.none() | SHARE)
def test_it_is_a_share_and_more_words_or_more_nearness_never_lower_it(weights, data, cosine, nonsense):
    asked = words(**weights)
    found = data.draw(st.sets(st.sampled_from(sorted(weights)))) if weights else set()
    fewer = data.draw(st.sets(st.sampled_from(sorted(found)))) if found else set()
    value = rate(asked, found, cosine, nonsense)
    assert 0 <= value <= 1
    assert rate(asked, fewer, cosine, nonsense) <= value + 1e-9
    if cosine is not None:
        assert rate(asked, found, cosine - 0.1, nonsense) <= value + 1e-9
