"""Embedders behind a server: Ollama, and any server with OpenAI's `POST /embeddings` (vLLM, llama.cpp, LM Studio …).

https://docs.ollama.com/api/embed and /api/tags. `truncate` should cut what is longer than the context, but releases
since 0.13.5 answer 400 all the same (ollama/ollama#14186): `serving` halves such a passage.
https://platform.openai.com/docs/api-reference/embeddings. Nothing tells which build of a model answers, so the
fingerprint names the server too: two servers may call different weights by the same name.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from forgelore.config import OWN_EMBEDDERS, Config, host_of
from forgelore.embedders.serving import QUERY, Hints, Line, Patience, ServedEmbedder, VectorOrFailure, read_as, rules
from forgelore.errors import EmbedderUnreachable, EmbeddingFailed, ModelNotFound
from forgelore.net.model_server import HttpOptions
from forgelore.words import Passage

OLLAMA_URL = "http://127.0.0.1:11434"
OLLAMA_MODEL = "nomic-embed-text"


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

    def __init__(
        self, url: str = "", model: str = "", *, options: HttpOptions | None = None, concurrency: int = 1
    ) -> None:
        model = model or OLLAMA_MODEL
        hints = Hints(
            unreachable="is Ollama running? start it with: ollama serve",
            model=f"ollama pull {model}",
            auth="Ollama itself needs no key; the proxy at embedder_url does",
        )
        super().__init__(
            Line(url or OLLAMA_URL, model, hints, options=options or HttpOptions()), model, concurrency=concurrency
        )
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


OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "text-embedding-3-small"
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
        self, url: str = "", model: str = "", *, key: str = "", key_env: str = KEY_ENV,
        options: HttpOptions | None = None,
        concurrency: int = 1,
    ) -> None:  # fmt: skip
        model = model or OPENAI_MODEL
        hints = Hints(
            unreachable="check the network and embedder_url (most end in /v1)",
            model="check embedder_model; the server lists its own at /models",
            auth=f"{'check the key in' if key else 'put a key into'} {key_env}",
        )
        line = Line(url or OPENAI_URL, model, hints, options=options or HttpOptions(), key=key)
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


def make_served(name: str, config: Config, environ: Mapping[str, str], options: HttpOptions) -> ServedEmbedder:
    """Return the embedder of that name under the settings; nothing is asked yet."""
    # Address and model were written for the embedder of the settings: a server that is named instead has its own.
    is_meant = config.embedder in (name, *OWN_EMBEDDERS, "none")
    asked = config if is_meant else config._replace(embedder_url="", embedder_model="")
    return {"ollama": _make_ollama, "openai": _make_openai}[name](asked, environ, options)


def _make_ollama(config: Config, _environ: Mapping[str, str], options: HttpOptions) -> ServedEmbedder:
    return Ollama(config.embedder_url, config.embedder_model, options=options, concurrency=config.embedder_concurrency)


def _make_openai(config: Config, environ: Mapping[str, str], options: HttpOptions) -> ServedEmbedder:
    # A key goes to its own host: OpenAI's to OpenAI, any other only where the user says which.
    is_openai = not config.embedder_url or host_of(config.embedder_url) == host_of(OPENAI_URL)
    key_env = config.embedder_key_env or (KEY_ENV if is_openai else "")
    key = environ.get(key_env, "").strip() if key_env else ""
    return OpenAI(
        config.embedder_url, config.embedder_model, key=key,
        key_env=key_env or "a variable and name it in embedder_key_env", options=options,
        concurrency=config.embedder_concurrency,
    )  # fmt: skip
