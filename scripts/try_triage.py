"""Triage from nothing to a commented issue, on this machine: a local GitHub, a real git server, the bot in between.

    make try-triage

Files the issues of the built-in example project on the local forge, lets the bot read them as on its first run, then
files one that repeats another, and shows what its author gets. Nothing leaves the machine.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from servers.base import Clock  # noqa: E402
from servers.githttp import GitServer  # noqa: E402
from servers.github import GitHubServer, Token  # noqa: E402

TOKEN = "local-token"
TITLE = "Transfers through the relay stall over WireGuard, and HTTP/2 is never tried"
BODY = """With WireGuard on top of PPPoE (MTU 1380) the client connects, and every transfer stalls after some seconds:

    WARN  relay: LNT-6001 session closed reason=idle_timeout

Then QUIC is tried again, with the same end. Version 1.2.1."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, GitServer(f"{folder}/git", token=TOKEN) as git:
        github = GitHubServer(Clock("2026-05-20T12:00:00Z"))
        github.tokens[TOKEN] = Token("github-actions[bot]", kind="integration", permissions={
            "issues": "write", "pull_requests": "write", "contents": "write",
        })  # fmt: skip
        github.start()
        try:
            project = github.add_project("acme/tidesync")
            git.create("acme/tidesync.git")
            say(f"A GitHub is listening at {github.api_url}, git at {git.url}.")
            for item in example_issues():
                project.add_issue(item["title"], item.get("body") or "", created_at=item["created_at"])
            say(
                f"The project has {len(project.items)} issues. Somebody files one more:",
                "",
                *(f"    {line}" for line in (TITLE, "", *BODY.splitlines())),
            )
            number = project.add_issue(TITLE, BODY, author="newcomer")
            run_bot(folder, github, git, number)
            for comment in project.items[number].comments:
                say(f"The comment by {comment.author} on issue {number}:", "", comment.body)
        finally:
            github.stop()


def example_issues() -> list[dict]:
    lines = (ROOT / "src" / "forgelore" / "data" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
    return [item for item in map(json.loads, lines) if item["kind"] == "issue"]


def run_bot(folder: str, github: GitHubServer, git: GitServer, number: int) -> None:
    """What the runner does for the event `issues.opened`."""
    event = pathlib.Path(folder) / "event.json"
    event.write_text(json.dumps({"action": "opened", "issue": {"number": number, "title": TITLE, "body": BODY}}))
    environ = {
        "PATH": os.environ["PATH"], "HOME": folder, "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issues",
        "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "acme/tidesync", "GITHUB_SERVER_URL": git.url,
        "GITHUB_API_URL": github.api_url, "GITHUB_TOKEN": TOKEN, "RUNNER_TEMP": folder,
        "GITHUB_STEP_SUMMARY": f"{folder}/summary.md",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "forgelore", "triage"], env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    say("The page of the run says:", "", pathlib.Path(f"{folder}/summary.md").read_text(encoding="utf-8"))


def say(*lines: str) -> None:
    print(*lines, "", sep="\n")


if __name__ == "__main__":
    main()
