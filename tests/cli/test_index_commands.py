"""generate-docs, embed and stats, and what sync, ingest and import index by themselves."""

import os
import signal
import subprocess
import sys
import time

import apsw
import pytest

from engine_tables import VECTORS, lose_words
from servers.embedding import EmbeddingServer

ITEM = '{"kind": "issue", "number": %d, "title": "Crash %d", "body": "It falls over in module%d"}\n'


@pytest.fixture
def server():
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def embedding(server):
    """The environment of somebody whose embedder is that server."""
    return {
        "FORGELORE_EMBEDDER": "openai",
        "FORGELORE_EMBEDDER_URL": server.v1,
        "FORGELORE_EMBEDDER_MODEL": "nomic-embed-text",
    }


@pytest.fixture
def sql(tmp_path):
    def run(statement):
        connection = apsw.Connection(str(tmp_path / "lore.db"))
        try:
            return list(connection.execute(statement))
        finally:
            connection.close()

    return run


def load(cli, count=3, *more, **environ):
    lines = "".join(ITEM % (number, number, number) for number in range(1, count + 1))
    return cli("import", "-", "--project", "acme/old", *more, stdin=lines.encode(), **environ)


def test_import_indexes_and_embeds_and_says_so(cli, embedding):
    done = load(cli, 3, **embedding)
    assert done.code == 0
    assert "3 documents indexed, 3 embedded" in done.out
    again = load(cli)
    assert "indexed" not in again.out
    assert "embedded" not in again.out


def test_import_tells_programs_what_was_indexed(cli, embedding):
    data = load(cli, 3, "--json", **embedding).data
    assert data["documents"]["new"] == 3
    assert data["vectors"]["embedded"] == 3


def test_no_docs_means_no_vectors_either(cli, embedding, server, sql):
    done = load(cli, 3, "--no-docs", "--json", **embedding)
    assert (done.data["documents"], done.data["vectors"]) == (None, None)
    assert sql("SELECT count(*) FROM documents") == [(0,)]
    assert server.requests == []
    assert cli("generate-docs", "--json").data["new"] == 3


def test_no_embed_leaves_the_vectors_to_embed(cli, embedding, server):
    load(cli, 3, "--no-embed", **embedding)
    assert server.requests == []
    assert cli("embed", "--json").data["embedded"] == 3


def test_generate_docs_counts_and_a_second_run_has_nothing_to_do(cli):
    load(cli, 4, "--no-docs")
    done = cli("generate-docs")
    assert done.out.splitlines() == ["✓ 4 documents: 4 new", "  4 issues"]
    assert cli("generate-docs", "--json").data == {
        "new": 0, "changed": 0, "unchanged": 0, "removed": 0, "failed": 0, "total": 4, "truncated": 0,
        "by_type": {"issue": 4},
    }  # fmt: skip
    assert "nothing to do" in cli("generate-docs").out
    assert cli("generate-docs", "--full", "--json").data["unchanged"] == 4


def test_one_project_is_indexed_alone(cli):
    load(cli, 2, "--no-docs")
    cli("import", "-", "--project", "other/one", "--no-docs", stdin=(ITEM % (1, 1, 1)).encode())
    assert cli("generate-docs", "--project", "other/one", "--json").data["total"] == 1
    assert cli("generate-docs", "--json").data["new"] == 2
    assert cli("generate-docs", "--project", "no/such").code == 5


def test_embed_embeds_once_and_then_has_nothing_to_do(cli, embedding):
    load(cli, 3)
    done = cli("embed", **embedding)
    assert done.code == 0
    assert "3 embedded" in done.out
    assert "nothing to do" in cli("embed").out


def test_embed_says_that_documents_wait(cli, embedding):
    load(cli, 3, "--no-docs")
    done = cli("embed", **embedding)
    assert done.code == 0
    assert "3 items must be indexed first; run: forgelore generate-docs" in done.err


def test_embed_without_an_embedder_says_what_to_do(cli):
    load(cli, 1)
    done = cli("embed")
    assert done.code == 3
    assert "--embedder" in done.err


def test_an_embedder_of_no_known_name_is_an_invalid_value(cli):
    load(cli, 1)
    assert cli("embed", "--embedder", "banana").code == 13


def test_embed_with_a_missing_model_is_exit_15(cli, embedding, server):
    load(cli, 1)
    server.models.clear()
    done = cli("embed", "--json", **embedding)
    assert done.code == 15
    assert done.error["code"] == "model_not_found"
    assert done.error["hint"]


def test_embed_without_its_server_is_exit_14(cli, embedding, server, monkeypatch):
    load(cli, 1)
    monkeypatch.setattr("forgelore.app.App._sleep", lambda _self, _seconds: None)
    server.stop()
    done = cli("embed", "--json", **embedding)
    assert done.code == 14
    assert done.error["code"] == "embedder_unreachable"
    assert done.error["hint"]


