"""`evaluate`: what it reports, what it leaves out, and that time and exclusion really hide items."""

import gzip
import json

import pytest

from forgelore.compare.scoring import METRICS


def day(number):
    return f"2026-01-{number:02d}T00:00:00Z"


def issue(number, title, created=None, **more):
    return {"kind": "issue", "number": number, "title": title, "created_at": created or day(number), **more}


TRACKER = [
    issue(1, "window flickers on resize", body="the window flickers whenever it is resized quickly"),
    issue(2, "printer prints blank pages", body="every second page is blank"),
    issue(3, "flickering window when resizing", body="resize the window quickly and it flickers"),
    issue(4, "window flickers again on resize", body="the window flickers whenever it is resized quickly"),
    issue(5, "keyboard layout is forgotten", body="after every restart"),
    {"kind": "change", "number": 6, "title": "stop the window from flickering on resize", "created_at": day(6)},
    {"kind": "change", "number": 7, "title": "window: no flicker on resize", "created_at": day(7)},
    # Later than all others, and about other things: where half of a tracker speaks of windows, the word tells nothing.
    *(issue(number, f"topic{number} is unclear", day(28), body=f"subject{number}") for number in range(20, 36)),
]
REPEATED = {"query": 3, "kind": "issue", "created_at": day(3), "gold": [1]}


