"""A GitHub project with the bot in front of it: a local forge, a real git server, and events as files."""

import itertools
import json
import os
import pathlib
import subprocess
import sys

import apsw
import pytest

from cli.conftest import cli  # noqa: F401 - a fixture
from forgelore.forges.branch import StateBranch
from forgelore.store.packing import pack, split
from forgelore.surfaces.cli.main import main
from forgelore.triage.index import read_index
from servers.githttp import GitServer
from servers.github import Token

BOT_TOKEN = "t0ken-actions"
BRANCH = "triage-index"


def let_everybody_write(project):
    """Each item is by somebody of their own, where a test names nobody: what one person files is never warned of."""
    people = itertools.count(1)
    for name in ("add_issue", "add_change"):
        add = getattr(project, name)
        setattr(project, name, lambda *given, add=add, **more: add(*given, **{"author": f"user{next(people)}", **more}))


def open_branch(git, path, folder):
    url = f"file://{git.root / path}"
    return StateBranch(url, BRANCH, token=None, folder=str(folder / "looked"), environ=os.environ)


def unpack_branch(git, path, folder):
    """The store that lies on the branch."""
    pulled = open_branch(git, path, folder).pull()
    read_index(pulled.files, pulled, str(folder / "looked.db"))
    return folder / "looked.db"


