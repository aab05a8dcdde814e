"""`dedupe audit --against human`: a blind sample, labels that stay, and decisions measured by them."""

import json

import pytest

from dedupe.tracker import item, job, ordinary, words_only, write
from forgelore.dedupe.apply import load_audits
from forgelore.dedupe.audit import AuditSetting
from forgelore.dedupe.audit_human import audit_human, list_blind_pairs, save_pair_labels
from forgelore.dedupe.audit_rules import PairLabel, parse_labels
from forgelore.dedupe.candidates import CandidateSetting, make_candidates
from forgelore.dedupe.gates import RuleJudge
from forgelore.dedupe.judge import JudgeSetting, judge_sets
from forgelore.errors import InvalidValue, NotFound
from forgelore.store.sqlite.schema import open_store

COPY = "Folders vanish from the settings"
TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"
JUDGE = RuleJudge(trusts_statements=False)
ISSUES = AuditSetting(kinds=("issue",), sample=40)


@pytest.fixture
def store(tmp_path):
    """Six pairs of copies and ordinary items, judged."""
    store = open_store(str(tmp_path / "lore.db"))
    copies = [item(100 + at, f"{COPY} {at // 2}", f"{TEXT} in version {at // 2} of it") for at in range(12)]
    write(store, [*map(ordinary, range(1, 60)), *copies])
    make_candidates(job(store, 5), words_only(store), "issue", CandidateSetting(min_score=0.0))
    judge_sets(job(store, 6), "issue", JUDGE, JudgeSetting())
    yield store
    store.close()


def say(store, pairs, label, *, said_by="ana", now_ms=7):
    labels = [PairLabel("issue", *pair, label) for pair in pairs]
    return save_pair_labels(store, 1, labels, said_by=said_by, now_ms=now_ms)


def audit(store, setting=ISSUES):
    return audit_human(job(store, 9), JUDGE, setting)


def accepted(store):
    sql = """
        SELECT i.number, t.number FROM decisions d JOIN items i ON i.id = d.item_id JOIN items t ON t.id = d.target_id
        WHERE d.outcome = 'accepted' AND d.is_current
    """
    return sorted({tuple(sorted(pair)) for pair in store.rows(sql)})


def test_the_sample_holds_accepted_pairs_and_others_and_tells_nothing(store):
    pairs = list_blind_pairs(store, 1, JUDGE, ISSUES)
    shown = [(one.first.number, one.second.number) for one in pairs]
    assert set(accepted(store)) <= set(shown)
    assert len(pairs) > len(accepted(store))
    assert all(one.first.number < one.second.number for one in pairs)
    assert [pair in accepted(store) for pair in shown] != sorted([pair in accepted(store) for pair in shown])
    assert pairs == list_blind_pairs(store, 1, JUDGE, ISSUES)
    assert pairs != list_blind_pairs(store, 1, JUDGE, ISSUES._replace(seed=1))
    assert len(set(shown)) == len(shown), "of two copies each may be accepted onto the other"
    assert len(list_blind_pairs(store, 1, JUDGE, ISSUES._replace(sample=4))) == 4


def test_a_walk_goes_on_where_it_was(store):
    first, *rest = list_blind_pairs(store, 1, JUDGE, ISSUES)
    say(store, [(first.target, first.number)], "unsure")
    assert list_blind_pairs(store, 1, JUDGE, ISSUES) == rest


def test_decisions_are_measured_by_labels(store):
    edges = accepted(store)
    others = [
        (one.number, one.target)
        for one in list_blind_pairs(store, 1, JUDGE, ISSUES)
        if (one.first.number, one.second.number) not in edges
    ]
    assert len(edges) == 6
    say(store, edges[:2], "duplicate")
    say(store, edges[2:4], "related")
    say(store, edges[4:], "unsure")
    say(store, others[:1], "duplicate")
    say(store, others[1:3], "different")
    report = audit(store)
    counters = {name: report.counters[name] for name in ("tp", "fp", "fn", "tn", "incomplete", "conflict")}
    assert counters == {"tp": 2, "fp": 2, "fn": 1, "tn": 2, "incomplete": 2, "conflict": 0}
    assert (report.precision.right, report.precision.of) == (2, 4)
    assert [one.audit_class for one in report.disagreements] == ["fp", "fp", "fn"]
    proof = load_audits(store, 1)[0]
    assert (proof.against, proof.labelled, proof.model) == ("human", 4, "rules 2 without statements")


def test_a_stricter_threshold_is_measured_without_asking_anybody(store):
    say(store, accepted(store), "duplicate")
    assert audit(store).counters["tp"] == 6
    strict = audit(store, ISSUES._replace(min_edge=0.99))
    assert (strict.counters["tp"], strict.counters["fn"], strict.parameters["min_edge"]) == (0, 6, 0.99)


def test_the_last_word_counts(store):
    pair = accepted(store)[:1]
    say(store, pair, "duplicate", now_ms=7)
    say(store, [pair[0][::-1]], "different", said_by="zoe", now_ms=8)
    assert audit(store).counters["fp"] == 1
    say(store, pair, "duplicate", now_ms=9)
    assert audit(store).counters["tp"] == 1


def test_labels_of_unknown_items_and_judges_are_refused(store):
    with pytest.raises(NotFound, match="issue 999"):
        say(store, [(999, 1)], "duplicate")
    with pytest.raises(NotFound, match="not decided anything"):
        list_blind_pairs(store, 1, RuleJudge(trusts_statements=True), ISSUES)


def test_a_file_of_labels_is_read_and_open_lines_are_left_out():
    good = {"kind": "issue", "number": 3, "target": 1, "label": "related", "first": {"title": "x"}}
    lines = [json.dumps(good), "", json.dumps(good | {"label": ""})]
    assert parse_labels(enumerate((line.encode() for line in lines), 1)) == [PairLabel("issue", 3, 1, "related")]


@pytest.mark.parametrize("line", ["no", "{}", '{"kind":"issue","number":1,"target":2,"label":"maybe"}', "\xff"])
def test_a_line_that_is_no_label_is_told(line):
    with pytest.raises(InvalidValue, match="line 2"):
        parse_labels([(1, b""), (2, line.encode("latin-1"))])
