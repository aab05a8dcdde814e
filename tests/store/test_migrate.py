"""Opening databases: new, old, newer, foreign, damaged, and several at once."""

import os
import subprocess
import sys

import apsw
import pytest

from forgelore.errors import CorruptStore, NewerStore, NotFound, StoreError
from forgelore.model import ItemKey
from forgelore.store.closings import list_writes, load_closed_onto
from forgelore.store.sqlite.connection import SqliteStore
from forgelore.store.sqlite.repair import find_rows
from forgelore.store.sqlite.schema import load_migrations, migrate, newest_version, open_store


def schema(store):
    return sorted(store.rows("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def test_a_new_file_has_wal_and_foreign_keys(tmp_path):
    store = open_store(str(tmp_path / "a.db"))
    assert store.value("PRAGMA journal_mode") == "wal"
    assert store.value("PRAGMA foreign_keys") == 1
    assert store.value("SELECT max(version) FROM schema_version") == newest_version()


@pytest.mark.parametrize("version", range(1, newest_version()))
def test_an_old_database_migrates_forward_and_keeps_its_rows(tmp_path, version):
    old = SqliteStore(str(tmp_path / "old.db"))
    migrate(old, load_migrations()[:version])
    old.run(
        "INSERT INTO projects (forge, host, path, path_key, added_at) VALUES ('github', 'h', 'Acme/Web', 'acme/web', 1)"
    )
    if version >= 2:
        old.run(
            "INSERT INTO items (project_id, kind, number, title, content_hash, row_hash) VALUES (1, 'issue', 7, 't', 'x', x'00')"
        )
    old.close()
    store = open_store(str(tmp_path / "old.db"))
    fresh = open_store(str(tmp_path / "fresh.db"))
    assert schema(store) == schema(fresh)
    assert store.value("SELECT path FROM projects") == "Acme/Web"
    assert store.value("SELECT count(*) FROM items") == (1 if version >= 2 else 0)


def test_words_of_the_program_leave_the_schema_and_nothing_else_does(tmp_path):
    """Migration 8 edits the text of two tables in place: rows, ids, what hangs on them and all other rules stay."""
    old = SqliteStore(str(tmp_path / "old.db"))
    migrate(old, load_migrations()[:7])
    for number, forge in enumerate(["github", "gitlab", "local"], start=1):
        sql = "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (?, ?, ?, 'A/B', 'a/b', 1)"
        old.run(sql, number * 10, forge, forge)
        old.run(
            "INSERT INTO items (id, project_id, kind, number, title, content_hash, row_hash)"
            " VALUES (?, ?, 'change', 7, 't', 'x', x'00')",
            number * 100, number * 10,
        )  # fmt: skip
        old.run("INSERT INTO item_labels VALUES (?, ?, 'bug')", number * 10, number * 100)
    tables = [
        name for (name,) in old.rows("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    ]
    tables = [name for name in tables if name not in ("schema_version", "sqlite_schema")]
    before = {name: sorted(map(repr, old.rows(f"SELECT * FROM {name}"))) for name in tables}
    other = SqliteStore(old.path)  # a reader that was there before
    assert other.value("SELECT count(*) FROM items") == 3
    migrate(old, load_migrations()[:8])
    assert {name: sorted(map(repr, old.rows(f"SELECT * FROM {name}"))) for name in tables} == before
    assert old.value("PRAGMA integrity_check") == "ok"
    assert old.rows("PRAGMA foreign_key_check") == []
    assert old.value("PRAGMA writable_schema") == 0
    other.run("UPDATE items SET kind = 'commit' WHERE id = 100")
    other.run("UPDATE projects SET forge = 'forge of tomorrow' WHERE id = 10")
    assert find_rows(old, "row_malformed") == [100, 10], "what is no word of this program is told by its check instead"
    with pytest.raises(StoreError, match="CHECK"):
        old.run("UPDATE items SET state = 'odd'")
    old.run("DELETE FROM projects WHERE id = 20")
    assert old.rows("SELECT item_id FROM item_labels ORDER BY 1") == [(100,), (300,)]


def test_a_migration_that_fails_leaves_the_file_at_the_version_before(tmp_path):
    store = SqliteStore(str(tmp_path / "a.db"))
    good = load_migrations()
    bad = good[0]._replace(number=newest_version() + 1, name="bad", sql="CREATE TABLE extra (x); SELECT nonsense;")
    with pytest.raises(StoreError):
        migrate(store, [*good, bad])
    assert store.value("SELECT max(version) FROM schema_version") == newest_version()
    assert store.value("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == 0


def test_a_database_of_a_newer_program_is_refused_and_not_touched(tmp_path):
    path = tmp_path / "a.db"
    store = open_store(str(path))
    store.run("INSERT INTO schema_version (version, name, checksum, applied_at) VALUES (99, 'future', '', 0)")
    store.close()
    before = path.read_bytes()
    with pytest.raises(NewerStore) as caught:
        open_store(str(path))
    assert "upgrade" in caught.value.hint
    assert path.read_bytes() == before


def test_somebody_elses_database_is_refused(tmp_path):
    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE photos (id)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(CorruptStore, match="another program"):
        open_store(str(path))
    assert path.read_bytes() == before, "not even its journal mode is ours to change"


@pytest.mark.parametrize("content", [b"this is not a database at all, just text " * 50, b"\0" * 5000])
def test_a_file_that_is_no_database_is_reported_and_kept(tmp_path, content):
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        open_store(str(path))
    assert caught.value.exit_code == 8
    assert path.read_bytes() == content


def test_a_damaged_page_is_reported_with_how_to_rebuild(tmp_path):
    path = tmp_path / "a.db"
    store = open_store(str(path))
    store.run("INSERT INTO projects (forge, host, path, path_key, added_at) VALUES ('github', 'h', 'a/b', 'a/b', 1)")
    with store.transaction():
        store.run_many(
            "INSERT INTO items (project_id, kind, number, title, content_hash, row_hash) VALUES (1, 'issue', ?, ?, 'x', x'00')",
            [(number, "title " * 100) for number in range(500)],
        )
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(4096 * 20, len(data) - 4096, 4096):
        data[page : page + 200] = b"\xff" * 200
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptStore) as caught:
        open_store(str(path)).rows("SELECT * FROM items ORDER BY title")
    assert "sync --full" in caught.value.hint


def test_a_missing_folder_and_a_missing_file_are_told_apart(tmp_path):
    with pytest.raises(NotFound, match="does not exist"):
        open_store(str(tmp_path / "nowhere" / "a.db"))
    with pytest.raises(StoreError, match="no database"):
        open_store(str(tmp_path / "a.db"), create=False)
    assert not os.listdir(tmp_path) or os.listdir(tmp_path) == ["home"]


def test_ten_processes_may_open_a_new_file_at_once(tmp_path):
    path = str(tmp_path / "race.db")
    code = f"from forgelore.store.sqlite.schema import open_store; s = open_store({path!r}); print(s.value('SELECT max(version) FROM schema_version'))"
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    results = [process.communicate() for process in running]
    assert [out.strip() for out, _ in results] == [str(newest_version())] * 10, results


def test_a_transaction_is_all_or_nothing(tmp_path):
    store = open_store(str(tmp_path / "a.db"))
    with pytest.raises(RuntimeError), store.transaction():
        store.run(
            "INSERT INTO projects (forge, host, path, path_key, added_at) VALUES ('github', 'h', 'a/b', 'a/b', 1)"
        )
        raise RuntimeError("half way")
    assert store.value("SELECT count(*) FROM projects") == 0


def test_documents_that_were_made_of_a_diff_are_built_anew_and_the_diffs_go(tmp_path):
    old = SqliteStore(str(tmp_path / "old.db"))
    migrate(old, load_migrations()[:8])
    old.run(
        "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (3, 'github', 'h', 'A/B', 'a/b', 1)"
    )
    for number in (7, 8):
        old.run(
            "INSERT INTO items (id, project_id, kind, number, title, content_hash, row_hash)"
            " VALUES (?, 3, 'change', ?, 't', 'x', x'00')", number, number,
        )  # fmt: skip
    old.run("INSERT INTO item_diffs VALUES (8, 3, ?)", "+zebrafish\n" * 2_000)
    old.close()
    assert b"zebrafish" in (tmp_path / "old.db").read_bytes()
    store = open_store(str(tmp_path / "old.db"))
    assert store.rows("SELECT kind, key FROM jobs") == [("document", "8")]
    assert not store.value("SELECT count(*) FROM sqlite_schema WHERE name = 'item_diffs'")
    store.close()
    assert b"zebrafish" not in (tmp_path / "old.db").read_bytes(), "a bot's index is pushed with its free pages"


def test_the_journal_of_an_older_file_is_kept_and_names_its_items_itself(tmp_path):
    old = SqliteStore(str(tmp_path / "old.db"))
    migrate(old, [one for one in load_migrations() if one.number <= 11])
    old.run(
        "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (3, 'github', 'h', 'A/B', 'a/b', 1)"
    )
    insert = "INSERT INTO items (id, project_id, kind, number, title, content_hash, row_hash) VALUES (?, 3, 'issue', ?, 't', 'x', x'00')"
    for item_id, number in ((10, 1), (20, 2)):
        old.run(insert, item_id, number)
    for run, step, of_run in ((5, "plan", None), (6, "apply", 5)):
        sql = "INSERT INTO dedupe_runs (id, project_id, step, of_run, status, parameters, began_at) VALUES (?, 3, ?, ?, 'done', '{}', 1)"
        old.run(sql, run, step, of_run)
    old.run(
        "INSERT INTO write_journal (id, run_id, item_id, step, request, before, status, sent_at)"
        """ VALUES (9, 6, 20, 'close', '{"target_id": 10, "target": 1}', '{"updated_at": 4}', 'sent', 7)"""
    )
    old.close()
    store = open_store(str(tmp_path / "old.db"))
    (entry,) = list_writes(store, 6)
    assert (entry.id, entry.key, entry.account, entry.status) == (9, ItemKey("issue", 2), None, "sent")
    assert entry.before == {"updated_at": 4}
    assert load_closed_onto(store, 3) == {20: 10}
    store.run("DELETE FROM projects")
    assert list_writes(store, 6) == [entry]
