"""Any server with OpenAI's `POST /embeddings`: OpenAI itself, vLLM, llama.cpp, LM Studio, text-embeddings-inference …

https://platform.openai.com/docs/api-reference/embeddings. Nothing tells which build of a model answers, so the
fingerprint names the server too: two servers may call different weights by the same name.
"""

from msgspec import Struct

from forgelore.embedders.families import rules
from forgelore.embedders.serving import ServedEmbedder
from forgelore.embedders.talking import Hints, Line, Manners, Patience
from forgelore.errors import EmbeddingFailed

URL = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
KEY_ENV = "OPENAI_API_KEY"


class Entry(Struct):
    index: int
    embedding: list[float]


class OpenAIAnswer(Struct):
    data: list[Entry]


class OpenAI(ServedEmbedder):
    """A model behind an address that ends before `/embeddings`, most often in `/v1`."""

    name = "openai"
    request_size = 64

    def __init__(
        self, url: str = "", model: str = "", *, key: str = "", key_env: str = KEY_ENV, manners: Manners | None = None,
        concurrency: int = 1,
    ) -> None:  # fmt: skip
        model = model or MODEL
        hints = Hints(
            unreachable="check the network and embedder_url (most end in /v1)",
            model="check embedder_model; the server lists its own at /models",
            auth=f"{'check the key in' if key else 'put a key into'} {key_env}",
        )
        line = Line(url or URL, model, hints, manners=manners or Manners(), key=key)
        super().__init__(line, model, concurrency=concurrency)

    def fingerprint(self) -> str:
        return f"openai {self.line.host} {self.model} {rules(self.family)}"

    def fetch_vectors(self, texts: list[str], *, patience: Patience) -> list[list[float]]:
        payload = {"model": self.model, "encoding_format": "float"}
        answer = self.line.fetch_vectors("/embeddings", payload, texts, kind=OpenAIAnswer, patience=patience)
        found = {entry.index: entry.embedding for entry in answer.data}
        if sorted(found) != list(range(len(texts))) or len(answer.data) != len(texts):
            raise EmbeddingFailed(f"{self.line.host} sent {len(answer.data)} vectors for {len(texts)} texts")
        return [found[index] for index in range(len(texts))]
