"""Ollama: models on this machine, or behind https://.

https://docs.ollama.com/api/embed and /api/tags. `truncate` should cut what is longer than the context, but releases
since 0.13.5 answer 400 all the same (ollama/ollama#14186): `serving` halves such a passage.
"""

from collections.abc import Sequence

from msgspec import Struct

from forgelore.embedders.families import rules
from forgelore.embedders.serving import ServedEmbedder, VectorOrFailure
from forgelore.embedders.talking import QUERY, Hints, Line, Manners, Patience, read_as
from forgelore.errors import EmbedderUnreachable, EmbeddingFailed, ModelNotFound
from forgelore.words import Passage

URL = "http://127.0.0.1:11434"
MODEL = "nomic-embed-text"


class Tag(Struct):
    name: str
    digest: str = ""


class Tags(Struct):
    models: list[Tag] | None  # null on a server that never pulled one


class OllamaAnswer(Struct):
    embeddings: list[list[float]]


class Ollama(ServedEmbedder):
    """A model of an Ollama server. The first call asks whether server and model are there."""

    name = "ollama"

    def __init__(self, url: str = "", model: str = "", *, manners: Manners | None = None, concurrency: int = 1) -> None:
        model = model or MODEL
        hints = Hints(
            unreachable="is Ollama running? start it with: ollama serve",
            model=f"ollama pull {model}",
            auth="Ollama asks for no key; what stands before it at embedder_url does",
        )
        super().__init__(Line(url or URL, model, hints, manners=manners or Manners()), model, concurrency=concurrency)
        self._hints = hints
        self._digest: str | None = None

    def fingerprint(self) -> str:
        return f"ollama {_bare(self.model)} {self._fetch_digest()[:12]} {rules(self.family)}"

    def embed_passages(self, passages: Sequence[Passage]) -> Sequence[VectorOrFailure]:
        self._fetch_digest()
        return super().embed_passages(passages)

    def embed_query(self, text: str) -> Sequence[float]:
        self._fetch_digest()
        return super().embed_query(text)

    def fetch_vectors(self, texts: list[str], *, patience: Patience) -> list[list[float]]:
        payload = {"model": self.model, "truncate": True}
        answer = self.line.fetch_vectors("/api/embed", payload, texts, kind=OllamaAnswer, patience=patience)
        return answer.embeddings

    def _fetch_digest(self) -> str:
        """Return which build of the model the server has. Raises when the server or the model is not there."""
        if self._digest is None:
            try:
                tags = read_as(Tags, self.line.fetch("/api/tags", patience=QUERY), self.line.host)
            except EmbeddingFailed as error:
                raise EmbedderUnreachable(
                    f"{self.line.host} does not answer as Ollama does", hint="check embedder_url"
                ) from error
            digests = {_bare(tag.name): tag.digest for tag in tags.models or ()}
            if _bare(self.model) not in digests:
                raise ModelNotFound(f"Ollama has no model {self.model!r}", hint=self._hints.model)
            self._digest = digests[_bare(self.model)]
        return self._digest


def _bare(model: str) -> str:
    """`nomic-embed-text` and `nomic-embed-text:latest` are one model."""
    return model.lower().removesuffix(":latest")
