"""What does a filter cost in code and in commits? Through MCP, `ask --no-model` and `--path`, on 50,000 commits.

`python bench/run.py filtered [COMMITS]`. The repository is made by `git fast-import` from random words, the same each
time. *Before* is the same program without the plus that hides the row id from SQLite's planner (`match_id` of
`store/sqlite/fulltext.py`): the same answers, one look-up of all words per allowed row.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

from agents import Server
from lib.common import FORGELORE, clean_environ, forgelore, measure, report, table

COMMITS = 50_000
QUESTION = "why does the socket timeout retry"
WORDS = (
    "add", "fix", "remove", "retry", "relay", "parse", "cache", "lock", "close", "open", "socket", "timeout", "index",
    "search", "vector", "page", "token",
)  # fmt: skip
BEFORE = (
    "import forgelore.store.sqlite.fulltext as words; words.match_id = lambda table: table + '.rowid';"
    " from forgelore.surfaces.cli.main import main; raise SystemExit(main())"
)
PROGRAMS = {"before": (sys.executable, "-c", BEFORE), "now": FORGELORE}
COMMANDS = {
    "ask --no-model": ("ask", "--no-model", QUESTION),
    "search --type commit --path src/part01/": ("search", QUESTION, "--type", "commit", "--path", "src/part01/"),
    "search --type commit --path 'src/**/*.py'": ("search", QUESTION, "--type", "commit", "--path", "src/**/*.py"),
    "search --type code --path src/part01/": ("search", QUESTION, "--type", "code", "--path", "src/part01/"),
    "search --type commit, no filter": ("search", QUESTION, "--type", "commit"),
}
CALLS = {
    "MCP: search, type commit": {"query": QUESTION, "type": ["commit"]},
    "MCP: search, type code": {"query": QUESTION, "type": ["code"]},
    "MCP: search, type commit, path": {"query": QUESTION, "type": ["commit"], "path": ["src/part01/"]},
}


def main(arguments: list[str]) -> None:
    commits = int(arguments[0]) if arguments else COMMITS
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        environ = clean_environ(place, FORGELORE_DB=str(place / "history.db"), FORGELORE_EMBEDDER="none")
        make_repository(place / "clone", commits)
        forgelore("index-code", str(place / "clone"), "--project", "bench/web", environ=environ)
        rows = [compare(name, run, words, environ) for name, words in COMMANDS.items()]
        rows += [compare(name, call, given, environ) for name, given in CALLS.items()]
    head = ["", "before, CPU s", "now, CPU s", "before / now", "same answer"]
    report("filtered", f"Code and commits within filters, {commits:,} commits", [table(head, rows), NOTE],
           " ".join(arguments))  # fmt: skip


NOTE = (
    "A command is a whole process, its start included; a call over MCP is the CPU of the server that it adds. MCP and"
    " `ask` always have a filter: what only members may see is left out."
)


def compare(name, take, given, environ) -> list[object]:
    (before, first), (now, second) = (take(PROGRAMS[one], given, environ) for one in ("before", "now"))
    return [name, before, now, f"{before / now:.1f}", "yes" if first == second else "no"]


def run(program, words, environ) -> tuple[float, str]:
    cost = measure([*program, *words], environ)
    return cost.cpu_s, cost.out


def call(program, given, environ) -> tuple[float, object]:
    """Return the CPU seconds that a server needs for one search, after one that has read what stays in memory."""
    server = Server(environ, program)
    server.greet()
    server.ask("tools/call", {"name": "search", "arguments": {"query": "relay"}})
    began = server.cpu_s()
    answer = server.ask("tools/call", {"name": "search", "arguments": given})
    took = server.cpu_s() - began
    server.close()
    return took, answer["content"]


def make_repository(folder: pathlib.Path, commits: int) -> None:
    draw = random.Random(5)
    subprocess.run(["git", "init", "--quiet", "--template=", "--initial-branch=main", str(folder)], check=True)
    command = ["git", "-C", str(folder), "fast-import", "--quiet", "--done"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        for number in range(commits):
            process.stdin.write(make_commit(draw, number))
        process.stdin.write(b"done\n")
    assert process.returncode == 0


def make_commit(draw: random.Random, number: int) -> bytes:
    rare = [f"w{draw.randrange(3000):04}" for _ in range(20)]
    often = [draw.choice(WORDS) for _ in range(10)]
    message = f"{often[0].capitalize()} the {often[1]} {rare[0]}\n\n{' '.join(often + rare)}\n"
    path = f"src/part{draw.randrange(40):02}/file{draw.randrange(50):02}.py"
    text = f"def {often[2]}_{number}():\n    return '{rare[1]}'\n"
    return (
        f"commit refs/heads/main\ncommitter Person {number % 50} <p{number % 50}@example.org> "
        f"{1_500_000_000 + number * 3000} +0000\ndata {len(message)}\n{message}\n"
        f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"
    ).encode()


if __name__ == "__main__":
    main(sys.argv[1:])
