"""`doctor` asks each profile of `[llm]` a short question, and says what is wrong."""

import socket

import pytest

from forgelore.api import make_history
from forgelore.errors import AuthError, ChatModelNotFound, ChatUnreachable, ConfigError
from servers.chat import ChatServer

JSON = '{"ok": true}'


@pytest.fixture
def server():
    with ChatServer([JSON]) as running:
        yield running


def check(tmp_path, *, is_offline=False, **environ):
    """What doctor says of models. The forges of the settings are none: an offline look comes before them."""
    values = {"HOME": str(tmp_path), "FORGELORE_EMBEDDER": "none", **environ}
    with make_history(values, cwd=str(tmp_path), db=str(tmp_path / "new.db")) as history:
        found = []
        for one in history.setup.check(offline=is_offline):
            if one.name in ("projects", "token"):
                break
            found.append(one)
    return [one for one in found if one.name == "model"]


def of(server, **more):
    return {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model", **more}


def test_no_model_is_no_fault(tmp_path):
    assert check(tmp_path) == []


def test_profiles_that_come_to_the_same_are_asked_once(tmp_path, server):
    (one,) = check(tmp_path, **of(server))
    assert one.status == "ok"
    assert one.message.startswith(f"default, cheap, strong: scripted-model at {server.netloc}")
    assert "150 tokens, JSON by schema" in one.message
    assert len(server.asked) == 1


def test_each_profile_is_asked_and_what_is_wrong_is_said(tmp_path, server):
    server.refuses = {"response_format": "response_format is unknown here"}
    good, bad = check(tmp_path, **of(server, FORGELORE_LLM_STRONG_MODEL="gone"))
    assert (good.status, "default, cheap" in good.message, "JSON by none" in good.message) == ("ok", True, True)
    assert (bad.status, bad.fault) == ("error", ChatModelNotFound)
    assert "has no model 'gone'" in bad.message
    assert "/models" in bad.hint


def test_a_model_that_answers_in_prose_is_a_warning(tmp_path, server):
    server.replies = ["Sure! I am fine, thank you."]
    (one,) = check(tmp_path, **of(server))
    assert one.status == "warning"
    assert "not in JSON" in one.message


def test_a_refused_key_a_silent_server_and_a_missing_line(tmp_path, server):
    server.key = "right-s3cret"
    (refused,) = check(tmp_path, **of(server, FORGELORE_LLM_API_KEY_ENV="TEAM_KEY", TEAM_KEY="wrong-s3cret"))
    assert (refused.status, refused.fault, refused.hint) == ("error", AuthError, "check the key in TEAM_KEY")
    assert "s3cret" not in refused.message
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    (silent,) = check(tmp_path, **(of(server) | {"FORGELORE_LLM_BASE_URL": free}))
    assert (silent.fault, "nothing answers" in silent.message) == (ChatUnreachable, True)
    (nameless,) = check(tmp_path, FORGELORE_LLM_PRESET="ollama")
    assert (nameless.fault, "no model configured for language model profile 'default'" in nameless.message) == (
        ConfigError,
        True,
    )


def test_offline_asks_nobody(tmp_path, server):
    (one,) = check(tmp_path, is_offline=True, **of(server))
    assert "not contacted: --offline" in one.message
    assert server.requests == []
