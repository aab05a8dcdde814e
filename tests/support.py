"""What tests of sync share: time that does not pass by itself, a forge with an App in front of it, and the store read back.

lab.project.add_issue("Crash")        the forge's side
lab.sync()                            one run of the flow; waits are recorded in lab.time.waits, not slept
lab.assert_same()                     the store says what the forge says
"""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

from forgelore.app import App
from forgelore.forges.gitlab.wire import tag_number
from forgelore.sync.run import SyncOptions, SyncResult, sync_project
from forgelore.text.dates import format_ms, parse_ms
from forgelore.text.fence import storable
from forgelore.viewer import EVERYTHING
from servers.base import ForgeServer, Response
from servers.forgejo import ForgejoServer
from servers.forgejo import Token as ForgejoToken
from servers.github import GitHubServer
from servers.github import Token as GitHubToken
from servers.gitlab import GitLabServer
from servers.gitlab import Token as GitLabToken

GITHUB_TOKEN = "t0ken-github"
GITLAB_TOKEN = "t0ken-gitlab"
FORGEJO_TOKEN = "t0ken-forgejo"
RUNS_AND_LOCKS = ("sync_runs", "locks")
_numbers = itertools.count(1)


class FakeTime:
    """Sleeping moves this clock and the forge's; a wait of a second or more is remembered."""

    def __init__(self, server: ForgeServer | None = None):
        self.server = server
        self.waits: list[float] = []
        self.skew_s = 0.0  # how wrong this machine's clock is
        self._start = time.time()
        self._passed = 0.0
        self._guard = threading.Lock()

    def sleep(self, seconds: float) -> None:
        with self._guard:
            self._passed += seconds
            if seconds < 1:
                return
            self.waits.append(seconds)
        if self.server is not None:
            with self.server.lock:
                self.server.clock.advance(seconds)

    def pass_by(self, seconds: float) -> None:
        """Time goes by while nobody waits: here and on the forge."""
        with self._guard:
            self._passed += seconds
        if self.server is not None:
            with self.server.lock:
                self.server.clock.advance(seconds)

    def clock(self) -> float:
        return self._passed

    def wall_clock(self) -> float:
        return self._start + self._passed + self.skew_s

    def now_ms(self) -> int:
        return int(self.wall_clock() * 1000)


