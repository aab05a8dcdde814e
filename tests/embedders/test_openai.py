"""Any server with OpenAI's /embeddings: the key, the order of the answer, the refusals."""

import json

import pytest

from forgelore.embedders.served import OpenAI
from forgelore.errors import AuthError, ConfigError, EmbedderUnreachable, EmbeddingFailed, ModelNotFound, RateLimited
from forgelore.words import Passage
from servers.embedding import bag_of_words
from support import raised

KEY = "sk-s3cret-k3y"
TWO = [Passage("one", ""), Passage("two", "")]


@pytest.fixture
def plain(make, server):
    """A model without prefixes, so that texts arrive as they are."""
    server.models["any-model"] = ""
    return make(OpenAI, model="any-model")


def test_the_request_is_the_documented_one(plain, server):
    plain.embed_passages(TWO)
    assert server.paths() == ["POST /v1/embeddings"]
    asked = json.loads(server.requests[0]["body"])
    assert asked == {"model": "any-model", "encoding_format": "float", "input": ["one", "two"]}


def test_the_defaults_are_the_documented_ones():
    embedder = OpenAI()
    assert (embedder.line.url, embedder.model) == ("https://api.openai.com/v1", "text-embedding-3-small")
    assert embedder.fingerprint() == "openai api.openai.com text-embedding-3-small '' '' v1"
    embedder.close()


def test_a_vector_belongs_to_the_text_of_its_index(plain, server):
    server.is_shuffled = True
    assert plain.embed_passages(TWO) == [bag_of_words("one"), bag_of_words("two")]


@pytest.mark.parametrize("pointer", [["/data/1/index", 0], ["/data/1/index", 7], ["/data/0/index", -1]])
def test_indexes_that_make_no_sense_are_asked_for_one_by_one(plain, server, pointer):
    server.fail(times=1, json=[pointer])
    assert plain.embed_passages(TWO) == [bag_of_words("one"), bag_of_words("two")]
    assert len(server.requests) == 3


def test_a_key_is_sent_when_there_is_one(make, server):
    make(OpenAI).embed_query("x")
    assert "authorization" not in server.requests[0]["headers"]
    server.key = KEY
    make(OpenAI, key=KEY).embed_query("x")


@pytest.mark.parametrize(
    ("key", "hint"), [("", "put a key into TEAM_KEY"), ("wrong-key-1", "check the key in TEAM_KEY")]
)
def test_a_refused_key_names_the_variable_and_not_the_key(make, server, key, hint):
    server.key = KEY
    embedder = make(OpenAI, key=key, key_env="TEAM_KEY")
    with raised(AuthError, hint=hint) as caught:
        embedder.embed_passages(TWO)
    assert caught[0].is_rejected
    assert len(server.requests) == 1  # no passage is tried by itself


def test_a_key_that_may_not_use_the_model_is_refused_too(make, server):
    server.fail(status=403, body={"error": {"message": "no access"}})
    with raised(AuthError) as caught:
        make(OpenAI, key=KEY).embed_passages(TWO)
    assert not caught[0].is_rejected


def test_the_key_is_in_no_message(make, server):
    """A server that says the key back, and a key that is none."""
    server.fail(status=400, body={"error": {"message": f"bad request with {KEY}"}})
    with raised(EmbeddingFailed, says="bad request with ***"):
        make(OpenAI, key=KEY).embed_passages(TWO)
    embedder = make(OpenAI, key="s3cret\nkey")
    with raised(ConfigError) as caught:
        embedder.embed_query("x")
    assert "s3cret" not in caught[0].message
    assert KEY not in repr(vars(make(OpenAI, key=KEY)))


def test_a_model_that_the_server_does_not_have_is_named(make, server):
    with raised(ModelNotFound, says="'gone'", hint="embedder_model") as caught:
        make(OpenAI, model="gone").embed_passages(TWO)
    assert caught[0].exit_code == 15
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404},
        {"error": {"message": 'model "m" not found, try pulling it first', "type": "api_error"}},
        {"error": {"message": "no such thing", "code": "model_not_found"}},
    ],
)
def test_servers_say_in_their_own_ways_that_a_model_is_missing(plain, server, body):
    server.fail(status=404, body=body)
    with raised(ModelNotFound):
        plain.embed_query("x")


def test_an_address_without_its_last_part_is_told_from_a_missing_model(make, server):
    with raised(EmbedderUnreachable, says="/embeddings not found at", hint="embedder_url"):
        make(OpenAI, server.url).embed_query("x")


def test_an_empty_account_is_not_waited_for(plain, server):
    """OpenAI says 429 for both; this one passes when somebody pays."""
    said = {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}
    server.fail(status=429, body=said)
    with raised(RateLimited, says="You exceeded your current quota", hint="billing"):
        plain.embed_passages(TWO)
    assert plain.time.waits == []
    assert len(server.requests) == 1


def test_limits_are_waited_for_when_passages_go_alone_too(plain, server):
    server.fail(times=1, json=[["/data/1/index", 0]])
    server.fail(skip=1, times=1, status=429, headers={"Retry-After": "20"})
    assert plain.embed_passages(TWO) == [bag_of_words("one"), bag_of_words("two")]
    assert plain.time.waits == [20.0]


def test_a_limit_longer_than_the_settings_allow_ends_the_call(plain, server):
    server.fail(status=429, headers={"Retry-After": "3600"})
    with raised(RateLimited) as caught:
        plain.embed_passages(TWO)
    assert caught[0].wait_s == 3600.0
    assert "token" not in caught[0].hint


def test_two_servers_may_call_different_weights_by_one_name(make, server):
    there = OpenAI("https://embeddings.example/v1", "nomic-embed-text")
    assert make(OpenAI).fingerprint() != there.fingerprint()
    assert "'search_document: '" in there.fingerprint()
    there.close()
