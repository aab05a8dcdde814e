"""`kill -9` at any moment of `index-code`: what is left is sound, and the next run ends where an undisturbed one does.

Once into an empty database, and once over an older commit, when files changed, moved, came and went.
"""

import json
import random
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from clones.repositories import commit_files, git, make_repository
from crash.killing import check_integrity, difference, environ, portrait

FILES = 260  # two batches
KINDS = ("statement", "write", "sync")
PARTS = 3
# Everything that indexing writes; ids and times aside.
PORTRAIT = {
    "files": "SELECT path, blob, language, size, text FROM code_files",
    "chunks": "SELECT f.path, c.position, c.start_line, c.end_line, c.symbol, c.names"
    " FROM code_chunks c JOIN code_files f ON f.id = c.file_id",
    "commits": "SELECT sha, author, authored_at, message, is_merge FROM commits",
    "paths": "SELECT c.sha, p.path FROM commit_paths p JOIN commits c ON c.id = p.commit_id",
    "left out": "SELECT path, blob, reason FROM code_left_out",
    "trees": "SELECT tree_commit, history_commit, rules FROM code_trees",
}


def source(number, word):
    return f'"""Module {number}."""\n\n\ndef step_{word}_{number}(value):\n    """Take a {word}."""\n    return value\n'


def make_history(folder):
    """A repository whose last commit changes files in every way."""
    repository = make_repository(folder / "web", {f"src/f{n}.py": source(n, "first") for n in range(20)})
    commit_files(repository, {f"src/f{n}.py": source(n, "first") for n in range(20, FILES)}, "More")
    for number in range(3):
        git(repository, "mv", f"src/f{number}.py", f"src/moved{number}.py")
    changed = {f"src/f{n}.py": source(n, "second") for n in range(10, FILES, 2)}
    commit_files(repository, {**changed, "new.py": source(0, "new"), "logo.png": b"\0"}, "Change", gone=["src/f5.py"])
    return repository


class Yard:
    """A repository to index, a database to begin with, and what it looks like after a run in peace."""

    def __init__(self, folder, forker, *, is_first):
        self.folder, self.forker, self.environ = folder, forker, environ(folder)
        self.base, self.repository = folder / "base.db", make_history(folder)
        if not is_first:
            last, first = git(self.repository, "rev-parse", "HEAD"), git(self.repository, "rev-parse", "HEAD~1")
            git(self.repository, "update-ref", "refs/heads/main", first)
            self.must(db=self.base)
            git(self.repository, "update-ref", "refs/heads/main", last)
        done = self.copy("peace")
        self.must(db=done, point="none", log=folder / "peace.json")
        self.steps = json.loads((folder / "peace.json").read_text(encoding="utf-8"))
        self.portrait = portrait(done, PORTRAIT)

    def copy(self, name):
        db = self.folder / f"{name}.db"
        if self.base.exists():
            shutil.copy(self.base, db)
        return db

    def run(self, *words, db, **order):
        return self.forker.run([*words, "--db", str(db)], self.environ, self.folder, **order)

    def index(self, db, **order):
        return self.run("index-code", str(self.repository), "--project", "acme/web", db=db, **order)

    def must(self, db, **order):
        done = self.index(db, **order)
        assert done.code == 0, done.err

    def kill(self, point):
        """Die once, look, go on, look again. Returns whether it died and what is not as it should be."""
        db = self.copy(point.replace(":", "-"))
        died = self.index(db, point=point, log=db.with_suffix(".json")).code == -signal.SIGKILL
        if db.exists() and db.stat().st_size:
            if check_integrity(db) != "ok":
                return died, f"{point}: {check_integrity(db)}"
            told = self.run("stats", "--check", "--json", db=db)
            if told.code:
                return died, f"{point}: {told.out[-400:]}"
        self.must(db)
        seen = portrait(db, PORTRAIT)
        wrong = [difference(name, rows, seen[name]) for name, rows in self.portrait.items() if seen[name] != rows]
        checked = self.run("stats", "--check", "--json", db=db)
        return died, f"{point}: {wrong} {checked.out[-400:]}" if wrong or checked.code else ""


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "again"])
def test_killed_indexing_of_code_leaves_a_sound_store_and_goes_on(tmp_path, forker, is_first):
    yard = Yard(tmp_path, forker, is_first=is_first)
    assert len(yard.portrait["files"]) == FILES
    rng = random.Random(23)
    points = [
        f"{kind}:{max(1, int(yard.steps[kind] * (part + rng.random()) / PARTS))}"
        for kind in KINDS
        for part in range(PARTS)
    ]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(yard.kill, dict.fromkeys(points)))
    assert [problem for _, problem in outcomes if problem] == []
    assert sum(died for died, _ in outcomes) >= 6