class Lab:
    """A running forge, one project on it, and the App that syncs it into a file of its own."""

    path = ""
    name_text = ""
    items_list = "items"  # the resource that lists issues
    has_shared_numbers = True  # else verbs of the project name a kind: `project.comment("issue", 12, "…")`

    def __init__(self, folder: pathlib.Path, server: ForgeServer):
        self.folder = folder
        self.server = server.start()
        self.time = FakeTime(server)
        self.apps: list[App] = []
        self.project = server.add_project(self.path)
        self.app = self.new_app()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for app in self.apps:
            app.close()
        self.server.stop()
        if exc == (None, None, None):
            assert self.server.errors == [], self.server.errors[0]

    def environ(self, token: str) -> dict[str, str]:
        raise NotImplementedError

    def new_app(self, token: str | None = None, *, db: str | None = None, **more: str) -> App:
        """An App with a file of its own, or with `db` on a given one; `more` are environment variables."""
        db = db or str(self.folder / f"lore-{next(_numbers)}.db")
        environ = {**self.environ(self.good_token if token is None else token), "FORGELORE_REQUESTS_PER_SECOND": "100"}
        app = App({**environ, **more}, cwd=str(self.folder), db=db, viewer=EVERYTHING)
        app.sleep, app.clock, app.wall_clock = self.time.sleep, self.time.clock, self.time.wall_clock
        app.jitter = lambda: 0.0
        self.apps.append(app)
        return app

    def same_file(self, token: str | None = None, **more: str) -> App:
        """Another App (another token, other settings) on the file of the first."""
        return self.new_app(token, db=self.app.config.db, **more)

    def sync(
        self, app: App | None = None, *, path: str | None = None, watcher=None, stop=None, **options
    ) -> SyncResult:
        app = app or self.app
        name = app.parse_project(self.name_text.replace(self.path, path) if path else self.name_text)
        store, forge = app.store(create=True), app.forge(name)
        return sync_project(
            store, forge, name, SyncOptions(**options), now_ms=self.time.now_ms, watcher=watcher, stop=stop
        )

    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run the real command line, on a file of its own."""
        command = [sys.executable, "-m", "forgelore.surfaces.cli.main", "--db", str(self.folder / "own.db"), *arguments]
        environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **self.environ(self.good_token)}
        environ |= {"FORGELORE_REQUESTS_PER_SECOND": "100", "FORGELORE_EMBEDDER": "none"}
        return subprocess.run(
            command, env=environ, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )

    def populate(self, **sizes):
        self.server.populate(self.path, **{"seed": 7, "issues": 12, "changes": 6, **sizes})

    def stored(self, app: App | None = None, path: str | None = None) -> list[dict]:
        return stored_truth(app or self.app, path or self.path)

    def assert_same(self, app: App | None = None, path: str | None = None) -> None:
        assert_equal_to_forge(app or self.app, self.server, path or self.path)

    def on_issue(self, verb: str, number: int, *arguments, **fields):
        """Let a verb of the project happen to an issue: `lab.on_issue("comment", 12, "still there")`."""
        place = (number,) if self.has_shared_numbers else ("issue", number)
        return getattr(self.project, verb)(*place, *arguments, **fields)

    def delete_comment(self, comment_id: int) -> None:
        self.project.delete_comment(comment_id)

    def rows(self, sql: str, *bindings):
        return self.app.store().rows(sql, *bindings)

    def value(self, sql: str, *bindings):
        return self.app.store().value(sql, *bindings)

    def links(self, number: int, kind: str = "issue") -> set[tuple]:
        """(relation, source, project, kind, number, is_withdrawn) of everything an item or its notes say."""
        return set(
            self.rows(
                "SELECT l.relation, l.source, l.target_project, l.target_kind, l.target_number, l.is_withdrawn"
                " FROM item_links l JOIN items i ON i.id = l.item_id WHERE i.kind = ? AND i.number = ?",
                kind,
                number,
            )
        )

    def deleted(self) -> set[tuple[str, int]]:
        return set(self.rows("SELECT kind, number FROM items WHERE deleted_at IS NOT NULL"))

    def on_request(self, pattern: str, act, *, nth: int = 1) -> None:
        """Do `act()` once, after the `nth` answer to a request that matches was made: history goes on while we read."""
        handle, seen = self.server.handle, itertools.count(1)

        def acting(request):
            response = handle(request)
            query = "&".join(f"{k}={v}" for k, values in request.query.items() for v in values)
            if re.search(pattern, f"{request.method} {request.path}?{query}") and next(seen) == nth:
                response.body = response.payload()  # what was said stays said
                act()
            return response

        self.server.handle = acting


class GitHubLab(Lab):
    path = name_text = "acme/web"
    good_token = GITHUB_TOKEN
    token_type = GitHubToken

    def __init__(self, folder: pathlib.Path, **settings):
        server = GitHubServer(**settings)
        server.tokens[GITHUB_TOKEN] = GitHubToken("ana", "Ana")
        super().__init__(folder, server)

    def environ(self, token: str) -> dict[str, str]:
        return {"GITHUB_TOKEN": token, "GITHUB_API_URL": self.server.api_url}

    def graphql_requests(self, name: str) -> list[dict]:
        """The GraphQL requests whose query is called `name`."""
        return [r for r in self.server.requests if f"query {name}(" in (r["body"] or "")]


class GitLabLab(Lab):
    path = "group/app"
    name_text = "gitlab:group/app"
    items_list = "issues"
    has_shared_numbers = False
    good_token = GITLAB_TOKEN
    token_type = GitLabToken

    def __init__(self, folder: pathlib.Path, **settings):
        server = GitLabServer(**settings)
        server.tokens[GITLAB_TOKEN] = GitLabToken("ana", "Ana")
        super().__init__(folder, server)

    def environ(self, token: str) -> dict[str, str]:
        return {"GITLAB_TOKEN": token, "CI_API_V4_URL": self.server.api_url}

    def delete_comment(self, comment_id: int) -> None:
        self.project.delete_note(comment_id)


class ForgejoLab(Lab):
    path = "acme/web"
    name_text = "forgejo:acme/web"
    good_token = FORGEJO_TOKEN
    token_type = ForgejoToken

    def __init__(self, folder: pathlib.Path, **settings):
        server = ForgejoServer(**settings)
        server.tokens[FORGEJO_TOKEN] = ForgejoToken("ana", "Ana")
        super().__init__(folder, server)

    def environ(self, token: str) -> dict[str, str]:
        return {"FORGEJO_TOKEN": token, "FORGEJO_API_URL": self.server.api_url}


def stored_truth(app: App, path: str) -> list[dict]:
    """The store in the words of `server.truth()`: live items with files and notes, by kind and number."""
    store = app.store()
    project_id = store.value("SELECT id FROM projects WHERE path_key = ?", path.lower())
    columns = "id, kind, number, title, body, state, state_reason, author, created_at, updated_at, closed_at, url, tag"
    rows = store.rows(f"SELECT {columns} FROM items WHERE project_id = ? AND deleted_at IS NULL", project_id)
    known = [_item(store, dict(zip(columns.split(", "), row, strict=True))) for row in rows]
    return sorted(known, key=_place)


def _item(store, row: dict) -> dict:
    item_id = row.pop("id")
    if row["tag"] is None:
        del row["tag"]
    for name in ("created_at", "updated_at", "closed_at"):
        row[name] = format_ms(row[name])
    labels = [name for (name,) in store.rows("SELECT name FROM item_labels WHERE item_id = ? ORDER BY name", item_id)]
    files = store.rows("SELECT old_path, new_path, status FROM item_files WHERE item_id = ?", item_id)
    notes = store.rows("SELECT author, body, created_at, path, line, is_system FROM notes WHERE item_id = ?", item_id)
    names = ("author", "body", "created_at", "path", "line", "is_system")
    told = [dict(zip(names, note, strict=True)) for note in notes]
    told = [
        {**note, "created_at": format_ms(note["created_at"]), "is_system": bool(note["is_system"])} for note in told
    ]
    pairs = [dict(zip(("old_path", "new_path", "status"), file, strict=True)) for file in files]
    return {**row, "labels": labels, "files": sorted(pairs, key=_path_of), "notes": sorted(told, key=_moment)}


def forge_truth(server: ForgeServer, path: str, **how) -> list[dict]:
    """`server.truth()` as far as a store can hold it: no NUL, no lone surrogates, times without empty fractions."""
    return sorted((_expected(item) for item in server.truth(path, **how)), key=_place)


def _expected(item: dict) -> dict:
    item = _storable(item)
    for name in ("created_at", "updated_at", "closed_at"):
        item[name] = format_ms(parse_ms(item[name]))
    if item["number"] is None:
        item["number"] = tag_number(item["tag"])
    item["files"] = sorted(item["files"], key=_path_of)
    for note in item["notes"]:
        note["created_at"] = format_ms(parse_ms(note["created_at"]))
    item["notes"] = sorted(item["notes"], key=_moment)
    return item


def _storable(value):
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {name: _storable(entry) for name, entry in value.items()}
    return [_storable(entry) for entry in value] if isinstance(value, list) else value


def _place(item: dict) -> tuple:
    return item["kind"], item["number"]


def _path_of(file: dict) -> tuple:
    return file["new_path"], file["old_path"]


def _moment(note: dict) -> tuple:
    return note["created_at"], note["body"] or "", note["author"] or "", note["path"] or ""


def assert_equal_to_forge(app: App, server: ForgeServer, path: str, **how) -> None:
    """Fail with the fields that differ, a line each."""
    __tracebackhide__ = True
    differences = compare(stored_truth(app, path), forge_truth(server, path, **how))
    assert not differences, "the store differs from the forge:\n" + "\n".join(differences[:20])


def compare(ours: list[dict], theirs: list[dict]) -> list[str]:
    mine, wanted = {_place(item): item for item in ours}, {_place(item): item for item in theirs}
    found = [f"{kind} {number}: missing here" for kind, number in wanted.keys() - mine.keys()]
    found += [f"{kind} {number}: not on the forge" for kind, number in mine.keys() - wanted.keys()]
    for place in sorted(mine.keys() & wanted.keys()):
        found += [f"{place[0]} {place[1]} {line}" for line in _fields_that_differ(mine[place], wanted[place])]
    return found


def _fields_that_differ(mine: dict, wanted: dict) -> list[str]:
    lines = []
    for name, value in wanted.items():
        have = mine.get(name)
        if name == "closed_at" and value is None and wanted["state"] == "merged":
            continue  # GitLab has no closed_at for what was merged; ours is merged_at
        if name in ("notes", "files") and have != value:
            gone = [entry for entry in value if entry not in have]
            extra = [entry for entry in have if entry not in value]
            lines.append(f"{name}: missing {_short(gone)}, too many {_short(extra)}, {len(have)} for {len(value)}")
        elif have != value:
            lines.append(f"{name}: {_short(have)} instead of {_short(value)}")
    return lines


def _short(value) -> str:
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}… ({len(text)} characters)"


def content_hash(app: App) -> str:
    """A hash over every row of every table apart from the record of runs and locks."""
    store = app.store()
    digest = hashlib.sha256()
    tables = [name for (name,) in store.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    for table in tables:
        if table not in RUNS_AND_LOCKS and not table.startswith("sqlite_"):
            rows = sorted(repr(row) for row in store.rows(f"SELECT * FROM {table}"))
            digest.update(json.dumps([table, rows]).encode())
    return digest.hexdigest()


@contextlib.contextmanager
def raised(kind, *, code: str | None = None, says: str = "", hint: str = ""):
    """Expect one of our errors, with its code, and words in its message and hint; yields a list that will hold it."""
    caught: list = []
    with pytest.raises(kind) as found:
        yield caught
    error = found.value
    caught.append(error)
    assert code is None or error.code == code
    assert says in error.message
    assert hint in error.hint


def assert_unread(result: SyncResult, *, part: str = "", code: str = "", says: str = "", hint: str = ""):
    """Expect that a sync went to its end and could not read something; returns what, of which there is only one where
    no part is named.
    """
    assert result.status == "incomplete"
    (found,) = [one for one in result.unread if part in ("", one.part)]
    assert code in ("", found.code)
    assert says in found.reason
    assert hint in found.hint
    return found


class Elsewhere(ForgeServer):
    """A server that nobody should talk to; `requests` tells whether somebody did."""

    kind = "elsewhere"
    record_to = None  # no forge: its traffic keeps no contract

    def handle(self, request) -> Response:
        return Response(200, [])
