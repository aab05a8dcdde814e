"""`forgelore history PATH` on the command line."""

import json

import pytest

from servers.chat import ChatServer

FILE = "src/net/conn.py"
NASTY = "\x1b[2J\u202eevil\x07"
LINES = (
    {
        "kind": "change", "number": 1, "title": f"Retry {NASTY}", "state": "merged", "author": f"ana{NASTY}",
        "created_at": "2026-03-01", "merged_at": "2026-03-01", "url": "https://forge.test/1",
        "body": f"It retries, because sockets {NASTY} hang.", "files": [FILE, f"src/{NASTY}.py"],
        "notes": [{"author": "ben", "body": "So three tries are what we take.", "created_at": "2026-03-02"}],
    },
    {
        "kind": "change", "number": 2, "title": "Revert", "state": "merged", "author": "ana", "created_at": "2026-04-01",
        "merged_at": "2026-04-01", "body": "Reverts #1", "files": [FILE],
    },
)  # fmt: skip


@pytest.fixture
def tracker(cli, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    assert cli("import", str(path), "--project", "acme/web").code == 0
    return cli


def test_people_see_decisions_first(tracker):
    done = tracker("history", FILE)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith(f"{FILE}  acme/web")
    assert lines[2] == "Decisions (2)"
    assert lines[3].split() == ["2026-04-01", "#2", "@ana", "(author", "of", "the", "change)", "reverted"]
    assert "superseded by #2" in done.out
    assert done.out.index("Decisions (2)") < done.out.index("The rest (2)")
    assert not set(done.out + done.err) & {"\x1b", "\u202e", "\x07"}


def test_programs_get_every_citation(tracker):
    data = tracker("history", FILE, "--json").data
    assert (data["path"], data["decision_count"], data["entry_count"], data["extracted"]) == (FILE, 2, 2, None)
    newest = data["decisions"][0]
    assert (newest["rule"], newest["quote"], newest["decided_at"]) == ("reverted", "Reverts #1", "2026-04-01T00:00:00Z")
    assert newest["key"].startswith("item:")
    assert newest["first_line"] == newest["last_line"] > 1


def test_limits_and_dates(tracker):
    assert "1 more: --offset 1" in tracker("history", FILE, "--limit", "1", "--since", "2026-03-15").out
    assert "Nothing of that kind in this period" in tracker("history", FILE, "--until", "2020").out
    assert tracker("history", FILE, "--limit", "0").err.startswith("! --limit 0 is out of range")
    assert tracker("history", FILE, "--since", "2026", "--after", "2026").code == 2


def test_pages_go_on_where_the_last_one_ended(tracker):
    whole = tracker("history", FILE, "--json").data
    refs = [one["ref"] for one in (*whole["decisions"], *whole["entries"])]
    paged = []
    for offset in range(4):
        data = tracker("history", FILE, "--limit", "1", "--offset", str(offset), "--json").data
        paged += [one["ref"] for one in (*data["decisions"], *data["entries"])]
    assert paged == refs
    last = tracker("history", FILE, "--limit", "1", "--offset", "3").out
    assert "Decisions" not in last
    assert "more:" not in last
    assert "Only 4 in all" in tracker("history", FILE, "--offset", "4").out
    refused = tracker("history", FILE, "--offset", "-1")
    assert refused.code == 13
    assert "use 0 to 1,000,000" in refused.err


def test_one_kind_is_shown_alone(tracker):
    data = tracker("history", FILE, "--kind", "decision", "--json").data
    assert (data["decision_count"], data["entry_count"]) == (2, 0)
    data = tracker("history", FILE, "--kind", "change", "--json").data
    assert (data["decision_count"], [one["kind"] for one in data["entries"]]) == (0, ["change", "change"])
    assert "Nothing of that kind" in tracker("history", FILE, "--kind", "commit").out
    assert tracker("history", FILE, "--kind", "commits").code == 2


def test_a_path_that_nobody_knows(tracker):
    done = tracker("history", "src/net/con.py")
    assert done.code == 5
    assert f"did you mean {FILE}?" in done.err
    done = tracker("history", "src/evil.p")
    assert not set(done.err) & {"\x1b", "\u202e", "\x07"}
    assert tracker("history", "src/net/con.py", "--json").error["code"] == "not_found"


def test_a_model_reads_and_is_shown(tracker):
    decision = {
        "decision": f"Three tries {NASTY}.", "quote": "three tries are what we take", "first_line": 1, "last_line": 1,
        "paths": [], "supersedes": [], "superseded_by": [], "replaces_line": None,
    }  # fmt: skip
    with ChatServer([json.dumps({"decisions": [decision, {**decision, "quote": "nobody wrote this here"}]})]) as server:
        environ = {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        done = tracker("history", FILE, "--decisions", **environ)
        assert done.code == 0
        assert "1 read; decisions: 1 kept, 1 refused" in done.out
        assert "read by a model" in done.out
        assert '"three tries are what we take"' in done.out
        assert not set(done.out + done.err) & {"\x1b", "\u202e", "\x07"}
        data = tracker("history", FILE, "--decisions", "--json").data
    assert (data["extracted"]["asked"], data["extracted"]["known"]) == (0, 1)
    assert [one["rule"] for one in data["decisions"]] == ["model", "reverted", "merged"]


def test_without_a_model_it_says_how_to_name_one(tracker):
    done = tracker("history", FILE, "--decisions")
    assert done.code != 0
    assert "[llm]" in done.err
