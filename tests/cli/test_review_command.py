"""`dedupe review` as a person uses it: keys on a real terminal, lines in a pipe, answers that become a plan."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios

import pytest

from cli.terminals import run_in_terminal

PROJECT = "lanternsync/lantern"
SAME = [
    {"kind": "issue", "number": 901, "title": "Folders vanish from the settings", "author": "zoe", "state": "open",
     "body": "Opening the settings twice empties the list of folders.\nERROR: no folder left to sync",
     "created_at": "2026-05-01T00:00:00Z"},
    {"kind": "issue", "number": 902, "title": "Folders vanish from the settings page", "author": "tom\x1b[31m",
     "state": "open", "created_at": "2026-05-09T00:00:00Z",
     "body": "Opening the settings twice empties the list of folders.\nERROR: no folder left to sync\n\x1b[31mVersion 1.2.3"},
]  # fmt: skip


@pytest.fixture
def reviewed(demo, tmp_path, monkeypatch):
    """The example project and a pair that stands first in its queue."""
    monkeypatch.setenv("FORGELORE_EMBEDDER", "none")
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in SAME))
    assert demo("import", "more.jsonl", "--project", PROJECT).code == 0
    return demo


def type_keys(tmp_path, keys, *words, **environ):
    environ = {"FORGELORE_DB": str(tmp_path / "lore.db"), "HOME": str(tmp_path), **environ}
    return run_in_terminal("dedupe", "review", "--as", "ana", *words, environ=environ, keys=keys, prompt="quit > ")


def answers(demo):
    return [(one["newer"], one["older"], one["answer"]) for one in demo("dedupe", "review", "--answers", "--json").data]


def test_single_keys_answer_on_a_terminal_and_the_next_review_goes_on(reviewed, tmp_path):
    first = type_keys(tmp_path, "sq")
    assert first.code == 0
    assert "1 of 4 · issues" in first.text
    assert "#902 and #901: same" in first.text
    assert answers(reviewed) == [("#902", "#901", "same")]
    second = type_keys(tmp_path, "nq")
    assert "#902" not in second.text
    assert len(answers(reviewed)) == 2


def test_what_differs_stands_out_and_a_strangers_escapes_do_not_act(reviewed, tmp_path):
    done = type_keys(tmp_path, "q")
    assert "\x1b[1;7mpage\x1b[0m" in done.raw
    assert "\x1b[31m" not in done.raw
    assert "version 1.2.3" in done.text
    assert "by different authors · 8 days apart" in done.text
    assert "both say" in done.text
    plain = type_keys(tmp_path, "q", NO_COLOR="1")
    assert "[page]" in plain.raw
    assert "\x1b[1;7m" not in plain.raw


def test_undo_more_help_and_unknown_keys(reviewed, tmp_path):
    done = type_keys(tmp_path, ["z", "?", "x", "\x1b[A", "m", "s", "z", "n", "q"])
    assert "you answered nothing this time" in done.text
    assert "twin       the same thing for another platform" in done.text
    assert "unknown key: x" in done.text
    assert "taken back" in done.text
    assert answers(reviewed) == [("#902", "#901", "not")]


@pytest.mark.parametrize("end", ["\x03", "\x04"])
def test_leaving_in_the_middle_loses_no_answer(reviewed, tmp_path, end):
    done = type_keys(tmp_path, ["r", end])
    assert done.code == 0
    assert answers(reviewed) == [("#902", "#901", "related")]
    assert "1 pair answered" in done.text


@pytest.mark.parametrize("keys", [b"q", b"\x03"])
def test_the_terminal_is_as_it_was(reviewed, tmp_path, keys):
    terminal, inside = pty.openpty()
    before = termios.tcgetattr(inside)
    command = [sys.executable, "-m", "forgelore.surfaces.cli.main", "dedupe", "review"]
    environ = os.environ | {"FORGELORE_DB": str(tmp_path / "lore.db"), "FORGELORE_EMBEDDER": "none"}
    running = subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, env=environ, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - Ctrl-C is this terminal's
    )  # fmt: skip
    seen = b""
    while b"quit > " not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, keys)
    assert running.wait(60) == 0
    assert termios.tcgetattr(inside) == before
    os.close(terminal)
    os.close(inside)


def test_lines_of_a_pipe_are_answers(reviewed):
    done = reviewed("dedupe", "review", "--as", "ana", stdin=b"what\nsame\nr\n")
    assert done.code == 0, done.err
    assert "unknown key: what" in done.out
    assert "2 pairs answered" in done.out
    assert answers(reviewed)[-1] == ("#902", "#901", "same")


def test_programs_get_the_queue_and_are_asked_nothing(reviewed):
    data = reviewed("dedupe", "review", "--kind", "issue", "--json").data
    first = data["pairs"][0]
    assert (first["newer"]["number"], first["older"]["number"]) == (902, 901)
    assert first["differences"]["title_newer"] == ["page"]
    assert data["left"] == len(data["pairs"]) == 4
    assert 0 < data["forecast"]["duplicates"] < 3
    long = reviewed("dedupe", "review", "--json").data["pairs"]
    assert all(len(one["newer"]["body"]) <= 2_000 for one in long)


def test_answers_become_a_plan(reviewed):
    assert reviewed("dedupe", "review", "#901", "#902", "--answer", "same").out == "#902 and #901: same\n"
    chain = reviewed(
        "dedupe", "run", "--kind", "issue", "--workers", "1", "--json", FORGELORE_MAINTAINERS="mira-k"
    ).data
    closing = [line for line in chain["plan"]["lines"] if not line["reason"]]
    assert [(line["number"], line["target"]) for line in closing] == [(902, 901)]
    assert (chain["unproven"], chain["proven"]) == ("", [])
    assert chain["to_review"] == 3
    told = reviewed("dedupe", "run", "--kind", "issue", "--workers", "1").out
    assert "people decided all of it, so no proof is needed" in told
    assert "3 pairs worth a look: forgelore dedupe review" in told


def test_several_people_are_kept_apart_and_a_disagreement_is_told(reviewed):
    reviewed("dedupe", "review", "#902", "#901", "--answer", "same", "--as", "ana")
    done = reviewed("dedupe", "review", "#902", "#901", "--answer", "t", FORGELORE_ME="ben")
    assert done.out == "#902 and #901: people disagree (ana: same, ben: twin)\n"
    assert "disputed" in reviewed("dedupe", "review", "--answers").out
    assert "people disagree about 1 pair" in reviewed("dedupe", "review", stdin=b"").out
    second = reviewed("dedupe", "review", "--second-opinion", "--as", "cy", "--json").data
    assert [one["answers"] for one in second["pairs"]] == [{"ana": "same", "ben": "twin"}]
    assert reviewed("dedupe", "review", "--undo", "--as", "ben").code == 0
    assert answers(reviewed) == [("#902", "#901", "same")]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["#902", "#901", "--answer", "yes"], 13, "unknown answer: yes"),
        (["#902", "#902", "--answer", "same"], 13, "cannot repeat itself"),
        (["#902", "#4711", "--answer", "same"], 5, "4711"),
        (["--undo", "--as", "nobody"], 5, "nobody has no answers to take back"),
        (["#902", "--answer", "same"], 2, "two items"),
        (["acme/web", "acme/api"], 2, "one project"),
        (["--undo", "--answers"], 2, "cannot be combined"),
        (["--limit", "0"], 13, "limit"),
        (["--closed-since", "some day"], 13, "some day"),
    ],
)
def test_what_means_nothing_is_refused(reviewed, words, code, said):
    done = reviewed("dedupe", "review", *words)
    assert (done.code, said in done.err) == (code, True), done.err


def test_nothing_to_review_says_so(cli, tmp_path):
    (tmp_path / "one.jsonl").write_text(json.dumps(SAME[0]) + "\n")
    assert cli("import", "one.jsonl", "--project", PROJECT).code == 0
    assert "nothing is left to review" in cli("dedupe", "review", stdin=b"").out


def test_nothing_is_said_of_authors_who_are_unknown_and_measured_seconds_are_no_versions(demo, tmp_path, monkeypatch):
    monkeypatch.setenv("FORGELORE_EMBEDDER", "none")
    frame = f"at {'org.example.folders.' * 8}FolderStoreTest.restoreAll(FolderStoreTest.java:112)"
    told = f"Time elapsed: 2.393 s, with release 3.3.6.\n{SAME[0]['body']}\n{frame}\n\n```\n{frame}\n```"
    rows = [
        {**one, "author": None, "body": told, "created_at": "2026-05-01T00:00:00Z", "title": f"{one['title']} ({at})"}
        for at, one in enumerate(SAME, 1)
    ]
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert demo("import", "more.jsonl", "--project", "lanternsync/other").code == 0
    done = type_keys(tmp_path, "q", "lanternsync/other")
    assert "less than a day apart" in done.text
    assert "authors" not in done.text
    assert "@" not in done.text
    assert "version 3.3.6" in done.text
    assert "version 2.393" not in done.text
    shown = [line for line in done.text.splitlines() if "org.example" in line]
    assert shown
    assert all(len(line) <= 100 and len(line) > 60 for line in shown if line.endswith("…"))
    assert [line for line in shown if line.endswith("…")]


def test_series_are_counted_apart_from_the_pairs_before_them(reviewed, tmp_path):
    twins = [
        {**SAME[0], "number": 910 + at, "title": f"{name}: upload stops", "body": f"On {name} it stops at 33 percent."}
        for at, name in enumerate(("Windows", "macOS"))
    ]
    (tmp_path / "twins.jsonl").write_text("".join(json.dumps(one) + "\n" for one in twins))
    assert reviewed("import", "twins.jsonl", "--project", PROJECT).code == 0
    done = type_keys(tmp_path, ["n", "n", "n", "n", "n", "q"])
    assert "1 of 4 · issues" in done.text
    assert "1 of 1 · twins and siblings" in done.text


def test_a_run_without_accepted_pairs_points_at_the_review(reviewed, tmp_path):
    done = reviewed("dedupe", "run", "--kind", "issue", "--out", "plan.md")
    assert "no pair is accepted yet" in done.out
    assert "listed above" not in done.out
    assert "pairs worth a look: forgelore dedupe review" in done.out
    assert "|" not in (tmp_path / "plan.md").read_text()  # no empty tables
