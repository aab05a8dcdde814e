"""A GitLab for the recipe: the local forge, its repositories over HTTP, and a runner that executes the job's script.

with GitLabHub(tmp_path, installed) as hub:
    number = hub.open_issue("Crash on save", "…")     the webhook's body reaches the job as TRIGGER_PAYLOAD
    hub.log; hub.notes("issue", number); hub.exit_code
"""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys

from action.runner import ROOT, TRAP, TRAPS, load
from servers.githttp import GitServer
from servers.gitlab import GitLabServer
from servers.gitlab import Token as GitLabToken
from triage.conftest import let_everybody_write

BOT = "project_1_bot_1"
HOUR_S = 3600


class GitLabHub:
    path = "group/app"

    def __init__(self, folder: pathlib.Path, installed):
        self.folder, self.installed = folder, installed
        self.job = load(ROOT / "docs" / "triage" / "gitlab-ci.yml")["forgelore-triage"]
        self.gitlab, self.git = GitLabServer(), GitServer(folder / "repositories")
        self.token = f"glpat-{secrets.token_hex(10)}"
        self.variables = {"GITLAB_TOKEN": self.token}  # of the project
        self.pipelines, self.log, self.exit_code = 0, "", 0

    def __enter__(self):
        self.gitlab.start()
        self.git.__enter__()
        self.git.create(f"{self.path}.git")
        self.git.token = self.token
        self.gitlab.tokens[self.token] = GitLabToken(BOT, "triage", scopes=("api", "write_repository"), access_level=30)
        self.project = self.gitlab.add_project(self.path)
        let_everybody_write(self.project)
        self.project.add_member(BOT, 30)
        source, commit = publish_source(self.folder / "source")
        self.variables |= {"FORGELORE_SOURCE": source, "FORGELORE_COMMIT": commit}
        return self

    def __exit__(self, *exc):
        self.git.__exit__(*exc)
        self.gitlab.stop()
        if exc == (None, None, None):
            assert self.gitlab.errors == [], self.gitlab.errors[0]

    def open_issue(self, title: str, body: str = "", **more) -> int:
        self.gitlab.clock.advance(HOUR_S)
        number = self.project.add_issue(title, body, **more)
        self.trigger("issue", number, "open")
        return number

    def trigger(self, kind: str, number: int, action: str) -> None:
        """A webhook that starts a pipeline on the default branch."""
        path = self.folder / f"payload-{self.pipelines}.json"
        path.write_text(json.dumps({"object_kind": kind, "object_attributes": {"iid": number, "action": action}}))
        self.run("trigger", TRIGGER_PAYLOAD=str(path))

    def run(self, source: str, **more: str) -> None:
        """Run the job in a pipeline of this source, as a runner with a cache would."""
        self.pipelines += 1
        place = self.folder / f"pipeline-{self.pipelines}"
        for name in ("bin", "home", "project"):
            (place / name).mkdir(parents=True)
        (place / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
        for name in TRAPS:
            (place / "project" / name).parent.mkdir(exist_ok=True)
            (place / "project" / name).write_text(TRAP)
        wheels, index = self.job["cache"]
        (place / "project" / wheels["paths"][0]).symlink_to(self.installed.wheels)
        kept, folder = self.folder / "cache", place / "project" / index["paths"][0]
        if kept.is_dir():
            shutil.copytree(kept, folder)
        environ = {
            **{name: str(value) for name, value in self.job["variables"].items()},
            **self.variables,  # a project's variables win over a file's
            "CI": "true", "GITLAB_CI": "true", "CI_PIPELINE_SOURCE": source, "CI_PROJECT_PATH": self.path,
            "CI_PROJECT_DIR": str(place / "project"), "CI_SERVER_URL": self.git.url,
            "CI_API_V4_URL": self.gitlab.api_url, "HOME": str(place / "home"), "TMPDIR": str(place),
            "PATH": f"{place / 'bin'}{os.pathsep}{os.defpath}", **more,
        }  # fmt: skip
        assert any(holds(rule["if"], environ) for rule in self.job["rules"]), "no rule starts the job"
        script = "set -eo pipefail\n" + "\n".join(self.job["script"])
        done = subprocess.run(
            ["bash", "-c", script], env=environ, cwd=place / "project", text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.log, self.exit_code = done.stdout, done.returncode
        assert index["when"] == "always"  # the default is a job that succeeded
        if folder.is_dir():  # under one key: the last one counts, and without files nothing is replaced
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
        assert self.token not in self.log
        assert not list(place.rglob("sprung"))

    def notes(self, kind: str, number: int) -> list[str]:
        items = self.project.issues if kind == "issue" else self.project.changes
        return [note.body for note in items[number].notes() if not note.system]


def publish_source(folder: pathlib.Path) -> tuple[str, str]:
    """This tree as somebody's copy: its address, and the commit to name, as docs/triage/README.md tells."""
    folder.mkdir(parents=True)
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("src", "requirements"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "source"], ["rev-parse", "HEAD"]):
        done = subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True)
    return folder.as_uri(), done.stdout.strip()


def holds(rule: str, environ: dict[str, str]) -> bool:
    """`$A == "x" && $B`, the only shape that our rules have."""
    for part in rule.split(" && "):
        name, equals, value = re.fullmatch(r'\$(\w+)( == "(\w+)")?', part).groups()
        if (environ.get(name) != value) if equals else not environ.get(name):
            return False
    return True
