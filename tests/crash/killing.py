"""Killing syncs and looking at what is left: shared by the crash tests and `bench/kills.py`.

ground = Ground(server, "acme/web", environ, folder)
points = choose(ground.steps(), number=30, seed=1)      [("write:37",), ("request:4", "statement:90"), …]
ground.kill(points[0])                                  -> Outcome(…, is_equal=True)
"""

import dataclasses
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import typing

import apsw

import engine_tables
from servers.base import ForgeServer
from servers.forgejo import ForgejoServer
from servers.forgejo import Token as ForgejoToken
from servers.github import GitHubServer
from servers.github import Token as GitHubToken
from servers.gitlab import GitLabServer
from servers.gitlab import Token as GitLabToken

HERE = pathlib.Path(__file__).parent
TOKEN = "crash-test-token"
KINDS = ("statement", "write", "sync", "request", "answer")

# What must not depend on how often a sync was killed, beyond what `export` shows: no row ids, none of this machine's times.
PORTRAIT = {
    "items": "SELECT kind, number, content_hash, content_version, row_hash, detail_hash, files_sha,"
    " deleted_at IS NOT NULL,"
    " CASE kind WHEN 'discussion' THEN NULL ELSE threads_fetched_at END FROM items",
    "payloads": "SELECT resource, hash, size FROM raw_payloads",
    "threads": "SELECT i.kind, i.number, t.key, t.is_resolvable, t.is_resolved, t.path, t.line"
    " FROM threads t JOIN items i ON i.id = t.item_id",
    "notes": "SELECT i.kind, i.number, t.key, n.key, n.row_hash FROM notes n JOIN items i ON i.id = n.item_id"
    " JOIN threads t ON t.id = n.thread_id",
    "links": "SELECT i.kind, i.number, n.key, l.relation, l.source, l.target_project, l.target_kind, l.target_number, l.is_withdrawn"
    " FROM item_links l JOIN items i ON i.id = l.item_id LEFT JOIN notes n ON n.id = l.note_id",
    "labels": "SELECT name, color, description FROM labels",
    "members": "SELECT login, role FROM members",
    "jobs": "SELECT kind, key FROM jobs WHERE kind <> 'embed'",
    "documents": "SELECT i.kind, i.number, d.representation, d.thread_key, d.state, d.author, d.created_at, d.updated_at, d.url,"
    " d.is_truncated, d.content_hash, d.labels_hash, d.paths_hash, t.title, t.text, t.terms, j.attempt_count"
    " FROM documents d JOIN items i ON i.id = d.item_id JOIN document_texts t ON t.id = d.id"
    " LEFT JOIN jobs j ON j.project_id = d.project_id AND j.kind = 'embed' AND j.key = CAST(d.id AS TEXT)",
    "document labels": "SELECT i.kind, i.number, d.thread_key, l.name FROM document_labels l"
    " JOIN documents d ON d.id = l.document_id JOIN items i ON i.id = d.item_id",
    "document paths": "SELECT i.kind, i.number, d.thread_key, p.path FROM document_paths p"
    " JOIN documents d ON d.id = p.document_id JOIN items i ON i.id = d.item_id",
    "words": engine_tables.WORD_COUNTS,
    "locks": "SELECT name FROM locks",
    "cursors": "SELECT resource, updated_at, tie_id, token, is_complete FROM sync_cursors",
    "unfinished runs": "SELECT id FROM sync_runs WHERE status = 'running'",
}


class Done(typing.NamedTuple):
    code: int
    out: bytes
    err: str


class Forker:
    """Runs commands in children of processes that have imported everything already (victim.py). Threads may ask at the same time."""

    def __init__(self):
        self.idle: list[subprocess.Popen] = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for process in self.idle:
            process.communicate(timeout=20)

    def run(self, arguments: list[str], environ: dict[str, str], folder: pathlib.Path, **order) -> Done:
        """`order`: point and log (where to die), pages and largest_file (how much room there is), no_waits, cwd."""
        process = self.idle.pop() if self.idle else self.start()
        out, err = folder / f"{process.pid}.out", folder / f"{process.pid}.err"
        whole = {
            "arguments": arguments,
            "environ": environ,
            "out": str(out),
            "err": str(err),
            "point": "",
            "cwd": str(folder),
            **order,
        }
        process.stdin.write(json.dumps(whole, default=str) + "\n")
        process.stdin.flush()
        done = Done(int(process.stdout.readline()), out.read_bytes(), err.read_text(encoding="utf-8"))
        self.idle.append(process)
        return done

    def start(self) -> subprocess.Popen:
        command = [sys.executable, str(HERE / "victim.py")]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@dataclasses.dataclass
