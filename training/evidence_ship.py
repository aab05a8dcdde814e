"""Fit on all trackers and write src/forgelore/core/compare/shipped.py: weights, distributions and curves by embedder
family.

    python training/evidence_ship.py [VERSION]      default: the next one; trackers and ranks are bench/evidence.py's
"""

import pathlib
import sys
import textwrap

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import evidence
from forgelore.core.compare.calibration import fit_curve
from forgelore.core.compare.evidence import FEATURES
from forgelore.core.compare.shipped import VERSION
from lib.common import ROOT
from lib.evidence_chance import START, cases_of
from lib.evidence_data import Tracker, load_trackers
from lib.evidence_fit import Fit, columns, fit_trackers, is_asked

TARGET = ROOT / "src" / "forgelore" / "core" / "compare" / "shipped.py"
HEAD = '''"""The models, distributions and curves that come with the program, by family of embedder.

Written by `python training/evidence_ship.py` from three public trackers; what they are worth on a tracker they were
not fitted on is in bench/results/evidence.md. "other" is for embedders that nobody measured: it looks at positions in
the list of neighbours, never at a cosine itself. "words" is for no vectors at all.
"""

from forgelore.core.compare.calibration import Curve, Distribution, Model


def _steps(text: str) -> Distribution:
    return Distribution(tuple(float(step) for step in text.split()))


VERSION = {version}  # grows with every change of weights or evidence: strengths of two versions are never compared

'''


def ship(version: int = VERSION + 1) -> None:
    lore, minilm, words = (load_trackers(name) for name in ("lore", "minilm", "words"))
    families = {
        "lore": (lore, columns(), usual(lore)),
        "minilm": (minilm, columns(), usual(minilm)),
        "other": ([*lore, *minilm], columns(with_cosine=False), None),
        "words": (words, columns(with_vectors=False), None),
    }
    models, distributions, curves = [], [], []
    for name, (trackers, used, cosines) in families.items():
        fit = fit_trackers(trackers, used)
        models.append(model_text(name, fit, cosines))
        distributions.append(distribution_text(name, trackers, fit))
        cases = [case for tracker in trackers for case in cases_of(tracker, fit)]
        curve = fit_curve(cases, START, prior=0.0)
        pairs = sum(int((is_asked(tracker.queries)).sum()) for tracker in trackers[:3])
        curves.append(
            f'    "{name}": Curve({curve.slope:.4f}, {curve.intercept:.4f}, {pairs}, most={curve.most:.4f}),\n'
        )
    text = HEAD.format(version=version)
    text += "MODELS = {\n" + "".join(models) + "}\nDISTRIBUTIONS = {\n" + "".join(distributions) + "}\n"
    text += "CURVES = {\n" + "".join(curves) + "}\n"
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.name} written; run ruff format on it")


def model_text(name: str, fit: Fit, cosines: tuple[float, float] | None) -> str:
    bias, weights = fit.as_model()
    told = ", ".join(f'"{feature}": {weight}' for feature, weight in weights.items())
    return f'    "{name}": Model(\n        "{name}", {bias},\n        {{{told}}}, {cosines!r},\n    ),\n'


def distribution_text(name: str, trackers: list[Tracker], fit: Fit) -> str:
    steps = " ".join(f"{strength:g}" for strength in evidence.shipped_distribution(trackers, fit).strengths)
    lines = "".join(f'        "{line} "\n' for line in textwrap.wrap(steps, 100))
    return f'    "{name}": _steps(\n{lines}    ),\n'


def usual(trackers: list[Tracker]) -> tuple[float, float]:
    """Mean and deviation of the cosines of a list, read off from candidates whose cosine and position are known."""
    cosine, position = FEATURES.index("cosine"), FEATURES.index("cosine_z")
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
