"""`kill -9` at any moment of indexing: what is left is sound, and running again ends where an undisturbed run does.

Documents, their words and the cleared jobs share a transaction, so that a killed run leaves work that waits and nothing
half done. Vectors come from a local server, so that requests and answers are moments to die in as well.
"""

import json
import random
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from crash.killing import PORTRAIT, check_integrity, difference, environ, portrait
from engine_tables import VECTORS_OF_ITEMS
from servers.embedding import EmbeddingServer

ITEMS = {"generate-docs": 600, "embed": 150}  # two batches of documents, three of vectors
PARTS = 3
KINDS = {"generate-docs": ("statement", "write", "sync"), "embed": ("statement", "write", "request", "answer")}


def lines(count):
    note = {"author": "ben", "body": "Same here, see BlockIndex::LoadFile", "created_at": "2026-02-01T00:00:00Z"}
    for number in range(1, count + 1):
        item = {
            "kind": "issue",
            "number": number,
            "title": f"Crash {number}",
            "body": f"It falls over. word{number} " * 5,
        }
        yield json.dumps({**item, "labels": ["bug"], "notes": [note] if number % 3 == 0 else []})


class Yard:
    """A database in which work waits, and what it looks like when the work was done in peace."""

    def __init__(self, command, folder, forker, server):
        self.command, self.folder, self.forker = command, folder, forker
        self.environ = environ(
            folder, FORGELORE_EMBEDDER="openai", FORGELORE_EMBEDDER_URL=server.v1,
            FORGELORE_EMBEDDER_MODEL="nomic-embed-text",
        )  # fmt: skip
        self.base = folder / "base.db"
        (folder / "tracker.jsonl").write_text("\n".join(lines(ITEMS[command])), encoding="utf-8")
        left_out = "--no-docs" if command == "generate-docs" else "--no-embed"
        self.must("import", str(folder / "tracker.jsonl"), "--project", "old/tracker", left_out, db=self.base)
        done = folder / "peace.db"
        shutil.copy(self.base, done)
        self.must(command, db=done, point="none", log=folder / "peace.json")
        self.steps = json.loads((folder / "peace.json").read_text(encoding="utf-8"))
        self.portrait = self.look(done)

    def run(self, *arguments, db, **order):
        return self.forker.run([*arguments, "--db", str(db)], self.environ, self.folder, **order)

    def must(self, *arguments, db, **order):
        done = self.run(*arguments, db=db, **order)
        assert done.code == 0, done.err
        return done

    def look(self, db):
        return portrait(db, {**PORTRAIT, "vectors": VECTORS_OF_ITEMS})

    def kill(self, point):
        """Die once, look, go on, look again. Returns whether it died and what is not as it should be."""
        db = self.folder / f"{point.replace(':', '-')}.db"
        shutil.copy(self.base, db)
        died = self.run(self.command, db=db, point=point, log=db.with_suffix(".json")).code == -signal.SIGKILL
        if check_integrity(db) != "ok":
            return died, f"{point}: {check_integrity(db)}"
        told = self.run("stats", "--check", "--json", db=db)
        if told.code:
            return died, f"{point}: {told.out[-400:]}"
        self.must(self.command, db=db)
        seen = self.look(db)
        wrong = [difference(name, rows, seen[name]) for name, rows in self.portrait.items() if seen[name] != rows]
        return died, f"{point}: {wrong}" if wrong else ""


@pytest.fixture(scope="module")
def server():
    with EmbeddingServer() as running:
        yield running


@pytest.mark.parametrize("command", KINDS)
def test_killed_indexing_leaves_a_sound_store_and_goes_on(tmp_path, forker, server, command):
    yard = Yard(command, tmp_path, forker, server)
    rng = random.Random(11)
    points = [
        f"{kind}:{max(1, int(yard.steps[kind] * (part + rng.random()) / PARTS))}"
        for kind in KINDS[command]
        for part in range(PARTS)
    ]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(yard.kill, dict.fromkeys(points)))
    assert [problem for _, problem in outcomes if problem] == []
    assert sum(died for died, _ in outcomes) >= len(KINDS[command]) * 2
