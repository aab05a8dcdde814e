"""search, similar, triage and evaluate say when items wait to be indexed: few hits must not look like all there are."""

import json
import os
import signal
import subprocess
import sys
import time

import apsw
import pytest

import forgelore
from forgelore.store.jobs import count_waiting
from forgelore.store.sqlite.schema import open_store
from servers.embedding import EmbeddingServer

ADVICE = "run: forgelore generate-docs"


def lines(count, first=1):
    return "".join(
        json.dumps(
            {"kind": "issue", "number": n, "title": f"Window {n} flickers", "body": f"since the update, screen {n}"}
        )
        + "\n"
        for n in range(first, first + count)
    ).encode()


def load(cli, count, *more, project="acme/old", first=1):
    done = cli("import", "-", "--project", project, *more, stdin=lines(count, first))
    assert done.code == 0, done.err


def warnings(done):
    """Of what waits: no embedder is configured here, and that is told as well."""
    return [one for one in json.loads(done.out)["warnings"] if "words only: no embedder" not in one]


ASKING = [
    ["search", "flickers"],
    ["search", "--similar-to", "#1"],
    ["similar", "#1"],
    ["triage", "#1"],
    ["evaluate", "q.jsonl"],
]


@pytest.fixture
def queries(tmp_path):
    words = {"q": "window flickers", "expect": ["#1"]}
    number = {"query": 2, "kind": "issue", "created_at": "2026-01-01T00:00:00Z", "gold": [1]}
    (tmp_path / "q.jsonl").write_text(f"{json.dumps(words)}\n{json.dumps(number)}\n", encoding="utf-8")


@pytest.mark.parametrize("command", ASKING, ids=" ".join)
def test_waiting_items_are_told_to_people_and_programs(cli, queries, command):
    load(cli, 5)
    quiet = cli(*command)
    assert quiet.code == 0
    assert "indexed" not in quiet.err
    load(cli, 74, "--no-docs", first=6)
    done = cli(*command)
    assert done.code == 0
    assert "74 items wait to be indexed" in done.err
    assert ADVICE in done.err
    told = [warning for warning in warnings(cli(*command, "--json")) if "74 items wait to be indexed" in warning]
    assert len(told) == 1
    assert cli("generate-docs").code == 0
    assert "indexed" not in cli(*command).err


@pytest.mark.parametrize("command", ASKING[:3], ids=" ".join)
def test_a_store_in_which_nothing_is_indexed_says_how_many_wait(cli, command):
    load(cli, 3, "--no-docs")
    assert any("3 items wait to be indexed" in one and ADVICE in one for one in warnings(cli(*command, "--json")))
    assert "3 items wait to be indexed" in cli(*command).err


def test_a_search_after_a_killed_import_says_that_hits_are_missing(cli, tmp_path):
    """kill -9 in the middle, as it happened: 5 of 79 hits and not a word."""
    load(cli, 5)
    db = tmp_path / "lore.db"
    command = [sys.executable, "-m", "forgelore.surfaces.cli.main", "import", "-", "--project", "acme/old"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=os.environ) as process:
        process.stdin.write(lines(6_500, first=6))  # two batches are saved; the pipe stays open, so it waits for more
        process.stdin.flush()
        wait_for(lambda: count_items(db) > 5)
        process.send_signal(signal.SIGKILL)
    saved = count_items(db) - 5
    assert 0 < saved < 6_500
    done = cli("search", "flickers", "--json")
    assert len(done.data["hits"]) == 5
    assert any(f"{saved:,} items wait to be indexed" in one and ADVICE in one for one in warnings(done))
    assert f"{saved:,} items wait" in cli("similar", "#1").err
    assert cli("generate-docs").code == 0
    assert warnings(cli("search", "flickers", "--json")) == []


def count_items(db):
    connection = apsw.Connection(str(db))
    connection.set_busy_timeout(5_000)
    try:
        return connection.execute("SELECT count(*) FROM items").get
    finally:
        connection.close()


def wait_for(is_done):
    end = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < end, "nothing was saved"
        time.sleep(0.01)


def test_only_the_projects_that_are_searched_count(cli):
    load(cli, 3, project="one/done")
    load(cli, 4, "--no-docs", project="two/waits")
    assert warnings(cli("search", "flickers", "--project", "one/done", "--json")) == []
    assert warnings(cli("similar", "#1", "--project", "one/done", "--json")) == []
    assert "4 items wait" in warnings(cli("search", "flickers", "--project", "two/waits", "--json"))[0]
    assert "4 items wait" in warnings(cli("search", "flickers", "--json"))[0]


def test_a_clone_searches_its_own_project_and_hears_of_it_alone(cli, clone):
    load(cli, 3, project="acme/web")
    load(cli, 4, "--no-docs", project="two/waits")
    assert warnings(cli("search", "flickers", "--json")) == []


def test_vectors_that_wait_in_another_project_are_not_told(cli):
    with EmbeddingServer() as server:
        place = {"FORGELORE_EMBEDDER": "openai", "FORGELORE_EMBEDDER_URL": server.v1}
        place |= {"FORGELORE_EMBEDDER_MODEL": "nomic-embed-text"}
        assert cli("import", "-", "--project", "one/done", stdin=lines(3), **place).code == 0
        load(cli, 4, "--no-embed", project="two/waits")
        assert warnings(cli("search", "flickers", "--project", "one/done", "--json")) == []
        assert "4 documents have no vectors yet" in warnings(cli("search", "flickers", "--json"))[0]


def test_one_item_is_one_item(cli):
    load(cli, 1)
    load(cli, 1, "--no-docs", first=2)
    assert "1 item waits to be indexed" in cli("search", "flickers").err


def test_python_is_told_too(cli, tmp_path):
    load(cli, 2)
    load(cli, 2, "--no-docs", first=3)
    with forgelore.open(tmp_path / "lore.db") as lore:
        assert any("2 items wait" in warning for warning in lore.search("flickers").warnings)


def test_every_item_without_a_document_is_in_the_queue(cli, tmp_path):
    """What the warning relies on: there is no other way to be without one."""
    load(cli, 5)
    load(cli, 7, "--no-docs", first=6)
    store = open_store(str(tmp_path / "lore.db"))
    without = store.rows("SELECT id FROM items WHERE id NOT IN (SELECT item_id FROM documents)")
    queued = {int(key) for (key,) in store.rows("SELECT key FROM jobs WHERE kind = 'document'")}
    assert {item_id for (item_id,) in without} == queued
    assert count_waiting(store, "document") == 7
    store.close()


def test_counting_reads_the_index_of_one_kind_alone(cli, tmp_path):
    load(cli, 2, "--no-docs")
    store = open_store(str(tmp_path / "lore.db"))
    seen = []
    store.connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: seen.append(event["sql"]))
    count_waiting(store, "document", [1])
    store.connection.trace_v2(0, None)
    plan = " ".join(row[3] for row in store.rows(f"EXPLAIN QUERY PLAN {seen[-1]}", "[1]", "document"))
    assert "SEARCH jobs USING COVERING INDEX" in plan
    assert "project_id=? AND kind=?" in plan
    assert "SCAN jobs" not in plan
    store.close()
