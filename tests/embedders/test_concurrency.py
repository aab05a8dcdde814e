"""Requests under way at once at a served embedder: as many as the setting says, in order, and safe when one fails."""

import threading

import pytest

from forgelore.app import App
from forgelore.config import load_config
from forgelore.embedders.served import Ollama, OpenAI
from forgelore.embedders.serving import map_side_by_side
from forgelore.errors import AuthError, ConfigError, EmbeddingFailed
from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.sync.archive import import_lines
from forgelore.viewer import EVERYTHING
from forgelore.words import Passage
from servers.embedding import EmbeddingServer, bag_of_words

PATIENCE_S = 10.0  # a crowd that does not come in this time does not come


class CrowdedServer(EmbeddingServer):
    """Counts the requests for vectors that it holds at once; none is answered before `wanted` of them are there."""

    def __init__(self):
        super().__init__()
        self.wanted = 1
        self.most = self._here = 0
        self._door = threading.Condition()

    def answer(self, request, target):
        if request.method != "POST":
            return super().answer(request, target)
        with self._door:
            self._here += 1
            self.most = max(self.most, self._here)
            self._door.notify_all()
            self._door.wait_for(lambda: self.most >= self.wanted, PATIENCE_S)
        try:
            return super().answer(request, target)
        finally:
            with self._door:
                self._here -= 1


@pytest.fixture
def server():
    with CrowdedServer() as running:
        yield running


@pytest.fixture(params=[Ollama, OpenAI], ids=["ollama", "openai"])
def served(request, make):
    return lambda concurrency: make(request.param, concurrency=concurrency)


def passages(count):
    return [Passage("", f"passage number{at} of many") for at in range(count)]


@pytest.mark.parametrize("concurrency", [2, 4])
def test_as_many_requests_are_under_way_as_the_setting_says_and_no_more(served, server, concurrency):
    embedder, server.wanted = served(concurrency), concurrency
    given = passages(3 * embedder.batch_size)
    vectors = embedder.embed_passages(given)
    assert server.most == concurrency
    assert vectors == [pytest.approx(bag_of_words(text)) for batch in sorted_inputs(server, given) for text in batch]


def sorted_inputs(server, given):
    """The texts that were sent, in the order of the passages: requests overtake each other."""
    place = {passage.text.split()[1]: at for at, passage in enumerate(given)}
    return sorted(server.inputs(), key=lambda texts: place[number_of(texts[0])])


def number_of(text):
    return next(word for word in text.split() if word.startswith("number"))


def test_one_at_a_time_is_the_default(make, server):
    embedder = make(Ollama)
    embedder.embed_passages(passages(3 * embedder.batch_size))
    assert (embedder.batch_size, server.most) == (32, 1)


def test_a_text_that_is_refused_costs_no_other_request_anything(served, server):
    embedder = served(3)
    server.spoil["poison"] = "400"
    given = passages(3 * embedder.request_size)
    given[40] = Passage("", "this is poison")
    vectors = embedder.embed_passages(given)
    assert [at for at, vector in enumerate(vectors) if isinstance(vector, EmbeddingFailed)] == [40]
    assert len(vectors) == len(given)


def test_what_concerns_the_whole_server_is_raised_and_nothing_further_is_begun(served, server):
    embedder = served(2)
    embedder.embed_passages(passages(1))  # Ollama asks for its models first
    server.fail(method="POST", times=100, status=403, body={"error": "no"})
    before = len(server.requests)
    with pytest.raises(AuthError):
        embedder.embed_passages(passages(20 * embedder.request_size))
    assert len(server.requests) - before <= 2


def test_after_an_error_no_thread_begins_another_part():
    """Whenever the thread that asked gets to hear of it."""
    for _ in range(200):
        begun = []

        def work(at, begun=begun):
            begun.append(at)
            raise ValueError(at)

        with pytest.raises(ValueError, match=r"[0-9]"):
            map_side_by_side(work, range(50), at_once=3)
        assert len(begun) <= 3


def test_results_keep_the_order_of_the_parts_whoever_is_first():
    gates = [threading.Event() for _ in range(4)]

    def work(at):
        if at < 3:
            assert gates[at + 1].wait(PATIENCE_S)  # each waits for the next: the last is done first
        gates[at].set()
        return at * 10

    assert map_side_by_side(work, range(4), at_once=4) == [0, 10, 20, 30]


def test_the_setting_reaches_the_embedder_and_a_whole_run_uses_it(tmp_path, server):
    environ = {
        "FORGELORE_EMBEDDER": "ollama",
        "FORGELORE_EMBEDDER_URL": server.url,
        "FORGELORE_EMBEDDER_CONCURRENCY": "3",
    }
    app = App(environ, cwd=str(tmp_path), db=str(tmp_path / "lore.db"), viewer=EVERYTHING)
    store, server.wanted = app.store(create=True), 3
    lines = tmp_path / "items.jsonl"
    lines.write_text("".join(f'{{"kind": "issue", "number": {n}, "title": "item {n}"}}\n' for n in range(1, 201)))
    with lines.open("rb") as source:
        import_lines(store, app.parse_project("old"), source, 0)
    index_items(store, [1])
    done = embed_documents(store, app.embedder(), [1])
    assert (done.embedded, done.failed, done.waiting) == (200, 0, 0)
    assert server.most == 3
    app.close()


@pytest.mark.parametrize("value", ["0", "17", "many", "2.5", "-1"])
def test_a_number_of_requests_that_makes_no_sense_is_refused(tmp_path, value):
    environ = {"HOME": str(tmp_path), "FORGELORE_EMBEDDER_CONCURRENCY": value}
    with pytest.raises(ConfigError, match="embedder_concurrency must be a whole number between 1 and 16") as refused:
        load_config(environ, cwd=str(tmp_path))
    assert refused.value.hint == "for example: embedder_concurrency = 1"


def test_a_clone_may_not_set_it(tmp_path):
    (tmp_path / "forgelore.toml").write_text("embedder_concurrency = 1")
    config = load_config({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}, cwd=str(tmp_path))
    assert "may not set it" in config.warnings[0]
