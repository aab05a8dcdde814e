"""sync, ingest, sync-status, auth-test, doctor and init, against the local forges."""

import json
import os
import subprocess
import sys

import pytest


def exported(cli, project):
    return [json.loads(line) for line in cli("export", "--project", project, "--include-internal").out.splitlines()]


def test_a_first_sync_brings_everything_and_a_second_says_nothing_new(cli, github, github_env):
    github.server.populate("acme/web", seed=3, issues=30, changes=15, discussions=4)
    done = cli("sync", "acme/web", **github_env)
    assert done.code == 0
    assert "30 issues, 15 changes, 4 discussions" in done.out
    github.server.clock.advance(3600)
    again = cli("sync", "acme/web")
    assert "nothing new" in again.out
    assert {row["number"] for row in exported(cli, "acme/web")} == {
        row["number"] for row in github.server.truth("acme/web")
    }


def test_sync_works_on_gitlab_and_as_json(cli, gitlab, gitlab_env):
    gitlab.server.populate("group/app", seed=3, issues=20, changes=10)
    done = cli("sync", "gitlab:group/app", "--json", "--no-docs", "--no-embed", **gitlab_env)
    (result,) = done.data
    assert result["written"]["issue"] == 20
    assert result["failing_jobs"] == 0
    assert cli("list", "mrs", "--project", "gitlab:group/app").out.startswith("!")


def test_a_project_may_be_named_by_its_url(cli, gitlab, gitlab_env):
    gitlab.project.add_issue("Hello")
    done = cli("sync", f"{gitlab.server.url}/group/app", **gitlab_env)
    assert done.code == 0
    assert cli("count", "issues").out == "Issues: 1\n"


def test_an_unknown_host_is_asked_what_it_is_without_a_token(cli, gitlab, monkeypatch):
    gitlab.project.add_issue("Hello")
    cli("sync", f"{gitlab.server.url}/group/app", GITLAB_TOKEN="belongs-to-gitlab-com")
    sent = [request["headers"] for request in gitlab.server.requests]
    assert sent
    assert not [headers for headers in sent if "private-token" in headers or "authorization" in headers]


def test_a_whole_organisation_is_synced(cli, github, github_env):
    for name in ("acme/api", "acme/docs"):
        github.server.add_project(name).add_issue(f"In {name}")
    done = cli("sync", "acme/*", "--json", **github_env)
    assert len(done.data) == 3
    assert cli("count", "issues", "--json").data["total"] == 2


def test_a_group_with_its_subgroups_is_synced(cli, gitlab, gitlab_env):
    gitlab.server.add_project("group/sub/deep").add_issue("Deep")
    assert len(cli("sync", "gitlab:group/**", "--json", **gitlab_env).data) == 2
    assert len(cli("sync", "gitlab:group/*", "--json").data) == 1


def test_one_failing_project_does_not_stop_the_others(cli, github, github_env):
    github.project.add_issue("Fine")
    done = cli("sync", "acme/missing", "acme/web", **github_env)
    assert done.code == 5
    assert "1 of 2" in done.err
    again = cli("sync", "acme/missing", "acme/web", "--json")
    assert json.loads(again.out)["ok"] is False
    assert [("error" in row, row["project"]) for row in again.data] == [
        (True, again.data[0]["project"]),
        (False, again.data[1]["project"]),
    ]
    assert cli("count", "issues", "--json").data["total"] == 1


def test_a_plan_says_what_it_would_cost_and_fetches_nothing(cli, github, github_env):
    github.server.populate("acme/web", seed=3, issues=30, changes=15)
    done = cli("sync", "acme/web", "--plan", **github_env)
    assert "30 missing here" in done.out
    assert "requests" in done.out
    assert not os.path.exists(os.environ["FORGELORE_DB"])
    cli("sync", "acme/web")
    assert cli("sync", "acme/web", "--plan", "--json").data[0]["missing"] == {"change": 0, "issue": 0, "discussion": 0}