class Outcome:
    """What came of one chain of kills. `deaths` says where each blow fell; a point that was never reached is missing."""

    points: tuple[str, ...]
    deaths: list[dict]
    integrity: list[str]
    problem: str

    @property
    def is_equal(self) -> bool:
        return not self.problem and set(self.integrity) <= {"ok"}


@dataclasses.dataclass
class Ground:
    """A forge that stands still, and what an undisturbed sync of it looks like."""

    project: str
    environ: dict[str, str]
    folder: pathlib.Path
    forker: Forker
    base: pathlib.Path | None = None  # what each run starts from; None: from nothing
    export: bytes = b""
    portrait: dict | None = None

    def live_on(self, live: typing.Callable[[], None]) -> None:
        """Sync once; then history goes on, and every later run starts from that first sync."""
        base = self.folder / "base.db"
        done = self.run("sync", self.project, db=base)
        assert done.code == 0, done.err
        self.base = base
        live()

    def begin(self, db: pathlib.Path) -> None:
        if self.base:
            shutil.copy(self.base, db)

    def steps(self) -> dict[str, int]:
        """Sync undisturbed once, remember the result, and return how many steps of each kind that took."""
        db, log = self.folder / "undisturbed.db", self.folder / "undisturbed.json"
        self.begin(db)
        done = self.run("sync", self.project, db=db, point="none", log=log)
        assert done.code == 0, done.err
        self.export, self.portrait = self.exported(db), portrait(db)
        return json.loads(log.read_text(encoding="utf-8"))

    def kill(self, points: tuple[str, ...]) -> Outcome:
        """Sync and die at each point in turn, then sync in peace and compare."""
        name = "-".join(points).replace(":", "")
        db, log = self.folder / f"{name}.db", self.folder / f"{name}.json"
        self.begin(db)
        outcome = Outcome(points, [], [], "")
        for point in points:
            done = self.run("sync", self.project, db=db, point=point, log=log)
            if done.code == -signal.SIGKILL:
                outcome.deaths.append(json.loads(log.read_text(encoding="utf-8")))
            elif done.code:
                outcome.problem = f"{point}: exit {done.code}: {done.err}"
                return outcome
            if db.exists() and db.stat().st_size:
                outcome.integrity.append(check_integrity(db))
        outcome.problem = self.go_on(db)
        return outcome

    def go_on(self, db: pathlib.Path) -> str:
        """Run the plain command again, with no --force, and say what is not as it should be."""
        done = self.run("sync", self.project, db=db)
        if done.code:
            return f"the rerun ended with {done.code}: {done.err}"
        seen = portrait(db)
        wrong = [name for name, rows in self.portrait.items() if seen[name] != rows]
        if wrong:
            return "differs in " + ", ".join(difference(name, self.portrait[name], seen[name]) for name in wrong)
        return "" if self.exported(db) == self.export else "the export differs"

    def run(self, *arguments: str, db: pathlib.Path, **order) -> Done:
        return self.forker.run([*arguments, "--db", str(db)], self.environ, self.folder, **order)

    def exported(self, db: pathlib.Path) -> bytes:
        done = self.run("export", "--include-internal", db=db)
        assert done.code == 0, done.err
        return done.out


def check_integrity(db: pathlib.Path) -> str:
    """What SQLite says of the file just as the dead process left it (opening it recovers the write-ahead log)."""
    connection = apsw.Connection(str(db))
    try:
        broken = connection.execute("SELECT count(*) FROM pragma_foreign_key_check").get
        return connection.execute("PRAGMA integrity_check").get if not broken else f"{broken} broken references"
    finally:
        connection.close()


def portrait(db: pathlib.Path, queries: dict[str, str] = PORTRAIT) -> dict[str, list[str]]:
    connection = apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {name: sorted(repr(row) for row in connection.execute(sql)) for name, sql in queries.items()}
    finally:
        connection.close()


def difference(name: str, wanted: list[str], seen: list[str]) -> str:
    missing, extra = sorted(set(wanted) - set(seen)), sorted(set(seen) - set(wanted))
    return f"{name} (missing {len(missing)} {missing[:2]}, too many {len(extra)} {extra[:2]}, {len(seen)} for {len(wanted)})"


