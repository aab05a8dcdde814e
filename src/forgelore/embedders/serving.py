"""What every embedder behind a server shares: batches, and finding the one passage that spoils a batch.

    a batch fails            each of its passages is asked for by itself
    one is too long          it is cut in half until it fits
    one fails by itself      its place in the answer holds an EmbeddingFailed; the others have their vectors
    ... and so does PROBE    it is not the passage: the error is raised

Several requests may be under way at once (`embedder_concurrency`); what comes back is in the order of the passages.
What concerns the whole server (unreachable, key, limit, no such model) is raised from anywhere.
"""

from collections.abc import Iterator, Sequence

from forgelore.core.names import is_loopback
from forgelore.embedders.families import chunk_chars, family_of, has_words, passage_text, query_text
from forgelore.embedders.side_by_side import map_side_by_side
from forgelore.embedders.talking import ALONE, BATCH, QUERY, Line, Patience, TooLong
from forgelore.errors import EmbeddingFailed
from forgelore.ports import Embedder
from forgelore.words import Passage

VectorOrFailure = Sequence[float] | EmbeddingFailed
PROBE = "hello"
NOTHING = "there is no text to embed"
LEAST_CHARS = 64  # what does not fit with this little does not fail for its length
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
                if len(text) <= LEAST_CHARS:
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
            f"{self.line.host} sent a vector of {len(vector)} numbers where others have {self._dimension or 'some'}",
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
