"""`calibrate`: what it learns from a project's own duplicates, and when it leaves things as they are."""

import itertools
import json
import re

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forgelore.compare.calibrate import recalibrate
from forgelore.compare.trees import VERSION
from forgelore.ports.progress import Watcher
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import load_duplicates
from forgelore.store.sqlite.schema import open_store
from forgelore.surfaces.cli.progress import ProgressLog

WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "haven", "inlet", "jetty", "knoll", "larch")


def day(number):
    return f"20{20 + number // 300}-{number // 25 % 12 + 1:02}-{number % 25 + 1:02}T00:00:00Z"


def issue(number, title, body="", **more):
    return {"kind": "issue", "number": number, "title": title, "body": body, "created_at": day(number), **more}


def said(number):
    return {"notes": [{"author": "ann", "body": f"Duplicate of #{number}", "created_at": day(900)}], "state": "closed"}


def tracker(pairs, items=240):
    """Issues that share a word with a few others; the last ones repeat the first ones, a year or so later."""
    rows = [
        issue(at, f"{WORDS[at % 12]} alpha{at} beta{at}", f"gamma{at} with delta{at} and eps{at}")
        for at in range(1, items + 1)
    ]  # fmt: skip
    again = range(1, pairs + 1)
    return rows + [issue(items + at, f"alpha{at} beta{at}", f"gamma{at} and delta{at}", **said(at)) for at in again]


@pytest.fixture
def load(cli, tmp_path):
    def run(rows):
        path = tmp_path / "tracker.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        assert cli("import", str(path), "--project", "p").code == 0
        return cli

    return run


