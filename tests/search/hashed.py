"""An embedder without a model: each word points in a direction of its own, a text in the sum of its words'.

Good enough to have neighbours, quick, and the same everywhere.
"""

import hashlib
import re

import numpy as np

from forgelore.errors import EmbedderUnreachable


class HashedEmbedder:
    name = "hashed"
    model = "words"
    chunk_chars = 1000
    batch_size = 64
    floor = -1.0

    def __init__(self, *, dimension=64, fingerprint="hashed words 64", is_down=False):
        self.dimension, self._fingerprint, self.is_down = dimension, fingerprint, is_down
        self.asked = 0

    def fingerprint(self):
        return self._fingerprint

    def embed_passages(self, passages):
        return [self._vector(f"{passage.title}\n{passage.text}") for passage in passages]

    def embed_query(self, text):
        return self._vector(text)

    def close(self):
        pass

    def _vector(self, text):
        self.asked += 1
        if self.is_down:
            raise EmbedderUnreachable("nobody answers", hint="start it")
        total = np.zeros(self.dimension)
        for word in re.findall(r"\w+", text.lower()):
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest())
            total += np.random.default_rng(seed).standard_normal(self.dimension)
        return total
