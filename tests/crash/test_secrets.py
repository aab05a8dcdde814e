"""A token goes into one header of requests to its own host, and nowhere else: looked for in every place a run leaves traces.

The planted secrets: the reader's token (from the usual variable, or one named under [[forges]]) and those that forges put into
answers (GitHub's temp_clone_token, GitLab's runners_token; Forgejo has none, and gets one).
"""

import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.parse

import pytest

from crash.killing import Forker, environ
from forgelore.profiles import PROFILES
from forgelore.store.payloads import load_payload
from forgelore.store.sqlite.schema import open_store

FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]
TOKENS = {
    "github": "ghp_PLANTEDsecret0123456789abcdef",
    "gitlab": "glpat-PLANTEDsecret0123456789",
    "forgejo": "PLANTEDsecret0123456789abcdef0123456789ab",
}
OTHER = "OTHERsecret-of-another-host-42"


class Scene:
    """A forge that remembers raw requests, and a folder that holds everything a command leaves behind."""

    def __init__(self, lab, folder: pathlib.Path, forker: Forker):
        self.lab, self.folder, self.forker = lab, folder, forker
        self.kind = lab.server.kind
        self.token = TOKENS[self.kind]
        self.db = folder / "lore.db"
        self.heard = []
        lab.server.tokens[self.token] = lab.server.tokens[lab.good_token]
        lab.populate(issues=5, changes=3)
        self.header = "private-token" if self.kind == "gitlab" else "authorization"
        if self.kind == "forgejo":
            lab.project.told["runners_token"] = "PLANTEDsecret-of-a-runner"
        listen_in(lab.server, self.heard)

    @property
    def environ(self):
        return {**environ(self.folder), **self.lab.environ(self.token)}

    def secrets(self):
        """Everything that must not be found, in the forms it could take."""
        known = [*TOKENS.values(), OTHER, *self.secrets_in_answers()]
        return [form for secret in known for form in (secret, base64.b64encode(secret.encode()).decode().rstrip("="))]

    def secrets_in_answers(self):
        project = self.lab.project
        if self.kind == "gitlab":
            return [f"GR1348941local{project.id}"]
        if self.kind == "forgejo":
            return [project.told["runners_token"]]
        from servers.github.repository import details

        return [details(project, "ana")["temp_clone_token"]]

    def run(self, *arguments, **more):
        return self.run_with({**self.environ, **more}, *arguments)

    def run_with(self, env, *arguments):
        """Run a command; what it says stays in the folder with everything else."""
        done = self.forker.run([*arguments, "--db", str(self.db)], env, self.folder, no_waits=True)
        (self.folder / f"{time.monotonic_ns()}.said").write_bytes(done.out + done.err.encode())
        return done

    def sync(self, *more, **variables):
        return self.run("sync", self.lab.name_text, *more, **variables)

    def assert_clean(self):
        """No secret in any file of the folder, in any stored payload, in any address that was asked for."""
        __tracebackhide__ = True
        traces = {path.name: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        traces["decompressed payloads"] = b"\n".join(stored_payloads(self.db))
        traces["addresses"] = "\n".join(request["target"] for request in self.heard).encode()
        traces["request bodies"] = b"\n".join(request["body"] for request in self.heard)
        for name, content in traces.items():
            for secret in self.secrets():
                assert secret.encode() not in content, f"{secret} is in {name}"

    def assert_only_in_its_header(self):
        for request in self.heard:
            places = [name for name, value in request["headers"].items() if self.token in value]
            assert places == [self.header], (request["target"], places)


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def scene(request, tmp_path, forker):
    return Scene(request.getfixturevalue(request.param), tmp_path, forker)


def listen_in(server, heard):
    """Remember each request as it really was; the server's own record masks tokens."""
    answer = server.answer

    def listening(request, target):
        heard.append({"target": urllib.parse.unquote(target), "headers": dict(request.headers), "body": request.body})
        return answer(request, target)

    server.answer = listening


def stored_payloads(db):
    if not db.exists():
        return []
    store = open_store(str(db), create=False)
    try:
        places = store.rows("SELECT project_id, hash FROM raw_payloads")
        return [load_payload(store, *place) for place in places]
    finally:
        store.close()


def test_the_planted_secrets_are_really_there(scene):
    """Else the rest proves nothing: the forge hears the token and says its own secrets."""
    assert scene.sync().code == 0
    answers = "\n".join(line["response_body"] or "" for line in scene.lab.server.requests)
    assert scene.secrets_in_answers()[0] in answers
    assert len(stored_payloads(scene.db)) > 10
    assert any(b"_token" in payload for payload in stored_payloads(scene.db))
    scene.assert_only_in_its_header()


def test_no_secret_after_good_runs(scene):
    for arguments in (
        ["sync", scene.lab.name_text],
        ["sync", scene.lab.name_text, "--full", "--json"],
        ["sync", scene.lab.name_text, "--plan"],
        ["auth-test", scene.lab.name_text, "--json"],
        ["doctor", "--json"],
        ["export", "--include-internal", "--output", str(scene.folder / "out.jsonl")],
        ["sync-status", "--json"],
    ):
        done = scene.run(*arguments, FORGELORE_DEBUG="1")
        assert done.code == 0, (arguments, done.err)
    scene.assert_clean()
    scene.assert_only_in_its_header()


# status, or what else goes wrong -> how the command may end
TROUBLES = {
    "401": ({"status": 401, "body": {"message": "Bad credentials"}}, {4}),
    "403": ({"status": 403, "body": {"message": "Forbidden"}}, {4}),
    "404": ({"status": 404, "body": {"message": "Not Found"}}, {5}),
    "502": ({"status": 502, "body": "<html>bad gateway</html>"}, {6}),
    "429": ({"status": 429, "headers": {"Retry-After": "9000"}}, {7}),
    "a dropped connection": ({"drop": True}, {6}),
    "half an answer": ({"truncate": 0.5}, {6}),
    "a strange shape": ({"status": 200, "body": {"data": [1, {"nodes": 3}], "errors": "what"}}, {1, 6}),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_no_secret_when_the_forge_fails(scene, trouble):
    rule, codes = TROUBLES[trouble]
    scene.lab.server.fail(**rule)
    done = scene.sync(FORGELORE_DEBUG="1")
    assert done.code in codes, (done.code, done.err)
    scene.sync("--json")
    scene.run("doctor", FORGELORE_PROJECTS=scene.lab.name_text, FORGELORE_DEBUG="1")
    scene.run("auth-test", scene.lab.name_text)
    scene.assert_clean()
    scene.assert_only_in_its_header()


def test_no_secret_when_a_later_page_fails(scene):
    """The failure is written into the record of runs and of waiting jobs: those are searched too."""
    for path in (r"/discussions", r"/graphql", r"/diffs", r"/comments"):
        scene.lab.server.fail(path=path, status=403, body={"message": "no"})
    scene.sync()
    scene.run("sync-status")
    scene.assert_clean()


def test_no_secret_when_there_is_nobody(scene):
    """The connection itself is refused."""
    _, api_variable = scene.lab.environ("")
    nowhere = {api_variable: "http://127.0.0.1:1/api/v4", "FORGELORE_DEBUG": "1"}
    assert scene.sync(**nowhere).code == 6
    scene.run("auth-test", scene.lab.name_text, **nowhere)
    scene.assert_clean()


@pytest.mark.parametrize("mark", ["é", "\t", "\x7f"])
def test_a_token_that_cannot_be_sent_is_not_quoted(scene, mark):
    broken = scene.token[:20] + mark + scene.token[20:]
    token_variable, _ = scene.lab.environ("")
    done = scene.sync(FORGELORE_DEBUG="1", **{token_variable: broken})
    assert done.code == 3, done.err
    assert scene.token[:20].encode() not in done.out + done.err.encode()


def test_a_forge_that_says_the_token_back_is_not_believed(scene):
    """A debugging proxy may put request headers into its error page; what it says goes into messages and the record of runs."""
    echo = {"message": f"you sent {scene.token}", "error": scene.token}
    scene.lab.server.fail(status=403, body=echo)
    assert scene.sync(FORGELORE_DEBUG="1").code == 4
    scene.sync("--json")
    scene.lab.server.faults.clear()
    scene.lab.server.fail(path=r"/issues|/merge_requests", status=400, body=echo)
    scene.sync()
    scene.assert_clean()


def test_a_killed_sync_leaves_no_secret_in_its_journal(scene):
    """The write-ahead log and shared memory, as they lie there after kill -9."""
    slow = scene.lab.server.fail(path=r"/api/graphql|/issues/comments", delay=3.0)
    with start(scene) as process:
        wait_for(lambda: slow.get("_seen"))
        process.kill()
    left = {path.name for path in scene.folder.iterdir()}
    assert "lore.db-wal" in left
    names_of_secrets = [secret.encode() for secret in scene.secrets()]
    for name in ("lore.db", "lore.db-wal", "lore.db-shm"):
        content = (scene.folder / name).read_bytes()
        assert not [secret for secret in names_of_secrets if secret in content], name
    scene.assert_clean()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not show processes as files")
def test_no_secret_on_the_command_line_of_any_process(scene):
    """Anybody on the machine can read `ps`."""
    slow = scene.lab.server.fail(delay=1.5, times=2)
    with start(scene) as process:
        wait_for(lambda: slow.get("_seen"))
        lines = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family(process.pid)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert lines
    for secret in scene.secrets():
        assert not any(secret.encode() in line for line in lines)


def start(scene):
    command = [*FORGELORE, "sync", scene.lab.name_text, "--db", str(scene.db)]
    return subprocess.Popen(command, env=scene.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def family(pid):
    """The process and everything it started that is still there."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        children = pathlib.Path(f"/proc/{pid}/task/{task}/children")
        if children.exists():
            found += [member for child in children.read_text().split() for member in family(int(child))]
    return found


def test_a_token_named_under_forges_goes_to_its_host_and_the_usual_one_does_not(scene):
    settings = scene.folder / "config.toml"
    settings.write_text(
        f'[[forges]]\nhost = "{scene.lab.server.netloc}"\nkind = "{scene.kind}"\napi_url = "{scene.lab.server.api_url}"\n'
        'token_env = "ACME_TOKEN"\n',
        encoding="utf-8",
    )
    usual = {"GITHUB_TOKEN": OTHER, "GH_TOKEN": OTHER, "GITLAB_TOKEN": OTHER}
    env = {**environ(scene.folder), **usual, "ACME_TOKEN": scene.token, "FORGELORE_CONFIG": str(settings)}
    done = scene.run_with(env, "sync", f"{scene.lab.server.url}/{scene.lab.path}")
    assert done.code == 0, done.err
    scene.assert_only_in_its_header()
    assert OTHER not in repr(scene.heard)
    scene.assert_clean()


def test_a_token_of_the_public_forge_is_not_sent_to_another_host(scene):
    """GITHUB_TOKEN alone means github.com; a project's URL elsewhere is read without it."""
    settings = scene.folder / "config.toml"
    settings.write_text(
        f'[[forges]]\nhost = "{scene.lab.server.netloc}"\nkind = "{scene.kind}"\napi_url = "{scene.lab.server.api_url}"\n'
    )
    usual = dict.fromkeys([name for profile in PROFILES.values() for name in profile.token_variables], OTHER)
    usual["FORGELORE_CONFIG"] = str(settings)
    done = scene.run_with({**environ(scene.folder), **usual}, "sync", f"{scene.lab.server.url}/{scene.lab.path}")
    assert done.code == 0, done.err
    assert scene.heard
    assert OTHER not in repr(scene.heard)


@pytest.mark.parametrize("how", ["redirect", "link"])
def test_a_token_is_not_sent_where_the_forge_points(scene, how):
    """Another server hears nothing at all, token or no token."""
    heard = []
    with type(scene.lab.server)() as stranger:
        listen_in(stranger, heard)
        address = f"{stranger.api_url}/projects/1/labels?page=2"
        if how == "redirect":
            scene.lab.server.fail(path=r"/labels", status=302, headers={"Location": address}, body={})
        else:
            scene.lab.server.fail(path=r"/labels", set_headers={"Link": f'<{address}>; rel="next"'})
        done = scene.sync()
        if (scene.kind, how) == ("forgejo", "link"):  # pages are counted there, and no link is followed
            assert done.code == 0, done.err
        else:
            assert done.code == 6, done.err
            assert stranger.netloc in done.err
    assert heard == []
    scene.assert_clean()


def test_a_clone_cannot_name_where_a_token_goes(scene):
    """`forgelore.toml` of a clone was written by strangers: its [[forges]] are ignored, with a warning."""
    clone = scene.folder / "clone"
    clone.mkdir()
    (clone / "forgelore.toml").write_text(
        f'projects = ["acme/web"]\n[[forges]]\nhost = "github.com"\nkind = "github"\napi_url = "{scene.lab.server.url}"\n'
        'token_env = "GITHUB_TOKEN"\n',
        encoding="utf-8",
    )
    env = {
        **environ(scene.folder),
        "GITHUB_TOKEN": OTHER,
        "HTTPS_PROXY": "http://127.0.0.1:1",
    }
    done = scene.forker.run(["sync", "--json", "--db", str(scene.db)], env, scene.folder, cwd=clone, no_waits=True)
    assert json.loads(done.out)["ok"] is False
    assert scene.heard == []
    assert OTHER.encode() not in done.out + done.err.encode()
