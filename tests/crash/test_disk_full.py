"""The disk fills up in the middle of a sync or an import: exit code 8, a clear sentence, an intact file; with space again, all of it.

Three ways to run out: SQLite's own page limit (its SQLITE_FULL, everywhere), the largest file the system allows (a real refusal by
the kernel), and a file system of two megabytes (where mounting one is allowed).
"""

import json
import shutil
import subprocess
import sys

import apsw
import pytest

from crash.killing import GROUNDS, check_integrity, environ
from forgelore.sync.archive import IMPORT_BATCH

ITEMS = 5 * IMPORT_BATCH // 2


@pytest.fixture(scope="module", params=list(GROUNDS))
def ground(request, tmp_path_factory, forker):
    server, found = GROUNDS[request.param](tmp_path_factory.mktemp("full"), forker)
    found.steps()
    yield found
    server.stop()


@pytest.fixture(scope="module")
def archive(tmp_path_factory, forker):
    """A tracker file of two batches and a half, and what an import with room exports again."""
    folder = tmp_path_factory.mktemp("archive")
    path = folder / "tracker.jsonl"
    note = {"author": "ben", "body": "Same here. " * 20, "created_at": "2026-02-01T00:00:00Z"}
    lines = [
        {
            "kind": "issue",
            "number": n,
            "title": f"Crash {n}",
            "body": "It falls over. " * 30,
            "state": "open",
            "notes": [note, note],
        }
        for n in range(1, ITEMS + 1)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    order = ["import", str(path), "--project", "old/tracker", "--no-docs", "--db", str(folder / "whole.db")]
    assert forker.run(order, environ(folder), folder).code == 0
    whole = exported(folder / "whole.db", forker)
    assert whole.count(b"\n") == ITEMS
    return path, whole


def assert_clear_refusal(done, db):
    assert done.code == 8, (done.code, done.err)
    assert "Traceback" not in done.err
    assert str(db) in done.err
    assert "→" in done.err, "no hint"
    if db.exists() and db.stat().st_size:
        assert check_integrity(db) == "ok"


@pytest.mark.parametrize("share", [0.0, 0.6, 0.9])
def test_sync_out_of_pages_says_so_and_goes_on_later(ground, tmp_path, share):
    """The share of the pages that there is room for: from not even a table to nearly all of it."""
    db = tmp_path / "lore.db"
    whole = (ground.folder / "undisturbed.db").read_bytes()
    pages = 1 + int(share * len(whole) / int.from_bytes(whole[16:18], "big"))
    done = ground.run("sync", ground.project, db=db, pages=pages)
    assert_clear_refusal(done, db)
    assert "no space left" in done.err
    assert "free some disk space" in done.err
    assert ground.go_on(db) == ""


def test_sync_out_of_pages_tells_programs_too(ground, tmp_path):
    db = tmp_path / "lore.db"
    done = ground.run("sync", ground.project, "--json", db=db, pages=45)
    answer = json.loads(done.out)
    assert done.code == 8
    assert answer["ok"] is False
    assert answer["error"]["code"] == "store"
    assert "no space left" in answer["error"]["message"]
    assert answer["error"]["hint"]


@pytest.mark.parametrize("size", [50_000, 300_000])
def test_sync_that_may_not_write_any_more_is_clear_and_goes_on_later(ground, tmp_path, size):
    db = tmp_path / "lore.db"
    done = ground.run("sync", ground.project, db=db, largest_file=size)
    assert_clear_refusal(done, db)
    assert ground.go_on(db) == ""


@pytest.mark.parametrize(("pages", "batches"), [(40, 0), (800, 1)])
def test_import_out_of_pages_keeps_whole_batches(archive, tmp_path, forker, pages, batches):
    path, whole = archive
    db = tmp_path / "lore.db"
    order = ["import", str(path), "--project", "old/tracker", "--no-docs", "--db", str(db)]
    done = forker.run(order, environ(tmp_path), tmp_path, pages=pages)
    assert_clear_refusal(done, db)
    assert "no space left" in done.err
    assert count_items(db) == batches * IMPORT_BATCH
    assert forker.run(order, environ(tmp_path), tmp_path).code == 0
    assert exported(db, forker) == whole


def count_items(db):
    connection = apsw.Connection(str(db))
    there = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'items'").get
    count = connection.execute("SELECT count(*) FROM items").get if there else 0
    connection.close()
    return count


def exported(db, forker):
    return forker.run(["export", "--db", str(db)], environ(db.parent), db.parent).out


# In a namespace of its own: a disk of 2.5 MB, a sync that fills it, more room, the same command again.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size=2500k small "$1" || exit 99
"$2" -m forgelore.surfaces.cli.main sync "$3" --db "$1/lore.db" 2> "$4/full.err"
echo $? > "$4/full.code"
"$2" -m forgelore.surfaces.cli.main doctor --offline --json --db "$1/lore.db" > "$4/doctor.json"
mount -o remount,size=64m "$1" || exit 99
"$2" -m forgelore.surfaces.cli.main sync "$3" --db "$1/lore.db" || exit 98
cp "$1/lore.db" "$4/lore.db"
"""


def may_mount(folder):
    if not shutil.which("unshare"):
        return False
    probe = ["unshare", "-Urm", "mount", "-t", "tmpfs", "-o", "size=100k", "probe", str(folder)]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def test_a_disk_that_is_really_full(ground, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not may_mount(disk):
        pytest.skip("this system lets nobody mount a file system of their own")
    script = [
        "unshare",
        "-Urm",
        "sh",
        "-c",
        ON_A_SMALL_DISK,
        "sh",
        str(disk),
        sys.executable,
        ground.project,
        str(tmp_path),
    ]
    done = subprocess.run(script, env=ground.environ, capture_output=True, text=True, timeout=60, check=False)
    said = (tmp_path / "full.err").read_text(encoding="utf-8")
    assert done.returncode == 0, (done.stderr, said)
    assert (tmp_path / "full.code").read_text(encoding="utf-8").strip() == "8", said
    assert "no space left" in said
    assert "Traceback" not in said
    assert json.loads((tmp_path / "doctor.json").read_text(encoding="utf-8"))["ok"], (
        "not even doctor works on a full disk"
    )
    assert ground.go_on(tmp_path / "lore.db") == ""
