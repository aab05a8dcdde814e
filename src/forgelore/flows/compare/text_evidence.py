"""Evidence of texts: what a question and each of its candidates have in common, with their places in both lists."""

from collections.abc import Sequence
from typing import NamedTuple

from forgelore.core.compare.evidence import Profile, QueryProfile, Signals, compare
from forgelore.core.search.fuse import DEPTH, Fused, Scale
from forgelore.flows.compare.shortlist import Shortlist
from forgelore.flows.search.retriever import Retriever

_LONG = 50  # candidates of a list whose spread speaks for itself


class _Spread(NamedTuple):
    """How the scores of a list are spread, and how far a position among them may be trusted."""

    scale: Scale
    trust: float

    @classmethod
    def of(cls, scores: list[float]) -> "_Spread":
        return cls(Scale.of(scores), min(1.0, len(scores) / _LONG))


class TextEvidence:
    """Compares the candidates of one shortlist. `usual`: mean and deviation of the embedder's cosines in a list, where
    they are known; `is_rescored`: another embedder than that of the lists gave the cosines.
    """

    def __init__(
        self, retriever: Retriever, found: Shortlist, *, usual: tuple[float, float] | None, is_rescored: bool
    ) -> None:
        self._retriever, self._found, self._usual = retriever, found, usual
        words, near = (_Spread.of([score for _, score in ranked[:DEPTH]]) for ranked in found.lists.as_ranked())
        # Candidates that others chose are no list of neighbours. By positions among them, 14 of 450 ordinary issues
        # had a similarity of 0.92 or more, by the embedder's usual cosines 35, and 36 are meant to.
        self._words, self._near = words, near._replace(trust=0.0) if is_rescored else near

    def compare(self, asked: QueryProfile, candidates: Sequence[tuple[Fused, Profile]]) -> list[dict[str, float]]:
        """Return the numbers of each candidate."""
        cosines, pairs = self._cosines([one for one, _ in candidates]), []
        words, near = self._words, self._near
        for one, profile in candidates:
            cosine = cosines.get(one.id)
            signals = Signals(
                cosine, near.scale.standardise(cosine), words.scale.standardise(one.scores[0]), near.trust, words.trust,
                self._usual_position(cosine),
            )  # fmt: skip
            pairs.append(compare(asked, profile, signals))
        return pairs

    def _usual_position(self, cosine: float | None) -> float | None:
        if cosine is None or self._usual is None:
            return None
        mean, deviation = self._usual
        return (cosine - mean) / deviation

    def _cosines(self, candidates: list[Fused]) -> dict[int, float]:
        """Return how near candidates are, also those that only their words brought here; none without vectors."""
        known = {one.id: one.scores[1] for one in candidates if one.scores[1] is not None}
        vector = self._found.vector
        if vector is None or len(known) == len(candidates):
            return known
        from forgelore.core.search.vectors import unpack_vector
        from forgelore.store.engine.vectors import load_vectors

        unknown = [one.id for one in candidates if one.id not in known]
        packed = load_vectors(self._retriever.store, self._retriever.stored_embedder().id, unknown)
        return known | {each: float(unpack_vector(one) @ vector) for each, one in packed.items()}
