"""A store that an older version filled: the next sync asks for what was never asked for, and until then it is sound and waits."""

import json

import pytest

from forgelore.index.check import CheckRequest, check_store
from forgelore.store.payloads import load_payload, row_hash, save_payloads
from forgelore.store.projects import list_projects
from forgelore.sync.replay import replay_project
from forgelore.sync.status import load_status
from old_stores import forget_migrations


@pytest.fixture
def older(github):
    """A synced GitHub project with a resolved thread and an asked reviewer, as a version stored it that asked for neither."""
    project = github.project
    number = project.add_change("change", head="topic")
    root = project.review_comment(number, "why?", path="src/a.py", line=3)
    project.resolve_thread(root, by="ben")
    project.request_review(number, "ana")
    github.sync()
    github.before = facts(github)
    store = github.app.store()
    with store.transaction():
        for item_id, digest in store.rows("SELECT id, detail_hash FROM items WHERE kind = 'change'"):
            node = json.loads(load_payload(store, 1, digest))
            del node["reviewRequests"]
            for thread in (node.get("reviewThreads") or {}).get("nodes") or ():
                del thread["resolvedBy"]
            raw = json.dumps(node).encode()
            save_payloads(store, 1, "detail", [(row_hash(raw), raw)])
            store.run("DELETE FROM raw_payloads WHERE hash = ?", digest)
            store.run("UPDATE items SET detail_hash = ? WHERE id = ?", row_hash(raw), item_id)
        store.run("UPDATE threads SET resolved_by = NULL")
        store.run("DELETE FROM item_people WHERE source = 'detail'")
    forget_migrations(store.run, after=26)
    github.app.close()
    github.app = github.new_app(db=github.app.config.db)
    return github


def facts(lab) -> tuple:
    threads = lab.rows("SELECT is_resolved, resolved_by FROM threads WHERE is_resolvable")
    return threads, lab.rows("SELECT login, role, source FROM item_people ORDER BY 1, 2, 3")


def check(lab):
    reader = lab.app.forge(lab.app.parse_project(lab.name_text)).payloads
    return check_store(lab.app.store(), CheckRequest(reader_of=lambda _name: reader))


def test_the_next_sync_asks_for_what_an_older_version_did_not(older):
    assert facts(older) != older.before
    result = older.sync()
    assert facts(older) == older.before
    assert result.pending_jobs == 0
    asked = len(older.graphql_requests("Changes"))
    older.sync()
    assert len(older.graphql_requests("Changes")) == asked, "once"


def test_an_upgraded_store_is_sound_and_says_that_it_waits(older):
    checked = check(older)
    assert checked.findings == []
    assert any("wait to be read again" in proof.why for proof in checked.proofs)


def test_what_is_missing_waits_in_sync_status_until_a_sync_has_asked(older):
    reader = older.app.forge(older.app.parse_project(older.name_text)).payloads
    store = older.app.store()
    (project,) = list_projects(store)
    assert load_status(store, project)[0].jobs["replay"].waiting == 1
    done = replay_project(store, reader, project)
    assert [str(key.number) for key in done.lacking] == ["1"]
    assert load_status(store, project)[0].jobs["detail"].waiting == 1
    older.sync()
    assert load_status(older.app.store(), project)[0].jobs == {}


def test_gitlab_notes_of_an_older_version_are_read_again_and_no_fault(gitlab):
    gitlab.populate()
    gitlab.sync()
    store = gitlab.app.store()
    before = store.rows("SELECT id, created_at FROM notes ORDER BY id")
    store.run("UPDATE notes SET created_at = created_at + 123")
    forget_migrations(store.run, after=26)
    gitlab.app.close()
    gitlab.app = gitlab.new_app(db=gitlab.app.config.db)
    assert check(gitlab).findings == []
    assert gitlab.sync().replayed > 0
    assert gitlab.rows("SELECT id, created_at FROM notes ORDER BY id") == before
