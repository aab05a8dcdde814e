"""Embedders in front of a local server: waits are remembered in `embedder.time.waits`, not slept."""

import pytest

from forgelore.embedders.served import Ollama, OpenAI
from forgelore.net.model_server import HttpOptions
from servers.embedding import EmbeddingServer
from support import FakeTime


@pytest.fixture
def server():
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def make(server):
    """`make(Ollama)` or `make(OpenAI, model=…)`: an embedder that asks the server."""
    made = []

    def build(kind, url=None, model="nomic-embed-text", **options):
        time = FakeTime(server)
        manners = HttpOptions(sleep=time.sleep, clock=time.clock, wall_clock=time.wall_clock, jitter=lambda: 0.0)
        place = url or (server.v1 if kind is OpenAI else server.url)
        embedder = kind(place, model, options=manners, **options)
        embedder.time = time
        made.append(embedder)
        return embedder

    yield build
    for embedder in made:
        embedder.close()


@pytest.fixture(params=[Ollama, OpenAI], ids=["ollama", "openai"])
def served(request, make):
    """Each kind of server: what both must do is tested on both."""
    return make(request.param)
