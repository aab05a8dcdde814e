"""Boosted trees: the file, and strengths to the last bit."""

import json
import math
import pathlib
import random

import pytest

from forgelore.compare.trees import FAMILIES, load_trees, parse_trees

SCORES = pathlib.Path(__file__).with_name("shipped_scores.json")
RISING = (
    "cosine", "cosine_z", "words_z", "cover", "title", "title_in", "in_title", "known_title", "jaccard", "info", "error",
    "frame", "identifier", "path", "version", "refs", "recency", "open", "cosine_2", "cosine_2_z",
)  # fmt: skip
STUMP = [[0], [0.5], [-1], [-2], [0], [-1.0, 2.0], [0.3]]
NAN = math.nan


def trees_file(trees, features=("a", "b", "c"), **more):
    told = {"format": 1, "name": "t", "version": 3, "features": features, "made": {}, "trees": trees}
    return json.dumps({**told, **more})


def walk(trees, row):
    """The slow way: one node after the other, one tree after the other."""
    total = 0.0
    for features, thresholds, left, right, unknown, leaves, _ in trees:
        at = 0 if features else -1
        while at >= 0:
            value = row[features[at]]
            is_left = unknown[at] if math.isnan(value) else value <= thresholds[at]
            at = left[at] if is_left else right[at]
        total += leaves[~at]
    return total


def grow(rng, features, leaves):
    """A tree as LightGBM numbers it: a leaf is split, keeps its number on the left, and the new one comes last."""
    tree = [[], [], [], [], [], [rng.gauss(0, 1)], []]
    places = {0: None}  # leaf -> (node, side) that leads to it
    for node in range(leaves - 1):
        leaf = rng.choice(list(places))
        if places[leaf]:
            above, side = places[leaf]
            tree[side][above] = node
        tree[0].append(rng.randrange(features))
        tree[1].append(rng.choice([0.0, rng.gauss(0, 1)]))
        tree[2].append(~leaf)
        tree[3].append(~(node + 1))
        tree[4].append(rng.randrange(2))
        tree[5].append(rng.gauss(0, 1))
        tree[6].append(rng.gauss(0, 1))
        places[leaf], places[node + 1] = (node, 2), (node, 3)
    return tree


@pytest.mark.parametrize(("value", "strength"), [(0.5, -1.0), (0.6, 2.0), (-9.0, -1.0), (NAN, 2.0)])
def test_a_tree_is_walked_as_the_format_says(value, strength):
    assert parse_trees(trees_file([STUMP])).strengths([{"a": value, "b": 0.0, "c": 0.0}]) == [strength]


@pytest.mark.parametrize("seed", range(5))
def test_every_strength_is_that_of_the_slow_way_to_the_last_bit(seed):
    rng = random.Random(seed)
    trees = [grow(rng, 3, rng.randint(1, 15)) for _ in range(60)]
    rows = [[rng.choice([NAN, 0.0, rng.gauss(0, 1)]) for _ in range(3)] for _ in range(200)]
    pairs = [dict(zip("abc", row, strict=True)) for row in rows]
    assert parse_trees(trees_file(trees)).strengths(pairs) == [walk(trees, row) for row in rows]


def test_a_strength_does_not_depend_on_the_other_pairs():
    trees = parse_trees(trees_file([grow(random.Random(1), 3, 9) for _ in range(30)]))
    pairs = [{"a": at / 7, "b": -at / 3, "c": NAN} for at in range(20)]
    assert trees.strengths(pairs) == [trees.strengths([pair])[0] for pair in pairs]


def test_no_pair_has_no_strength():
    assert parse_trees(trees_file([STUMP])).strengths([]) == []


def test_what_it_says_of_itself_is_kept():
    trees = parse_trees(trees_file([STUMP]))
    assert (trees.name, trees.version, trees.features) == ("t", 3, ("a", "b", "c"))


def test_what_a_pair_does_not_have_is_unknown():
    trees = parse_trees(trees_file([STUMP]))
    assert trees.strengths([{}]) == trees.strengths([{"a": NAN}]) == [2.0]


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="format 2"):
        parse_trees(trees_file([STUMP], format=2))


@pytest.mark.parametrize("family", FAMILIES)
def test_shipped_trees_give_the_scores_of_lightgbm_to_the_last_bit(family):
    """Recorded when the trees were grown, by training/evidence_ship.py: real pairs, random ones, unknown numbers,
    numbers that equal a threshold.
    """
    trees, recorded = load_trees(family), json.loads(SCORES.read_text())[family]
    rows = [[NAN if value is None else float.fromhex(value) for value in row] for row in recorded["rows"]]
    assert len(rows) >= 80
    assert any(math.isnan(value) for row in rows for value in row)
    pairs = [dict(zip(trees.features, row, strict=True)) for row in rows]
    assert [score.hex() for score in trees.strengths(pairs)] == recorded["scores"]


@pytest.mark.parametrize(
    ("family", "name"),
    [(family, name) for family in FAMILIES for name in RISING if name in load_trees(family).features],
)
def test_what_two_texts_share_never_speaks_against_them(family, name):
    trees, rng = load_trees(family), random.Random(3)
    for _ in range(20):
        pair = {each: rng.choice([0.0, 1.0, NAN, abs(rng.gauss(0, 1))]) for each in trees.features}
        rising = trees.strengths([{**pair, name: step / 8} for step in range(-8, 40)])
        assert rising == sorted(rising)


@pytest.mark.parametrize("seed", range(5))
def test_what_each_feature_moved_adds_up_to_the_strength(seed):
    rng = random.Random(seed)
    trees = parse_trees(trees_file([grow(rng, 3, rng.randint(1, 15)) for _ in range(60)]))
    pairs = [{name: rng.choice([NAN, 0.0, rng.gauss(0, 1)]) for name in "abc"} for _ in range(50)]
    for moved, strength in zip(trees.explain(pairs), trees.strengths(pairs), strict=True):
        assert trees.usual + sum(moved.values()) == pytest.approx(strength, abs=1e-9)


def test_a_step_is_owed_to_the_feature_that_its_node_asks_for():
    """Two nodes, a above b: the way to the leaf 2.0 goes from 0.3 over 0.9."""
    trees = parse_trees(trees_file([[[0, 1], [0.5, 0.5], [-1, -2], [1, -3], [0, 0], [-1.0, 0.5, 2.0], [0.3, 0.9]]]))
    assert trees.usual == 0.3
    assert trees.explain([{"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 1.0}]) == [
        pytest.approx({"a": 0.6, "b": 1.1}), pytest.approx({"a": -1.3}),
    ]  # fmt: skip
    assert trees.explain([]) == []
