"""Settings of language models: layers, presets, whose key goes where, and what a clone may not set."""

import pytest

from cli.test_settings import load
from forgelore.app import App
from forgelore.config import load_config
from forgelore.errors import ConfigError, InvalidValue
from forgelore.llm_settings import LLM_PRESETS, LLM_PROFILES, LLM_SETTINGS
from forgelore.ports.chat import ChatMessage
from servers.chat import ChatServer
from support import raised

BOTH = """
[llm]
preset = "ollama"
model = "small"
timeout = 30

[llm.strong]
preset = "openai"
model = "large"
reasoning = "high"
"""


def profiles(config):
    return {one.name: one for one in config.llm}


def test_nothing_is_configured_by_default(tmp_path):
    assert load(tmp_path).llm == ()


def test_profiles_inherit_and_differ(tmp_path):
    found = profiles(load(tmp_path, user=BOTH))
    assert tuple(found) == LLM_PROFILES
    assert (found["default"].base_url, found["default"].model) == ("http://127.0.0.1:11434/v1", "small")
    assert found["cheap"] == found["default"]._replace(name="cheap")
    strong = found["strong"]
    assert (strong.base_url, strong.model, strong.reasoning) == ("https://api.openai.com/v1", "large", "high")
    assert (strong.api_key_env, strong.timeout) == ("OPENAI_API_KEY", 30.0)


def test_the_environment_wins_line_by_line(tmp_path):
    found = profiles(
        load(tmp_path, user=BOTH, FORGELORE_LLM_MODEL="other", FORGELORE_LLM_STRONG_REASONING="low", FORGELORE_LLM_TIMEOUT="5")
    )  # fmt: skip
    assert (found["default"].model, found["strong"].model) == ("other", "large")
    assert (found["default"].reasoning, found["strong"].reasoning) == ("", "low")
    assert found["cheap"].timeout == 5.0


def test_the_environment_alone_is_enough(tmp_path):
    found = profiles(load(tmp_path, FORGELORE_LLM_BASE_URL="http://127.0.0.1:9/v1"))
    assert found["cheap"].base_url == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("own", "environ"),
    [
        ('[llm.cheap]\nbase_url = "https://other.example/v1"', {}),
        ('[llm.cheap]\npreset = "ollama"', {}),
        ("", {"FORGELORE_LLM_CHEAP_BASE_URL": "https://other.example/v1"}),
        ("", {"FORGELORE_LLM_BASE_URL": "https://other.example/v1"}),
    ],
)
def test_a_key_stays_with_the_server_beside_which_it_is_named(tmp_path, own, environ):
    user = f'[llm]\nbase_url = "https://team.example/v1"\nmodel = "m"\napi_key_env = "TEAM_KEY"\n{own}'
    found = profiles(load(tmp_path, user=user, **environ))
    assert found["cheap"].api_key_env == ""
    assert found["default"].api_key_env == ("" if "FORGELORE_LLM_BASE_URL" in environ else "TEAM_KEY")


def test_a_known_server_has_its_usual_variable_and_another_path_of_it_too(tmp_path):
    user = '[llm]\nbase_url = "https://api.openai.com/v1"\nmodel = "m"'
    assert profiles(load(tmp_path, user=user))["default"].api_key_env == "OPENAI_API_KEY"


def test_a_clone_may_not_name_a_model_or_where_text_goes(tmp_path):
    config = load(tmp_path, '[llm]\nbase_url = "https://evil.example/v1"\nmodel = "m"\napi_key_env = "GITHUB_TOKEN"')
    assert config.llm == ()
    assert "may not set it" in config.warnings[0]
    mixed = load(tmp_path, '[llm]\nbase_url = "https://evil.example/v1"', user=BOTH)
    assert all("evil" not in one.base_url for one in mixed.llm)


@pytest.mark.parametrize(
    "user",
    [
        "llm = 3",
        "[llm]\ncheap = 3",
        '[llm]\npreset = "skynet"',
        '[llm]\njson_mode = "yaml"',
        '[llm]\nreasoning = "a lot"',
        "[llm]\ntimeout = 0",
        "[llm]\ntimeout = true",
        "[llm]\nmodel = 7",
        '[llm]\nmodle = "x"',
        "[llm.cheap]\nprice_in = -1",
    ],
)
def test_a_bad_line_is_an_error_that_names_the_file(tmp_path, user):
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load(tmp_path, user=user)


def test_a_bad_variable_is_named(tmp_path):
    with pytest.raises(ConfigError, match="FORGELORE_LLM_STRONG_TIMEOUT"):
        load(tmp_path, FORGELORE_LLM_STRONG_TIMEOUT="long")


def test_every_line_has_a_text_a_default_within_its_range_and_every_preset_an_address():
    for setting in LLM_SETTINGS:
        assert setting.doc
        assert isinstance(setting.default, str) or setting.low <= setting.default <= setting.high
    for preset in LLM_PRESETS.values():
        assert preset.base_url.startswith(("https://", "http://127.0.0.1:"))
        assert bool(preset.api_key_env) == preset.base_url.startswith("https://")


def app_of(tmp_path, **environ):
    return App({"HOME": str(tmp_path), "FORGELORE_DB": str(tmp_path / "a.db"), **environ}, cwd=str(tmp_path))


def test_the_app_makes_a_model_once_and_hands_it_its_key(tmp_path):
    with ChatServer() as server:
        server.key = "team-s3cret"
        app = app_of(
            tmp_path, FORGELORE_LLM_BASE_URL=server.v1, FORGELORE_LLM_MODEL="scripted-model",
            FORGELORE_LLM_API_KEY_ENV="TEAM_KEY", TEAM_KEY="team-s3cret", OPENAI_API_KEY="another-s3cret",
        )  # fmt: skip
        assert app.chat_model("cheap") is app.chat_model("cheap")
        assert app.chat_model("cheap").chat([ChatMessage("user", "hi")]).text == "ok"
        app.close()


def test_what_is_missing_is_told_with_the_lines_to_write(tmp_path):
    with raised(ConfigError, says="no server", hint="[llm]"):
        app_of(tmp_path).chat_model()
    with raised(ConfigError, says="no model", hint="[llm]"):
        app_of(tmp_path, FORGELORE_LLM_PRESET="ollama").chat_model("strong")
    with raised(InvalidValue, says="'cleverest'"):
        app_of(tmp_path, FORGELORE_LLM_PRESET="llamacpp").chat_model("cleverest")
    assert app_of(tmp_path, FORGELORE_LLM_PRESET="llamacpp").chat_model().model == "default"
    assert load_config({"HOME": str(tmp_path)}, cwd=str(tmp_path)).llm == ()
