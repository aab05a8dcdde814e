"""Facts that moved a match: a shipped strength taken apart, in words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.compare.calibration import find_facts
from forgelore.compare.evidence import FEATURES, HISTORY
from forgelore.compare.trees import FAMILIES, load_trees

NAMES = sorted({*FEATURES, *HISTORY} - {"same", "cites"})
PAIRS = st.dictionaries(st.sampled_from(NAMES), st.floats(-3, 8) | st.sampled_from([0.0, 1.0]))


@settings(deadline=None)  # the first one reads the trees
@given(st.sampled_from(FAMILIES), PAIRS)
def test_what_is_usual_and_all_facts_add_up_to_the_strength(family, pair):
    trees = load_trees(family)
    ((usual, facts),) = find_facts(trees, [pair])
    assert usual + sum(fact.moved for fact in facts) == pytest.approx(trees.strengths([pair])[0], abs=1e-9)
    assert [abs(fact.moved) for fact in facts] == sorted((abs(fact.moved) for fact in facts), reverse=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_number_that_a_tree_asks_for_belongs_to_a_fact_with_words_of_its_own(family):
    pair = dict.fromkeys(NAMES, 0.5)
    ((_, facts),) = find_facts(load_trees(family), [pair])
    assert not {fact.name for fact in facts} & {*FEATURES, *HISTORY} - {"title", "length"}
    assert all(" " in fact.says for fact in facts)


def test_facts_say_how_it_was():
    alike = {"cosine": 0.9, "cosine_z": 6.0, "words_z": 5.0, "title": 0.9, "jaccard": 0.8, "cover": 0.9, "info": 0.9}
    states = [{"open": 1.0}, {"open": 0.0, "closed_for": 5.0}, {}]
    told = find_facts(load_trees("lore"), [{**alike, "same_author": 1.0, **state} for state in states])
    says = [{fact.name: fact.says for fact in facts.facts} for facts in told]
    assert [each["state"] for each in says] == ["it was open", "it was closed", "its state is unknown"]
    assert says[0]["author"] == "the same author"
    assert "it was open" in told[0].speaking_for
    assert "what the texts mean" in told[0].speaking_for
    assert "it was closed" in told[1].speaking_against


def test_what_speaks_against_a_match_says_what_is_missing():
    pair = {"cosine": 0.1, "cosine_z": -3.0, "words_z": -3.0, "title": 0.0, "jaccard": 0.0, "recency": 0.0}
    (told,) = find_facts(load_trees("lore"), [pair])
    assert "few words that both use" in told.speaking_against
    assert not [says for says in told.speaking_against if "unknown" in says]
    assert not {"words that both use", "little time between them"} & {*told.speaking_against}
