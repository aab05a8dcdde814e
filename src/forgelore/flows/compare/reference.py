"""The reference that a pair is measured by: the model that fits the vectors, the project's distribution, its curve.

What the project has of its own is used as soon as there is enough of it; what comes with the program until then.
"""

from collections.abc import Mapping

from forgelore.core.compare.calibration import LEAST, SAME, Curve, Distribution, Model
from forgelore.core.compare.shipped import CURVES, DISTRIBUTIONS, MODELS, VERSION
from forgelore.errors import LoreError, StoreError
from forgelore.flows.search.retriever import Retriever
from forgelore.store.calibrations import CalibrationScope, load_calibration, load_strengths
from forgelore.store.db import Store
from forgelore.store.engine.words import estimate_documents

SAMPLE = 1_000  # the newest strengths that make the distribution
FEW_ITEMS = 200  # below that, a project's own distribution is chance


def choose_model(retriever: Retriever, *, with_vectors: bool) -> tuple[Model, str]:
    """Return the model that fits the vectors, and the name of what its strengths are made by."""
    embedder = retriever.embedder if with_vectors else None
    if embedder is None:
        return MODELS["words"], f"words {VERSION}"
    model = MODELS.get(embedder.name, MODELS["other"])
    return model, f"{model.name} {VERSION} {embedder.fingerprint()}"


def scope_of(retriever: Retriever, project_id: int, kind: str) -> CalibrationScope:
    """Return whose strengths a ranking of such items would be compared with now."""
    try:
        retriever.stored_embedder()
    except StoreError:
        raise
    except LoreError:
        return CalibrationScope(project_id, kind, choose_model(retriever, with_vectors=False)[1])
    return CalibrationScope(project_id, kind, choose_model(retriever, with_vectors=True)[1])


def load_distribution(store: Store, scope: CalibrationScope) -> Distribution:
    """Return the distribution of strengths: the project's own, or the shipped one while it has too few items."""
    strengths = load_strengths(store, scope, limit=SAMPLE)
    if len(strengths) >= LEAST and estimate_documents(store) >= FEW_ITEMS:
        return Distribution.of(strengths)
    return shipped_distribution(scope)


def shipped_distribution(scope: CalibrationScope) -> Distribution:
    return DISTRIBUTIONS[_family(scope)]


def load_curve(store: Store, scope: CalibrationScope) -> Curve:
    """Return the curve that `calibrate` fitted for the project, or the shipped one."""
    stored = load_calibration(store, scope)
    if stored is None:
        return shipped_curve(scope)
    return Curve(stored.slope, stored.intercept, stored.pairs, "project", stored.most)


def shipped_curve(scope: CalibrationScope) -> Curve:
    return CURVES[_family(scope)]


def similarity_of(distribution: Distribution, strength: float, features: Mapping[str, float]) -> float:
    """Return the position of a strength. What has the same text is as similar as can be, and near copies almost."""
    if features["same"] == 1:
        return 1.0
    position = distribution.position(strength)
    return max(position, SAME) if features["same"] else position


def _family(scope: CalibrationScope) -> str:
    return scope.model.split(" ")[0]
