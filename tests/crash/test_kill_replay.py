"""`kill -9` at any moment of a replay: the rows are as the forge said or as they were, and the next run mends the rest."""

import json
import random
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from crash.killing import PORTRAIT, check_integrity, difference, github_ground, portrait

KINDS = ("statement", "write", "sync")
PARTS = 3
DAMAGE = """UPDATE items SET title = 'hacked', body = NULL, content_hash = 'x' WHERE id % 3 > 0;
    DELETE FROM item_links WHERE id % 2;
    DELETE FROM item_labels;
    UPDATE notes SET body = 'hacked' WHERE id % 2"""


class Yard:
    """A synced database that somebody has damaged, and what it looks like after a replay in peace."""

    def __init__(self, folder, forker):
        self.server, self.ground = github_ground(folder, forker, issues=260, changes=40)  # two batches
        self.folder, self.base = folder, folder / "base.db"
        self.must("sync", self.ground.project, db=self.base)
        connection = apsw.Connection(str(self.base))
        connection.execute(DAMAGE)
        connection.close()
        done = self.copy("peace")
        self.must("replay", db=done, point="none", log=folder / "peace.json")
        self.steps = json.loads((folder / "peace.json").read_text(encoding="utf-8"))
        self.portrait = self.look(done)

    def must(self, *arguments, db, **order):
        done = self.ground.run(*arguments, db=db, **order)
        assert done.code == 0, done.err
        return done

    def copy(self, name):
        db = self.folder / f"{name}.db"
        shutil.copy(self.base, db)
        return db

    def look(self, db):
        return portrait(db, {**PORTRAIT, "items": "SELECT kind, number, title, body, content_hash FROM items"})

    def kill(self, point):
        db = self.copy(point.replace(":", "-"))
        died = self.ground.run("replay", db=db, point=point, log=db.with_suffix(".json")).code == -signal.SIGKILL
        if check_integrity(db) != "ok":
            return died, f"{point}: {check_integrity(db)}"
        self.must("replay", db=db)
        seen = self.look(db)
        wrong = [difference(name, rows, seen[name]) for name, rows in self.portrait.items() if seen[name] != rows]
        return died, f"{point}: {wrong}" if wrong else ""


@pytest.fixture
def yard(tmp_path, forker):
    found = Yard(tmp_path, forker)
    yield found
    found.server.stop()


def test_a_killed_replay_leaves_a_sound_store_and_goes_on(yard):
    rng = random.Random(7)
    points = [
        f"{kind}:{max(1, int(yard.steps[kind] * (part + rng.random()) / PARTS))}"
        for kind in KINDS
        for part in range(PARTS)
    ]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(yard.kill, dict.fromkeys(points)))
    assert [problem for _, problem in outcomes if problem] == []
    assert sum(died for died, _ in outcomes) >= 6


def test_a_sync_goes_on_with_a_killed_replay(yard):
    db = yard.copy("half")
    half = yard.steps["statement"] // 2
    assert yard.ground.run("replay", db=db, point=f"statement:{half}", log=db.with_suffix(".json")).code < 0
    told = json.loads(yard.must("stats", "--json", db=db).out)["data"]["queues"]["replay"]["waiting"]
    assert told > 0
    yard.must("sync", yard.ground.project, db=db)
    assert yard.look(db)["items"] == yard.portrait["items"]
    assert yard.look(db)["links"] == yard.portrait["links"]