def choose(steps: dict[str, int], *, number: int, seed: int) -> list[tuple[str, ...]]:
    """Return chains of points, spread over the kinds of steps and over the run; every fifth dies twice, every tenth three times.

    A later blow of a chain falls early: the run it ends has less left to do.
    """
    rng = random.Random(seed)
    chains = []
    for n in range(number):
        blows = 3 if n % 10 == 9 else 2 if n % 5 == 4 else 1
        chains.append(
            tuple(_point(rng, steps, KINDS[(n + blow) % len(KINDS)], 1 if blow == 0 else 8) for blow in range(blows))
        )
    return chains


def _point(rng: random.Random, steps: dict[str, int], kind: str, share: int) -> str:
    # The last steps of a run may be missing from the next one: threads take turns as they please.
    return f"{kind}:{rng.randint(1, max(1, steps[kind] * 9 // 10 // share))}"


def github_ground(folder: pathlib.Path, forker: Forker, **sizes) -> tuple[GitHubServer, Ground]:
    server = GitHubServer()
    server.tokens[TOKEN] = GitHubToken("ana", "Ana")
    server.populate("acme/web", **{"seed": 11, "issues": 40, "changes": 20, "discussions": 6, **sizes})
    server.start()
    return server, Ground(
        "acme/web", environ(folder, GITHUB_TOKEN=TOKEN, GITHUB_API_URL=server.api_url), folder, forker
    )


def gitlab_ground(folder: pathlib.Path, forker: Forker, **sizes) -> tuple[GitLabServer, Ground]:
    server = GitLabServer()
    server.tokens[TOKEN] = GitLabToken("ana", "Ana")
    server.start()  # first: pages carry the address
    server.populate("group/app", **{"seed": 11, "issues": 16, "changes": 8, **sizes})
    return server, Ground(
        "gitlab:group/app", environ(folder, GITLAB_TOKEN=TOKEN, CI_API_V4_URL=server.api_url), folder, forker
    )


def forgejo_ground(folder: pathlib.Path, forker: Forker, **sizes) -> tuple[ForgejoServer, Ground]:
    server = ForgejoServer()
    server.tokens[TOKEN] = ForgejoToken("ana", "Ana")
    server.start()  # first: pages carry the address
    server.populate("acme/web", **{"seed": 11, "issues": 40, "changes": 20, **sizes})
    return server, Ground(
        "forgejo:acme/web", environ(folder, FORGEJO_TOKEN=TOKEN, FORGEJO_API_URL=server.api_url), folder, forker
    )


GROUNDS = {"github": github_ground, "gitlab": gitlab_ground, "forgejo": forgejo_ground}


def environ(folder: pathlib.Path, **more: str) -> dict[str, str]:
    """A clean environment: no settings and tokens of whoever runs this, a home of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    ours = {"FORGELORE_REQUESTS_PER_SECOND": "100", "FORGELORE_EMBEDDER": "none"}
    return {**kept, "HOME": str(folder), **ours, **more}


def live_on(server: ForgeServer) -> None:
    """An hour later: every third item has changed in some way, some are gone, some are new."""
    (live_on_gitlab if server.kind == "gitlab" else live_on_github)(server)


def live_on_github(server: GitHubServer) -> None:
    project = server.project("acme/web")
    server.clock.advance(3600)
    numbers = {kind: [n for n, item in project.items.items() if item.kind == kind] for kind in ("issue", "change")}
    for n in numbers["issue"][::3]:
        project.comment(n, f"Still there, see #{n}")
        project.edit(n, title=f"Renamed {n}", labels=["bug"])
    for n in numbers["change"][::3]:
        project.push(n, [("renamed", "old.py", f"new{n}.py"), ("added", "more.py")])
        project.review(n, "Please look again", state="CHANGES_REQUESTED")
    gone = numbers["issue"][1::8]
    for n in gone:
        project.delete(n)
    comments = [comment for comment in project.comments.values() if comment.item.number not in gone]
    for comment in comments[::9]:
        project.delete_comment(comment.id)
    for n in range(5):
        project.add_issue(f"New {n}", f"Duplicate of #{numbers['issue'][0]}")


def live_on_gitlab(server: GitLabServer) -> None:
    project = server.project("group/app")
    server.clock.advance(3600)
    issues, changes = list(project.issues), list(project.changes)
    for n in issues[::3]:
        project.comment("issue", n, f"Still there, see #{n}")
        project.edit("issue", n, title=f"Renamed {n}", labels=["bug"])
    for n in changes[::3]:
        project.push(n, [("renamed", "old.py", f"new{n}.py"), ("added", "more.py")])
        project.comment("change", n, "Please look again")
    for n in issues[1::8]:
        project.delete("issue", n)
    for n in range(5):
        project.add_issue(f"New {n}", f"/duplicate #{issues[0]}")