def test_ingest_fetches_one_kind(cli, gitlab, gitlab_env):
    gitlab.server.populate("group/app", seed=3, issues=5, changes=5)
    assert cli("ingest", "--type=merge_requests", "gitlab:group/app", **gitlab_env).code == 0
    assert cli("count", "changes", "--json").data["total"] == 5
    assert cli("count", "issues", "--json").data["total"] == 0


def test_sync_status_tells_the_last_runs(cli, github, github_env):
    github.project.add_issue("One")
    cli("sync", "acme/web", **github_env)
    done = cli("sync-status")
    assert "✓ sync" in done.out
    status = cli("sync-status", "--json").data[0]
    assert status["runs"][0]["status"] == "succeeded"
    assert status["items"]["issue"] == 1


@pytest.mark.parametrize(
    ("token", "code", "word"),
    [
        ("wrong", 4, "rejected"),
        ("expired", 4, "rejected"),
        ("", 4, "no token"),
        ("t0ken-github", 0, "Authenticated as @"),
    ],
)
def test_auth_test_says_who_you_are_or_why_not(cli, github, github_env, token, code, word):
    from servers.github import Token

    github.server.tokens["expired"] = Token("ana", "Ana", expired=True)
    done = cli("auth-test", "acme/web", **{**github_env, "GITHUB_TOKEN": token})
    assert done.code == code
    assert word in done.out + done.err


def test_auth_test_on_gitlab(cli, gitlab, gitlab_env):
    assert "Authenticated as @" in cli("auth-test", "gitlab:group/app", **gitlab_env).out
    assert cli("auth-test", "gitlab:group/app", GITLAB_TOKEN="nonsense").code == 4


def test_a_project_that_does_not_exist_is_exit_5_with_a_hint(cli, github, github_env):
    done = cli("sync", "acme/nope", "--json", **github_env)
    assert done.code == 5
    assert "spelling" in done.error["hint"]


def test_a_renamed_project_keeps_its_rows_and_its_old_name(cli, github, github_env):
    number = github.project.add_issue("Before")
    cli("sync", "acme/web", **github_env)
    github.server.rename("acme/web", "acme/site")
    assert cli("sync", "acme/web").code == 0
    assert cli("show", f"acme/web#{number}", "--json").data["project"].endswith("acme/site")
    assert len(cli("sync-status", "--json").data) == 1


