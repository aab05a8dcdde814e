"""The heavier embedder: all-MiniLM-L6-v2, tuned on tracker text, in int8, from files of the package.

scripts/minilm.py makes the files, training/ the weights.

    vector of a passage = unit(0.3 * E(title) + 0.7 * E(title and text)), 128 tokens each
    vector of a query   = E(query)

Texts go through the network one by one, each in a thread of its own. In a batch the scale of int8 activations is that
of the whole batch. A first graph with padding gave one of 500 texts a cosine of 0.966 to itself in a batch of 32, and
was no faster (52 texts per CPU-second one by one, 47 in batches). One by one, the texts beside it do not matter.
"""

import json
import os
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from forgelore.errors import EmbedderUnreachable, EmbeddingFailed, ModelNotFound
from forgelore.words import Passage

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]

DATA = os.path.join(os.path.dirname(__file__), "data")
DIMENSION = 384

# A title names the subject, a body drifts. Other shares were not tried with this model.
TITLE_SHARE = 0.3
# An earlier measurement on three trackers: 256 found no more duplicates and took twice the time.
MAX_TOKENS = 128
RULES = "1"  # of how chunks, titles and tokens become a vector; a new number embeds everything again

# Far more than 128 tokens of ordinary text: what follows cannot matter, and a tokenizer reads a megabyte to its end.
_MAX_CHARS = 4_096
_EMPTY = 2  # tokens of a text without words: its beginning and its end
_MAX_THREADS = 8  # the rest of a large machine belongs to others


class MiniLM:
    """The embedder `minilm`. Made in no time; the first call reads the model (0.2 s) and keeps it until `close`."""

    name = "minilm"
    model = "all-MiniLM-L6-v2, tuned"
    chunk_chars = 450  # beside a title, 128 tokens hold 410 characters of cleaned tracker text (median of three)
    batch_size = 64  # passages; any number gives the same vectors, this one keeps the threads busy
    floor = (
        0.4  # among 29,134 items of bitcoin, 12 of 15 nonsense queries found nothing this near, 59 of 60 real ones did
    )

    def __init__(self, data: str = DATA) -> None:
        self._data = data
        self._network: Network | None = None

    def fingerprint(self) -> str:
        """Return what shapes a vector: "minilm:4dcf58bdb234:1". The manifest is read, the model is not."""
        return f"{self.name}:{load_sums(self._data).model[:12]}:{RULES}"

    def embed_passages(self, passages: Sequence[Passage]) -> Sequence[Sequence[float]]:
        """Return a float32 array with one row per passage; a row of zeros where there is nothing to embed."""
        # Spaces do not count: without a text both parts are the title, without a title both are the text.
        parts = [(title.strip(), f"{title}\n{text}".strip()) for title, text in passages]
        vectors = self._load().embed({part for pair in parts for part in pair})
        import numpy as np

        rows = [TITLE_SHARE * vectors[title] + (1 - TITLE_SHARE) * vectors[whole] for title, whole in parts]
        found = np.array(rows, dtype=np.float32).reshape(-1, DIMENSION)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return cast("Sequence[Sequence[float]]", found / np.where(lengths > 0, lengths, 1))

    def embed_query(self, text: str) -> Sequence[float]:
        text = text.strip()
        return cast("Sequence[float]", self._load().embed({text})[text])

    def close(self) -> None:
        self._network = None

    def _load(self) -> "Network":
        if self._network is None:
            self._network = Network(self._data)
        return self._network


class Sums(NamedTuple):
    """The SHA-256 of the files that shape a vector."""

    model: str
    tokenizer: str


class Network:
    """Tokenizer and model in memory."""

    def __init__(self, data: str) -> None:
        sums = load_sums(data)
        tokenizer = _checked(data, "tokenizer.json", sums.tokenizer)
        model = _checked(data, "model.onnx", sums.model)
        try:
            self._tokenizer, self._session = _load_tokenizer(tokenizer), _load_session(model)
        except ImportError as error:
            raise EmbedderUnreachable(
                f"the built-in embedder lacks a library: {error}",
                hint="pip install onnxruntime tokenizers, or choose another embedder",
            ) from error
        except Exception as error:  # what these libraries raise has no other class in common
            raise EmbedderUnreachable(
                f"the installed onnxruntime or tokenizers cannot read the built-in model: {error}",
                hint="pip install --upgrade onnxruntime tokenizers",
            ) from error

    def embed(self, texts: set[str]) -> "dict[str, Vector]":
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_threads()) as pool:
            # The longest first: at the end no thread waits long for another.
            ordered = sorted(texts, key=len, reverse=True)
            return dict(zip(ordered, pool.map(self._embed_one, ordered), strict=True))

    def _embed_one(self, text: str) -> "Vector":
        import numpy as np

        # A lone surrogate cannot be encoded; it becomes a question mark.
        sound = text[:_MAX_CHARS].encode(errors="replace").decode()
        ids = self._tokenizer.encode(sound).ids
        if len(ids) <= _EMPTY:
            return np.zeros(DIMENSION, dtype=np.float32)
        try:
            (vectors,) = self._session.run(None, {"ids": np.array([ids], dtype=np.int64)})
        except Exception as error:
            raise EmbeddingFailed(f"the built-in model failed: {error}") from error
        return cast("Vector", vectors[0])


def load_sums(data: str = DATA) -> Sums:
    try:
        with open(os.path.join(data, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
            return Sums(str(manifest["model_sha256"]), str(manifest["tokenizer_sha256"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise _damaged("manifest.json") from None


def _checked(data: str, name: str, sha256: str) -> str:
    """Return the path of a file whose sum is right. 30 ms for the model; a damaged one would give damaged vectors."""
    import hashlib

    path = os.path.join(data, name)
    try:
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                return path
    except OSError:
        pass
    raise _damaged(name)


def _damaged(name: str) -> ModelNotFound:
    return ModelNotFound(
        f"{name} of the built-in embedder is missing or damaged",
        hint="install it again, in a clone: pip install --force-reinstall ./packages/minilm",
    )


def _load_tokenizer(path: str) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def load_onnxruntime() -> ModuleType:
    """Return onnxruntime with its telemetry off. Nobody here imports it in any other way.

    Since 1.31 the import itself writes a device id and an event below ~/.cache and later looks up its maker's server:
    `disable_telemetry_events` comes too late for that, and helps only where somebody imported it before us.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return cast("ModuleType", onnxruntime)


def _load_session(path: str) -> "InferenceSession":
    onnxruntime = load_onnxruntime()
    onnxruntime.set_default_logger_severity(3)  # errors; warnings about graphics cards are nobody's business here
    options = onnxruntime.SessionOptions()
    # One thread per text: two inside a product spin while they wait; 32 to 37 ms of CPU a text, not 16 to 18.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _threads() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MAX_THREADS)
