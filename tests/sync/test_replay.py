"""`replay`: stored payloads read again into rows, on every forge, without a request."""

import pytest

from crash.killing import live_on
from forgelore.errors import Locked
from forgelore.index.update import index_items
from forgelore.store.jobs import count_jobs, queue_replays
from forgelore.store.projects import list_projects
from forgelore.store.sync import acquire_lock
from forgelore.sync.replay import replay_items, replay_project
from support import content_hash


class Stage:
    """A synced project with some of everything, ready to be tampered with."""

    def __init__(self, lab):
        self.lab, project = lab, lab.project
        project.add_issue("Number one, wherever changes count along")
        lab.populate(issues=10, changes=6, releases=2, discussions=4)
        self.bug = project.add_issue("Crash", "It falls. See #1 and #2", labels=["bug", "ui"])
        lab.on_issue("comment", self.bug, "same as #3")
        self.change = project.add_change(
            "Fix", f"Fixes #{self.bug}", files=[("renamed", "old name.py", "new name.py"), ("added", "b c.py")]
        )
        if lab.has_shared_numbers:
            first = project.review_comment(self.change, "why?", path="b c.py", line=1)
            project.review(self.change, "see #4", state="CHANGES_REQUESTED")
            project.resolve_thread(first)
        else:
            thread = project.discuss("change", self.change, "why?", path="b c.py", line=1)
            project.reply("change", self.change, thread, "because")
            project.resolve(self.change, thread)
            project.mark_duplicate(1, self.bug)
        lab.sync()
        self.store = lab.app.store()
        self.project = list_projects(self.store)[0]
        index_items(self.store, [self.project.id])
        self.before, self.rows_before = content_hash(lab.app), self.rows()

    def replay(self, **how):
        return replay_project(self.store, self.lab.app.payload_reader(self.project.name), self.project, **how)

    def id_of(self, kind, number):
        return self.store.value("SELECT id FROM items WHERE kind = ? AND number = ?", kind, number)

    def waiting(self):
        return {kind: found[0] for kind, found in count_jobs(self.store, self.project.id).items() if kind != "embed"}

    def rows(self):
        """Every row but counters and rows' own numbers: links that are written again get new ones."""
        left_out = {"id", "content_version", "version"}
        found = {}
        for table in ("projects", "items", "item_labels", "item_files", "threads", "notes", "item_links", "documents"):
            names = [row[1] for row in self.store.rows(f"PRAGMA table_info({table})") if row[1] not in left_out]
            found[table] = sorted(map(repr, self.store.rows(f"SELECT {', '.join(names)} FROM {table}")))
        return found


@pytest.fixture
def stage(lab):
    return Stage(lab)


def test_a_store_that_is_as_it_should_be_is_not_written(stage):
    requests = len(stage.lab.server.requests)
    done = stage.replay()
    assert done.read == stage.store.value("SELECT count(*) FROM items")
    assert (done.restored, done.incomplete, done.is_project_restored) == ([], [], False)
    assert content_hash(stage.lab.app) == stage.before
    assert stage.waiting() == {}
    assert len(stage.lab.server.requests) == requests


@pytest.mark.parametrize("seed", range(3))
def test_no_history_is_read_another_way_the_second_time(lab, seed):
    """Items that were edited, closed, merged and commented on between two syncs, and the wider net of a day later."""
    lab.populate(seed=seed, issues=25, changes=15)
    lab.sync()
    lab.time.pass_by(90_000)
    live_on(lab.server)
    lab.sync()
    store, project = lab.app.store(), list_projects(lab.app.store())[0]
    index_items(store, [project.id])
    before = content_hash(lab.app)
    done = replay_project(store, lab.app.payload_reader(project.name), project)
    assert (done.restored, done.incomplete) == ([], [])
    assert content_hash(lab.app) == before