class BotLab:
    """bot.opened(title, body) files an issue and runs the bot for it; bot.said(number) is what it answered."""

    token = BOT_TOKEN

    def __init__(self, github, git, tmp_path, monkeypatch, capsys):
        self.github, self.git, self.tmp_path = github, git, tmp_path
        self.server, self.project = github.server, github.project
        let_everybody_write(self.project)
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.server.tokens[BOT_TOKEN] = Token(
            "github-actions[bot]",
            kind="integration",
            permissions={"issues": "write", "pull_requests": "write", "contents": "write"},
        )
        git.create("acme/web.git")
        self.summary = tmp_path / "summary.md"
        self.outputs = tmp_path / "outputs"
        self.printed = ""
        self.data = {}
        self.is_red = False  # whether the next runs must fail
        for name, value in {
            "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/web", "GITHUB_SERVER_URL": git.url,
            "GITHUB_API_URL": self.server.api_url, "GITHUB_TOKEN": BOT_TOKEN, "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.outputs), "RUNNER_TEMP": str(tmp_path), "FORGELORE_EMBEDDER": "lore",
            "FORGELORE_REQUESTS_PER_SECOND": "100",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)

    def set(self, **inputs):
        for name, value in inputs.items():
            self._monkeypatch.setenv(name, value)

    def run(self, event, payload, *arguments):
        """Handle one event and return the data of `--json`; the exit code must be 0, or not where `is_red` says so."""
        path = self.tmp_path / "event.json"
        path.write_text(json.dumps(payload), encoding="utf-8")
        self.set(GITHUB_EVENT_NAME=event, GITHUB_EVENT_PATH=str(path))
        for file in (self.summary, self.outputs):
            file.unlink(missing_ok=True)
        code = main(["triage", "--json", *arguments])
        out, self.log = self._capsys.readouterr()
        assert bool(code) is self.is_red, out + self.log
        self.data = json.loads(out)["data"]
        return self.data

    def payload(self, number, action):
        item = self.project.items.get(number)
        told = {"number": number, "title": item.title, "body": item.body, "user": {"login": item.author}} if item else {
            "number": number, "title": "gone"}  # fmt: skip
        return {"action": action, self.part(number): {**told, "id": 1, "state": "open", "labels": []}}

    def part(self, number):
        item = self.project.items.get(number)
        return "pull_request" if item is not None and item.kind == "change" else "issue"

    def happens(self, number, action="opened", *arguments):
        """Run the bot for an event about an item."""
        name = {"issue": "issues", "pull_request": "pull_request_target"}[self.part(number)]
        return self.run(name, self.payload(number, action), *arguments)

    def opened(self, title, body="", **more):
        """Somebody files an issue, and the bot hears of it. Returns its number."""
        number = self.project.add_issue(title, body, **more)
        self.happens(number)
        return number

    def said(self, number):
        """What our comments on an item say."""
        return [note.body for note in self.project.items[number].comments if note.author == "github-actions[bot]"]

    def file(self, name):
        """The bytes of a file on the branch."""
        blob = self.git.git("acme/web.git", "rev-parse", f"{BRANCH}:{name}")
        command = ["git", "-C", str(self.git.root / "acme/web.git"), "cat-file", "blob", blob]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def spoil(self, name, data):
        """Put other bytes into a file on the branch, as our own commit would."""
        files = dict(line.split("\t")[::-1] for line in self.git.git("acme/web.git", "ls-tree", BRANCH).splitlines())
        path = self.tmp_path / "spoiled"
        path.write_bytes(data)
        blob = self.git.git("acme/web.git", "hash-object", "-w", str(path))
        files[name] = f"100644 blob {blob}"
        tree = self.git.git(
            "acme/web.git", "mktree", feed="".join(f"{entry}\t{file}\n" for file, entry in files.items())
        )
        commit = self.git.git("acme/web.git", "commit-tree", tree, "-m", "spoiled")
        self.git.git("acme/web.git", "update-ref", f"refs/heads/{BRANCH}", commit)

    def _unpacked(self):
        return unpack_branch(self.git, "acme/web.git", self.tmp_path)

    def index(self, sql):
        """Rows of the index that lies on the branch."""
        connection = apsw.Connection(str(self._unpacked()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return list(connection.execute(sql))
        finally:
            connection.close()

    def index_bytes(self):
        return self._unpacked().read_bytes()

    def rewrite_index(self, sql):
        path = self._unpacked()
        connection = apsw.Connection(str(path))
        connection.execute(sql)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        store = split(str(path), str(self.tmp_path / "rewritten"))
        self.push({"index.head": store.head}, store.parts)

    def push(self, files, parts=()):
        """Put an index on the branch as a bot would, beside the record that is there."""
        for name, data in {"health.json": self.file("health.json"), **files}.items():
            (self.tmp_path / f"pushed-{name}").write_bytes(data)
        paths = {name: str(self.tmp_path / f"pushed-{name}") for name in ("health.json", *files)}
        state = open_branch(self.git, "acme/web.git", self.tmp_path)
        state.push(paths, expected=state.pull().commit, message="Rewrite", parts=parts)

    def pack_as_one_file(self):
        """Make the branch one that an older version left."""
        packed = self.tmp_path / "old.z"
        pack(str(self._unpacked()), str(packed))
        self.push({"index.db.z": packed.read_bytes()})

    def run_side_by_side(self, events):
        """Handle events in processes of their own, at the same time; returns (exit code, output) of each."""
        started = []
        for at, (name, payload) in enumerate(events):
            folder = self.tmp_path / f"runner-{at}"
            folder.mkdir()
            (folder / "event.json").write_text(json.dumps(payload), encoding="utf-8")
            environ = {**os.environ, "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(folder / "event.json"),
                       "RUNNER_TEMP": str(folder)}  # fmt: skip
            command = [sys.executable, "-m", "forgelore", "triage", "--json"]
            started.append(
                subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            )
        outputs = [one.communicate(timeout=60)[0] for one in started]
        return [(one.returncode, output) for one, output in zip(started, outputs, strict=True)]

    def branch(self, name=BRANCH):
        return self.git.git("acme/web.git", "log", "--format=%H %s", name)


@pytest.fixture
def git(tmp_path):
    with GitServer(tmp_path / "git", token=BOT_TOKEN) as server:
        yield server


@pytest.fixture
def bot(github, git, tmp_path, monkeypatch, capsys):
    return BotLab(github, git, pathlib.Path(tmp_path), monkeypatch, capsys)
