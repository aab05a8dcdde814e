"""A store that a forge filled over some history is sound: `stats --check` cries no wolf."""

import pytest

from crash.killing import live_on
from forgelore.index.check import CheckRequest, check_store
from forgelore.index.repair import repair_store
from forgelore.index.update import index_items
from forgelore.store.projects import list_projects


@pytest.fixture
def lived(lab):
    """Items that were edited, closed, merged, commented on and deleted between syncs; the project has another name."""
    lab.populate(issues=20, changes=10, releases=2, discussions=4)
    gone = lab.project.add_issue("Soon gone", "See #1, and acme/web#2, group/app#3")
    lab.sync()
    lab.time.pass_by(90_000)
    live_on(lab.server)
    lab.on_issue("delete", gone)
    lab.sync()
    renamed = lab.path.replace(lab.project.name, "site")
    lab.server.rename(lab.path, renamed)
    lab.sync(full=True, path=renamed)
    store = lab.app.store()
    index_items(store, [project.id for project in list_projects(store)])
    return lab


def test_a_store_with_a_history_is_sound(lived):
    found = check_store(lived.app.store(), CheckRequest(reader_of=lived.app.payload_reader))
    assert found.findings == []
    rows = found.proofs[0]
    assert (rows.checked, rows.total) == (rows.total, lived.value("SELECT count(*) FROM items"))


def test_damaged_rows_are_restored_from_their_payloads_on_both_forges(lived):
    store, request = lived.app.store(), CheckRequest(reader_of=lived.app.payload_reader)
    tables = {
        "items": "title, body, state, content_hash", "item_labels": "item_id, name", "notes": "key, body",
        "item_files": "item_id, new_path, old_path, status",
        "item_links": "item_id, note_id, relation, target_kind, target_number",
    }  # fmt: skip

    def rows():
        return {table: sorted(store.rows(f"SELECT {names} FROM {table}"), key=repr) for table, names in tables.items()}

    before = rows()
    for table in ("item_labels", "item_files", "item_links"):
        store.run(f"DELETE FROM {table}")
    store.run("UPDATE items SET body = 'a lie', state = NULL")
    store.run("UPDATE notes SET body = 'a lie'")
    repaired = repair_store(store, request)
    assert repaired.checked.findings == []
    assert rows() == before