TAMPERED = {
    "title": "UPDATE items SET title = 'hacked' WHERE id = ?",
    "body and its hash": "UPDATE items SET body = 'hacked', content_hash = 'x' WHERE id = ?",
    "empty body": "UPDATE items SET body = NULL WHERE id = ?",
    "state": "UPDATE items SET state = 'closed', closed_at = 5 WHERE id = ?",
    "author": "UPDATE items SET author = 'eve', author_role = 'OWNER' WHERE id = ?",
    "address": "UPDATE items SET url = 'https://evil.example/1' WHERE id = ?",
    "secrecy": "UPDATE items SET is_confidential = NOT is_confidential WHERE id = ?",
    "labels": "DELETE FROM item_labels WHERE item_id = ?",
    "another label": "INSERT INTO item_labels (project_id, item_id, name) VALUES (1, ?, 'wontfix')",
    "links of the text": "DELETE FROM item_links WHERE item_id = ? AND note_id IS NULL AND source = 'text'",
    "links of notes": "DELETE FROM item_links WHERE item_id = ? AND note_id IS NOT NULL",
    "a made-up link": "INSERT INTO item_links (project_id, item_id, relation, source, target_number)"
    " VALUES (1, ?, 'duplicate_of', 'forge', 9)",
    "links turned round": "UPDATE item_links SET target_number = 99 WHERE item_id = ?",
    "a link taken back": "UPDATE item_links SET is_withdrawn = 1 WHERE item_id = ?",
    "notes": "UPDATE notes SET body = 'hacked', author = 'eve' WHERE item_id = ?",
    "notes made internal": "UPDATE notes SET is_internal = 1, is_system = 1 WHERE item_id = ?",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_tampered_with_is_as_before(stage, what):
    item_id = stage.id_of("issue", stage.bug)
    assert stage.store.run(TAMPERED[what], item_id), "nothing was there to tamper with"
    done = stage.replay()
    assert done.restored == [item_id]
    assert done.incomplete == []
    assert stage.waiting() == {"document": 1}
    index_items(stage.store, [stage.project.id])
    assert stage.rows() == stage.rows_before


CHANGE_TAMPERED = {
    "files": "DELETE FROM item_files WHERE item_id = ?",
    "a file's status": "UPDATE item_files SET status = 'deleted' WHERE item_id = ?",
    "branches": "UPDATE items SET source_branch = 'evil', target_branch = 'evil', head_sha = 'evil' WHERE id = ?",
    "resolution": "UPDATE threads SET is_resolved = NOT is_resolved WHERE is_resolvable AND item_id = ?",
    "place": "UPDATE threads SET path = 'evil.py', line = 99 WHERE is_resolvable AND item_id = ?",
    "closing links": "DELETE FROM item_links WHERE item_id = ?",
}


@pytest.mark.parametrize("what", CHANGE_TAMPERED)
def test_what_a_second_look_told_is_as_before(stage, what):
    item_id = stage.id_of("change", stage.change)
    assert stage.store.run(CHANGE_TAMPERED[what], item_id)
    assert stage.replay().restored == [item_id]
    index_items(stage.store, [stage.project.id])
    assert stage.rows() == stage.rows_before


def test_the_projects_row_is_mended_too(stage):
    stage.store.run("UPDATE projects SET is_private = 1, description = 'hacked'")
    assert stage.replay().is_project_restored
    assert content_hash(stage.lab.app) == stage.before


def test_one_item_is_mended_by_itself(stage):
    bug, change = stage.id_of("issue", stage.bug), stage.id_of("change", stage.change)
    stage.store.run("UPDATE items SET body = 'hacked' WHERE id IN (?, ?)", bug, change)
    reader = stage.lab.app.payload_reader(stage.project.name)
    with stage.store.transaction():
        done = replay_items(stage.store, reader, stage.project.id, [bug, 10_000])
    assert (done.read, done.restored, done.incomplete) == (1, [bug], [])
    assert stage.store.value("SELECT body FROM items WHERE id = ?", change) == "hacked"


@pytest.mark.parametrize("damage", ["DELETE FROM raw_payloads", "UPDATE raw_payloads SET body = x'00'"])
def test_without_its_payload_a_row_stays_and_is_told(stage, damage):
    item_id = stage.id_of("issue", stage.bug)
    stage.store.run(f"{damage} WHERE hash = (SELECT row_hash FROM items WHERE id = ?)", item_id)
    stage.store.run("UPDATE items SET title = 'hacked' WHERE id = ?", item_id)
    stage.store.run("DELETE FROM item_links WHERE item_id = ?", item_id)
    done = stage.replay()
    assert done.incomplete == [item_id]
    assert stage.store.value("SELECT title FROM items WHERE id = ?", item_id) == "hacked"
    assert stage.rows()["item_links"] == stage.rows_before["item_links"], "the text still tells its links"


def test_a_payload_of_another_content_heals_nothing(stage):
    """Whoever can write the row can write the payload beside it: a payload counts only if its hash is right."""
    item_id = stage.id_of("issue", stage.bug)
    stage.store.run(
        "UPDATE raw_payloads SET body = (SELECT body FROM raw_payloads WHERE hash = (SELECT row_hash FROM items WHERE"
        " kind = 'issue' AND number = 1)) WHERE hash = (SELECT row_hash FROM items WHERE id = ?)",
        item_id,
    )
    done = stage.replay()
    assert (done.restored, done.incomplete) == ([], [item_id])


def test_only_the_wanted_kinds_are_read(stage):
    stage.store.run("UPDATE items SET title = 'hacked'")
    done = stage.replay(kinds=("change",))
    assert {row[0] for row in stage.store.rows("SELECT kind FROM items WHERE title <> 'hacked'")} == {"change"}
    assert done.read == stage.store.value("SELECT count(*) FROM items WHERE kind = 'change'")


def test_what_is_gone_from_the_forge_stays_gone(stage):
    lab = stage.lab
    lab.time.pass_by(3600)
    lab.on_issue("delete", 1)
    lab.sync()
    assert lab.deleted() == {("issue", 1)}
    index_items(stage.store, [stage.project.id])
    before = content_hash(lab.app)
    assert stage.replay().restored == []
    assert content_hash(lab.app) == before


def test_a_renamed_project_keeps_its_new_addresses(stage):
    lab = stage.lab
    lab.time.pass_by(3600)
    new = f"{lab.path}-of-old"
    lab.server.rename(lab.path, new)
    lab.sync(path=new)
    index_items(stage.store, [stage.project.id])
    before = content_hash(lab.app)
    stage.project = list_projects(stage.store)[0]
    assert stage.replay().restored == []
    assert content_hash(lab.app) == before
    stage.store.run("UPDATE items SET url = 'x' WHERE kind = 'issue' AND number = ?", stage.bug)
    stage.replay()
    url = stage.store.value("SELECT url FROM items WHERE kind = 'issue' AND number = ?", stage.bug)
    assert url.startswith(f"{stage.project.url}/")
    assert url.endswith(f"issues/{stage.bug}")


def test_another_run_of_the_project_keeps_it_waiting(stage):
    acquire_lock(stage.store, f"project {stage.project.id}", 10**15)
    with pytest.raises(Locked):
        stage.replay()


def test_a_sync_works_off_what_waits(stage):
    stage.store.run("UPDATE items SET title = 'hacked'")
    queue_replays(stage.store, stage.project.id)
    stage.lab.time.pass_by(3600)
    result = stage.lab.sync()
    assert result.replayed == stage.store.value("SELECT count(*) FROM items")
    assert result.pending_jobs == 0
    stage.lab.assert_same()


def test_the_first_form_of_a_changes_files_is_read_as_well(gitlab):
    """Lines of text: what they tell is restored; a rename with spaces cannot be told apart and stays."""
    from forgelore.forges.gitlab.payloads import GitLabPayloads
    from forgelore.model import File, ItemKey

    def read(*lines):
        raw = "\n".join(["files of change 7 at 1f2e", *lines]).encode()
        return GitLabPayloads().detail(raw, ItemKey("change", 7), None).details[0]

    found = read("modified a b.py a b.py", "added x x", "deleted y y", "renamed old.py new.py")
    assert found.head_sha == "1f2e"
    assert found.files == [
        File("a b.py", "a b.py", "modified"),
        File("x", "x", "added"),
        File("y", "y", "deleted"),
        File("new.py", "old.py", "renamed"),
    ]
    assert read("renamed a b.py c.py").files is None
    assert read().files == []
