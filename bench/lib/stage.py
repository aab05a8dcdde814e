"""A GitHub project with a git server beside it, in a process of its own: `stage.py FOLDER ITEMS`.

The items are the newest of bitcoin/bitcoin (../shared/corpora), as they were; without it they are made of plain words.
Some that came after them are held back and filed one by one. Prints one line about itself, then answers words on
standard input, a line each, until that ends:
    requests    {"GET issues": 101, …} since the last time it was asked
    issue       files the next issue that was held back; answers with its event
    change      the same with a change
    said 12     what the bot has written below an item
    branch      how many bytes lie on the branch
"""

import collections
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from forgelore.compare.differences import usual_lines
from forgelore.compare.sameness import without_boilerplate
from forgelore.index.cleaning import telling_text
from lib.common import SHARED, TOKEN
from lib.forge import Tally
from servers.base import Clock
from servers.githttp import GitServer
from servers.github import GitHubServer, Token

CORPUS = SHARED / "corpora" / "bitcoin.jsonl.gz"
PATH = "acme/web"
BRANCH = "triage-index"
BOT = "github-actions[bot]"
HELD_BACK = 30  # of each kind …
LEAST = 200  # … that say enough to be compared, in characters that are not of a form or a template
RIGHTS = {"issues": "write", "pull_requests": "write", "contents": "write"}
EVENTS = {"issue": ("issues", "issue"), "change": ("pull_request_target", "pull_request")}


class Stage:
    """The forge, the git server and what has not happened yet."""

    def __init__(self, git: GitServer, items: int):
        self._git = git
        self._clock = Clock(tick_s=0.05)  # a forge's time goes by while it is asked
        self.server = GitHubServer(self._clock)
        self.server.tokens[TOKEN] = Token(BOT, kind="integration", permissions=RIGHTS)
        self.server.set_limit(10**9)
        self.server.requests = Tally()
        self._held: dict[str, list[dict]] = {}
        self.project = self._fill(items) if CORPUS.exists() else self._invent(items)
        git.create(f"{PATH}.git")

    def _fill(self, items: int):
        rows = load_rows()
        for kind in EVENTS:
            telling = [row for row in rows if row["kind"] == kind and len(telling_part(row)) >= LEAST]
            self._held[kind] = telling[-HELD_BACK:]
        held = {row["number"] for each in self._held.values() for row in each}
        project = self.server.add_project(PATH)
        for row in [row for row in rows if row["number"] not in held][-items:]:
            add_item(project, row)
        self._clock.set(max(row["updated_at"] for row in rows))
        self._clock.advance(86_400)
        return project

    def _invent(self, items: int):
        changes = items // 2
        project = self.server.populate(PATH, seed=5, issues=items - changes, changes=changes)
        for kind in EVENTS:
            some = [item for item in project.items.values() if item.kind == kind][-HELD_BACK:]
            self._held[kind] = [
                {"title": f"{one.title} again", "body": one.body, "author": one.author, "labels": ()} for one in some
            ]
        return project

    def about(self) -> dict:
        kinds = collections.Counter(item.kind for item in self.project.items.values())
        return {
            "project": PATH,
            "environ": {
                "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": PATH, "GITHUB_TOKEN": TOKEN,
                "GITHUB_API_URL": self.server.api_url, "GITHUB_SERVER_URL": self._git.url,
            },
            "items": kinds["issue"] + kinds["change"], "changes": kinds["change"], "is_corpus": CORPUS.exists(),
        }  # fmt: skip

    def answer(self, word: str, *more: str):
        if word == "requests":
            found = collections.Counter(self.server.requests)
            self.server.requests.clear()
            return found
        if word == "said":
            return [note.body for note in self.project.items[int(more[0])].comments if note.author == BOT]
        if word == "branch":
            rows = self._git.git(f"{PATH}.git", "ls-tree", "-r", "-l", BRANCH).splitlines()
            return sum(int(row.split()[3]) for row in rows)
        return self._file(word)

    def _file(self, kind: str) -> dict:
        """Somebody files the next item, an hour after the last one."""
        row = self._held[kind].pop(0)
        self._clock.advance(3_600)
        add = self.project.add_issue if kind == "issue" else self.project.add_change
        number = add(row["title"], row["body"], author=row["author"], labels=row["labels"])
        name, part = EVENTS[kind]
        told = {"number": number, "title": row["title"], "body": row["body"], "user": {"login": row["author"]}}
        return {"number": number, "name": name, "payload": {"action": "opened", part: told}}


def telling_part(row: dict) -> str:
    """Return what is left for a comparison: of an untouched template nothing is, and the bot says nothing then."""
    return telling_text(without_boilerplate(row["body"] or "", usual_lines()))


def load_rows() -> list[dict]:
    with gzip.open(CORPUS, "rb") as lines:
        return sorted(map(json.loads, lines), key=lambda row: row["number"])


def add_item(project, row: dict) -> None:
    """Put an item where it belongs: under its number, so that what its text refers to is the same, with its times."""
    project.last_number = row["number"] - 1
    is_change = row["kind"] == "change"
    add = project.add_change if is_change else project.add_issue
    more = {"closed_at": row["closed_at"], "state": "open" if row["state"] == "open" else "closed"}
    if is_change and row["state"] == "merged":
        more |= {"merged_at": row["closed_at"], "merged_by": row["author"]}
    elif row.get("state_reason"):
        more["state_reason"] = row["state_reason"]
    times = {"created_at": row["created_at"], "updated_at": row["updated_at"]}
    add(row["title"], row["body"], author=row["author"], labels=row["labels"], **times, **more)


def main() -> None:
    folder, items = sys.argv[1:]
    with GitServer(pathlib.Path(folder), token=TOKEN) as git:
        stage = Stage(git, int(items))
        with stage.server:
            print(json.dumps(stage.about()), flush=True)
            for line in sys.stdin:
                print(json.dumps(stage.answer(*line.split())), flush=True)


if __name__ == "__main__":
    main()
