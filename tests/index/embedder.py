"""An embedder in this process: hashed bags of words, with faults that a word in a text switches on.

Hashed(spoil={"poison": [0.0] * 16})      texts that hold "poison" get that instead of their vector
Hashed(dies_after=3)                      the service is gone after three batches
"""

from forgelore.errors import EmbedderUnreachable
from servers.embedding import bag_of_words

DIMENSION = 16


class Hashed:
    name, model = "hashed", "bag-of-words"
    chunk_chars, batch_size, floor = 400, 4, -1.0

    def __init__(self, version="1", *, dimension=DIMENSION, spoil=None, dies_after=None, during=None):
        self.version, self.dimension = version, dimension
        self.spoil = spoil or {}
        self.dies_after = dies_after
        self.during = during  # called while a batch is being embedded
        self.batches = []

    def fingerprint(self):
        return f"hashed {self.version} {self.dimension}"

    def embed_passages(self, passages):
        if self.dies_after is not None and len(self.batches) >= self.dies_after:
            raise EmbedderUnreachable("the service is gone", hint="start it")
        self.batches.append(list(passages))
        if self.during:
            self.during()
        found = [self._vector(f"{passage.title} {passage.text}") for passage in passages]
        return [vector for vector in found if vector != "nothing"]

    def _vector(self, text):
        for word, instead in self.spoil.items():
            if word in text:
                if isinstance(instead, Exception) and getattr(instead, "is_raised", False):
                    raise instead
                return instead
        return bag_of_words(text, self.dimension)

    def embed_query(self, text):
        return bag_of_words(text, self.dimension)

    def close(self):
        pass

    @property
    def texts(self):
        return [passage.text for batch in self.batches for passage in batch]
