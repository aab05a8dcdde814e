"""Duplicates from nothing to a closed issue and back, on this machine: a local GitHub with the example project on it.

    make try-dedupe

Fetches the project, lets you decide the pairs that are most likely duplicates (where nobody types, five answers are
given), plans, closes on the local forge, and takes it back. Nothing leaves the machine.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from servers.base import Clock  # noqa: E402
from servers.github import GitHubServer, Token  # noqa: E402

TOKEN = "local-token"
ANSWERS = "same\nsame\nrelated\nrelated\ntwin\n"
# What the example project has none of: a pair that differs in its platform alone, and one that is merely related.
MORE = (
    ("macOS: Upload of large files through the web page stops at 33 %", "A 6 GB file, Safari: stops at 33 %.", "zpk91"),
    ("Windows: Upload of large files through the web page stops at 33 %", "A 6 GB file, Edge: stops at 33 %.", "zpk91"),
)  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        github = GitHubServer(Clock("2026-05-20T12:00:00Z"))
        github.tokens[TOKEN] = Token("maintainer")
        github.start()
        try:
            project = github.add_project("lanternsync/lantern")
            project.add_collaborator("maintainer", "admin")
            fill(project)
            say(f"A GitHub is listening at {github.api_url}, with {len(project.items)} issues of the example project.")
            review_and_close(folder, github, project)
        finally:
            github.stop()


def fill(project) -> None:
    """File the open issues of the example, and two more."""
    lines = (ROOT / "src" / "forgelore" / "data" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
    for item in map(json.loads, lines):
        if item["kind"] == "issue" and item["state"] == "open":
            body = re.sub(r"#\d+", "another issue", item.get("body") or "")  # numbers are others here
            project.add_issue(item["title"], body, author=item["author"], created_at=item["created_at"])
    for title, body, author in MORE:
        project.add_issue(title, body, author=author)


def review_and_close(folder: str, github: GitHubServer, project) -> None:
    environ = {
        "PATH": os.environ["PATH"], "HOME": folder, "TERM": os.environ.get("TERM", "dumb"), "COLUMNS": "100",
        "FORGELORE_DB": f"{folder}/lore.db", "GITHUB_API_URL": github.api_url, "GITHUB_TOKEN": TOKEN,
        "FORGELORE_REQUESTS_PER_SECOND": "100", "FORGELORE_SECOND_EMBEDDER": "none",
    }  # fmt: skip
    run(environ, "sync", "lanternsync/lantern")
    run(environ, "dedupe", "review", answers=None if sys.stdin.isatty() else ANSWERS)
    plan = run(environ, "dedupe", "run", "--kind", "issue")
    found = re.search(r"plan (\d+): ([1-9]\d*) would be closed", plan)
    if found is None:
        say("Nothing is to be closed: no pair was called the same.")
        return
    run(environ, "dedupe", "apply", found[1], "--yes")
    tell(project, "after apply")
    run(environ, "dedupe", "rollback", found[1], "--yes")
    tell(project, "after rollback")


def run(environ: dict[str, str], *words: str, answers: str | None = None) -> str:
    """Run a command as a person would, and show it; return what it printed where nobody typed."""
    say(f"$ forgelore {' '.join(words)}")
    is_typed = words[1:2] == ("review",) and answers is None
    done = subprocess.run(
        [sys.executable, "-m", "forgelore", *words], env=environ, check=False, text=True, input=answers,
        stdout=None if is_typed else subprocess.PIPE, stderr=None if is_typed else subprocess.PIPE,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit((done.stdout or "") + (done.stderr or ""))
    say(done.stdout or "")
    return done.stdout or ""


def tell(project, when: str) -> None:
    closed = [f"#{number} ({item.state_reason})" for number, item in project.items.items() if item.is_closed]
    say(f"On the forge, {when}: {', '.join(closed) or 'all issues are open'}.")


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