def test_embed_that_is_refused_everywhere_is_exit_16_and_can_be_retried(cli, embedding, server):
    load(cli, 2)
    server.spoil["Crash"] = "null"
    done = cli("embed", **embedding)
    assert done.code == 16
    assert "2 failed" in done.out
    assert cli("embed").code == 0, "what failed waits for its turn"
    server.spoil.clear()
    assert cli("embed", "--retry-failed", "--json").data["embedded"] == 2


def test_embed_full_makes_all_vectors_again(cli, embedding, server):
    load(cli, 3, **embedding)
    asked = len(server.inputs())
    assert cli("embed", "--full", "--json").data["embedded"] == 3
    assert sum(map(len, server.inputs()[asked:])) == 3
    assert "nothing to do" in cli("embed").out
    assert cli("embed", "--full", "--retry-failed").code == 2


def test_ctrl_c_ends_embed_soon_and_the_next_run_goes_on(cli, embedding, server):
    load(cli, 300)
    server.fail(path="/v1/embeddings", delay=0.15, times=1000)
    words = [sys.executable, "-m", "forgelore.surfaces.cli.main", "embed"]
    with subprocess.Popen(words, env={**os.environ, **embedding}, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 20
        while not server.inputs():
            assert time.monotonic() < end, "the request never came"
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    server.faults.clear()
    assert process.returncode == 130, err
    assert "run the same command to continue" in err
    assert "Traceback" not in err
    assert cli("stats", "--check").code == 0
    assert cli("embed", **embedding).code == 0
    assert cli("stats", "--json").data["vectors"]["coverage"] == 1.0


def test_embed_that_is_refused_here_and_there_keeps_the_rest(cli, embedding, server):
    load(cli, 3)
    server.spoil["module2"] = "null"
    done = cli("embed", **embedding)
    assert done.code == 0
    assert "2 embedded, 1 failed" in done.out
    shown = cli("stats").out
    assert "embed 2:" in shown
    assert "66.7%" in shown


def test_a_sync_goes_on_without_its_embedder_and_says_so(cli, github, github_env, embedding, server):
    server.models.clear()
    github.project.add_issue("Hello")
    done = cli("sync", "acme/web", **github_env, **embedding)
    assert done.code == 0
    assert "1 vectors are pending: " in done.err
    assert "run: forgelore embed" in done.err
    assert "1 documents indexed" in done.out
    envelope = cli("sync", "acme/web", "--json")
    assert envelope.data[0]["vectors"] is None
    server.models["nomic-embed-text:latest"] = "x"
    assert cli("embed", "--json").data["embedded"] == 1


def test_a_second_sync_writes_nothing_and_asks_the_embedder_for_nothing(
    cli, github, github_env, embedding, server, sql
):
    github.server.populate("acme/web", seed=3, issues=10, changes=5)
    done = cli("sync", "acme/web", "--json", **github_env, **embedding)
    assert done.data[0]["documents"]["new"] == done.data[0]["vectors"]["embedded"] > 15
    asked = len(server.inputs())
    tables = ("documents", "document_texts", "document_labels", VECTORS, "embedders", "jobs", "items", "notes")
    before = [sql(f"SELECT * FROM {table}") for table in tables]
    github.server.clock.advance(3600)
    again = cli("sync", "acme/web")
    assert "nothing new" in again.out
    assert "indexed" not in again.out
    assert len(server.inputs()) == asked
    assert [sql(f"SELECT * FROM {table}") for table in tables] == before


def test_only_what_changed_is_indexed_and_embedded_again(cli, github, github_env, embedding, server):
    github.server.populate("acme/web", seed=3, issues=10, changes=5)
    cli("sync", "acme/web", **github_env, **embedding)
    asked = len(server.inputs())
    number = github.project.add_issue("Brand new", "with a text")
    github.server.clock.advance(60)
    data = cli("sync", "acme/web", "--json").data[0]
    assert data["documents"]["new"] == 1
    assert data["vectors"]["embedded"] == 1
    assert [text for batch in server.inputs()[asked:] for text in batch if "Brand new" not in text] == []
    github.project.delete(number)
    github.server.clock.advance(3600)
    assert cli("sync", "acme/web", "--json").data[0]["documents"]["removed"] == 1
    assert cli("stats", "--check").code == 0


def test_ingest_indexes_what_it_fetched(cli, gitlab, gitlab_env):
    gitlab.server.populate("group/app", seed=3, issues=5, changes=5)
    data = cli("ingest", "--type", "issues", "gitlab:group/app", "--json", **gitlab_env).data[0]
    assert data["documents"]["new"] >= 5
    assert cli("ingest", "--type", "mrs", "gitlab:group/app", "--no-docs", "--json").data[0]["documents"] is None
    status = cli("sync-status", "--json").data[0]
    assert status["index"]["document"]["waiting"] == 5
    assert "document" not in status["jobs"]
    assert "5 items wait to be indexed" in cli("sync-status").out


def test_waiting_documents_are_not_told_as_parts_to_be_fetched(cli, github, github_env):
    github.project.add_issue("One")
    done = cli("sync", "acme/web", "--no-docs", "--json", **github_env)
    assert done.data[0]["pending_jobs"] == 0
    assert cli("sync", "acme/web", "--plan", "--json").data[0]["waiting_jobs"] == 0


def test_stats_show_what_is_in_the_index(cli, embedding):
    load(cli, 3, **embedding)
    shown = cli("stats").out
    assert "documents 3 issues 3 full text 3 documents vectors 3 documents (100.0%)" in " ".join(shown.split())
    data = cli("stats", "--json").data
    assert (data["documents"]["total"], data["vectors"]["coverage"], data["full_text"]["indexed"]) == (3, 1.0, 3)


def test_stats_of_an_index_that_is_empty(cli):
    load(cli, 1, "--no-docs")
    assert "forgelore generate-docs" in cli("stats").out
    assert cli("stats", "--check").code == 0


def test_a_check_finds_drift_and_a_repair_mends_it(cli, sql):
    load(cli, 3)
    assert "sound" in cli("stats", "--check").out
    sql(lose_words(2))
    done = cli("stats", "--check")
    assert done.code == 8
    assert "✗ words_missing: 1" in done.out
    assert "document 2" in done.out
    assert "--repair" in done.err
    told = cli("stats", "--check", "--json")
    assert told.code == 8
    assert told.error["code"] == "store"
    assert {"words_missing", "words_damaged"} == {finding["name"] for finding in told.data["check"]}
    mended = cli("stats", "--check", "--repair", "--json")
    assert mended.code == 0
    assert mended.data["check"] == []
    assert {"name": "words_missing", "found": 1, "left": 0} in mended.data["repair"]
    assert cli("stats", "--check", "--repair").code == 0


def test_a_sample_without_a_check_is_wrong_usage(cli):
    load(cli, 1)
    assert cli("stats", "--sample", "5").code == 2
    assert cli("stats", "--check", "--sample", "-1").code == 2
    assert cli("stats", "--check", "--sample", "0").code == 0


def test_a_check_says_what_was_proved_by_a_sample(cli, embedding):
    load(cli, 5, **embedding)
    shown = cli("stats", "--check", "--sample", "2").out
    assert "documents searched for by their own words: 2 of 5" in shown
    assert "documents whose vectors were recomputed: 2 of 5" in shown
    proofs = cli("stats", "--check", "--sample", "0", "--json").data["proofs"]
    assert proofs[-1] == {
        "what": "documents whose vectors were recomputed", "checked": 0, "total": 5, "why": "--sample 0",
    }  # fmt: skip


def test_a_repair_without_a_check_is_wrong_usage(cli):
    load(cli, 1)
    done = cli("stats", "--repair")
    assert done.code == 2
    assert "--check" in done.err


def test_a_damaged_file_is_exit_8_with_how_to_rebuild(cli, sql, tmp_path):
    load(cli, 300)
    sql("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray((tmp_path / "lore.db").read_bytes())
    for page in range(8192 * 115, len(data) - 8192, 8192 * 2):
        data[page : page + 200] = b"\xff" * 200
    (tmp_path / "lore.db").write_bytes(bytes(data))
    done = cli("stats", "--check", "--repair")
    assert done.code == 8
    assert "sync --full" in done.err
    assert "Traceback" not in done.err


def test_stats_work_in_a_process_of_their_own(cli, tmp_path):
    load(cli, 3)
    words = [sys.executable, "-m", "forgelore.surfaces.cli.main", "stats", "--check"]
    done = subprocess.run(words, env={**os.environ, "COLUMNS": "100"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sound" in done.stdout


def test_the_built_in_model_embeds_without_any_network(cli):
    """The one test here that loads it: three short texts."""
    done = load(cli, 3, FORGELORE_EMBEDDER="minilm")
    assert done.code == 0
    assert "3 embedded" in done.out, done.err
    assert cli("stats", "--json").data["vectors"]["embedder"]["dimension"] == 384
    assert cli("stats", "--check").code == 0


def test_generate_docs_counts_the_documents_of_each_type(demo):
    data = demo("generate-docs", "--json").data
    kinds = {kind: demo("count", f"{kind}s", "--json").data["total"] for kind in ("issue", "change", "discussion")}
    assert kinds.items() <= data["by_type"].items()
    assert data["by_type"]["thread"] > 0
    assert sum(data["by_type"].values()) == data["total"]
    assert f"{data['by_type']['thread']} threads" in demo("generate-docs").out
