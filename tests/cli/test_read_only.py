"""A store in a place that cannot be written (an image layer, an artefact, somebody else's folder) can be read, with all of its rows.

Two ways to make such a place, each where the system lets us: a read-only mount in a namespace of our own, and a folder of another user.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import apsw
import pytest

import forgelore
from forgelore.store.sqlite.connection import SqliteStore
from forgelore.store.sqlite.schema import load_migrations, migrate, newest_version

DEMO = str(pathlib.Path(forgelore.__file__).parent / "data" / "demo.jsonl")
FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]
ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "NO_COLOR": "1", "COLUMNS": "400", "FORGELORE_EMBEDDER": "lore",
    "FORGELORE_SECOND_EMBEDDER": "none",
}  # fmt: skip
MOUNT = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99; shift; exec "$@"'


def by_mount(folder, command, env):
    mounted = ["unshare", "-Urm", "sh", "-c", MOUNT, "sh", str(folder), *command]
    return subprocess.run(mounted, env=env, cwd="/", capture_output=True, text=True)


# Root may write anywhere: as somebody else, who may read the interpreter wherever it is installed, and write nothing.
AS_NOBODY = [
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
]  # fmt: skip


def by_permission(folder, command, env):
    """A folder and files that whoever runs the command may look at and no more."""
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        command = [*(AS_NOBODY if os.geteuid() == 0 else []), *command]
        return subprocess.run(command, env=env, cwd="/", capture_output=True, text=True)
    finally:
        for path in (folder, *(path for path in folder.iterdir() if path.is_dir())):
            path.chmod(0o755)


def is_possible(way):
    """True when a program runs there, can read the product, and really cannot write."""
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        probe = f"import apsw, forgelore, os; os.listdir({str(folder)!r}); open({str(folder / 'x')!r}, 'w')"
        done = way(folder, [sys.executable, "-c", probe], dict(os.environ))
        return "Read-only file system" in done.stderr or "PermissionError" in done.stderr.splitlines()[-1]
    except (OSError, IndexError):
        return False
    finally:
        shutil.rmtree(folder)


WAYS = [way for way in (by_mount, by_permission) if is_possible(way)]


@pytest.fixture
def place():
    """A folder that other users may enter, which pytest's own are not."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="read-only-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=WAYS or [pytest.param(None, marks=pytest.mark.skip("nothing here can be made read-only"))])
def run(request, place):
    """Run a command on the store of the place, which it cannot write."""

    def run_there(*words, **more):
        command = [*FORGELORE, "--db", str(place / "lore.db"), *words]
        return request.param(place, command, {**ENV, **more})

    return run_there


