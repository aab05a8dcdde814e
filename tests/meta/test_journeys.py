"""How many modules six journeys pass: whoever follows one through the code opens that many files.

Each runs for real, in a process of its own, on a local forge or on the example project. A budget is what was measured
last; it may go down. `python tests/meta/test_journeys.py` prints the table.
"""

import atexit
import functools
import json
import os
import pathlib
import shutil
import sys
import tempfile

import apsw
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import forgelore
from agents.talking import connected
from ask.conftest import QUOTE, READ, answer, cite
from dedupe.closing_lab import let_ana_write
from engine_tables import VECTORS
from journeys import Walk, command, read_report, run, walk
from servers.chat import ChatServer
from servers.githttp import GitServer
from support import GitHubLab
from triage.conftest import BOT_TOKEN, BotLab
from triage.test_bot import AGAIN, CRASH, THEME

DEMO = pathlib.Path(forgelore.__file__).parent / "data" / "demo.jsonl"
PROJECT = "lanternsync/lantern"
COPIED = (
    "Folders vanish from the settings",
    "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync",
)

# Modules entered on the way; of the last two, modules loaded.
BUDGETS = {
    "page to vector": 61,
    "search": 38,
    "event to comment": 93,
    "plan, close, rollback": 50,
    "ask": 60,
    "search over MCP": 45,
    "imports of dedupe accept": 50,
    "imports of list": 57,
}


def environ(folder, **more):
    """Somebody with an empty home, a database in this folder and the built-in embedder."""
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "FORGELORE_DB": str(folder / "lore.db"), "COLUMNS": "120"}
    return {**own, "FORGELORE_EMBEDDER": "lore", "FORGELORE_SECOND_EMBEDDER": "none", **more}


def of_forge(lab):
    return environ(lab.folder, **lab.environ(lab.good_token), FORGELORE_REQUESTS_PER_SECOND="100")


@functools.cache
def imported() -> pathlib.Path:
    """A database of the example project, with vectors; made once."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="forgelore-journey-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run(folder, "import", str(DEMO), "--project", PROJECT, env=environ(folder))
    return folder / "lore.db"


def example(folder, **more):
    """The environment of somebody who has the example project."""
    shutil.copy(imported(), folder / "lore.db")
    return environ(folder, **more)


def values(folder, sql):
    connection = apsw.Connection(str(folder / "lore.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [value for (value,) in connection.execute(sql)]
    finally:
        connection.close()


def page_to_vector(folder):
    with GitHubLab(folder) as lab:
        lab.populate()
        found = walk(folder, "sync", lab.name_text, env=of_forge(lab))
    assert values(folder, f"SELECT count(*) FROM {VECTORS}")[0] > 0
    return found


def search(folder):
    return walk(folder, "search", "deleted files come back", env=example(folder))


class Environ(dict):
    setenv = dict.__setitem__


class WalkedBot(BotLab):
    """The bot as its CI runs it; `walked` is how far the last run went."""

    def __init__(self, lab, git):
        super().__init__(lab, git, lab.folder, Environ(environ(lab.folder)), None)

    def run(self, event, payload, *arguments):
        path = self.tmp_path / "event.json"
        path.write_text(json.dumps(payload), encoding="utf-8")
        self.set(GITHUB_EVENT_NAME=event, GITHUB_EVENT_PATH=str(path))
        self.walked = walk(self.tmp_path, "triage", *arguments, env=self._monkeypatch)


def event_to_comment(folder):
    """The fourth run: the branch has an index, and the issue repeats one that is in it."""
    with GitHubLab(folder) as lab, GitServer(folder / "git", token=BOT_TOKEN) as git:
        bot = WalkedBot(lab, git)
        first = bot.opened(*CRASH)
        bot.opened(*THEME)
        (comment,) = bot.said(bot.opened(*AGAIN))
        assert f"issue {first}" in comment
        return bot.walked


def plan_close_rollback(folder):
    """The three commands, one after the other."""
    with GitHubLab(folder) as lab:
        let_ana_write(lab)
        env = of_forge(lab)
        for at in range(30):
            text = f"After {at} seconds thing {at * 13 % 17} is slow"
            lab.project.add_issue(f"Part {at * 7 % 11} waits", text, author="u")
        copies = [lab.project.add_issue(*COPIED, author=name) for name in ("zoe", "tom")]
        for words in (["sync", lab.name_text], ["dedupe", "run", lab.name_text, "--workers", "1"]):
            run(folder, *words, env=env)
        planned = walk(folder, "dedupe", "plan", env=env)
        number = str(values(folder, "SELECT max(id) FROM dedupe_runs WHERE step = 'plan'")[0])
        applied = walk(folder, "dedupe", "apply", number, "--unproven", "--yes", env=env)
        assert sorted(lab.project.items[one].state for one in copies) == ["closed", "open"]
        taken_back = walk(folder, "dedupe", "rollback", number, "--yes", env=env)
        assert {lab.project.items[one].state for one in copies} == {"open"}
        return planned + applied + taken_back


def ask(folder):
    """Three steps of a model that searches, reads and answers."""
    replies = [*READ, answer("Tombstones are purged too early [1].", cite("#41", 35, 35, QUOTE))]
    env = example(folder)
    with ChatServer(replies) as server:
        model = {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        found = walk(folder, "ask", "why do deleted files come back?", env=env | model)
        assert len(server.asked) == len(replies)
    return found


def search_over_mcp(folder):
    """From the start of the server to its end, with one call of its search, by words only."""
    env, report = example(folder, FORGELORE_EMBEDDER="none"), folder / "mcp.json"
    program, *words = command(report, "mcp")
    server = StdioServerParameters(command=program, args=words, env=env, cwd=str(folder))
    with connected(stdio_client(server)) as agent:
        assert "#41" in agent.text("search", query="deleted files come back")
    return read_report(report)


def dedupe_accept(folder):
    return walk(folder, "dedupe", "accept", "#41", "#43", env=example(folder))


def list_issues(folder):
    return walk(folder, "list", "issues", env=example(folder))


JOURNEYS = {
    "page to vector": page_to_vector,
    "search": search,
    "event to comment": event_to_comment,
    "plan, close, rollback": plan_close_rollback,
    "ask": ask,
    "search over MCP": search_over_mcp,
    "imports of dedupe accept": dedupe_accept,
    "imports of list": list_issues,
}


def length(name: str, found: Walk) -> int:
    return found.imported if name.startswith("imports ") else len(found.modules)


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_keeps_to_its_budget(name, tmp_path):
    found = JOURNEYS[name](tmp_path)
    way = "\n".join(f"{at:4} {module:44} {first}" for at, (module, first) in enumerate(found.modules.items(), 1))
    assert length(name, found) <= BUDGETS[name], (
        f"{name}: {length(name, found)} modules, {BUDGETS[name]} allowed\n{way}"
    )


def test_every_budget_has_its_journey():
    assert BUDGETS.keys() == JOURNEYS.keys()


def main():
    print(f"{'journey':26} {'modules':>7} {'record types made':>18} {'crossings':>10}")
    for name, journey in JOURNEYS.items():
        with tempfile.TemporaryDirectory(prefix="forgelore-journey-") as folder:
            found = journey(pathlib.Path(folder))
        print(f"{name:26} {length(name, found):7} {len(found.records):18} {found.crossings:10}")


if __name__ == "__main__":
    main()
