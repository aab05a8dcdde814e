"""Ollama: is the server there, is the model there, and which build of it."""

import json

import pytest

from forgelore.embedders.served import Ollama
from forgelore.errors import AuthError, EmbedderUnreachable, EmbeddingFailed, ModelNotFound
from forgelore.words import Passage
from support import raised


def test_the_task_of_a_text_stands_before_it(make, server):
    embedder = make(Ollama)
    embedder.embed_passages([Passage("Crash", "on start"), Passage("", "only text"), Passage("only title", "")])
    embedder.embed_query("why does it crash")
    assert server.inputs() == [
        ["search_document: Crash\n\non start", "search_document: only text", "search_document: only title"],
        ["search_query: why does it crash"],
    ]


def test_the_request_is_the_documented_one(make, server):
    make(Ollama).embed_query("x")
    assert server.paths() == ["GET /api/tags", "POST /api/embed"]
    assert json.loads(server.requests[1]["body"]) == {
        "model": "nomic-embed-text",
        "truncate": True,
        "input": ["search_query: x"],
    }


def test_a_model_that_nobody_knows_gets_its_text_as_it_is(make, server):
    server.models["their-own:latest"] = "f" * 64
    make(Ollama, model="their-own").embed_passages([Passage("Crash", "on start")])
    assert server.inputs() == [["Crash\n\non start"]]


@pytest.mark.parametrize("model", ["nomic-embed-text", "nomic-embed-text:latest", "Nomic-Embed-Text"])
def test_latest_need_not_be_said(make, model):
    assert make(Ollama, model=model).fingerprint() == make(Ollama).fingerprint()


def test_the_defaults_are_the_documented_ones():
    embedder = Ollama()
    assert (embedder.line.url, embedder.model) == ("http://127.0.0.1:11434", "nomic-embed-text")
    embedder.close()


def test_a_server_that_is_not_running_comes_with_the_command_that_starts_it(make, server):
    embedder = make(Ollama)
    server.stop()
    with raised(EmbedderUnreachable, hint="is Ollama running? start it with: ollama serve") as caught:
        embedder.fingerprint()
    assert caught[0].exit_code == 14


@pytest.mark.parametrize("models", [{}, {"nomic-embed-text:v1.5": "d"}, {"nomic-embed-text-v2-moe:latest": "d"}])
def test_a_model_that_is_not_there_comes_with_the_command_that_brings_it(make, server, models):
    """A name that only begins alike is another model."""
    server.models = models
    for ask in ("fingerprint", "embed_query"):
        with raised(ModelNotFound, hint="ollama pull nomic-embed-text") as caught:
            getattr(make(Ollama), ask)(*(["x"] if ask == "embed_query" else []))
        assert caught[0].exit_code == 15


def test_a_model_that_was_removed_meanwhile_is_missed_too(make, server):
    embedder = make(Ollama)
    embedder.embed_query("x")
    server.models.clear()
    with raised(ModelNotFound, hint="ollama pull"):
        embedder.embed_passages([Passage("a", "b"), Passage("c", "d")])


def test_another_build_of_the_model_has_another_fingerprint(make, server):
    before = make(Ollama).fingerprint()
    assert before == make(Ollama).fingerprint()
    assert "nomic-embed-text 0a109f422b47" in before
    assert "'search_document: ' 'search_query: '" in before
    server.models["nomic-embed-text:latest"] = "b" * 64
    assert make(Ollama).fingerprint() != before


def test_the_server_is_asked_for_its_models_once(make, server):
    embedder = make(Ollama)
    for _ in range(3):
        embedder.fingerprint()
        embedder.embed_query("x")
    assert server.paths().count("GET /api/tags") == 1


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 404, "body": "404 page not found"},
        {"status": 404, "body": "<html>nothing here</html>"},
        {"status": 200, "body": {"message": "hello"}},
        {"status": 200, "body": "<html>welcome</html>"},
        {"status": 200, "body": []},
    ],
)
def test_something_that_is_not_ollama_is_told_from_it(make, server, fault):
    server.fail(path="/api/tags", **fault)
    with raised(EmbedderUnreachable):
        make(Ollama).fingerprint()


def test_a_model_that_only_talks_is_an_error_in_the_servers_words(make, server):
    server.fail(method="POST", status=400, body={"error": "this model does not support embeddings"})
    with raised(EmbeddingFailed, says="this model does not support embeddings"):
        make(Ollama).embed_passages([Passage("a", "b"), Passage("c", "d")])


def test_a_door_before_ollama_is_a_matter_of_keys(make, server):
    server.key = "k"
    with raised(AuthError):
        make(Ollama).fingerprint()
