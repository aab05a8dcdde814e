"""Passages without a model: chosen by fit, and the paragraph that answers."""

import json

import pytest

import forgelore
from clones.repositories import commit_files, make_repository

HEADERS = ("[[", "Project: ", "URL: ", "Commit: ", "Author: ", "Date: ", "--- ")
SHED = "Paint is ordered on Mondays.\n\nThe bike shed was painted green, because green paint was cheapest.\n"


@pytest.fixture
def lore(tmp_path, monkeypatch):
    """Items, files and commits of one project."""
    monkeypatch.chdir(tmp_path)
    environ = {"FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    folder = make_repository(
        tmp_path / "web", {"net.py": "# A client retries.\n", "shed.py": "# Bikes need no proxy and no connection.\n"}
    )
    commit_files(folder, {"net.py": "tries = 3\n"}, f"Tidy\n\n{SHED}")
    commit_files(folder, {"other.py": "x = 1\n"}, "Add another file")
    items = [
        {"kind": "issue", "number": 1, "title": "Client gives up", "author": "eve", "state": "closed",
         "body": "It gives up when the proxy resets the connection.\n\nLogs are below.",
         "notes": [{"author": "eve", "body": "Anybody?"},
                   {"author": "ben", "body": "Unrelated news.\n\nThe proxy resets idle sockets; set keepalive to 30."}]},
        {"kind": "issue", "number": 2, "title": "Proxy resets connection, client gives up again", "body": "Same here."},
        {"kind": "change", "number": 3, "title": "Retry when the proxy resets", "state": "merged",
         "body": "The client gives up no more when a proxy resets its connection."},
    ]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    with forgelore.open(tmp_path / "lore.db", create=True, environ=environ) as opened:
        opened.index.code(str(folder), project="acme/web")
        opened.sync.import_file(str(tmp_path / "items.jsonl"), project="acme/web")
        yield opened


def ask(lore, question):
    return lore.ask(question, without_model=True).passages


def test_passages_are_chosen_by_fit_and_not_by_taking_turns(lore):
    found = ask(lore, "why does the client give up when a proxy resets the connection?")
    assert {"#1", "#2", "#3"} <= {one.id for one in found[:4]}
    assert [one.type for one in found[4:]] == ["code"]


def test_a_commit_is_shown_by_its_message_and_never_by_our_header(lore):
    best = ask(lore, "why was the bike shed painted green?")[0]
    assert best.type == "commit"
    assert "because green paint was cheapest" in best.text
    for question in ("why was the bike shed painted green?", "client gives up", "another file", "retries"):
        for one in ask(lore, question):
            assert not any(line.startswith(HEADERS) for line in one.text.split("\n")), one


def test_a_reply_that_answers_an_issue_is_shown(lore):
    found = [one for one in ask(lore, "client gives up when the proxy resets the connection") if one.id == "#1"]
    assert any("set keepalive to 30" in one.text for one in found)


def test_a_passage_is_the_lines_that_it_names(lore):
    for one in ask(lore, "proxy resets connection client bike shed paint"):
        key = one.id if ":" in one.id else lore.show(one.id).reading_id
        text = lore.read_text(key)
        assert one.hash == text.hash
        assert one.text.split("\n") == list(text.lines[one.first_line - 1 : one.last_line])


def test_a_question_without_known_words_shows_nothing(lore):
    assert ask(lore, "zanzibar quokka") == ()