READING = [
    ["list", "issues"],
    ["count", "issues"],
    ["show", "#41"],
    ["search", "deleted files", "--mode", "lexical"],
    ["search", "deleted files come back"],
    ["similar", "#157"],
    ["triage", "#157"],
    ["stats"],
    ["stats", "--check"],
    ["export"],
    ["sync-status"],
    ["doctor", "--offline"],
]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The example project, closed properly: no log beside it."""
    db = tmp_path_factory.mktemp("template") / "lore.db"
    done = subprocess.run([*FORGELORE, "import", DEMO, "--project", "lanternsync/lantern", "--db", db], env=ENV)
    assert done.returncode == 0
    assert os.listdir(db.parent) == ["lore.db"]
    return db


@pytest.fixture(scope="module")
def usual(template):
    """What each reading command says where it may write."""
    found = {}
    for words in READING:
        done = subprocess.run([*FORGELORE, *words, "--db", template], env=ENV, cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[tuple(words)] = (done.stdout.replace(str(template.parent), "PLACE"), done.stderr)
    return found


@pytest.fixture
def lantern(place, template):
    return pathlib.Path(shutil.copy(template, place / "lore.db"))


def test_every_reading_command_says_the_same_as_in_a_folder_that_can_be_written(lantern, run, usual):
    for words in READING:
        done = run(*words)
        stdout, stderr = usual[tuple(words)]
        assert (done.returncode, done.stderr) == (0, stderr), (words, done.stderr)
        if words[0] != "sync-status":  # tells how long ago
            assert done.stdout.replace(str(lantern.parent), "PLACE") == stdout
    assert os.listdir(lantern.parent) == ["lore.db"]


@pytest.mark.parametrize(
    "words",
    [
        ["import", DEMO, "--project", "new/one"],
        ["sync", "acme/web"],
        ["generate-docs", "--full"],
        ["embed"],
        ["calibrate"],
    ],
)
def test_a_command_that_writes_says_that_it_cannot(lantern, run, words, github_env):
    connection = apsw.Connection(str(lantern))
    connection.execute(
        "INSERT INTO jobs (project_id, kind, key, queued_at) SELECT 1, 'embed', id, 0 FROM documents LIMIT 3"
    )
    connection.close()
    before = lantern.read_bytes()
    done = run(*words, **github_env)
    assert done.returncode == 8, done.stderr
    assert "cannot be written" in done.stderr
    assert "--db" in done.stderr
    assert "Traceback" not in done.stderr
    assert lantern.read_bytes() == before


def test_a_new_store_in_a_read_only_place_is_one_clear_error(place, run, demo_file):
    for db in (place / "lore.db", place / "deeper" / "lore.db"):
        done = run("import", demo_file, "--project", "p", "--db", str(db))
        assert done.returncode == 8, done.stderr
        assert str(db.parent) in done.stderr
        assert "bug" not in done.stderr


@pytest.mark.parametrize("left", [("-wal", "-shm"), ("-wal",)])
def test_rows_in_a_leftover_log_are_read_too(lantern, run, left):
    """What a killed writer leaves behind: the newest rows are in the log alone."""
    code = (
        "import apsw, os, signal, sys\n"
        "c = apsw.Connection(sys.argv[1]); c.execute('PRAGMA wal_autocheckpoint=0')\n"
        "c.execute(\"UPDATE items SET title = 'Only in the log' WHERE kind = 'issue' AND number = 41\")\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(lantern)]).returncode == -signal.SIGKILL
    for end in {"-wal", "-shm"} - set(left):
        pathlib.Path(f"{lantern}{end}").unlink()
    before = {path.name: path.read_bytes() for path in lantern.parent.iterdir() if not path.name.endswith("-shm")}
    done = run("show", "#41")
    assert done.returncode == 0, done.stderr
    assert "Only in the log" in done.stdout
    after = {path.name: path.read_bytes() for path in lantern.parent.iterdir() if not path.name.endswith("-shm")}
    assert after == before


def test_a_log_that_cannot_be_read_is_not_left_out_in_silence(lantern, run):
    wal = pathlib.Path(f"{lantern}-wal")
    wal.mkdir()  # whatever keeps it from being read: SQLite cannot open a folder either
    (wal / "x").write_text("x")
    done = run("list", "issues")
    assert done.returncode == 8
    assert str(wal) in done.stderr
    assert "copy it to a writable folder" in done.stderr


def test_a_store_of_an_older_schema_says_to_bring_it_up_to_date_elsewhere(place, run):
    old = SqliteStore(str(place / "lore.db"))
    migrate(old, load_migrations()[:-1])
    old.close()
    before = (place / "lore.db").read_bytes()
    done = run("list", "issues", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (8, "store")
    assert f"this program reads {newest_version()}" in error["message"]
    assert "copy it to a writable folder" in error["hint"]
    assert (place / "lore.db").read_bytes() == before


def test_a_store_that_was_written_while_it_was_read_without_locks_says_so(lantern):
    """An old page and a new one may have met in one answer."""
    from forgelore.errors import StoreError
    from forgelore.store.sqlite.unlocked import file_stamp

    store = SqliteStore(str(lantern))
    store._stamp = file_stamp(str(lantern))
    assert store.value("SELECT count(*) FROM items")
    connection = apsw.Connection(str(lantern))
    connection.execute("UPDATE items SET title = 'x'")
    connection.close()
    with pytest.raises(StoreError, match="while it was read"):
        store.close()
