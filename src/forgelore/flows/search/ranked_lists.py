"""Ranked lists of a search: what words found and what meaning found, at one depth, before they are fused."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from forgelore.store.engine.fulltext import Found

if TYPE_CHECKING:
    from forgelore.store.engine.vectors import Near


class RankedLists(NamedTuple):
    """Both lists at one depth, best first."""

    words: list[Found]
    vectors: "list[Near]"

    def as_ranked(self) -> list[list[tuple[int, float]]]:
        return [
            [(one.document_id, one.score) for one in self.words],
            [(one.document_id, one.cosine) for one in self.vectors],
        ]

    def is_cut(self, depth: int) -> bool:
        return len(self.words) >= depth or len(self.vectors) >= depth

    def rescored(self, cosines: Mapping[int, float]) -> "RankedLists":
        """Return them with other cosines as the vector list. Where a hit begins is still what the first one said."""
        from forgelore.store.engine.vectors import Near

        chunks = {near.document_id: near.chunk_id for near in self.vectors}
        near = [Near(document_id, cosine, chunks.get(document_id, 0)) for document_id, cosine in cosines.items()]
        return RankedLists(self.words, sorted(near, key=lambda one: (-one.cosine, one.document_id)))
