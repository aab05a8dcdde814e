"""Which embedder the settings choose, and what a clone may not choose."""

import sys

import pytest

from forgelore.app import App
from forgelore.config import EMBEDDERS
from forgelore.embedders.served import Ollama, OpenAI
from forgelore.errors import AuthError, ConfigError, EmbedderUnreachable, InvalidValue
from forgelore.viewer import EVERYTHING
from support import raised

KEY = "sk-s3cret-k3y"


@pytest.fixture
def app(tmp_path):
    """`app(FORGELORE_EMBEDDER="ollama")`: an App with these variables."""
    made = []

    def build(**environ):
        made.append(App(environ, cwd=str(tmp_path), db=str(tmp_path / "lore.db"), viewer=EVERYTHING))
        return made[-1]

    yield build
    for one in made:
        one.close()


def test_the_built_in_one_is_the_default(app):
    assert app().config.embedder == "lore"


def test_none_is_none(app):
    assert app(FORGELORE_EMBEDDER="none").embedder() is None
    assert app().embedder("none") is None


@pytest.mark.parametrize("name", [name for name in EMBEDDERS if name != "none"])
def test_every_name_that_settings_may_give_makes_the_embedder_of_that_name(app, name):
    assert app().embedder(name).name == name


def test_a_server_is_chosen_by_name_with_its_own_defaults(app):
    ollama = app(FORGELORE_EMBEDDER="ollama").embedder()
    assert isinstance(ollama, Ollama)
    assert (ollama.name, ollama.model, ollama.line.url) == ("ollama", "nomic-embed-text", "http://127.0.0.1:11434")
    openai = app(FORGELORE_EMBEDDER="openai").embedder()
    assert isinstance(openai, OpenAI)
    assert (openai.name, openai.model, openai.line.url) == (
        "openai",
        "text-embedding-3-small",
        "https://api.openai.com/v1",
    )


def test_address_and_model_come_from_the_settings(app, server):
    chosen = app(FORGELORE_EMBEDDER="ollama", FORGELORE_EMBEDDER_URL=server.url, FORGELORE_EMBEDDER_MODEL="bge-m3")
    assert (chosen.embedder().line.url, chosen.embedder().model) == (server.url, "bge-m3")
    assert chosen.embedder() is chosen.embedder("ollama")


def test_another_server_by_name_does_not_get_the_address_of_the_first(app, server):
    chosen = app(FORGELORE_EMBEDDER="ollama", FORGELORE_EMBEDDER_URL=server.url, OPENAI_API_KEY=KEY)
    assert chosen.embedder("openai").line.url == "https://api.openai.com/v1"
    named = app(FORGELORE_EMBEDDER_URL=server.url)
    assert named.embedder("ollama").line.url == server.url


def test_the_key_comes_from_the_named_variable(app, server):
    server.key = KEY
    place = {"FORGELORE_EMBEDDER": "openai", "FORGELORE_EMBEDDER_URL": server.v1}
    place["FORGELORE_EMBEDDER_MODEL"] = "nomic-embed-text"
    named = {"FORGELORE_EMBEDDER_KEY_ENV": "OPENAI_API_KEY"}
    assert app(**place, **named, OPENAI_API_KEY=f" {KEY}\n").embedder().embed_query("x")
    with raised(AuthError, hint="embedder_key_env"):  # OpenAI's key is for OpenAI, unless somebody says otherwise
        app(**place, OPENAI_API_KEY=KEY).embedder().embed_query("x")
    assert app(**place, FORGELORE_EMBEDDER_KEY_ENV="TEAM_KEY", TEAM_KEY=KEY).embedder().embed_query("x")
    with raised(AuthError, hint="put a key into TEAM_KEY"):
        app(**place, FORGELORE_EMBEDDER_KEY_ENV="TEAM_KEY", OPENAI_API_KEY=KEY).embedder().embed_query("x")


def test_ollama_gets_no_key(app, server):
    chosen = app(FORGELORE_EMBEDDER="ollama", FORGELORE_EMBEDDER_URL=server.url, OPENAI_API_KEY=KEY)
    chosen.embedder().embed_query("x")
    assert not any("authorization" in request["headers"] for request in server.requests)


def test_a_name_that_nobody_has_is_an_error(app):
    with raised(ConfigError, says="lore, minilm, ollama, openai, none"):
        app(FORGELORE_EMBEDDER="word2vec")
    with raised(InvalidValue, hint="lore, minilm, ollama, openai, none"):
        app().embedder("word2vec")


def test_plain_http_on_the_network_is_refused_before_anything_is_sent(app):
    chosen = app(FORGELORE_EMBEDDER="ollama", FORGELORE_EMBEDDER_URL="http://192.168.1.5:11434")
    with raised(ConfigError, hint="ssh"):
        chosen.embedder()


@pytest.mark.parametrize(
    "line",
    [
        'embedder = "openai"',
        'embedder_url = "https://evil.example/v1"',
        'embedder_model = "theirs"',
        'embedder_key_env = "GITHUB_TOKEN"',
        'second_embedder = "none"',
    ],
)
def test_a_clone_chooses_nothing_of_it(app, tmp_path, line):
    (tmp_path / "forgelore.toml").write_text(line)
    config = app().config
    assert "may not set it" in config.warnings[0]
    assert (config.embedder, config.embedder_url, config.embedder_model) == ("lore", "", "")
    assert (config.embedder_key_env, config.second_embedder) == ("", "minilm")


def test_minilm_is_a_package_of_its_own_and_its_absence_says_how_to_get_it(app, monkeypatch):
    assert app(FORGELORE_EMBEDDER="minilm").embedder().name == "minilm"
    monkeypatch.setitem(sys.modules, "forgelore_minilm", None)
    with raised(EmbedderUnreachable, hint="pip install '.[minilm]'"):
        app(FORGELORE_EMBEDDER="minilm").embedder()


def test_minilm_stands_beside_lore_alone_and_only_where_it_is_installed_and_wanted(app, monkeypatch):
    assert app().second_embedder("lore").name == "minilm"
    assert app().second_embedder("ollama") is None
    assert app().second_embedder("") is None
    assert app(FORGELORE_SECOND_EMBEDDER="none").second_embedder("lore") is None
    with raised(ConfigError, says="second_embedder must be minilm or none"):
        app(FORGELORE_SECOND_EMBEDDER="ollama")
    monkeypatch.setitem(sys.modules, "forgelore_minilm", None)
    assert app().second_embedder("lore") is None
