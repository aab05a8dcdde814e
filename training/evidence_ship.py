"""Fit on all trackers and write what the product ranks by: the trees of each family of embedders, their distributions
and curves, and scores of LightGBM that a test compares with ours.

    python training/evidence_ship.py [VERSION]      default: the next one; trackers and ranks are bench/evidence.py's

Needs LightGBM (requirements/ranker.txt) and the extra minilm. The same inputs and versions give the same bytes.
"""

import hashlib
import json
import pathlib
import sys
import textwrap

import lightgbm
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import evidence
from forgelore.compare.calibration import fit_curve
from forgelore.compare.shipped import VERSION
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
HEAD = '''"""Shipped rankers: the trees, distributions and curves that come with the program, by family of embedders.

Written by `python training/evidence_ship.py` from public trackers, trees as files in `ranker_data`; what they are worth
on a tracker they were not fitted on is in bench/results/evidence.md. "lore+minilm" is for stores that have vectors of
both. "other" is for embedders that nobody fitted on: it looks at positions in the list of neighbours, never at a cosine
itself. "words" is for no vectors at all.
"""

from functools import cache
from pkgutil import get_data

from forgelore.compare.calibration import Curve, Distribution, Distributions
from forgelore.compare.trees import Trees, parse_trees

VERSION = {version}  # grows with every change of trees or evidence: strengths of two versions are never compared
FAMILIES = ("lore", "lore+minilm", "other", "words")
# Mean and deviation of the cosines of a list, of the embedders that were measured.
USUAL_COSINES = {{"lore": {usual}, "minilm": (0.321, 0.085)}}


@cache
def load_trees(family: str) -> Trees:
    """Return the trees of a family; read once, in 5 ms."""
    text = get_data("forgelore.compare", f"ranker_data/{{family}}.json")
    assert text is not None, f"the package lacks the trees of {{family}}"
    return parse_trees(text.decode())


def _steps(*of_states: str) -> Distributions:
    """All strengths, those of open matches, those of closed ones."""
    return Distributions(*(Distribution(tuple(float(step) for step in text.split())) for text in of_states))


'''


def ship(version: int = VERSION + 1) -> None:
    lore, words = load_seconds(), load_trackers("words")
    families = {
        "lore": (lore, columns()),
        "lore+minilm": (lore, columns(with_second=True)),
        "other": (lore, columns(with_cosine=False)),
        "words": (words, columns(with_vectors=False)),
    }
    recipe = RECIPES[0]
    distributions, curves, scores = [], [], {}
    (CORE / "ranker_data").mkdir(exist_ok=True)
    for name, (trackers, used) in families.items():
        fit = fit_trackers(with_less_known(trackers), used, recipe)
        made = describe(trackers, used, recipe, "words" if name == "words" else name.replace("other", "lore"))
        text = export_trees(fit.booster.model_to_string(), name=name, version=version, made=made)
        (CORE / "ranker_data" / f"{name}.json").write_text(text, encoding="utf-8")
        scores[name] = sample_scores(fit, trackers, json.loads(text)["trees"])
        # Trees know the trackers they were grown on too well: strengths are taken from trees without each.
        held = evidence.hold_out(trackers, used)
        distributions.append(distribution_text(name, held))
        curve = fit_curve([case for one in held for case in cases_of(one.tracker, one.fit)], START, prior=0.0)
        pairs = sum(int(is_asked(tracker.queries).sum()) for tracker in trackers)
        curves.append(
            f'    "{name}": Curve({curve.slope:.4f}, {curve.intercept:.4f}, {pairs}, most={curve.most:.4f}),\n'
        )
    text = HEAD.format(version=version, usual=usual(lore))
    text += "DISTRIBUTIONS = {\n" + "".join(distributions) + "}\nCURVES = {\n" + "".join(curves) + "}\n"
    (CORE / "shipped.py").write_text(text, encoding="utf-8")
    SCORES.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    print("shipped.py written; run ruff format on it")


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


def distribution_text(name: str, held: list[Held]) -> str:
    parts = []
    for part in evidence.shipped_distribution([(one.tracker, one.fit) for one in held]):
        steps = " ".join(f"{strength:g}" for strength in part.strengths)
        parts.append("".join(f'        "{line} "\n' for line in textwrap.wrap(steps, 100)))
    return f'    "{name}": _steps(\n{",".join(parts)}    ),\n'


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
