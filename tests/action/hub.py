"""A GitHub for workflows: the local forge, its repositories over HTTP, and tokens that hold what a job's permissions say.

with GitHubHub(tmp_path, installed) as hub:
    number = hub.open_issue("Crash on save", "…")            the event is delivered to docs/triage/triage.yml
    hub.results["triage"].warnings; hub.comments(number); hub.index_files()
"""

import itertools
import pathlib
import secrets

from action.runner import ROOT, Machine, Result, deliver
from servers.githttp import GitServer
from servers.github import GitHubServer
from servers.github import Token as GitHubToken
from servers.github.payloads import Shapes
from triage.conftest import let_everybody_write

BOT = "github-actions[bot]"
HOUR_S = 3600


class GitHubHub:
    def __init__(self, folder: pathlib.Path, installed, *, workflow: str = "triage.yml", path: str = "acme/web"):
        self.folder, self.installed, self.path = folder, installed, path
        self.workflow = ROOT / "docs" / "triage" / workflow
        self.github = GitHubServer()
        self.git = GitServer(folder / "repositories")
        self.runs = itertools.count(1)
        self.results: dict[str, Result] = {}
        self.tokens: list[str] = []
        self.machines: list[Machine] = []
        self.environ: dict[str, str] = {}  # of the next machines

    def __enter__(self):
        self.github.start()
        self.git.__enter__()
        self.git.create(f"{self.path}.git")
        self.project = self.github.add_project(self.path)
        let_everybody_write(self.project)
        self.project.add_collaborator(BOT, "push")
        return self

    def __exit__(self, *exc):
        self.git.__exit__(*exc)
        self.github.stop()
        if exc == (None, None, None):
            assert self.github.errors == [], self.github.errors[0]
            assert not self.leaks(), "a token was written somewhere"

    # The forge's side.
    def open_issue(self, title: str, body: str = "", **more) -> int:
        self.pass_by()
        number = self.project.add_issue(title, body, **more)
        self.send("issues", "opened", number)
        return number

    def open_change(self, title: str, body: str = "", **more) -> int:
        self.pass_by()
        number = self.project.add_change(title, body, **more)
        self.send("pull_request_target", "opened", number)
        return number

    def edit(self, number: int, **what) -> None:
        self.pass_by()
        self.project.edit(number, **what)
        item = self.project.items[number]
        self.send("issues" if item.kind == "issue" else "pull_request_target", "edited", number)

    def pass_by(self) -> None:
        self.github.clock.advance(HOUR_S)

    def send(self, event: str, action: str, number: int) -> None:
        item = self.project.items[number]
        shapes = Shapes(self.github.api_url, "2022-11-28", None)
        part = {"issue": shapes.issue(item)} if event == "issues" else {"pull_request": shapes.full_pull(item)}
        self.deliver(event, {"action": action, **part, "repository": shapes.repo(self.project)})

    def deliver(self, event: str, payload: dict) -> None:
        """Play one event; `results` holds what its jobs did."""
        place = self.folder / f"run-{next(self.runs)}"
        self.results = deliver(place, self.workflow, event, payload, self.new_machine)

    def new_machine(self, folder: pathlib.Path, permissions: dict[str, str], environ: dict[str, str]) -> Machine:
        """As GitHub does: a token for this job alone, which is worth nothing once the next begins."""
        for old in self.tokens:
            self.github.tokens[old].expired = True
        token = f"ghs_{secrets.token_hex(18)}"
        held = {name.replace("-", "_"): level for name, level in permissions.items()}
        self.github.tokens[token] = GitHubToken(BOT, permissions=held, kind="integration")
        self.git.token = token
        self.tokens.append(token)
        addresses = {"GITHUB_SERVER_URL": self.git.url, "GITHUB_API_URL": self.github.api_url}
        more = {**environ, **addresses, "GITHUB_REPOSITORY": self.path, **self.environ}
        machine = Machine(folder, token=token, cache=self.folder / "cache", run=len(self.tokens), **more)
        self.installed.put_on(machine)
        self.machines.append(machine)
        return machine

    # What there is afterwards.
    @property
    def result(self) -> Result:
        [result] = self.results.values()
        return result

    def comments(self, number: int) -> list[str]:
        return [comment.body for comment in self.project.items[number].comments]

    def index_files(self, branch: str = "triage-index") -> list[str]:
        return self.git.git(f"{self.path}.git", "ls-tree", "--name-only", branch).split()

    def index_commit(self, branch: str = "triage-index") -> str:
        return self.git.git(f"{self.path}.git", "rev-parse", branch)

    def writes(self, since: int = 0) -> list[str]:
        """Requests that change something. GraphQL is POST for questions too; a question names itself one."""
        asked = [line for line in self.github.requests[since:] if line["method"] != "GET"]
        return [f"{line['method']} {line['url']}" for line in asked if '"query' not in (line["body"] or "")[:9]]

    def leaks(self) -> list[str]:
        """Files that hold a token after the jobs: on the machines, or in what was committed."""
        found = []
        for path in itertools.chain(self.folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and "forgelore-python" not in path.parts:
                content = path.read_bytes()
                found += [str(path) for token in self.tokens if token.encode() in content]
        return found
