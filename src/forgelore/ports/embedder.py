"""The embedder port: texts to vectors, as jobs ask for them."""

from collections.abc import Sequence
from typing import Protocol

from forgelore.errors import EmbeddingFailed
from forgelore.words import Passage


class Embedder(Protocol):
    """Turns text into vectors. Nobody has checked what comes back yet: that is `text/values`.

    `embed_passages` returns one entry per passage, in their order: a vector, or an `EmbeddingFailed` (as a value) where
    that passage alone was refused. What concerns the whole service is raised, and so is everything about a query.

    `fingerprint` names everything that shapes a vector (model, version, prefixes, cleaning): vectors of different
    fingerprints never meet. Making an embedder is cheap; the first call loads the model or finds the server.
    """

    name: str  # minilm, ollama, openai
    model: str
    chunk_chars: int  # how much text one vector may stand for
    batch_size: int  # how many passages one call takes
    floor: float  # the cosine that nonsense reaches: nearness below it means nothing by itself; -1: not known

    def fingerprint(self) -> str: ...
    def embed_passages(self, passages: Sequence[Passage]) -> Sequence[Sequence[float] | EmbeddingFailed]: ...
    def embed_query(self, text: str) -> Sequence[float]: ...
    def close(self) -> None: ...