def test_the_network_being_away_is_exit_6(cli, github, github_env):
    github.server.stop()
    github.server._httpd = None
    github.server.requests.clear()
    done = subprocess.run(
        [sys.executable, "-c", "import forgelore.net.policy as p; p.ATTEMPTS = 1; from forgelore.surfaces.cli.main import main; import sys; sys.exit(main(['sync', 'acme/web']))"],
        env={**os.environ, **github_env}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 6
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_checks_everything_and_says_what_to_do(cli, github, github_env):
    cli("init", "--project", "acme/web", "--yes", **github_env)
    done = cli("doctor")
    assert done.code == 0
    assert "✓ token" in done.out
    assert "✓ project" in done.out
    wrong = cli("doctor", "--json", GITHUB_TOKEN="wrong")
    assert (wrong.code, wrong.error["code"]) == (4, "auth")
    assert json.loads(wrong.out)["ok"] is False
    assert not wrong.data["success"]
    assert any(check["status"] == "error" and check["hint"] for check in wrong.data["checks"])


def test_doctor_tries_the_embedder(cli):
    lines = {
        one["check"]: one for one in cli("doctor", "--offline", "--json", FORGELORE_EMBEDDER="lore").data["checks"]
    }
    assert (lines["embedder"]["status"], lines["embedder"]["message"]) == (
        "ok",
        "lore word-piece table, 384 dimensions",
    )
    gone = {"FORGELORE_EMBEDDER": "ollama", "FORGELORE_EMBEDDER_URL": "http://127.0.0.1:9"}
    done = cli("doctor", "--json", **gone)
    lines = {one["check"]: one for one in json.loads(done.out)["data"]["checks"]}
    assert done.code == 14
    assert lines["embedder"]["status"] == "error"
    assert "ollama serve" in lines["embedder"]["hint"]


def test_doctor_reports_a_damaged_database(cli, tmp_path):
    (tmp_path / "lore.db").write_bytes(b"not a database " * 400)
    done = cli("doctor", "--offline")
    assert done.code == 8
    assert "✗ database" in done.out
    assert "sync --full" in done.out


# what is wrong -> the documented exit code of that (docs/errors.md), and what is checked before it is well
DOCTOR = {
    "a damaged database": ({}, b"not a database " * 400, 8),
    "a token": ({"GITHUB_TOKEN": "wrong"}, b"", 4),
    "a project": ({"FORGELORE_PROJECTS": "acme/nothing"}, b"", 5),
    "an embedder": ({"FORGELORE_EMBEDDER": "ollama", "FORGELORE_EMBEDDER_URL": "http://127.0.0.1:9"}, b"", 14),
    "settings": ({"FORGELORE_WORKERS": "many"}, b"", 3),
    "nothing": ({}, b"", 0),
}


@pytest.mark.parametrize("what", DOCTOR)
def test_doctor_has_the_exit_code_of_what_it_finds(github, github_env, tmp_path, what):
    environ, content, code = DOCTOR[what]
    if content:
        (tmp_path / "lore.db").write_bytes(content)
    env = {**os.environ, **github_env, "FORGELORE_PROJECTS": "acme/web", **environ}
    command = [sys.executable, "-m", "forgelore.surfaces.cli.main", "doctor", "--db", str(tmp_path / "lore.db")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_init_takes_the_project_from_the_clone(cli, clone):
    done = cli("init", "--yes")
    assert done.code == 0
    assert 'projects = [\n  "acme/web",\n]' in (clone / "forgelore.toml").read_text()
    assert cli("init", "--yes").code == 3
    assert cli("init", "--yes", "--overwrite").code == 0


def test_a_token_in_a_remote_or_a_url_is_never_repeated(cli, clone):
    secret = "glpat-SECRET99"
    subprocess.run(
        ["git", "remote", "set-url", "origin", f"https://oauth2:{secret}@gitlab.com/group/~weird.git"], check=True
    )
    cli("import", "-", "--project", "p", stdin=b'{"kind": "issue", "number": 1}')
    url = f"https://user:{secret}@github.com/a/b"
    said = [cli("sync"), cli("list", "issues", "--project", url), cli("show", f"{url}/issues/3"), cli("auth-test", url)]
    said.append(cli("init", "--project", f"https://u:{secret}@github.com/acme/*", "--yes", "--overwrite"))
    assert not [done for done in said if secret in done.out + done.err]
    assert secret not in (clone / "forgelore.toml").read_text()


def test_init_outside_a_clone_asks_for_a_project(cli):
    done = cli("init", "--yes")
    assert done.code == 2
    assert "--project" in done.err


def test_init_describes_a_server_in_the_users_own_file(cli, home):
    assert cli("init", "--host", "git.example.com", "--kind", "gitlab", "--token-env", "TEAM_TOKEN", "--yes").code == 0
    text = (home / ".config" / "forgelore" / "config.toml").read_text()
    assert 'host = "git.example.com"' in text
    assert cli("init", "--host", 'x"y', "--kind", "gitlab", "--yes").code == 13
    assert cli("init", "--host", "git.example.com", "--kind", "gitlab", "--yes").code == 3


def test_sync_inside_a_clone_needs_no_name(cli, github, github_env, clone):
    github.project.add_issue("Here")
    subprocess.run(["git", "remote", "set-url", "origin", f"{github.server.url}/acme/web.git"], check=True)
    assert cli("sync", **github_env).code == 0
    assert cli("count", "issues").out == "Issues: 1\n"


def test_sync_without_any_project_says_what_to_do(cli):
    done = cli("sync")
    assert done.code == 3
    assert "forgelore init" in done.err
