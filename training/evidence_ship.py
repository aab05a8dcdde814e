"""Fit on all trackers and write what the product ranks by: the trees of each family of embedders, their distributions
and curves, and scores of LightGBM that a test compares with ours.

    python training/evidence_ship.py [VERSION]      default: the next one; trackers and ranks are bench/evidence.py's

Needs LightGBM (requirements/ranker.txt) and the extra minilm. The same inputs and versions give the same bytes.
"""

import hashlib
import json
import pathlib
import re
import sys

import lightgbm
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import evidence
from forgelore.compare.calibration import Curve, fit_curve
from forgelore.compare.trees import VERSION
from lib.common import ROOT
from lib.evidence_chance import START, cases_of
from lib.evidence_choice import RECIPES
from lib.evidence_data import COLUMNS, Tracker, load_trackers
from lib.evidence_fit import Fit, Held, Recipe, columns, fit_trackers, is_asked, with_less_known
from lib.evidence_second import load_seconds
from quality import CORPORA
from tree_export import export_trees

CORE = ROOT / "src" / "forgelore" / "compare"
SCORES = ROOT / "tests" / "core" / "shipped_scores.json"


def ship(version: int = VERSION + 1) -> None:
    lore, words = load_seconds(), load_trackers("words")
    families = {
        "lore": (lore, columns()),
        "lore+minilm": (lore, columns(with_second=True)),
        "other": (lore, columns(with_cosine=False)),
        "words": (words, columns(with_vectors=False)),
    }
    recipe = RECIPES[0]
    strengths, scores = [], {}
    (CORE / "ranker_data").mkdir(exist_ok=True)
    for name, (trackers, used) in families.items():
        fit = fit_trackers(with_less_known(trackers), used, recipe)
        made = describe(trackers, used, recipe, "words" if name == "words" else name.replace("other", "lore"))
        text = export_trees(fit.booster.model_to_string(), name=name, version=version, made=made)
        (CORE / "ranker_data" / f"{name}.json").write_text(text, encoding="utf-8")
        scores[name] = sample_scores(fit, trackers, json.loads(text)["trees"])
        # Trees know the trackers they were grown on too well: strengths are taken from trees without each.
        held = evidence.hold_out(trackers, used)
        curve = fit_curve([case for one in held for case in cases_of(one.tracker, one.fit)], START, prior=0.0)
        pairs = sum(int(is_asked(tracker.queries).sum()) for tracker in trackers)
        strengths.append(strengths_text(name, held, curve._replace(pairs=pairs)))
    (CORE / "ranker_data" / "strengths.json").write_text("{" + ",\n".join(strengths) + "}\n", encoding="utf-8")
    module = CORE / "trees.py"
    text = re.sub(r"^VERSION = \d+", f"VERSION = {version}", module.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = re.sub(r'(?<=^USUAL_COSINES = {"lore": )\([^()]*\)', str(usual(lore)), text, flags=re.MULTILINE)
    module.write_text(text, encoding="utf-8")
    SCORES.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    print("ranker_data and trees.py written")


def describe(trackers: list[Tracker], used: list[int], recipe: Recipe, embedder: str) -> dict:
    """From what the trees were grown, and how."""
    arrays = hashlib.sha256()
    for tracker in trackers:
        for array in tracker.queries._replace(features=tracker.queries.features[:, used]):
            arrays.update(np.ascontiguousarray(array).tobytes())
    corpora = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for tracker in trackers
        for path in (CORPORA / f"{tracker.name}.jsonl.gz", CORPORA / f"{tracker.name}.queries.jsonl")
    }
    return {
        "with": f"LightGBM {lightgbm.__version__}", "stages": recipe.stages,
        "parameters": recipe.settings(), "ranked_by": embedder,
        "pairs_sha256": arrays.hexdigest(), "trackers_sha256": corpora,
    }  # fmt: skip


def sample_scores(fit: Fit, trackers: list[Tracker], trees: list, *, count: int = 40) -> dict:
    """Rows and what LightGBM makes of them, as exact numbers: real pairs, random numbers, unknown ones, thresholds."""
    chance = np.random.default_rng(7)
    real = np.concatenate([tracker.queries.features[:2000, fit.used] for tracker in trackers])
    rows = np.concatenate([chance.choice(real, count), chance.normal(0, 2, (count, len(fit.used)))])
    rows[chance.random(rows.shape) < 0.1] = np.nan
    nodes = [node for features, thresholds, *_ in trees for node in zip(features, thresholds, strict=True)]
    for at, (feature, threshold) in enumerate(nodes):
        rows[at % count, feature] = threshold
    told = fit.booster.predict(rows, raw_score=True)
    return {
        "rows": [[None if np.isnan(value) else float(value).hex() for value in row] for row in rows],
        "scores": [float(score).hex() for score in told],
    }


def strengths_text(name: str, held: list[Held], curve: Curve) -> str:
    """Return what is usual of a family, and its chance, as an entry of strengths.json."""
    of_states = evidence.shipped_distribution([(one.tracker, one.fit) for one in held])
    parts = ["[" + ", ".join(f"{strength:g}" for strength in part.strengths) + "]" for part in of_states]
    numbers = {
        "slope": round(curve.slope, 4), "intercept": round(curve.intercept, 4), "pairs": curve.pairs,
        "most": round(curve.most, 4),
    }  # fmt: skip
    joined = ",\n ".join(parts)
    return f'"{name}": {{"curve": {json.dumps(numbers)}, "strengths": [\n {joined}]}}'


def usual(trackers: list[Tracker]) -> tuple[float, float]:
    """Mean and deviation of the cosines of a list, read off from candidates whose cosine and position are known."""
    cosine, position = COLUMNS.index("cosine"), COLUMNS.index("cosine_z")
    means, deviations = [], []
    for tracker in trackers:
        ranked = tracker.queries
        for start, end in zip(ranked.start, ranked.start[1:], strict=False):
            if end - start >= 30 and np.ptp(ranked.features[start:end, position]) > 0:
                deviation, mean = np.polyfit(
                    ranked.features[start:end, position], ranked.features[start:end, cosine], 1
                )
                means.append(mean)
                deviations.append(deviation)
    return round(float(np.mean(means)), 3), round(float(np.mean(deviations)), 3)


if __name__ == "__main__":
    ship(*(int(version) for version in sys.argv[1:2]))
