"""The reference that a pair is measured by: the model that fits the vectors, the project's distribution, its curve.

What the project has of its own is used as soon as there is enough of it; what comes with the program until then.
"""

from collections.abc import Mapping
from typing import NamedTuple

from forgelore.core.compare.calibration import LEAST, SAME, Best, Curve, Distributions
from forgelore.core.compare.history_evidence import was_open
from forgelore.core.compare.shipped import CURVES, DISTRIBUTIONS, FAMILIES, USUAL_COSINES, VERSION, load_trees
from forgelore.core.compare.trees import Trees
from forgelore.errors import LoreError, StoreError
from forgelore.flows.compare.second_opinion import has_second_opinion
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import (
    CalibrationScope,
    is_calibrated_otherwise,
    list_outdated,
    load_calibration,
    load_strengths,
)
from forgelore.store.db import Store
from forgelore.store.engine.words import estimate_documents

SAMPLE = 500  # the newest strengths: further back, when a tracker had fewer items, they had no near neighbour
FEW_ITEMS = 200  # below that, a project's own distribution is chance


class Model(NamedTuple):
    """What pairs are weighed by, and the name of what its strengths are made by."""

    family: str  # of its trees
    made_by: str
    usual_cosines: tuple[float, float] | None = None  # mean and deviation in a list, where they are known

    @property
    def trees(self) -> Trees:
        return load_trees(self.family)


def choose_model(retriever: Retriever, *, with_vectors: bool, with_second: bool = False) -> Model:
    """Return the model that fits the vectors: those of the embedder, and `with_second` those beside them."""
    embedder = retriever.embedder if with_vectors else None
    if embedder is None:
        return Model("words", f"words {VERSION}")
    name = embedder.name if embedder.name in USUAL_COSINES else "other"
    usual, prints = USUAL_COSINES.get(name), embedder.fingerprint()
    if with_second and retriever.second is not None and f"{name}+{retriever.second.name}" in FAMILIES:
        name, prints = f"{name}+{retriever.second.name}", f"{prints} {retriever.second.fingerprint()}"
    return Model(_family(name), f"{name} {VERSION} {prints}", usual)


def scope_of(retriever: Retriever, project_id: int, kind: str) -> CalibrationScope:
    """Return whose strengths a ranking of such items would be compared with now."""
    try:
        retriever.stored_embedder()
    except StoreError:
        raise
    except LoreError:
        return CalibrationScope(project_id, kind, choose_model(retriever, with_vectors=False).made_by)
    with_second = has_second_opinion(retriever, project_id, kind)
    return CalibrationScope(
        project_id, kind, choose_model(retriever, with_vectors=True, with_second=with_second).made_by
    )


def load_distribution(store: Store, scope: CalibrationScope) -> Distributions:
    """Return the distributions of strengths: the project's own, or the shipped ones while it has too few items."""
    strengths = load_strengths(store, scope, limit=SAMPLE)
    if len(strengths) >= LEAST and estimate_documents(store) >= FEW_ITEMS:
        return Distributions.of(strengths)
    return shipped_distribution(scope)


def shipped_distribution(scope: CalibrationScope) -> Distributions:
    return DISTRIBUTIONS[_family(scope.model)]


def load_curve(store: Store, scope: CalibrationScope) -> Curve:
    """Return the curve that `calibrate` fitted for the project, or the shipped one."""
    stored = load_calibration(store, scope)
    if stored is None:
        return shipped_curve(scope)
    return Curve(stored.slope, stored.intercept, stored.pairs, "project", stored.most)


def warn_of_old_calibration(store: Store, scope: CalibrationScope) -> list[str]:
    """Return a warning where the chance was fitted for a model that does not rank any more: it is not used."""
    outdated = {kind for kind, _ in list_outdated(store, scope.project_id, VERSION)}
    if scope.kind not in outdated or not is_calibrated_otherwise(store, scope):
        return []
    changed = f"the ranking has changed since the {scope.kind}s were calibrated"
    until = "the shipped chance is used until the next sync or import calibrates them anew"
    return [f"{changed}; {until}; to have it now, run: forgelore calibrate"]


def shipped_curve(scope: CalibrationScope) -> Curve:
    return CURVES[_family(scope.model)]


def similarity_of(
    distribution: Distributions, strength: float, features: Mapping[str, float], *, most: float = 1.0
) -> float:
    """Return the position of a strength, at most `most`. What has the same text is as similar as can be, and near
    copies almost.
    """
    if features["same"] == 1:
        return 1.0
    position = min(most, distribution.position(Best(strength, was_open(features))))
    return max(position, SAME) if features["same"] else position


def _family(model: str) -> str:
    """Return the family of trees that a model belongs to, by the first word of its name."""
    name = model.partition(" ")[0]
    return name if name in FAMILIES else "other"