def stored(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    rows = store.rows("SELECT kind, pairs, others, slope, report FROM calibrations")
    store.close()
    return rows


def test_enough_history_makes_a_chance_of_the_projects_own(load, tmp_path):
    cli = load(tracker(40))
    (kind,) = cli("calibrate", "--json").data["kinds"]
    assert (kind["kind"], kind["pairs"], kind["kept"]) == ("issue", 40, None)
    assert kind["found_first"] >= 36
    assert kind["chance"]["source"] == "project"
    assert kind["chance"]["calibration_error"] <= 0.2
    at = {threshold["similarity"]: threshold for threshold in kind["thresholds"]}
    assert set(at) == {0.75, 0.92, 0.99}
    assert at[0.75]["recall"] >= at[0.92]["recall"] >= at[0.99]["recall"]
    assert 0 < at[0.75]["precision"] <= 1
    ((stored_kind, pairs, others, slope, report),) = stored(tmp_path)
    assert (stored_kind, pairs) == ("issue", 40)
    assert others > 100 and slope > 0
    assert json.loads(report)["thresholds"][0]["similarity"] == 0.75


def test_what_was_learned_is_what_similar_says(load):
    cli = load(tracker(40))
    before = cli("similar", "#250", "--json").data["chance"]
    cli("calibrate")
    after = cli("similar", "#250", "--json").data["chance"]
    assert before["source"] == "shipped"
    assert (after["source"], after["pairs"]) == ("project", 40)
    assert after["value"] > before["value"]


def dump(path):
    """Every row of every table of the file."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}
    finally:
        connection.close()


def with_a_form(rows):
    """Template lines, which `calibrate` learns too, and changes beside the issues."""
    for row in rows:
        row["body"] = f"### Steps to reproduce\n{row['body']}"
    return [*rows, *({**row, "kind": "change", "number": row["number"] + 1000} for row in rows[:120])]


def test_a_chance_of_another_ranking_is_not_used_and_that_is_told(load, tmp_path):
    cli = load(tracker(40))

    def similar():
        told = json.loads(cli("similar", "#245", "--mode", "lexical", "--json").out)
        return told["data"]["chance"]["source"], told["warnings"]

    cli("calibrate")
    assert similar() == ("project", [])
    store = open_store(str(tmp_path / "lore.db"))
    store.run("UPDATE calibrations SET model = 'words 1'")
    store.close()
    source, (warning,) = similar()
    assert source == "shipped" and warning.endswith("run: forgelore calibrate")
    cli("calibrate")
    assert similar() == ("project", [])


OLDER = """
    UPDATE {} SET model = replace(model, 'words {}', 'words 1')
"""


def learned(tmp_path, *statements):
    """Which models have learned something of the project, after these statements."""
    store = open_store(str(tmp_path / "lore.db"))
    for statement in statements:
        store.run(statement)
    rows = store.rows("SELECT model FROM nearest_strengths UNION SELECT model FROM calibrations")
    store.close()
    return [model for (model,) in rows]


@pytest.mark.parametrize(("pairs", "told"), [(40, "recalibrated: 40 known duplicates"), (5, "only 5 known")])
def test_what_an_older_ranking_learned_is_learned_anew_once_and_told(load, tmp_path, pairs, told):
    cli = load(tracker(pairs))
    cli("calibrate")
    now = learned(tmp_path)
    older = [OLDER.format(table, VERSION) for table in ("nearest_strengths", "calibrations")]
    assert learned(tmp_path, *older) == ["words 1"]
    rows = [*tracker(pairs), issue(900, "zeta eta theta")]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, rows)))
    warnings = [json.loads(cli("import", str(tmp_path / "more.jsonl"), "--project", "p", "--json").out)["warnings"]
                for _ in range(2)]  # fmt: skip
    assert [len(each) for each in warnings] == [1, 0]
    assert "the ranking has changed" in warnings[0][0] and told in warnings[0][0]
    assert learned(tmp_path) == now
    assert cli("similar", "#245", "--mode", "lexical", "--json").data["chance"]["source"] == (
        "project" if pairs == 40 else "shipped"
    )


class Recorder(Watcher):
    """Writes down what it is told, and stops the run at one of the duplicates."""

    def __init__(self, stop_at):
        super().__init__(self.hear)
        self.told, self.ranked, self.stop_at = [], 0, stop_at

    def hear(self, event):
        if event.note:
            self.told.append(event.note)
        elif not event.done and not event.is_finished:
            self.told.append((event.stage, event.expected))
        if event.stage == "issue duplicates":
            self.ranked = event.done

    def should_stop(self):
        return self.ranked >= self.stop_at


def test_learning_anew_is_announced_and_stopping_it_leaves_what_was_learned(load, tmp_path):
    cli = load(tracker(40))
    cli("calibrate")
    older = [OLDER.format(table, VERSION) for table in ("nearest_strengths", "calibrations")]
    assert learned(tmp_path, *older) == ["words 1"]
    store = open_store(str(tmp_path / "lore.db"))
    before = store.rows("SELECT * FROM calibrations")
    project = store.value("SELECT id FROM projects")

    def run(stop_at):
        watcher = Recorder(stop_at)
        said = recalibrate(store, [project], lambda: Retriever(store), watcher=watcher, should_stop=watcher.should_stop)
        return watcher, said

    watcher, said = run(stop_at=5)
    assert "recalibrated once" in watcher.told[0]
    assert watcher.told[1:] == [("sample of issues", 280), ("issue duplicates", 40)]
    assert (watcher.ranked, said) == (5, [])
    assert store.rows("SELECT * FROM calibrations") == before
    watcher, said = run(stop_at=1_000)
    assert watcher.told[1][1] < 20, "the sample of the first run is kept; a few items have nothing before them"
    assert "40 known duplicates" in said[0]
    assert store.rows("SELECT * FROM calibrations") != before
    assert run(stop_at=1_000)[0].told == []
    store.close()


def test_what_another_embedder_learned_waits_for_it(load, tmp_path):
    """An import without the embedder must not use up what is to be learned anew with it."""
    cli = load(tracker(40))
    cli("calibrate")
    older = [f"UPDATE {table} SET model = 'lore 1 x'" for table in ("nearest_strengths", "calibrations")]
    assert learned(tmp_path, *older) == ["lore 1 x"]
    done = json.loads(cli("import", str(tmp_path / "tracker.jsonl"), "--project", "p", "--json").out)
    assert done["warnings"] == []
    assert learned(tmp_path) == ["lore 1 x"]


def test_a_project_that_nobody_calibrated_is_not_calibrated_by_an_import(load, tmp_path):
    load(tracker(40))
    assert learned(tmp_path) == []


def test_a_dry_run_writes_nothing_and_says_what_a_run_would(load, tmp_path):
    cli = load(with_a_form(tracker(40)))
    before, likeness = dump(tmp_path / "lore.db"), cli("similar", "#250", "--json").data
    dry = cli("calibrate", "--dry-run", "--json").data
    assert "would be used" in cli("calibrate", "--dry-run").out
    assert dump(tmp_path / "lore.db") == before
    assert cli("similar", "#250", "--json").data == likeness
    real = cli("calibrate", "--json").data
    assert real["kinds"] == dry["kinds"]
    assert real["kinds"][0]["kept"] is None
    assert dump(tmp_path / "lore.db") != before


def test_a_dry_run_after_a_run_leaves_what_that_one_learned(load, tmp_path):
    cli = load(tracker(40))
    cli("calibrate")
    load(with_a_form(tracker(60)))  # there is more to learn now
    before = dump(tmp_path / "lore.db")
    assert cli("calibrate", "--dry-run", "--json").data["kinds"]
    assert dump(tmp_path / "lore.db") == before


def test_no_progress_line_counts_more_than_there_are(load, monkeypatch, capsys):
    """Issues and changes are sampled one after the other; their rows were added up under the first total."""
    cli = load(with_a_form(tracker(40)))
    monkeypatch.setattr("forgelore.surfaces.cli.progress.time.monotonic", itertools.count(0, 60).__next__)
    said = cli("calibrate", "--dry-run").err
    counts = [(int(done), int(total)) for done, total in re.findall(r"(\d+) of (\d+)", said.replace(",", ""))]
    assert len(counts) > 10
    assert all(done <= total for done, total in counts)
    assert "sample of changes: 120" in said


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 900)), max_size=8), st.integers(0, 800))
def test_whatever_total_a_forge_tells_no_more_than_that_is_counted(capsys, saved, total):
    log = ProgressLog("p")
    watcher = Watcher(log.show)
    for name in "ab":
        watcher.begin(name, name, total)
    for name, rows in saved:
        log._last = -100.0  # ten seconds have passed
        watcher.saved(name, rows)
        watcher.done(name)
    said = capsys.readouterr().err.replace(",", "")
    assert all(int(done) <= int(of) for done, of in re.findall(r"(\d+) of (\d+)", said))


def test_too_little_history_keeps_the_shipped_chance_and_says_so(load, tmp_path):
    cli = load(tracker(12))
    done = cli("calibrate")
    assert done.code == 0
    assert "only 12 known duplicates; at least 30 are needed" in done.out
    assert stored(tmp_path) == []
    assert cli("calibrate", "--json").data["kinds"][0]["chance"]["source"] == "shipped"


def test_a_project_without_duplicates_or_items_is_no_error(load, cli):
    load(tracker(0, items=5))
    assert "0 known duplicates" in cli("calibrate").out
    load([{"kind": "release", "number": 1, "title": "v1", "created_at": day(1)}])


def test_the_same_history_gives_the_same_numbers(load):
    cli = load(tracker(35))
    assert cli("calibrate", "--json").data == cli("calibrate", "--json").data


def test_several_projects_must_be_told_apart(load, cli, tmp_path):
    load(tracker(0, items=5))
    cli("import", str(tmp_path / "tracker.jsonl"), "--project", "q")
    done = cli("calibrate", "--json")
    assert done.code == 13
    assert done.error["hint"] == "name a project: p, q"
    assert cli("calibrate", "--project", "q", "--json").data["project"] == "q"


def test_only_links_that_stand_for_a_repetition_are_pairs(load, tmp_path):
    load([
        issue(1, "first"), issue(2, "second", **said(1)), issue(3, "opinion", **{**said(1), "state": "open"}),
        issue(4, "later named", **said(5)), issue(5, "fifth"), issue(6, "nowhere", **said(99)),
        {**issue(7, "a change", **said(1)), "kind": "change"},
    ])  # fmt: skip
    store = open_store(str(tmp_path / "lore.db"))
    ids = dict(store.rows("SELECT id, number FROM items"))
    found = load_duplicates(store, 1, "issue", limit=10)
    assert {ids[item]: {ids[target] for target in targets} for item, targets in found.items()} == {2: {1}}
    store.close()
