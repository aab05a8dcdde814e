"""What every embedder behind a server shares: batches, retries, errors, and how each model family wants its text.

    a batch fails                        each of its passages is asked for by itself
    one is too long                      it is cut in half until it fits
    one fails by itself                  its place in the answer holds an EmbeddingFailed; the others have vectors
    ... and so does PROBE                it is not the passage: the error is raised
    nobody listens on this machine       at once EmbedderUnreachable: waiting starts no server
    an answer takes too long             at once EmbeddingFailed: the same request would take as long again
    a person waits for a query           three attempts in three seconds, and no long limits

Several requests may be under way at once (`embedder_concurrency`); results come in the order of the passages.
"""

import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from forgelore.errors import (
    AuthError,
    EmbedderUnreachable,
    EmbeddingFailed,
    ForgeError,
    LoreError,
    LostPage,
    ModelNotFound,
    RateLimited,
)
from forgelore.net.client import HttpAnswer, Tries
from forgelore.net.model_server import (
    HttpOptions,
    ModelClient,
    check_server_url,
    is_model_missing,
    is_too_long,
    said_in,
)
from forgelore.net.policy import NextStep, RetryRule, Wait
from forgelore.ports.embedder import Embedder
from forgelore.text.fence import storable
from forgelore.text.refs import is_loopback
from forgelore.words import Passage

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def map_side_by_side(work: Callable[[_Part], _Result], parts: Sequence[_Part], *, at_once: int) -> list[_Result]:
    """Return what `work` makes of each part, at most `at_once` of them under way.

    The first error is raised, and nothing further is begun. The threads are daemons: after it nobody waits for those
    that hang in an answer, and what they bring is dropped.
    """
    if at_once == 1 or len(parts) < 2:
        return [work(part) for part in parts]
    todo: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, _Result | BaseException]] = SimpleQueue()
    halt = threading.Event()
    for at in range(len(parts)):
        todo.put(at)

    def run() -> None:
        while not halt.is_set():
            try:
                at = todo.get_nowait()
            except Empty:
                return
            try:
                done.put((at, work(parts[at])))
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
                halt.set()  # here: until that thread runs, others would go on
                done.put((at, error))

    for _ in range(min(at_once, len(parts))):
        threading.Thread(target=run, daemon=True).start()
    results: dict[int, _Result] = {}
    try:
        while len(results) < len(parts):
            at, result = done.get()
            if isinstance(result, BaseException):
                raise result
            results[at] = result
    finally:
        halt.set()
    return [results[at] for at in range(len(parts))]


T = TypeVar("T")
FINAL = re.compile(rb"insufficient_quota|unsupported value: NaN", re.IGNORECASE)


class TooLong(EmbeddingFailed):
    """More text than the model's context holds."""


class Patience(NamedTuple):
    """How long one request may take, and the longest pause after a failure and for a limit."""

    answer_s: float
    failure_s: float = math.inf
    limit_s: float = math.inf


BATCH = Patience(300.0)  # a model that is loaded first, and a full batch on a slow processor
ALONE = Patience(120.0, failure_s=2.0)  # the batch had its retries
QUERY = Patience(60.0, failure_s=2.0, limit_s=2.0)  # a person waits, and search goes on with words alone


class Hints(NamedTuple):
    """What to try next, in the words of the kind of server."""

    unreachable: str
    model: str
    auth: str


