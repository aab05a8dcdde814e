"""The reference distribution that a pair is measured by: the model that fits the vectors, the project's curve.

What the project has of its own is used as soon as there is enough of it; what comes with the program until then.

A second embedder, whose vectors are stored beside, says how near it puts an item to its candidates. They are found
without it; it only affects their order. Either all candidates have a second vector, or none is looked at: strengths
with and without it belong to two models and are never compared.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from forgelore.compare.calibration import MIN, SAME, Curve, Distributions, load_shipped
from forgelore.compare.evidence import compare_second, was_open
from forgelore.compare.trees import FAMILIES, USUAL_COSINES, VERSION, Trees, load_trees
from forgelore.errors import LoreError, StoreError
from forgelore.index.cleaning import first_chunk
from forgelore.records import BestMatch
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import (
    CalibrationScope,
    is_calibrated_otherwise,
    list_outdated,
    load_calibration,
    load_strengths,
)
from forgelore.store.database import Store
from forgelore.store.hits import Subject
from forgelore.store.sqlite.fulltext import estimate_documents
from forgelore.store.sqlite.vector_rows import has_second_vectors, load_second_vectors
from forgelore.text.values import check_vector, unpack_vector

if TYPE_CHECKING:
    from forgelore.text.values import Vector


def compare_by_second(retriever: Retriever, subject: Subject, item_ids: list[int]) -> list[dict[str, float]] | None:
    """Return the numbers of each candidate by the second embedder; None where not all of them have a vector of it."""
    second = retriever.second
    if second is None or not item_ids:
        return None
    stored = load_second_vectors(retriever.store, second.fingerprint(), [subject.item_id, *item_ids])
    if any(item_id not in stored for item_id in item_ids):
        return None
    if subject.item_id in stored:
        packed = stored[subject.item_id]
        mine = unpack_vector(packed) if packed.data else None
    else:
        mine = _measure(retriever, subject)
    if mine is None:
        return None
    # What has no words is near nothing.
    cosines = [
        float(unpack_vector(stored[item_id]) @ mine) if len(stored[item_id].data) == mine.size else 0.0
        for item_id in item_ids
    ]
    return compare_second(cosines)


def has_second_cosines(retriever: Retriever, project_id: int, kind: str) -> bool:
    """Tell whether items of a kind would be compared by it now."""
    second = retriever.second
    return second is not None and has_second_vectors(retriever.store, second.fingerprint(), project_id, kind)


def _measure(retriever: Retriever, subject: Subject) -> "Vector | None":
    """Return the vector of a text that is not stored; None where it has none."""
    assert retriever.second is not None
    first = first_chunk(subject.title, subject.body, max_chars=retriever.second.chunk_chars)
    try:
        found = check_vector(retriever.second.embed_passages([first.passage])[0], None)
    except StoreError:
        raise
    except LoreError:  # the first embedder's word is enough
        return None
    return None if isinstance(found, str) else found


STRENGTHS = 500  # the newest strengths: further back, when a tracker had fewer items, they had no near neighbour
FEW_ITEMS = 200  # below that, a project's own distribution is chance


def name_model(retriever: Retriever, *, with_vectors: bool, with_second: bool = False) -> str:
    """Return what weighs pairs, "family version embedder": by the vectors of the embedder, and `with_second` by those
    beside them.
    """
    embedder = retriever.embedder if with_vectors else None
    if embedder is None:
        return f"words {VERSION}"
    name, prints = embedder.name if embedder.name in USUAL_COSINES else "other", embedder.fingerprint()
    if with_second and retriever.second is not None and f"{name}+{retriever.second.name}" in FAMILIES:
        name, prints = f"{name}+{retriever.second.name}", f"{prints} {retriever.second.fingerprint()}"
    return f"{name} {VERSION} {prints}"


def load_trees_of(model: str) -> Trees:
    return load_trees(_family(model))


def find_usual_cosines(model: str) -> tuple[float, float] | None:
    """Return mean and deviation of the cosines in a list of the model's embedder; None where they are not known."""
    return USUAL_COSINES.get(model.partition(" ")[0].partition("+")[0])


def scope_of(retriever: Retriever, project_id: int, kind: str) -> CalibrationScope:
    """Return whose strengths a ranking of such items would be compared with now."""
    try:
        retriever.stored_embedder()
    except StoreError:
        raise
    except LoreError:
        return CalibrationScope(project_id, kind, name_model(retriever, with_vectors=False))
    with_second = has_second_cosines(retriever, project_id, kind)
    return CalibrationScope(project_id, kind, name_model(retriever, with_vectors=True, with_second=with_second))


def load_distribution(store: Store, scope: CalibrationScope) -> Distributions:
    """Return the distributions of strengths: the project's own, or the shipped ones while it has too few items."""
    strengths = load_strengths(store, scope, limit=STRENGTHS)
    if len(strengths) >= MIN and estimate_documents(store) >= FEW_ITEMS:
        return Distributions.of(strengths)
    return shipped_distribution(scope)


def shipped_distribution(scope: CalibrationScope) -> Distributions:
    return load_shipped(_family(scope.model))[0]


def load_curve(store: Store, scope: CalibrationScope) -> Curve:
    """Return the curve that `calibrate` fitted for the project, or the shipped one."""
    stored = load_calibration(store, scope)
    if stored is None:
        return shipped_curve(scope)
    slope, intercept, most, pairs = stored
    return Curve(slope, intercept, pairs, "project", most)


def warn_of_old_calibration(store: Store, scope: CalibrationScope) -> list[str]:
    """Return a warning where the chance was fitted for a model that does not rank any more: it is not used."""
    outdated = {kind for kind, _ in list_outdated(store, scope.project_id, VERSION)}
    if scope.kind not in outdated or not is_calibrated_otherwise(store, scope):
        return []
    changed = f"the ranking has changed since the {scope.kind}s were calibrated"
    until = "the shipped chance is used until the next sync or import recalibrates them"
    return [f"{changed}; {until}; to recalibrate now, run: forgelore calibrate"]


def shipped_curve(scope: CalibrationScope) -> Curve:
    return load_shipped(_family(scope.model))[1]


def similarity_of(
    distribution: Distributions, strength: float, features: Mapping[str, float], *, most: float = 1.0
) -> float:
    """Return the position of a strength, at most `most`. What has the same text is as similar as can be, and near
    copies almost.
    """
    if features["same"] == 1:
        return 1.0
    position = min(most, distribution.position(BestMatch(strength, was_open(features))))
    return max(position, SAME) if features["same"] else position


def _family(model: str) -> str:
    """Return the family of trees that a model belongs to, by the first word of its name."""
    name = model.partition(" ")[0]
    return name if name in FAMILIES else "other"
