"""Trees that LightGBM grows here and now, exported, give its raw scores to the last bit. Left out without LightGBM."""

import importlib
import pathlib
import sys

import numpy as np
import pytest

from forgelore.compare.trees import parse_trees

lightgbm = pytest.importorskip("lightgbm")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
export_trees = importlib.import_module("tree_export").export_trees
NAMES = [f"f{number}" for number in range(7)]


def made_up_rows(seed=0, count=3000):
    """Numbers of all kinds: the first column is always known, the third is whole, a tenth of the others unknown."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(count, len(NAMES)))
    rows[:, 2] = np.round(rows[:, 2])
    rows[chance.random(rows.shape) < 0.1] = np.nan
    rows[:, 0] = np.nan_to_num(rows[:, 0])
    is_gold = np.nan_to_num(rows).sum(axis=1) + chance.normal(size=count) > 1
    return rows, is_gold.astype(int)


@pytest.fixture(scope="module", params=[("binary",), ("lambdarank",), ("binary", "lambdarank")])
def grown(request):
    """A booster of one stage, or of two that follow each other."""
    rows, is_gold = made_up_rows()
    booster = None
    for objective in request.param:
        groups = [30] * 100 if objective == "lambdarank" else None
        told = lightgbm.Dataset(rows, is_gold, group=groups, feature_name=NAMES, free_raw_data=False)
        settings = {"objective": objective, "num_leaves": 12, "verbose": -1, "num_threads": 1}
        booster = lightgbm.train(settings, told, 40, init_model=booster)
    return booster


def test_every_score_is_lightgbms_to_the_last_bit(grown):
    trees = parse_trees(export_trees(grown.model_to_string(), name="t", version=1, made={}))
    rows, _ = made_up_rows(1, 500)
    known = np.nan_to_num(rows[:50])
    at_thresholds = np.zeros((len(trees.nodes.threshold), len(NAMES)))
    at_thresholds[np.arange(len(at_thresholds)), trees.nodes.feature] = trees.nodes.threshold
    unknown = np.full((1, len(NAMES)), np.nan)
    asked = np.concatenate([rows, known, 9 * rows[:50], at_thresholds, unknown])
    ours = trees.strengths([dict(zip(NAMES, row, strict=True)) for row in asked.tolist()])
    assert ours == grown.predict(asked, raw_score=True).tolist()


def test_a_model_that_learned_nothing_is_exported_too():
    rows, _ = made_up_rows()
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(rows, np.zeros(len(rows))), 3)
    trees = parse_trees(export_trees(booster.model_to_string(), name="t", version=1, made={}))
    assert trees.strengths([{}]) == booster.predict(rows[:1], raw_score=True).tolist()
