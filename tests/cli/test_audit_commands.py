"""`dedupe audit` and `dedupe report` as a person types them, on the example project."""

import json

import pytest

from cli.terminals import run_in_terminal

COPIED = (
    {"kind": "issue", "number": 901, "title": "Folders vanish from the settings", "state": "open", "body": "Opening the"
     " settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync",
     "created_at": "2026-01-01T00:00:00Z"},
    {"kind": "issue", "number": 902, "title": "Folders vanish from the settings", "state": "open", "body": "Opening the"
     " settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync",
     "created_at": "2026-01-02T00:00:00Z"},
)  # fmt: skip


@pytest.fixture
def judged(demo, tmp_path):
    """The example project with two copies, judged by the builtin rules."""
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in COPIED))
    assert demo("import", "more.jsonl", "--project", "lanternsync/lantern").code == 0
    assert demo("dedupe", "candidates", "--kind", "issue", "--workers", "1", "--min-score", "0").code == 0
    assert demo("dedupe", "judge", "--kind", "issue").code == 0
    return demo


def test_history_measures_the_builtin_rules(judged):
    done = judged("dedupe", "audit", "--against", "history", "--kind", "issue", "--others", "3")
    assert done.code == 0
    assert "measured by known duplicates" in done.out
    assert "precision: " in done.out
    assert "no accepted edge has a label: this proves nothing for closings" in done.out
    data = judged("dedupe", "judge-audit", "--against", "history", "--sample", "4", "--others", "0", "--json").data
    assert data["counters"]["known"] == 4
    assert data["parameters"]["policy"] == "batch"


def test_lanes_are_named_and_models_need_settings(judged):
    both = judged("dedupe", "audit", "--cheap", "builtin", "--strong", "statements", "--json").data
    assert both["against"] == "strong"
    assert both["counters"]["tp"] >= 2
    assert judged("dedupe", "audit", "--cheap", "builtin", "--strong", "builtin").code == 13
    assert judged("dedupe", "audit", "--cheap", "builtin", "--strong", "nobody").code == 13
    refused = judged("dedupe", "audit")
    assert refused.code != 0
    assert "--against history" in refused.err
    assert judged("dedupe", "audit", "--against", "history", "--judge", "statements").code == 13


@pytest.mark.parametrize("words", [["--sample", "0"], ["--min-edge", "2"], ["--against", "history", "--others", "-1"]])
def test_numbers_that_mean_nothing_are_refused(judged, words):
    assert judged("dedupe", "audit", "--cheap", "builtin", "--strong", "statements", *words).code == 13


def test_labels_go_out_and_come_back_in_files(judged, tmp_path):
    written = judged("dedupe", "audit", "--against", "human", "--pairs", "ask.jsonl", "--sample", "10")
    assert "fill in each label" in written.out
    lines = [json.loads(line) for line in (tmp_path / "ask.jsonl").read_text().splitlines()]
    assert {901, 902} in [{line["number"], line["target"]} for line in lines]
    assert not {"confidence", "similarity", "outcome"} & {key for line in lines for key in line}
    for line in lines:
        line["label"] = "duplicate" if line["number"] in (901, 902) else "different"
    (tmp_path / "ask.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = judged("dedupe", "audit", "--against", "human", "--labels", "ask.jsonl", "--json").data
    assert (data["counters"]["tp"], data["precision"]["of"]) == (1, 1)
    assert judged("dedupe", "audit", "--against", "human", "--pairs", "none/ask.jsonl").code == 8
    assert judged("dedupe", "audit", "--against", "history", "--labels", "ask.jsonl").code == 2
    assert judged("dedupe", "audit", "--against", "human", "--labels", "missing.jsonl").code == 5


def test_without_a_terminal_or_a_file_nobody_is_asked(judged):
    refused = judged("dedupe", "audit", "--against", "human")
    assert refused.code == 2
    assert "needs a terminal" in refused.err
    assert "--labels" in refused.err


@pytest.mark.parametrize("columns", [80, 140])
def test_a_person_walks_through_the_sample_and_may_stop(judged, tmp_path, columns):
    words = ("dedupe", "audit", "--against", "human", "--sample", "10")
    environ = {"FORGELORE_DB": str(tmp_path / "lore.db")}
    screen = run_in_terminal(*words, environ=environ, columns=columns, typed="x\nm\ny\nn\nr\nq\n")
    assert screen.code == 0, screen.text
    assert "1 of 10 (issues)" in screen.text
    assert "4 of 10 (issues)" in screen.text
    assert "7 pairs are left" in screen.text
    assert ("│" in screen.text) == (columns == 140)
    assert "similarity" not in screen.text.partition("7 pairs are left")[0]
    again = run_in_terminal(*words, environ=environ, columns=columns, typed="s\nq\n")
    assert "1 of 7 (issues)" in again.text


def test_a_report_simulates_stricter_gates_without_a_new_audit(judged):
    assert judged("dedupe", "report").code == 5
    run = judged("dedupe", "audit", "--cheap", "builtin", "--strong", "statements", "--json").data["run"]
    runs = len(judged("dedupe", "runs", "--json").data)
    found = judged("dedupe", "report", str(run), "--json").data
    assert found["simulated"] is None
    assert found["report"]["run"] == run
    accepted = [row["scores"]["classes"]["tp"] for row in found["sweeps"] if row["bound"] == "confidence_min"]
    assert accepted[0] == 2
    assert accepted[-1] == 0
    strict = judged("dedupe", "report", "--gate-confidence-min", "0.99", "--json").data
    assert (strict["simulated"]["classes"]["tp"], strict["simulated"]["classes"]["fn"]) == (0, 2)
    shown = judged("dedupe", "report-audit", "--gate-rank-max", "1", "--gate-score-min", "0.5", "--gate-gap-min", "0")
    assert "with rank at most 1, similarity at least 0.5, gap at least 0:" in shown.out
    assert "precision: 1.00" in shown.out
    assert len(judged("dedupe", "runs", "--json").data) == runs


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["999"], 5),
        (["1"], 13),
        (["--gate-score-min", "7"], 13),
        (["--gate-rank-max", "0"], 13),
        (["--gate-confidence-min", "-1"], 13),
    ],
)
def test_a_report_of_something_else_is_refused(judged, words, code):
    judged("dedupe", "audit", "--cheap", "builtin", "--strong", "statements")
    assert judged("dedupe", "report", *words).code == code
