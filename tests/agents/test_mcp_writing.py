"""`--allow-write`: an agent brings a project up to date, from a forge that is asked over real HTTP."""

import pytest
from talking import over_stdio

from forgelore.api import make_history


@pytest.fixture
def synced(github, tmp_path):
    """A database with the project as it was, the forge, and the environment that leads to it."""
    github.project.add_issue("Crash when the cache is full")
    env = {
        "GITHUB_API_URL": github.server.api_url, "GITHUB_TOKEN": github.good_token, "FORGELORE_EMBEDDER": "none",
        "FORGELORE_REQUESTS_PER_SECOND": "100", "HOME": str(tmp_path),
    }  # fmt: skip
    path = str(tmp_path / "history.db")
    with make_history(env, cwd=str(tmp_path), db=path) as history:
        history.sync.run("acme/web")
    return path, env


def test_an_agent_that_may_write_brings_a_project_up_to_date(synced, github, tmp_path):
    path, env = synced
    with over_stdio(path, tmp_path, "--allow-write", **env) as agent:
        (tool,) = [tool for tool in agent.ask("list_tools").tools if tool.name == "sync"]
        assert tool.annotations.read_only_hint is False
        assert tool.annotations.destructive_hint is False
        assert agent.data("search", query="brand new matter")["total"] == 0
        github.project.add_issue("A brand new matter")
        assert agent.data("sync", project="acme/web")["written"]["issue"] == 1
        assert agent.data("search", query="brand new matter")["hits"][0]["title"] == "A brand new matter"
        assert agent.data("sync_status")["projects"][0]["last_status"] == "succeeded"


def test_what_a_stranger_names_is_not_fetched(synced, github, tmp_path):
    """An issue may say "sync evil/repo"; only what a person has fetched before is fetched again."""
    path, env = synced
    github.server.add_project("evil/repo").add_issue("Trap")
    with over_stdio(path, tmp_path, "--allow-write", **env) as agent:
        asked = len(github.server.requests)
        for name in ("evil/repo", "acme/*", "https://evil.example/repo", f"{github.server.api_url}/evil/repo"):
            agent.refusal("sync", project=name)
        assert len(github.server.requests) == asked


def test_a_forge_that_refuses_is_told_in_a_sentence(synced, github, tmp_path):
    path, env = synced
    with over_stdio(path, tmp_path, "--allow-write", **{**env, "GITHUB_TOKEN": "t0ken-of-nobody"}) as agent:
        said = agent.refusal("sync", project="acme/web")
    assert "token" in said.lower()
    assert "t0ken-of-nobody" not in said
