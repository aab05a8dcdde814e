"""A local forge in a process of its own: `forge.py github '{"seed": 5, "issues": 100, "changes": 50}'`.

Prints one line about itself, then answers words on standard input, a line each, until that ends:
    requests    {"GET /repos/*/issues": 3, …} since the last time it was asked
    needs       what a client needs that asks item by item (economy.py)
"""

import collections
import gzip
import itertools
import json
import pathlib
import re
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from servers.base import Clock
from servers.github import GitHubServer
from servers.github import Token as GitHubToken
from servers.gitlab import GitLabServer
from servers.gitlab import Token as GitLabToken

TOKEN = "bench-token"


class Tally(list):
    """Takes the place of the server's record: names of requests, without the bodies."""

    def append(self, line: dict) -> None:
        super().append(name_of(line))


def name_of(line: dict) -> str:
    """`GET /repos/acme/web/issues/12/comments?page=2` -> `GET issues/0/comments`; GraphQL by the name of its query."""
    path = urllib.parse.urlsplit(line["url"]).path
    query = re.search(r"query (\w+)", line["body"] or "")
    if query:
        return f"GraphQL {query[1]}"
    path = re.sub(r"^(/api/v4)?/(repos/[^/]+/[^/]+|projects/[^/]+|repositories/\d+)/?", "", path)
    return f"{line['method']} " + (re.sub(r"\d+", "0", path) or "the project")


def start(kind: str, sizes: dict):
    is_github = kind == "github"
    clock = Clock(tick_s=0.05)  # a forge's time goes by while it is asked
    server = GitHubServer(clock) if is_github else GitLabServer(clock)
    server.tokens[TOKEN] = (GitHubToken if is_github else GitLabToken)("ana", "Ana")
    server.set_limit(10**9)
    server.requests = Tally()
    server.start()
    path = "acme/web" if is_github else "group/app"
    talks, corpus = sizes.pop("long_discussions", 0), sizes.pop("corpus", "")
    if corpus:
        project = server.add_project(path)
        fill(project, corpus, sizes["issues"], is_github=is_github)
        return server, path
    project = server.populate(path, **sizes)
    for number in range(talks):
        add_talk(project, f"talk {number}")
    return server, path


def fill(project, corpus: str, most: int, *, is_github: bool) -> None:
    """Tell a project the first items of a real tracker, texts and comments, in their order."""
    place = pathlib.Path(__file__).resolve().parents[3] / "shared" / "corpora" / f"{corpus}.jsonl.gz"
    with gzip.open(place, "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, most):
            row = json.loads(line)
            is_change, at = row["kind"] == "change", row["created_at"]
            add = project.add_change if is_change else project.add_issue
            number = add(row["title"], row.get("body"), author=row.get("author"), created_at=at)
            key = (number,) if is_github else ("change" if is_change else "issue", number)
            for note in row.get("notes") or ():
                project.comment(*key, note["body"] or "", author=note.get("author"), at=note["created_at"])
            if row["state"] != "open":
                project.close(*key, at=row.get("closed_at") or at)


def add_talk(project, title: str, *, comments: int = 120, replies: int = 25) -> None:
    """A discussion with more comments and replies than fit into the pages that list it."""
    number = project.add_discussion(title)
    said = [project.discussion_comment(number, f"comment {at}") for at in range(comments)]
    for at in range(replies):
        project.discussion_reply(said[at // 2], f"reply {at}")
        project.discussion_reply(said[0], f"reply to the first {at}")


def about(server, kind: str, path: str) -> dict:
    variables = ("GITHUB_TOKEN", "GITHUB_API_URL") if kind == "github" else ("GITLAB_TOKEN", "CI_API_V4_URL")
    truth = server.truth(path)
    return {
        "project": path if kind == "github" else f"gitlab:{path}",
        "environ": dict(zip(variables, (TOKEN, server.api_url), strict=True)),
        "items": len(truth),
        "notes": sum(len(item["notes"]) for item in truth),
    }


def pages(rows: int) -> int:
    """A list costs a request even when it is empty."""
    return max(1, -(-rows // 100))


def needs(server, kind: str, path: str) -> dict[str, int]:
    """Requests of a client that lists the items, then asks for each: itself, its notes, a change's files, reviews."""
    truth = [item for item in server.truth(path) if item["kind"] in ("issue", "change")]
    changes = [item for item in truth if item["kind"] == "change"]
    found = {"list pages": pages(len(truth)), "each item": len(truth)}
    if kind == "gitlab":
        found["list pages"] = pages(len(truth) - len(changes)) + pages(len(changes))
        found["each item's discussions"] = sum(pages(len(item["notes"])) for item in truth)
        found["each change's diffs"] = sum(pages(len(item["files"])) for item in changes)
        return found
    comments = [sum(note["path"] is None for note in item["notes"]) for item in truth]
    found["each item's comments"] = sum(pages(number) for number in comments)
    for part in ("files", "reviews", "review comments"):
        found[f"each change's {part}"] = len(changes)
    return found


def main() -> None:
    kind, sizes = sys.argv[1], json.loads(sys.argv[2])
    server, path = start(kind, sizes)
    print(json.dumps(about(server, kind, path)), flush=True)
    for line in sys.stdin:
        if line.strip() == "needs":
            answer = needs(server, kind, path)
        else:
            answer = collections.Counter(server.requests)
            server.requests.clear()
        print(json.dumps(answer), flush=True)
    server.stop()


if __name__ == "__main__":
    main()