class EmbeddingClient(ModelClient):
    """The client of a model's server, with the differences above."""

    def __init__(self, url: str, options: HttpOptions, *, patience: Patience, key: str) -> None:
        self._patience = patience
        max_wait_s = min(patience.limit_s, options.max_wait_s)
        super().__init__(url, options, answer_s=patience.answer_s, max_wait_s=max_wait_s, key=key)

    def _exchange(self, method: str, url: str, **request: Any) -> HttpAnswer:
        try:
            return super()._exchange(method, url, **request)
        except httpx.ReadTimeout as error:
            raise EmbeddingFailed(f"{self.host} took longer than {self._patience.answer_s:g} s") from error
        except httpx.ConnectError as error:
            if self.is_local:
                raise EmbedderUnreachable(f"nothing answers at {self.host}") from error
            raise

    def _judge(self, answer: HttpAnswer, tries: Tries) -> NextStep:
        if is_too_long(answer) or (answer.status >= 400 and FINAL.search(answer.body)):
            return "failed"
        decision = super()._judge(answer, tries)
        is_enough = answer.status >= 500 and isinstance(decision, Wait) and self._is_beyond_patience(decision)
        return "failed" if is_enough else decision

    def _wait(self, decision: Wait, manner: RetryRule | None = None) -> None:
        if self._is_beyond_patience(decision):
            raise EmbedderUnreachable(f"{self.host} does not answer: {decision.reason}")
        super()._wait(decision, manner)

    def _is_beyond_patience(self, decision: Wait) -> bool:
        return not decision.is_limit and decision.seconds > self._patience.failure_s


class Line:
    """A server at one address, for several threads. It connects on first use, once for each patience."""

    def __init__(self, url: str, model: str, hints: Hints, *, options: HttpOptions, key: str = "") -> None:
        self.url = check_url(url)
        self.host = urlsplit(self.url).netloc
        self._model, self._hints, self._options, self._key = model, hints, options, key
        self._clients: dict[Patience, EmbeddingClient] = {}
        self._guard = threading.Lock()

    def fetch(self, path: str, payload: Mapping[str, Any] | None = None, *, patience: Patience) -> bytes:
        """Return the body of a good answer: GET, or POST when there is a payload. Any other is one of our errors."""
        client = self._client(patience)
        try:
            answer = client.get(path) if payload is None else client.post_json(path, payload)
        except (ForgeError, RateLimited, EmbedderUnreachable) as error:
            raise self._in_our_words(error) from error
        if answer.status != 200:
            raise self._refusal(answer, path)
        return answer.body

    def fetch_vectors(
        self, path: str, payload: Mapping[str, Any], texts: list[str], *, kind: type[T], patience: Patience
    ) -> T:
        """Return the answer to a request for the vectors of some texts."""
        # A lone surrogate is not valid UTF-8, and must not stop a whole batch.
        body = self.fetch(path, {**payload, "input": [storable(text) for text in texts]}, patience=patience)
        return read_as(kind, body, self.host)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, patience: Patience) -> EmbeddingClient:
        with self._guard:
            if patience not in self._clients:
                self._clients[patience] = EmbeddingClient(self.url, self._options, patience=patience, key=self._key)
            return self._clients[patience]

    def _in_our_words(self, error: LoreError) -> LoreError:
        """The client speaks of forges: keep what happened, say what to do about an embedder."""
        if isinstance(error, RateLimited):
            return RateLimited(error.message, hint="nothing is lost: run the same command later", wait_s=error.wait_s)
        hint = "check that embedder_url is an API address" if isinstance(error, LostPage) else self._hints.unreachable
        return EmbedderUnreachable(error.message, hint=hint)

    def _refusal(self, answer: HttpAnswer, path: str) -> LoreError:
        status, said = answer.status, said_in(answer.body)
        if status in (401, 403):
            return AuthError(f"{self.host} answered {status}", hint=self._hints.auth, is_rejected=status == 401)
        if is_model_missing(answer):
            return ModelNotFound(f"{self.host} has no model {self._model!r}", hint=self._hints.model)
        if status == 404:
            return EmbedderUnreachable(f"{path} not found at {self.url}", hint="check embedder_url")
        if status == 429:
            return RateLimited(f"{self.host}: {said}", hint="check the plan and the billing of the key")
        kind = TooLong if is_too_long(answer) else EmbeddingFailed
        return kind(f"{self.host} answered {status}: {said}", hint="see the server's log")


