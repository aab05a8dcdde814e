"""list, count, show: what people and programs get to see."""

import json
import os
import subprocess
import sys

import pytest


def write(tmp_path, *items):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return str(path)


def test_a_list_shows_number_title_state_and_author(demo):
    done = demo("list", "issues", "--limit", "3")
    assert len(done.out.splitlines()) == 4
    assert "#" in done.out
    assert "@" in done.out
    assert max(map(len, done.out.splitlines())) <= 120


@pytest.mark.parametrize("word", ["changes", "prs", "mrs", "pr", "merge_requests", "merge-requests", "PRs"])
def test_people_may_say_pr_or_mr(demo, word):
    assert demo("count", word, "--json").data["total"] == 46


def test_filters_compose(demo):
    rows = demo("list", "issues", "--state", "open", "--label", "bug", "--json", "--limit", "100").data
    assert rows
    assert all(row["state"] == "open" and "bug" in row["labels"] for row in rows)
    author = rows[0]["author"]
    assert all(row["author"] == author for row in demo("list", "issues", "--author", author.upper(), "--json").data)


def test_a_filter_that_matches_nothing_says_so(demo):
    done = demo("list", "issues", "--author", "nobody-at-all")
    assert done.code == 0
    assert "nothing" in done.out


def test_bad_values_are_refused(demo):
    assert demo("list", "bananas").code == 13
    assert demo("list", "issues", "--project", "no/such").code == 5


def test_counts_add_up(demo):
    by = demo("count", "issues", "--json").data["by"]
    assert by["open"] + by["closed"] == demo("count", "issues", "--json").data["total"]
    assert demo("count", "notes", "--json").data["total"] == 436
    assert demo("count", "items", "--json").data["total"] == 163
    assert demo("count", "threads").out.startswith("Threads:")


def test_show_tells_the_whole_story(demo):
    done = demo("show", "#41")
    assert "Deleted files come back" in done.out
    assert "closed by: #45" in done.out
    assert "@mira-k" in done.out
    data = demo("show", "lanternsync/lantern#41", "--json").data
    assert data["kind"] == "issue"
    assert [note["is_system"] for note in data["threads"][0]["notes"]] == [0, 0, 0, 1]


def test_an_open_issue_is_not_shown_as_closed(cli, tmp_path):
    lines = [
        {"kind": "issue", "number": 1, "title": "It leaks", "body": "Memory.", "state": "open"},
        {"kind": "change", "number": 2, "title": "Free it", "body": "Fixes #1.", "state": "open"},
        {"kind": "issue", "number": 3, "title": "It hangs", "body": "Now.", "state": "closed"},
        {"kind": "change", "number": 4, "title": "Wake it", "body": "Fixes #3.", "state": "merged"},
    ]
    cli("import", write(tmp_path, *lines), "--project", "acme/web")
    assert "would be closed by: #2" in cli("show", "#1").out
    assert "\nclosed by: #4" in cli("show", "#3").out


@pytest.mark.parametrize(
    "words", [["41"], ["#41"], ["issue", "41"], ["https://github.com/lanternsync/lantern/issues/41"]]
)
def test_an_item_is_found_in_every_spelling(demo, words):
    assert demo("show", *words, "--json").data["number"] == 41


def test_a_release_is_found_by_its_tag(demo):
    tag = demo("list", "releases", "--json").data[0]["tag"]
    assert demo("show", tag, "--json").data["tag"] == tag


def test_review_comments_show_their_place(demo):
    changes = demo("list", "changes", "--limit", "50", "--json").data
    shown = [demo("show", f"!{change['number']}").out for change in changes]
    assert any(".rs:" in text for text in shown)


def test_system_notes_are_hidden_until_asked_for(demo, cli, tmp_path):
    path = write(
        tmp_path,
        {
            "kind": "issue",
            "number": 1,
            "title": "x",
            "notes": [{"body": "changed the title", "is_system": True}, {"body": "hello"}],
        },
    )
    cli("import", path, "--project", "other")
    assert "changed the title" not in cli("show", "#1", "--project", "other").out
    assert "changed the title" in cli("show", "#1", "--project", "other", "--system").out