def write(path, rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def tracker(cli, tmp_path):
    assert cli("import", write(tmp_path / "tracker.jsonl", TRACKER), "--project", "p").code == 0
    return cli


@pytest.fixture
def ask(tracker, tmp_path):
    """Evaluate some lines and return the data, or the whole run when it may fail."""

    def run(rows, *options, whole=False):
        done = tracker("evaluate", write(tmp_path / "q.jsonl", rows), "--json", *options)
        if whole:
            return done
        assert done.code == 0, done.out
        return done.data

    return run


def test_every_promised_key_is_there_also_for_what_was_not_measured(ask):
    data = ask([REPEATED, {"q": "blank pages", "expect": ["#2"]}])
    for group, n in (("issue", 1), ("change", 0), ("golden", 1)):
        assert set(data[group]) == {"n", *METRICS, "ci95"}
        assert data[group]["n"] == n
        assert set(data[group]["ci95"]) == set(METRICS)
        assert all((data[group][metric] is None) == (n == 0) for metric in METRICS)
    assert (data["issue"]["recall@1"], data["golden"]["mrr"], data["missed"]) == (1, 1, [])


def test_without_an_embedder_it_says_once_that_words_were_all_there_was(ask):
    done = ask([REPEATED, {**REPEATED, "query": 4, "created_at": day(4)}], whole=True)
    assert json.loads(done.out)["data"]["mode"] == "lexical"
    assert len([text for text in json.loads(done.out)["warnings"] if "words only" in text]) == 1
    assert ask([REPEATED], "--mode", "semantic", whole=True).code == 14


def test_later_items_are_hidden_unless_asked_for(ask):
    backwards = {"query": 1, "kind": "issue", "created_at": day(1), "gold": [4]}
    assert ask([backwards])["issue"]["recall@20"] == 0
    assert ask([backwards], "--no-before")["issue"]["recall@20"] == 1
    assert ask([{**backwards, "created_at": day(5)}], "--before")["issue"]["recall@20"] == 1


def test_an_item_of_the_same_moment_is_not_earlier(ask):
    assert ask([{"query": 4, "kind": "issue", "created_at": day(3), "gold": [3]}])["issue"]["mrr"] == 0


def test_the_stored_time_counts_where_the_line_has_none(ask):
    assert ask([{"query": 3, "kind": "issue", "gold": [1]}])["issue"]["recall@1"] == 1
    assert ask([{"query": 3, "kind": "issue", "gold": [4]}])["issue"]["recall@20"] == 0


def test_excluded_items_are_no_candidates(ask, tmp_path):
    query = {"query": 4, "kind": "issue", "gold": [3]}
    assert ask([query])["missed"] == []
    before = ask([query])["issue"]["mrr"]
    after = ask([query], "--exclude", write(tmp_path / "x.json", ["[1]"]))["issue"]["mrr"]
    assert (before, after) == (0.5, 1.0)
    assert ask([query], "--exclude", write(tmp_path / "x.json", ["[3]"]))["issue"]["mrr"] == 0


@pytest.mark.parametrize("text", ["{}", "nonsense", '["a"]', "[-1]", "[99999999999999999999]", ""])
def test_an_exclusion_that_is_no_list_of_numbers_is_an_error(ask, tmp_path, text):
    assert ask([REPEATED], "--exclude", write(tmp_path / "x.json", [text]), whole=True).code == 13


def test_issues_are_compared_with_issues_and_changes_with_changes(ask):
    data = ask([{"query": 7, "kind": "pr", "gold": [6]}, {"query": 7, "kind": "change", "gold": [1]}])
    assert (data["change"]["n"], data["change"]["recall@1"], len(data["left_out"])) == (1, 1, 1)


def test_what_is_no_duplicate_is_counted_and_not_measured(ask):
    data = ask([REPEATED, {"query": 5, "kind": "issue", "gold": []}])
    assert (data["issue"]["n"], data["not_duplicates"]) == (1, 1)
    assert ask([{"query": 5, "kind": "issue", "gold": []}])["issue"]["n"] == 0


def test_bad_lines_are_told_by_number_and_left_out(ask):
    bad = [
        "not json", "[1]", "{}", '{"query": "3", "kind": "issue", "gold": []}', '{"query": 3, "kind": "issue"}',
        '{"query": 3, "kind": "release", "gold": [1]}', '{"q": " ", "expect": ["#1"]}', '{"q": "x", "expect": []}',
        '{"q": "x", "expect": ["a b"]}', '{"q": "window", "expect": ["#1"], "state": "ajar"}',
        '{"query": 3, "kind": "issue", "created_at": "soon", "gold": [1]}', '{"query": -1, "kind": "issue", "gold": [1]}',
        '{"query": 99, "kind": "issue", "gold": [1]}', '{"query": 3, "kind": "issue", "gold": [99]}',
        '{"q": "window", "expect": ["#99"]}', "[" * 100_000,
    ]  # fmt: skip
    done = ask([REPEATED, "", *bad, {"q": "blank pages", "expect": ["#99", "#2"]}], whole=True)
    data = done.data
    assert [entry["line"] for entry in data["left_out"]] == list(range(3, 3 + len(bad)))
    assert (data["issue"]["n"], data["golden"]["n"]) == (1, 1)
    assert any("line 3 " in text for text in json.loads(done.out)["warnings"])


@pytest.mark.parametrize(("rows", "code"), [([], 13), (["nonsense"], 13), ([{**REPEATED, "query": 99}], 5)])
def test_a_file_of_which_nothing_can_be_asked_is_an_error(ask, rows, code):
    assert ask(rows, whole=True).code == code


def test_of_equal_texts_the_youngest_comes_first_every_time(cli, ask, tmp_path):
    twins = [issue(number, "cursor jumps to the left", body="while typing") for number in (11, 12, 13)]
    cli("import", write(tmp_path / "more.jsonl", twins), "--project", "p")
    query = {"query": 13, "kind": "issue", "gold": [12]}
    assert [ask([query])["issue"]["mrr"] for _ in range(3)] == [1.0] * 3


def test_what_was_missed_is_listed_with_where_it_was_and_what_stood_first(ask, tracker, tmp_path):
    query = {"query": 5, "kind": "issue", "created_at": day(5), "gold": [2]}
    missed = ask([query, {"q": "blank pages", "expect": ["#5"]}])["missed"]
    assert missed[-1] == {
        "line": 2, "group": "golden", "query": "blank pages", "title": None, "expected": ["#5"], "rank": None,
        "first": {"ref": "#2", "title": "printer prints blank pages"},
    }  # fmt: skip
    shown = tracker("evaluate", str(tmp_path / "q.jsonl"), "--missed", "5")
    assert "expected #5: not among the hits" in shown.out
    assert "first was #2 printer prints blank pages" in shown.out
    assert ask([query], "--missed", "0")["missed"] == []
    assert ask([query], "--missed", "-1", whole=True).code == 13


def test_filters_of_a_line_limit_its_search(ask):
    query = {"q": "window flicker", "expect": ["#7"]}
    assert ask([{**query, "type": "issue"}])["golden"]["recall@20"] == 0
    assert ask([{**query, "type": ["pr"], "after": day(7)}])["golden"]["recall@1"] == 1


def test_the_table_shows_values_and_intervals(tracker, tmp_path):
    done = tracker("evaluate", write(tmp_path / "q.jsonl", [REPEATED]), "--mode", "lexical")
    assert done.code == 0
    assert "issues (1)" in done.out
    assert "1.000 [0.21, 1.00]" in done.out
    assert "golden" not in done.out


def test_numbers_need_a_project_where_there_are_several(ask, cli, tmp_path):
    cli("import", str(tmp_path / "tracker.jsonl"), "--project", "q")
    assert ask([REPEATED], whole=True).code == 13
    assert ask([REPEATED], "--project", "q")["issue"]["recall@1"] == 1
    assert ask([REPEATED], "--project", "nowhere", whole=True).code == 5
    assert ask([{"q": "blank pages", "expect": ["q#2"]}])["golden"]["n"] == 1


def test_standard_input_and_gzip_are_read(tracker, tmp_path):
    text = (json.dumps(REPEATED) + "\n").encode()
    assert tracker("evaluate", "-", "--json", stdin=text).data["issue"]["n"] == 1
    (tmp_path / "q.gz").write_bytes(gzip.compress(text))
    assert tracker("evaluate", str(tmp_path / "q.gz"), "--json").data["issue"]["n"] == 1
    assert tracker("evaluate", str(tmp_path / "none.jsonl")).code == 5


def test_nothing_indexed_is_an_error_that_says_what_to_do(cli, tmp_path):
    cli("import", write(tmp_path / "tracker.jsonl", TRACKER), "--project", "p", "--no-docs")
    done = cli("evaluate", write(tmp_path / "q.jsonl", [REPEATED]))
    assert done.code == 5
    assert "generate-docs" in done.err


DECIDED = {"threshold", "precision", "recall", "false_alarms", "recall@fa1", "recall@fa5", "precision_at_prevalence"}
NOT_REPEATED = [{"query": number, "kind": "issue", "gold": []} for number in (2, 5, 20, 21, 22)]


def test_decide_says_what_triage_would_have_said(ask):
    data = ask([REPEATED, {"query": 4, "kind": "issue", "gold": [1, 3]}, *NOT_REPEATED], "--decide")
    decision = data["issue"]["decision"]
    assert set(decision) >= DECIDED
    assert (decision["threshold"], decision["duplicates"], decision["others"]) == (0.92, 2, 5)
    assert decision["false_alarms"] == 0
    assert decision["recall"] == data["issue"]["n"] * decision["recall"] / 2 > 0
    assert decision["precision"] == decision["precision_at_prevalence"] == 1
    assert decision["recall@fa1"] <= decision["recall@fa5"] <= 1
    assert data["change"]["decision"] is None
    assert data["not_duplicates"] == 5


def test_a_lower_threshold_warns_more_often(ask):
    rows = [REPEATED, *NOT_REPEATED]
    low, high = (ask(rows, "--decide", "--threshold", bar)["issue"]["decision"] for bar in ("0", "1"))
    assert (low["false_alarms"], low["recall"]) == (pytest.approx(1, abs=0.41), 1)
    assert (high["false_alarms"], high["recall"], high["precision"]) == (0, 0, None)
    assert ask(rows, "--decide", "--threshold", "2", whole=True).code == 13


def test_without_decide_nothing_is_decided(ask):
    assert "decision" not in ask([REPEATED, *NOT_REPEATED])["issue"]


def test_the_decision_is_a_table_for_people(tracker, tmp_path):
    done = tracker("evaluate", write(tmp_path / "q.jsonl", [REPEATED, *NOT_REPEATED]), "--decide")
    assert "precision_at_prevalence" in done.out
    assert "issues (6)" in done.out


def test_a_file_of_non_duplicates_alone_shows_the_noise(ask):
    decision = ask(NOT_REPEATED, "--decide")["issue"]["decision"]
    assert decision["false_alarms"] == 0
    assert decision["recall"] is decision["precision"] is None