def read_as(kind: type[T], body: bytes, host: str) -> T:
    """Return the answer as a struct; what does not fit (NaN, null, another shape) is a failed embedding."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EmbeddingFailed(f"{host} sent an invalid embedding: {error}") from error


def check_url(url: str) -> str:
    """Return the address without a slash at its end."""
    return check_server_url(url, name="embedder_url", what="what is embedded")


RULES_VERSION = 1  # grows when the text of a passage or query is put together in another way
MAX_CHARS = 4_000  # beyond this one vector stands for too many things, whatever fits
SEARCHING = "Represent this sentence for searching relevant passages: "
INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "


class Family(NamedTuple):
    name: str
    pattern: str
    context: int = 512  # tokens
    passage: str = ""
    query: str = ""


# The first pattern found in the model's name counts, so the special ones stand before the general ones.
FAMILIES = (
    Family("nomic-embed-text-v2", r"nomic-embed-text-v2", 512, "search_document: ", "search_query: "),
    Family("nomic-embed-text", r"nomic-embed-text", 2_048, "search_document: ", "search_query: "),
    Family("mxbai-embed-large", r"mxbai-embed", 512, "", SEARCHING),
    Family("snowflake-arctic-embed2", r"arctic-embed(2|.*v2\.0)", 8_192, "", "query: "),
    Family("snowflake-arctic-embed", r"arctic-embed", 512, "", SEARCHING),
    Family("bge-m3", r"bge-m3", 8_192),
    Family("bge", r"\bbge-(small|base|large)(?!-zh)", 512, "", SEARCHING),
    Family("e5-instruct", r"\be5-.*instruct", 512, "", INSTRUCTION),
    Family("e5", r"\be5-", 512, "passage: ", "query: "),
    Family("qwen3-embedding", r"qwen3-embedding", 8_192, "", INSTRUCTION.replace("Query: ", "Query:")),
    Family("embeddinggemma", r"embeddinggemma", 2_048, "title: none | text: ", "task: search result | query: "),
    Family("all-minilm", r"all-minilm", 256),
    Family("text-embedding", r"\btext-embedding-(3|ada)", 8_191),
)
UNKNOWN = Family("", "")


def family_of(model: str) -> Family:
    """Return the row of a model: "hf.co/CompendiumLabs/bge-large-en-v1.5-gguf:Q8_0" -> bge."""
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((family for family in FAMILIES if re.search(family.pattern, name)), UNKNOWN)


def chunk_chars(family: Family) -> int:
    """Return how many characters one vector may stand for.

    Two characters a token is what logs and code come to, prose has four; the title and the prefix need room too.
    """
    return min(MAX_CHARS, 2 * family.context - 24)


def has_words(passage: Passage) -> bool:
    return bool(passage.title.strip() or passage.text.strip())


def passage_text(family: Family, passage: Passage) -> str:
    return family.passage + "\n\n".join(part for part in (passage.title.strip(), passage.text.strip()) if part)


def query_text(family: Family, text: str) -> str:
    return family.query + text.strip()


def rules(family: Family) -> str:
    """Return what the fingerprint says of the text around a passage and a query."""
    return f"{family.passage!r} {family.query!r} v{RULES_VERSION}"


VectorOrFailure = Sequence[float] | EmbeddingFailed
PROBE = "hello"
NOTHING = "no text to embed"
MIN_CHARS = 64  # what does not fit with this little does not fail for its length
LOCAL_CHARS = 24_000  # of one request: some 8,000 tokens, four minutes on the slowest processor that was tried
REMOTE_CHARS = 100_000  # below the 300,000 tokens of OpenAI, even where each character is a token


class ServedEmbedder(Embedder):
    """An embedder that asks a server. A subclass says how one request looks, and what else names its vectors."""

    name = ""
    request_size = 32  # passages of one request
    floor = -1.0

    def __init__(self, line: Line, model: str, *, concurrency: int = 1) -> None:
        self.model = model
        self.concurrency = concurrency  # requests under way at once
        self.batch_size = self.request_size * concurrency
        self.line = line
        self.family = family_of(model)
        self.chunk_chars = chunk_chars(self.family)
        self._batch_chars = LOCAL_CHARS if is_loopback(line.host) else REMOTE_CHARS
        self._dimension = 0

    def fetch_vectors(self, texts: list[str], *, patience: Patience) -> list[list[float]]:
        """Return one vector per text. Raises EmbeddingFailed for what may be the fault of a text."""
        raise NotImplementedError

    def embed_passages(self, passages: Sequence[Passage]) -> Sequence[VectorOrFailure]:
        texts = [passage_text(self.family, passage) for passage in passages if has_words(passage)]
        batches = list(build_batches(texts, size=self.request_size, chars=self._batch_chars))
        answers = map_side_by_side(self._fetch_batch, batches, at_once=self.concurrency)
        # In their order, by one thread: the first vector sets the dimension.
        found = [self._checked(answer) for batch in answers for answer in batch]
        rest = iter(found)  # servers refuse a whole batch for one empty text: those stay here
        return [next(rest) if has_words(passage) else EmbeddingFailed(NOTHING) for passage in passages]

    def embed_query(self, text: str) -> Sequence[float]:
        if not text.strip():
            raise EmbeddingFailed(NOTHING)
        text = query_text(self.family, text[: self.chunk_chars])
        outcome = self._checked(self._fetch_what_fits(text, patience=QUERY))
        if isinstance(outcome, EmbeddingFailed):
            raise outcome
        return outcome

    def close(self) -> None:
        self.line.close()

    def _fetch_batch(self, texts: list[str]) -> Sequence[VectorOrFailure]:
        try:
            return self._fetch_all(texts, patience=BATCH)
        except EmbeddingFailed:
            return list(self._fetch_each(texts))

    def _fetch_each(self, texts: list[str]) -> Iterator[VectorOrFailure]:
        is_well = False  # the server embeds other text: what fails then is the passage
        for text in texts:
            outcome: VectorOrFailure
            try:
                outcome = self._fetch_what_fits(text, patience=ALONE)
            except EmbeddingFailed as error:
                outcome = error
                if not is_well:
                    self._fetch_all([PROBE], patience=ALONE)
            is_well = True
            yield outcome

    def _fetch_what_fits(self, text: str, *, patience: Patience) -> list[float]:
        """Return the vector of as much of the text as the server takes: all of it, a half, a quarter …"""
        while True:
            try:
                return self._fetch_all([text], patience=patience)[0]
            except TooLong:
                if len(text) <= MIN_CHARS:
                    raise
                text = text[: len(text) // 2]

    def _fetch_all(self, texts: list[str], *, patience: Patience) -> list[list[float]]:
        vectors = self.fetch_vectors(texts, patience=patience)
        if len(vectors) != len(texts):
            raise EmbeddingFailed(f"{self.line.host} sent {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def _checked(self, vector: VectorOrFailure) -> VectorOrFailure:
        """Return the vector, or why it cannot stand beside the others: the first one sets the dimension."""
        if isinstance(vector, EmbeddingFailed):
            return vector
        self._dimension = self._dimension or len(vector)
        if vector and len(vector) == self._dimension:
            return vector
        return EmbeddingFailed(
            f"{self.line.host} sent a vector of {len(vector)} numbers; expected {self._dimension or 'some'}",
            hint="was the model replaced? run the same command again",
        )


def build_batches(texts: Sequence[str], *, size: int, chars: int) -> Iterator[list[str]]:
    """Yield the texts in order, at most `size` of them and `chars` characters at once; a longer text goes alone."""
    batch: list[str] = []
    length = 0
    for text in texts:
        if batch and (len(batch) >= size or length + len(text) > chars):
            yield batch
            batch, length = [], 0
        batch.append(text)
        length += len(text)
    if batch:
        yield batch
