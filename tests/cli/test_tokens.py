"""A refused token: which one it was, where it is kept, and what to do, single sign-on included."""

import json
import os
import subprocess
import sys

import pytest

FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]


@pytest.fixture
def sync(tmp_path):
    """Sync a project in a process of its own and return what it says; `forges` is the [[forges]] table of the user."""

    def run(project, *words, forges="", **environ):
        settings = tmp_path / "config.toml"
        settings.write_text(forges)
        env = {**os.environ, "FORGELORE_CONFIG": str(settings), "NO_COLOR": "1", **environ}
        command = [*FORGELORE, *(words or ("sync",)), project, "--db", str(tmp_path / "lore.db")]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    return run


def table(host, kind, api_url, token_env=""):
    named = f'token_env = "{token_env}"\n' if token_env else ""
    return f'[[forges]]\nhost = "{host}"\nkind = "{kind}"\napi_url = "{api_url}"\n{named}'


def program(tmp_path, name):
    """A `gh` or `glab` that is signed in, with a token that the forge does not know (any more)."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).write_text("#!/bin/sh\necho stale-token-of-the-program\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("variable", ["GITHUB_TOKEN", "GH_TOKEN"])
def test_a_401_names_the_variable_of_github_that_was_used(github, sync, variable):
    done = sync("acme/web", GITHUB_API_URL=github.server.api_url, **{variable: "wrong-token"})
    other = {"GITHUB_TOKEN", "GH_TOKEN"} - {variable}
    assert done.returncode == 4
    assert "rejected the token (HTTP 401)" in done.stderr
    assert f"the token in {variable} may be wrong or expired" in done.stderr
    assert other.pop() not in done.stderr


def test_a_401_names_the_variable_of_gitlab(gitlab, sync):
    done = sync("gitlab:group/app", CI_API_V4_URL=gitlab.server.api_url, GITLAB_TOKEN="wrong-token")
    assert done.returncode == 4
    assert "the token in GITLAB_TOKEN may be wrong or expired" in done.stderr


@pytest.mark.parametrize("kind", ["github", "gitlab", "forgejo"])
def test_a_401_names_the_variable_of_the_settings(request, sync, kind):
    lab = request.getfixturevalue(kind)
    forges = table("git.example.com", kind, lab.server.api_url, "TEAM_TOKEN")
    project = f"https://git.example.com/{lab.path}"
    usual = {"GITHUB_TOKEN": "of-github-com", "GITLAB_TOKEN": "of-gitlab-com", "FORGEJO_TOKEN": "of-codeberg-org"}
    done = sync(project, forges=forges, TEAM_TOKEN="wrong-token", **usual)
    assert done.returncode == 4
    assert "the token in TEAM_TOKEN may be wrong or expired" in done.stderr
    lab.server.fail(status=401, body={"message": "401 Unauthorized"})
    missing = sync(project, forges=forges, **usual)
    assert missing.returncode == 4
    assert "git.example.com wants a token" in missing.stderr
    assert "set TEAM_TOKEN, which [[forges]] names for git.example.com" in missing.stderr


@pytest.mark.parametrize(("kind", "name"), [("github", "gh"), ("gitlab", "glab")])
def test_a_401_names_the_program_that_is_signed_in(request, sync, tmp_path, kind, name):
    lab = request.getfixturevalue(kind)
    forges = table("git.example.com", kind, lab.server.api_url)
    done = sync(f"https://git.example.com/{lab.path}", forges=forges, **program(tmp_path, name))
    assert done.returncode == 4
    assert f"run: {name} auth login --hostname git.example.com" in done.stderr
    assert "TOKEN" not in done.stderr


def test_a_variable_that_belongs_to_another_host_is_named_as_such(gitlab, sync):
    gitlab.server.fail(status=401, body={"message": "401 Unauthorized"})
    forges = table("git.example.com", "gitlab", gitlab.server.api_url)
    for words in (["sync"], ["auth-test"]):
        done = sync("https://git.example.com/group/app", *words, forges=forges, GITLAB_TOKEN="of-gitlab-com")
        assert done.returncode == 4
        assert "GITLAB_TOKEN is set, but belongs to another host" in done.stderr
        assert "forgelore init --host git.example.com --kind gitlab --token-env" in done.stderr


def test_without_any_token_the_usual_variable_is_named(github, sync):
    done = sync("acme/secret", GITHUB_API_URL=github.server.api_url)
    assert done.returncode == 5
    assert "if it is private, set GITHUB_TOKEN" in done.stderr


# single sign-on

LINK = "https://github.com/orgs/acme/sso?authorization_request=AZSCKtL4U8yX1H3sCQIVnVgmjmon5fWxks5YrqhJgah0b2tlbl9pZM4EuMz4"


def refuse(github, header, status=403, path=r"^/repos/acme/web$"):
    message = "Resource protected by organization SAML enforcement."
    github.server.fail(path=path, status=status, headers={"X-GitHub-SSO": header}, body={"message": message})


@pytest.mark.parametrize("status", [403, 404])
def test_the_link_of_single_sign_on_is_shown(github, github_env, sync, status):
    refuse(github, f"required; url={LINK}", status)
    done = sync("acme/web", **github_env)
    assert done.returncode == (4 if status == 403 else 5)
    assert f"single sign-on: {LINK}\n" in done.stderr
    as_data = json.loads(sync("acme/web", "sync", "--json", **github_env).stdout)
    assert LINK in as_data["error"]["hint"]


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/orgs/acme/sso",
        "https://evil.example/orgs/acme/sso",
        "https://github.com@evil.example/sso",
        "https://github.com.evil.example/sso",
        "javascript:alert(1)",
        "https://github.com/orgs/acme/sso and more",
        "https://[github.com/sso",
        "",
    ],
)
def test_an_address_elsewhere_is_not_shown_as_the_place_to_sign_in(github, github_env, sync, url):
    refuse(github, f"required; url={url}")
    done = sync("acme/web", **github_env)
    assert done.returncode == 4
    assert "Configure SSO" in done.stderr
    assert not url or url not in done.stderr


def test_organisations_that_were_left_out_are_named(github, github_env, sync):
    refuse(github, "partial-results; organizations=21955855,20582480")
    done = sync("acme/web", **github_env)
    assert "of the organisations 21955855,20582480" in done.stderr


def test_the_link_is_shown_when_graphql_refuses_too(github, github_env, sync):
    github.project.has_discussions = True
    github.project.add_issue("One")
    refused = {"data": None, "errors": [{"type": "FORBIDDEN", "message": "Resource protected by SAML"}]}
    github.server.fail(path="/graphql", status=200, body=refused, headers={"X-GitHub-SSO": f"required; url={LINK}"})
    done = sync("acme/web", **github_env)
    assert f"single sign-on: {LINK})" in done.stderr, done.stderr
