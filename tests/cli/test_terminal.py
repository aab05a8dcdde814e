"""What is printed on a real terminal, and how it differs from what goes into a pipe: widths, pager, colours, marks."""

import json
import re
import shlex

import pytest
from terminals import run_in_terminal

LONG = (
    "The lantern synchronisation stops unexpectedly whenever an encrypted directory contains extraordinarily many files"
)


@pytest.fixture
def screen(demo, tmp_path):
    def run(*words, rows=200, columns=80, **environ):
        return run_in_terminal(
            *words, environ={"FORGELORE_DB": str(tmp_path / "lore.db"), **environ}, rows=rows, columns=columns
        )

    return run


def test_no_line_of_a_hit_is_wider_than_the_terminal(screen):
    done = screen("search", "relay websocket", "--limit", "20", "--explain", "--mode", "lexical", FORGELORE_PAGER="")
    lines = [line for line in done.text.splitlines() if "https://" not in line]
    assert len(lines) > 50
    assert max(map(len, lines)) <= 80


def test_somebody_who_waits_is_told_how_long(screen):
    assert re.match(
        r"\d+ results \(lexical, \d+ ms\)\n", screen("search", "relay", "--mode", "lexical", "--limit", "3").text
    )


def test_words_are_never_broken(cli, tmp_path, screen):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"kind": "issue", "number": 1, "title": LONG, "labels": ["area: synchronisation"]}))
    assert cli("import", str(path), "--project", "long/one").code == 0
    for words in (("search", "lantern", "--project", "long/one"), ("list", "issues", "--project", "long/one")):
        for columns in (60, 80, 97):
            shown = screen(*words, columns=columns, FORGELORE_PAGER="").text
            said = [word.strip("…,") for word in shown.replace("area: synchronisation", "").split()]
            cut = [
                word
                for word in said
                if word not in LONG.split() and any(whole.startswith(word) for whole in LONG.split())
            ]
            assert cut == []
            assert "lantern" in said


def test_a_title_has_half_of_eighty_columns_in_a_list(screen):
    lines = screen("list", "issues", "--limit", "10", "--no-pager").text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Option::unwrap" in screen("list", "issues", "--limit", "60", "--no-pager").text
    assert lines[0].index(" open") - lines[0].index("docs/") >= 40


def test_a_pipe_gets_whole_titles(demo, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    title = "QUIC to the relay stalls behind PPPoE/WireGuard (MTU below 1400), never falls back to HTTP/2"
    assert title in demo("list", "issues", "--limit", "3").out
    assert title in demo("search", "QUIC PPPoE WireGuard", "--limit", "3").out


def test_long_output_goes_through_the_pager_and_short_output_does_not(screen, tmp_path):
    seen = tmp_path / "seen"
    pager = f"tee {shlex.quote(str(seen))}"
    long = screen("list", "issues", "--limit", "40", rows=20, PAGER=pager)
    assert seen.read_text().count("\n") == 41
    assert long.text.count("#") >= 40
    seen.unlink()
    for words, environ in (
        (("list", "issues", "--limit", "3"), {"PAGER": pager}),
        (("list", "issues", "--limit", "40", "--no-pager"), {"PAGER": pager}),
        (("list", "issues", "--limit", "40"), {"PAGER": pager, "FORGELORE_PAGER": "cat"}),
        (("list", "issues", "--limit", "40"), {"PAGER": pager, "TERM": "dumb"}),
        (("list", "issues", "--limit", "40"), {"PAGER": pager, "TERM": ""}),
        (("list", "issues", "--limit", "40"), {"PAGER": pager, "TERM": None}),
        (("list", "issues", "--limit", "40", "--json"), {"PAGER": pager}),
        (("list", "issues", "--limit", "40", "--format", "tsv"), {"PAGER": pager}),
    ):
        done = screen(*words, rows=20, **environ)
        assert done.code == 0
        assert "#181" in done.text
        assert not seen.exists(), (words, environ)


def test_a_pager_that_is_missing_or_leaves_early_loses_nothing(screen):
    assert screen("list", "issues", "--limit", "40", rows=20, PAGER="no-such-pager-here").text.count("#") >= 40
    assert screen("list", "issues", "--limit", "40", rows=20, PAGER="true").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--color", "always", "list", "issues"], ["--color=always", "list", "issues"], ["list", "--color", "always", "issues"],
        ["list", "issues", "--color", "always"], ["list", "issues", "--color=always", "--limit", "3"],
    ],
)  # fmt: skip
def test_color_takes_its_value_anywhere(demo, words):
    assert "\x1b[" in demo(*words).out
    never = [word.replace("always", "never") for word in words]
    assert "\x1b[" not in demo(*never, FORCE_COLOR="1").out


def test_color_holds_for_errors_too(demo):
    assert "\x1b[31m" in demo("show", "nothing-there", "--color", "always").err
    assert "\x1b[" not in demo("--color", "never", "show", "nothing-there", FORCE_COLOR="1").err
    assert demo("list", "issues", "--color", "sometimes").code == 2


def test_what_matched_is_coloured_on_a_terminal_and_left_alone_in_a_pipe(demo, screen):
    words = ("search", "deleted files", "--limit", "3", "--mode", "lexical")
    assert "\x1b[1;33mdeleted\x1b[0m" in screen(*words).raw
    plain = demo(*words).out
    assert "**" not in plain
    assert "\x1b" not in plain
    assert "**deleted**" in demo(*words, "--marks", "markdown").out
    assert "\x1b[1;33mdeleted\x1b[0m" in demo(*words, "--marks", "ansi").out
    assert "\x1b[1;33m" not in screen(*words, "--marks", "none").raw


def test_the_relevance_stands_behind_the_last_line_of_a_title(cli, tmp_path, screen):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"kind": "issue", "number": 1, "title": LONG}))
    assert cli("import", str(path), "--project", "long/one").code == 0
    for columns in (60, 80, 97):
        lines = screen(
            "search", "lantern", "--project", "long/one", columns=columns, FORGELORE_PAGER=""
        ).text.splitlines()
        at = next(at for at, line in enumerate(lines) if line.startswith(" 1. "))
        assert not lines[at].endswith("strong")
        assert lines[at + 1].startswith("    ")
        assert lines[at + 1].endswith("  strong")
        assert max(map(len, lines[at : at + 2])) <= columns


def test_somebody_at_a_terminal_is_told_that_standard_input_is_read(demo, tmp_path):
    environ = {"FORGELORE_DB": str(tmp_path / "lore.db"), "FORGELORE_PAGER": ""}
    done = run_in_terminal("search", "-", "--mode", "lexical", environ=environ, typed="relay websocket\n\x04")
    assert "reading standard input; end with Ctrl-D" in done.text
    assert " 1. " in done.text
    assert "reading standard input" not in demo("search", "-", stdin=b"relay").err
