"""A server that embeds, in the shapes that Ollama and OpenAI document: /api/tags, /api/version, /api/embed, /v1/embeddings.

Its vectors are bags of hashed words, so that texts with common words are near. Faults of whole answers (status, drop,
truncate, delay, HTML) are those of the base; faults of one text are switched on by a word in it:

    server.spoil["poison"] = "500" | "400" | "nan" | "nan-500" | "null" | "dimension" | "empty" | "missing"
    server.context = 20             more words are refused as too long, with `too_long_status` and `too_long_words`
    server.is_context_shared        ... and so is a batch that has more in all
    server.key = "k"                a request without this bearer gets 401
"""

import hashlib
import itertools
import json
import re

from servers.base import ForgeServer, Request, Response

DIMENSION = 64
DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"


def bag_of_words(text: str, dimension: int = DIMENSION) -> list[float]:
    """A count per hashed word, of length 1; the same text always has the same vector."""
    vector = [0.0] * dimension
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
        vector[int.from_bytes(digest[:3], "big") % dimension] += 1.0 if digest[3] % 2 else -1.0
    norm = sum(value * value for value in vector) ** 0.5 or 1.0
    return [value / norm for value in vector]


class EmbeddingServer(ForgeServer):
    kind = "embedding"
    record_to = None  # no forge: its traffic keeps no contract

    def __init__(self):
        super().__init__()
        self.models = {"nomic-embed-text:latest": DIGEST}
        self.context = 2048
        self.is_context_shared = False
        self.too_long_status = 400
        self.too_long_words = "the input length exceeds the context length"
        self.spoil: dict[str, str] = {}
        self.key = ""
        self.is_shuffled = False

    @property
    def v1(self) -> str:
        return f"{self.url}/v1"

    def inputs(self) -> list[list[str]]:
        """The texts of each request that asked for vectors."""
        return [json.loads(r["body"])["input"] for r in self.requests if r["method"] == "POST"]

    def handle(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return openai_error(401, "Incorrect API key provided.", "invalid_api_key")
        routes = {
            ("GET", "/api/version"): self.version,
            ("GET", "/api/tags"): self.tags,
            ("POST", "/api/embed"): self.ollama,
            ("POST", "/v1/embeddings"): self.openai,
        }
        answer = routes.get((request.method, request.path))
        return answer(request) if answer else Response(404, "404 page not found", {"Content-Type": "text/plain"})

    def version(self, request: Request) -> Response:
        return Response(200, {"version": "0.15.6"})

    def tags(self, request: Request) -> Response:
        details = {"format": "gguf", "family": "nomic-bert", "parameter_size": "137M", "quantization_level": "F16"}
        models = [
            {"name": name, "model": name, "modified_at": "2026-01-02T03:04:05Z", "size": 274302450, "digest": digest, "details": details}
            for name, digest in self.models.items()
        ]  # fmt: skip
        return Response(200, {"models": models or None})

    def ollama(self, request: Request) -> Response:
        asked = request.json()
        name = asked["model"] if ":" in asked["model"] else f"{asked['model']}:latest"
        if name not in self.models:
            return Response(404, {"error": f'model "{asked["model"]}" not found, try pulling it first'})
        status, words, vectors = self.vectors(asked["input"])
        if status != 200:
            return Response(status, {"error": words})
        return answer_with({"model": name, "embeddings": vectors, "total_duration": 14143917, "load_duration": 1019500})

    def openai(self, request: Request) -> Response:
        asked = request.json()
        assert asked["encoding_format"] == "float"
        if asked["model"] not in {name.removesuffix(":latest") for name in self.models}:
            said = f"The model `{asked['model']}` does not exist or you do not have access to it."
            return openai_error(404, said, "model_not_found")
        status, words, vectors = self.vectors(asked["input"])
        if status != 200:
            return openai_error(status, words, None)
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        if self.is_shuffled:
            data.reverse()
        usage = {"prompt_tokens": 8, "total_tokens": 8}
        return answer_with({"object": "list", "data": data, "model": asked["model"], "usage": usage})

    def vectors(self, texts: list[str]) -> tuple[int, str, list]:
        """(status, words, vectors) for the texts of one request."""
        lengths = [len(text.split()) for text in texts]
        if max(lengths) > self.context or (self.is_context_shared and sum(lengths) > self.context):
            return self.too_long_status, self.too_long_words, []
        vectors = []
        for text in texts:
            fault = next((fault for word, fault in self.spoil.items() if word in text), None)
            if fault in ("500", "400"):
                return int(fault), "cannot decode batch" if fault == "500" else "invalid input", []
            if fault == "nan-500":
                return 500, "failed to encode response: json: unsupported value: NaN", []
            vectors += spoilt(bag_of_words(text), fault)
        return 200, "", vectors


def spoilt(vector: list[float], fault: str | None) -> list:
    """The vectors that are sent in the place of one."""
    return {
        None: [vector],
        "nan": [[float("nan"), *vector[1:]]],
        "null": [[None, *vector[1:]]],
        "dimension": [vector[:-1]],
        "empty": [[]],
        "missing": [],
    }[fault]


def answer_with(body: dict) -> Response:
    return Response(200, json.dumps(body))  # Python writes NaN as the bare word, as broken servers do


def openai_error(status: int, message: str, code: str | None) -> Response:
    return Response(
        status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    )


def cosine(one, other) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    norms = [sum(value * value for value in vector) ** 0.5 for vector in (one, other)]
    return product / (norms[0] * norms[1])


def words(count: int) -> str:
    return " ".join(itertools.islice(itertools.cycle(("alpha", "beta", "gamma", "delta")), count))
