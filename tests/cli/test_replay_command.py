"""`forgelore replay` as a person runs it."""

import json

import pytest

from forgelore.store.jobs import queue_replays
from forgelore.store.sqlite.schema import open_store


@pytest.fixture
def imported(cli, tmp_path):
    lines = [
        {"kind": "issue", "number": 1, "title": "One", "body": "first"},
        {"kind": "issue", "number": 2, "title": "Two", "body": "see #1", "notes": [{"body": "and #3"}]},
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert cli("import", "t.jsonl", "--project", "old").code == 0
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


def test_an_imported_tracker_gets_the_links_of_its_text_again(cli, imported):
    links = "SELECT relation, source, target_number, note_id, created_at FROM item_links ORDER BY target_number"
    before = imported.rows(links)
    assert len(before) == 2
    imported.run("DELETE FROM item_links")
    done = cli("replay", "old", "--json")
    assert (done.code, done.data[0]["read"], done.data[0]["restored"], done.data[0]["incomplete"]) == (0, 2, 1, 2)
    assert "imported" in json.loads(done.out)["warnings"][0]
    assert imported.rows(links) == before


def test_documents_of_what_was_mended_are_built_again(cli, lab_store):
    environ, store = lab_store
    store.run("UPDATE items SET body = 'zyzzyva' WHERE number = 1")
    assert cli("generate-docs", "--full", **environ).code == 0
    assert cli("search", "zyzzyva", "--json").data["hits"]
    done = cli("replay", "--type", "issues")
    assert done.code == 0
    assert "1 corrected" in done.out
    assert not cli("search", "zyzzyva", "--json").data["hits"]
    assert "nothing to correct" in cli("replay", "acme/web").out


@pytest.fixture
def lab_store(cli, github, tmp_path):
    github.populate(issues=3, changes=2)
    environ = github.environ(github.good_token)
    assert cli("sync", "acme/web", **environ).code == 0
    store = open_store(str(tmp_path / "lore.db"))
    yield environ, store
    store.close()


def test_a_project_that_is_not_there_and_a_kind_that_is_none(cli, imported):
    assert cli("replay", "acme/none", "--json").error["code"] == "not_found"
    assert cli("replay", "--type", "cows", "--json").error["code"] == "invalid_value"


@pytest.mark.parametrize(
    "words", [("show", "#1"), ("list", "issues"), ("count", "issues"), ("search", "first"), ("export",)]
)
def test_who_only_reads_is_told_that_a_replay_waits(cli, imported, words):
    """A migration has asked for it: rows are as an older version read them, and still readable."""
    assert "replay" not in cli(*words).err
    with imported.transaction():
        queue_replays(imported, 1, ["issue"])
    done = cli(*words)
    assert done.code == 0
    assert "2 items need to be read again" in done.err
    assert cli("replay").code == 0
    assert "replay" not in cli(*words).err
