"""What every embedder behind a server does, on Ollama and on OpenAI alike: no passage spoils the others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.embedders import serving
from forgelore.embedders.served import Ollama, OpenAI
from forgelore.embedders.serving import FAMILIES, Patience, build_batches, check_url, chunk_chars, family_of
from forgelore.errors import ConfigError, EmbedderUnreachable, EmbeddingFailed, RateLimited
from forgelore.words import Passage
from servers.embedding import bag_of_words, cosine, words
from support import Elsewhere, raised

GOOD = [Passage("Crash on start", "the program ends"), Passage("Add a dark theme", "white is too bright")]
BAD = Passage("poison", "here")


def failures(outcomes):
    return [isinstance(outcome, EmbeddingFailed) for outcome in outcomes]


def test_each_passage_has_a_vector_in_its_place(served):
    outcomes = served.embed_passages([*GOOD, Passage("Crash at start", "the program ends at once")])
    assert failures(outcomes) == [False] * 3
    assert cosine(outcomes[0], outcomes[2]) > cosine(outcomes[1], outcomes[2])
    assert served.embed_passages([GOOD[1]])[0] == outcomes[1]
    assert cosine(served.embed_query("dark theme"), outcomes[1]) > cosine(served.embed_query("dark theme"), outcomes[0])


def test_making_an_embedder_asks_nobody(served, server):
    assert (served.batch_size, served.chunk_chars) >= (32, 1_000)
    assert server.requests == []


@pytest.mark.parametrize("fault", ["500", "400", "nan", "nan-500", "null", "missing"])
def test_one_refused_passage_leaves_the_others_their_vectors(served, server, fault):
    server.spoil["poison"] = fault
    outcomes = served.embed_passages([GOOD[0], BAD, GOOD[1]])
    assert failures(outcomes) == [False, True, False]
    assert outcomes[1].exit_code == 16


@pytest.mark.parametrize("fault", ["500", "400", "nan", "missing"])
def test_the_only_passage_of_a_call_may_be_the_refused_one(served, server, fault):
    """A word that always works tells the passage's fault from the server's."""
    server.spoil["poison"] = fault
    assert failures(served.embed_passages([BAD])) == [True]


@pytest.mark.parametrize("fault", ["500", "400", "nan", "missing"])
def test_a_server_that_refuses_everything_is_an_error(served, server, fault):
    server.spoil[""] = fault
    with raised(EmbeddingFailed, code="embedding_failed"):
        served.embed_passages(GOOD)
    with raised(EmbeddingFailed):
        served.embed_query("crash")


def test_what_is_refused_for_good_is_not_asked_for_again_and_again(served, server):
    server.spoil["poison"] = "nan-500"
    served.embed_passages([GOOD[0], BAD])
    assert served.time.waits == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "the input length exceeds the context length"),
        (400, "input length exceeds maximum context length"),
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        (400, "the request exceeds the available context size, try increasing it"),
        (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 600"),
        (500, "input (6001 tokens) is too large to process. increase the physical batch size (current batch size: 2048)"),
    ],
)  # fmt: skip
def test_a_passage_that_is_too_long_is_halved_until_it_fits(served, server, status, said):
    server.context, server.too_long_status, server.too_long_words = 30, status, said
    outcomes = served.embed_passages([GOOD[0], Passage("Long", words(100)), GOOD[1]])
    assert failures(outcomes) == [False] * 3
    assert [len(texts) for texts in server.inputs()] == [3, 1, 1, 1, 1, 1]  # the long one: whole, a half, a quarter
    whole, _, quarter = [texts[0] for texts in server.inputs() if "Long" in texts[0] and len(texts) == 1]
    assert whole.startswith(quarter)
    assert outcomes[1] == bag_of_words(quarter)
    assert served.time.waits == []


def test_what_never_fits_is_refused_by_itself(served, server):
    server.context = 3
    outcomes = served.embed_passages([Passage("short", ""), Passage("Long", "a b c d " * 40)])
    assert failures(outcomes) == [False, True]


def test_a_batch_that_is_too_long_only_in_all_is_cut_nowhere(served, server):
    server.context, server.is_context_shared = 40, True
    passages = [Passage(f"Number {n}", words(20)) for n in range(4)]
    outcomes = served.embed_passages(passages)
    assert failures(outcomes) == [False] * 4
    assert [texts[0] for texts in server.inputs()[1:]] == server.inputs()[0]


def test_a_query_that_is_too_long_is_halved_too(served, server):
    server.context = 10
    assert len(served.embed_query(words(100))) == 64


def test_another_dimension_is_refused_by_itself(served, server):
    server.spoil.update({"poison": "dimension", "void": "empty"})
    outcomes = served.embed_passages([GOOD[0], BAD, GOOD[1], Passage("void", "")])
    assert failures(outcomes) == [False, True, False, True]
    assert "63 numbers; expected 64" in outcomes[1].message
    with raised(EmbeddingFailed, says="63 numbers"):
        served.embed_query("poison")


def test_a_passage_without_words_is_not_sent(served, server):
    outcomes = served.embed_passages([Passage("", " \n"), GOOD[0], Passage(" ", "")])
    assert failures(outcomes) == [True, False, True]
    assert [len(texts) for texts in server.inputs()] == [1]
    with raised(EmbeddingFailed, says="no text"):
        served.embed_query("  ")
    assert served.embed_passages([]) == []


def test_a_lone_surrogate_reaches_the_server_as_something_else(served, server):
    assert failures(served.embed_passages([Passage("odd \ud800", "text\x00")])) == [False]
    assert "odd \ufffd" in server.inputs()[0][0]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 503, "body": "<html>busy</html>"},
        {"drop": True},
        {"drop_after": True},
        {"truncate": 0.5},
        {"status": 200, "body": "<html>sign in</html>"},
    ],
)
def test_a_passing_fault_is_sat_out(served, server, fault):
    server.fail(method="POST", times=2, **fault)
    assert failures(served.embed_passages(GOOD)) == [False, False]
    assert served.time.waits == [1.0, 2.0]


def test_a_retry_after_is_kept(served, server):
    server.fail(method="POST", times=1, status=429, headers={"Retry-After": "7"})
    assert failures(served.embed_passages(GOOD)) == [False, False]
    assert served.time.waits == [7.0]


def test_a_query_does_not_wait_for_long(served, server):
    """A person waits, and search goes on with words alone."""
    server.fail(method="POST", times=1, status=429, headers={"Retry-After": "30"})
    with raised(RateLimited, hint="nothing is lost"):
        served.embed_query("crash")
    server.fail(method="POST", drop=True)
    with raised(EmbedderUnreachable):
        served.embed_query("crash")
    assert served.time.waits == [1.0, 2.0]


@pytest.mark.parametrize("fault", [{"drop": True}, {"truncate": 0.5}, {"status": 200, "body": "<html>sign in</html>"}])
def test_a_server_that_never_gives_a_whole_answer_is_unreachable(served, server, fault):
    server.fail(method="POST", **fault)
    with raised(EmbedderUnreachable, code="embedder_unreachable") as caught:
        served.embed_passages(GOOD)
    assert caught[0].exit_code == 14
    assert "forge" not in caught[0].message + caught[0].hint


def test_a_batch_that_takes_too_long_is_asked_for_one_by_one(served, server, monkeypatch):
    monkeypatch.setattr(serving, "BATCH", Patience(0.05))
    server.fail(method="POST", times=1, delay=0.15)
    assert failures(served.embed_passages(GOOD)) == [False, False]
    assert served.time.waits == []


@pytest.mark.parametrize("kind", [Ollama, OpenAI])
def test_nobody_listening_here_is_said_at_once(make, server, kind):
    place = server.url
    embedder = make(kind, place)
    server.stop()
    for ask in (lambda: embedder.embed_passages(GOOD), lambda: embedder.embed_query("x")):
        with raised(EmbedderUnreachable, says=server.netloc):
            ask()
    assert embedder.time.waits == []


def test_text_for_this_machine_goes_to_no_proxy(make, server, monkeypatch):
    with Elsewhere() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        make(Ollama).embed_passages(GOOD)
        assert proxy.requests == []


def test_a_redirect_to_another_server_is_not_followed(served, server):
    with Elsewhere() as other:
        server.fail(method="POST", status=307, headers={"Location": f"{other.url}/x"}, body={})
        with raised(EmbedderUnreachable, says="points to another server"):
            served.embed_passages(GOOD)
        assert other.requests == []


def test_long_passages_are_spread_over_requests(served, server):
    passages = [Passage(f"Number {n}", words(600)) for n in range(12)]
    assert failures(served.embed_passages(passages)) == [False] * 12
    assert len(server.inputs()) > 1
    assert all(sum(map(len, texts)) <= serving.LOCAL_CHARS for texts in server.inputs())


def test_many_passages_are_spread_over_requests(served, server):
    served.embed_passages([Passage(f"Number {n}", "") for n in range(2 * served.batch_size + 1)])
    assert [len(texts) for texts in server.inputs()] == [served.batch_size, served.batch_size, 1]


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(1, 7), st.integers(1, 60))
def test_batches_keep_every_text_in_order_and_within_bounds(texts, size, chars):
    batches = list(build_batches(texts, size=size, chars=chars))
    assert [text for batch in batches for text in batch] == texts
    assert all(0 < len(batch) <= size for batch in batches)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= chars for batch in batches)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://ollama.lan:11434", "refusing plain http://"),
        ("http://192.168.1.5:11434", "refusing plain http://"),
        ("http://127.0.0.1.example.org", "refusing plain http://"),
        ("ftp://example.org", "not a valid server address"),
        ("localhost:11434", "not a valid server address"),
        ("https://host:port/v1", "not a valid server address"),
        ("https://[::1/v1", "not a valid server address"),
        ("https://example.org/v1?key=1", "not a valid server address"),
        ("https://ana:s3cret@example.org/v1", "not a valid server address"),
    ],
)
def test_an_address_that_will_not_do_is_a_matter_of_settings(url, says):
    with raised(ConfigError, says=says) as caught:
        Ollama(url)
    assert "s3cret" not in caught[0].message + caught[0].hint


def test_a_refused_address_on_the_network_comes_with_a_way_out():
    with raised(ConfigError, hint="ssh -N -L 11434:127.0.0.1:11434 ollama.lan"):
        Ollama("http://ollama.lan:11434")


@pytest.mark.parametrize("url", ["http://localhost:11434/", "http://[::1]:1", "https://ollama.lan"])
def test_this_machine_and_tls_are_addresses(url):
    assert check_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    ("model", "passage", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("hf.co/nomic-ai/nomic-embed-text-v2-moe-GGUF:Q8_0", "search_document: ", "search_query: "),
        ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
        ("snowflake-arctic-embed:335m", "", "Represent this sentence for searching relevant passages: "),
        ("snowflake-arctic-embed2", "", "query: "),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "", "query: "),
        ("BAAI/bge-large-en-v1.5", "", "Represent this sentence for searching relevant passages: "),
        ("bge-m3", "", ""),
        ("intfloat/multilingual-e5-large", "passage: ", "query: "),
        ("all-minilm", "", ""),
        ("text-embedding-3-small", "", ""),
        ("somebody/their-own-model", "", ""),
    ],
)
def test_a_family_of_models_has_its_prefixes(model, passage, query):
    family = family_of(model)
    assert (family.passage, family.query) == (passage, query)


def test_chunks_stay_below_every_context():
    """Two characters a token is dense; a denser text is halved when the server refuses it."""
    for family in FAMILIES:
        assert math.ceil(chunk_chars(family) / 2) < family.context
    assert chunk_chars(family_of("nomic-embed-text")) <= 4_096