def test_what_is_not_there_is_exit_5_with_help(demo):
    done = demo("show", "#999999")
    assert done.code == 5
    assert "sync" in done.err
    assert demo("show", "not a ref!").code == 13
    assert demo("show", "other/project#1").code == 5


def test_a_number_in_two_projects_asks_which(demo, cli, tmp_path):
    cli("import", write(tmp_path, {"kind": "issue", "number": 41, "title": "another"}), "--project", "second/one")
    done = cli("show", "#41")
    assert done.code == 13
    assert "second/one#41" in done.err
    assert cli("show", "second/one#41", "--json").data["title"] == "another"


def test_hostile_text_cannot_touch_the_terminal(cli, tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2Jtitle\u202egpj\r\n"
    item = {
        "kind": "issue",
        "number": 1,
        "title": evil,
        "body": evil,
        "author": evil,
        "labels": [evil],
        "notes": [{"author": evil, "body": evil}],
    }
    cli("import", write(tmp_path, item), "--project", "evil")
    for words in (["list", "issues"], ["show", "1"]):
        out = cli(*words).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\u202e" not in out


def test_hostile_reasons_errors_and_names_are_defused_too(cli, tmp_path):
    evil = "dup\x1b]0;pwned\x07"
    cli(
        "import",
        write(tmp_path, {"kind": "issue", "number": 1, "title": "x", "state": "closed", "state_reason": evil}),
        "--project",
        "p",
    )
    shown = (
        cli("show", "1", "--project", "p").out + cli("show", evil).err + cli("list", "issues", "--project", evil).err
    )
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_a_terminal_without_unicode_shows_question_marks(demo, tmp_path):
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "FORGELORE_DB": str(tmp_path / "lore.db")}
    for words in (["list", "issues"], ["show", "#46"]):
        done = subprocess.run(
            [sys.executable, "-m", "forgelore.surfaces.cli.main", *words], env=environ, capture_output=True
        )
        assert done.returncode == 0, done.stderr


def test_a_confidential_item_says_so(cli, tmp_path):
    cli(
        "import",
        write(tmp_path, {"kind": "issue", "number": 1, "title": "x", "is_confidential": True}),
        "--project",
        "p",
    )
    assert "confidential" in cli("show", "1").out


@pytest.mark.parametrize("tag", ["v1.0+1", "pkg/1.0", "2026.1"])
def test_any_tag_names_its_release(cli, tmp_path, tag):
    cli("import", write(tmp_path, {"kind": "release", "number": 9, "title": "R", "tag": tag}), "--project", "p")
    assert cli("show", tag, "--json").data["tag"] == tag


def test_inside_the_clone_of_another_project_nobody_answers_for_it(demo, clone):
    """The store holds one project, the clone is another's: that one is meant, and it is not there."""
    assert demo("export").code == 2


@pytest.mark.parametrize("command", [("list", "issues"), ("search", "sync", "--mode", "fts"), ("similar", "#41")])
@pytest.mark.parametrize(("limit", "rows"), [("0", 1), ("-3", 1), ("9" * 30, 100)])
def test_a_limit_out_of_range_is_the_nearest_and_told(demo, command, limit, rows):
    done = demo(*command, "--limit", limit, "--json")
    found = done.data if command[0] == "list" else done.data["hits"]
    assert done.code == 0
    assert len(found) == rows or (rows > 1 and len(found) > 30)
    assert "out of range" in json.loads(done.out)["warnings"][0]


def test_wide_letters_keep_the_table_straight(cli, tmp_path):
    titles = ["日本語のタイトルがとても長いのでここで切られるはずです" * 4, "plain " * 40]
    cli(
        "import",
        write(tmp_path, *({"kind": "issue", "number": n, "title": t, "author": "ana"} for n, t in enumerate(titles))),
        "--project",
        "wide",
    )
    from forgelore.surfaces.present.text import cells

    lines = cli("list", "issues").out.splitlines()
    places = {cells(line[: line.index("open")]) for line in lines}
    assert len(places) == 1
