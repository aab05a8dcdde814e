"""The wire, against a server that nobody here wrote: llama.cpp with a small model, in a process of its own."""

import math

import pytest

from forgelore.embedders.served import OpenAI
from forgelore.errors import EmbeddingFailed
from forgelore.words import Passage
from servers.embedding import cosine
from servers.model_process import running_model

CRASH = Passage("Crash when the file is empty", "The program crashes when I open an empty file.")
SAME_CRASH = Passage("Segfault on empty file", "Opening an empty file crashes the program.")
THEME = Passage("Add a dark theme", "White is too bright at night; please add dark colours.")
LONG = Passage("The cache is written twice", "when the disk is full and another process holds the lock " * 55)


@pytest.fixture(scope="session")
def address():
    """One server for all tests."""
    with running_model() as place:
        yield place


@pytest.fixture
def embedder(address):
    embedder = OpenAI(address, "smollm2")
    yield embedder
    embedder.close()


def test_a_real_server_puts_related_texts_nearer(embedder):
    crash, same, theme = embedder.embed_passages([CRASH, SAME_CRASH, THEME])
    assert {len(vector) for vector in (crash, same, theme)} == {576}
    assert all(math.isclose(cosine(vector, vector), 1.0) for vector in (crash, same, theme))
    assert cosine(crash, same) > cosine(crash, theme)
    query = embedder.embed_query("program crashes with an empty file")
    assert cosine(query, crash) > cosine(query, theme)


def test_a_real_server_gives_a_text_the_same_vector_in_any_batch(embedder):
    together = embedder.embed_passages([CRASH, THEME])
    alone = [embedder.embed_passages([passage])[0] for passage in (CRASH, THEME)]
    assert all(cosine(one, other) > 0.9999 for one, other in zip(together, alone, strict=True))


def test_a_real_server_that_refuses_a_text_of_600_words_gets_what_fits(embedder):
    assert len(LONG.text.split()) >= 600
    long, crash = embedder.embed_passages([LONG, CRASH])
    start, same_crash = embedder.embed_passages([Passage(LONG.title, LONG.text[:600]), CRASH])
    assert not isinstance(long, EmbeddingFailed)
    assert cosine(long, start) > cosine(long, crash)
    assert cosine(crash, same_crash) > 0.9999
