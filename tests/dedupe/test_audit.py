"""`dedupe audit`: two judges through the same gates, and one judge beside what the project knows, as of then."""

import json
import threading

import pytest

from dedupe.tracker import item, job, ordinary, words_only, write
from forgelore.dedupe.apply import load_audits
from forgelore.dedupe.audit import AuditSetting, audit_history, audit_lanes
from forgelore.dedupe.candidates import make_candidates
from forgelore.dedupe.gates import RuleJudge
from forgelore.dedupe.verdict import JudgeAnswer, parse_verdict
from forgelore.errors import NotFound
from forgelore.store.decisions import list_runs
from forgelore.store.sqlite.schema import open_store

TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"
COPY = "Folders vanish from the settings"
OTHER = "The relay forgets its certificate after a restart, so that every client has to be paired again by hand"
ISSUES = AuditSetting(kinds=("issue",), others=5)


class NamingJudge:
    """A judge that names a target for each source, as a model would; what it is not told of is no duplicate."""

    name = "llm"

    def __init__(self, targets, model="scripted", **more):
        self.targets, self.model, self.more, self.asked = targets, model, more, []

    def ask(self, question):
        self.asked.append(question)
        target = self.targets.get(question.source.number)
        if target == "failed":
            return JudgeAnswer(None)
        said = {
            "is_duplicate": target is not None, "target": target, "confidence": 0.95, "relation": "same_instance",
            "root_cause": "same", "scope": "same_scope", "path": "same", "certainty": "sure", "reasoning": "both",
            "facts": ["empties the list of folders", "no folder left to sync"],
        }  # fmt: skip
        return JudgeAnswer(parse_verdict(json.dumps(said | self.more)), facts_found=2)


def context(store, should_stop=lambda: False):
    return job(store, 9, should_stop)


def duplicate(number, of, title, body, **more):
    """A closed item of which its own comment says what it repeats."""
    said = [{"body": f"duplicate of #{of}", "created_at": "2025-01-20T00:00:00Z", "author": "ana"}]
    return item(number, title, body, state="closed", state_reason="duplicate", notes=said, **more)


@pytest.fixture
def make(tmp_path):
    opened = []

    def make(*items):
        store = open_store(str(tmp_path / f"{len(opened)}.db"))
        opened.append(store)
        write(store, [*map(ordinary, range(1, 60)), *items])
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make):
    """Open copies with their candidates."""
    store = make(*(item(number, COPY, TEXT, author="ann") for number in (101, 102, 103)))
    make_candidates(job(store, 5), words_only(store), "issue")
    return store


def test_two_judges_answer_the_same_questions_through_the_same_gates(store):
    cheap = NamingJudge({101: 102, 102: 101, 103: 101})
    strong = NamingJudge({101: 103, 102: 101}, model="strong")
    report = audit_lanes(context(store), cheap, strong, ISSUES._replace(sample=1000))
    classes = {one.number: one.audit_class for one in report.disagreements}
    assert classes == {101: "conflict", 103: "fp"}
    assert (report.counters["tp"], report.counters["conflict"], report.counters["fp"]) == (1, 1, 1)
    assert [one.source.number for one in cheap.asked] == [one.source.number for one in strong.asked]
    assert (report.precision.right, report.precision.of, report.against) == (1, 2, "strong")
    assert report.reference == "llm strong"


@pytest.mark.parametrize(
    "more", [{"confidence": 0.84}, {"certainty": "unsure"}, {"relation": "different"}, {"target": 9999}]
)
def test_a_gate_that_objects_in_the_batch_objects_in_an_audit(store, more):
    report = audit_lanes(context(store), NamingJudge({101: 102}, **more), NamingJudge({101: 102}, "b"), ISSUES)
    assert (report.counters["tp"], report.counters["fn"]) == (0, 1)


def test_a_judge_that_fails_is_incomplete_and_counts_for_nothing(store):
    report = audit_lanes(context(store), NamingJudge({101: "failed"}), NamingJudge({101: 102}, "b"), ISSUES)
    assert report.counters["incomplete"] == 1
    assert report.precision is None
    assert report.recall is None


def test_the_same_seed_gives_the_same_sample(store):
    def sources(seed):
        judge = NamingJudge({})
        audit_lanes(context(store), judge, NamingJudge({}, "b"), ISSUES._replace(sample=2, seed=seed))
        return [one.source.number for one in judge.asked]

    samples = [sources(seed) for seed in range(6)]
    assert sources(3) == samples[3]
    assert all(len(one) == 2 for one in samples)
    assert len({tuple(one) for one in samples}) > 1


def test_an_audit_of_lanes_is_kept_and_proves_nothing(store):
    report = audit_lanes(context(store), RuleJudge(), NamingJudge({101: 102}), ISSUES)
    run = list_runs(store, 1, step="audit")[0]
    assert (run.id, run.status, run.parameters["policy"]) == (report.run, "done", "batch")
    assert (run.parameters["min_edge"], run.parameters["min_gap"]) == (0.85, 0.26)
    assert load_audits(store, 1) == []


def test_without_fresh_candidates_there_is_nothing_to_audit(make):
    with pytest.raises(NotFound, match="fresh candidates"):
        audit_lanes(context(make()), RuleJudge(), NamingJudge({}), ISSUES)


@pytest.fixture
def past(make):
    """Known duplicates: 121 of an item that was open then and is closed today, 122 of 121, 123 of one that was closed
    before it was filed; 124 is a copy of which nobody said so.
    """
    return make(
        item(120, COPY, TEXT, state="closed", closed_at="2025-03-01T00:00:00Z"),
        duplicate(121, 120, COPY, TEXT),
        duplicate(122, 121, COPY, TEXT),
        item(110, "Pairing is lost", OTHER, state="closed", closed_at="2024-04-28T00:00:00Z"),
        duplicate(123, 110, "Pairing is lost", OTHER),
        item(124, COPY, TEXT),
    )


def test_known_duplicates_are_replayed_as_of_their_filing(past):
    report = audit_history(context(past), words_only(past), RuleJudge(trusts_statements=False), ISSUES)
    assert (report.counters["tp"], report.counters["fn"], report.counters["known"]) == (2, 1, 3)
    assert report.counters["original_offered"] == 2
    assert [(one.audit_class, one.number) for one in report.disagreements if one.audit_class == "fn"] == [("fn", 123)]
    assert report.precision.of == 2
    run = load_audits(past, 1)[0]
    assert (run.against, run.judge, run.labelled, run.policy) == ("history", "builtin", 2, "batch")


def test_any_item_of_the_known_group_is_right_and_another_one_is_a_conflict(past):
    right = audit_history(context(past), words_only(past), NamingJudge({122: 120}), ISSUES)
    assert right.counters["tp"] == 1
    asked = NamingJudge({122: 5})
    wrong = audit_history(context(past), words_only(past), asked, ISSUES)
    assert wrong.counters["tp"] == 0, "5 is no candidate"
    offered = {one.source.number: [each.item.number for each in one.candidates] for one in asked.asked}
    assert 124 not in {number for each in offered.values() for number in each}, "it was not there yet"
    assert all(number < source for source, each in offered.items() for number in each)


def test_what_the_judge_accepts_of_other_items_is_shown_and_counts_for_nothing(past):
    report = audit_history(
        context(past), words_only(past), RuleJudge(trusts_statements=False), ISSUES._replace(others=1000)
    )
    assert [(one.number, one.judged.target) for one in report.disagreements if one.audit_class == "unlabelled"] == [
        (124, 120)
    ]
    assert report.precision.of == 2
    assert report.counters["unlabelled"] == 1


class CrowdedJudge(NamingJudge):
    """Answers nobody before so many ask at once."""

    def __init__(self, targets, wanted):
        super().__init__(targets)
        self.wanted, self.most, self._here, self._door = wanted, 0, 0, threading.Condition()

    def ask(self, question):
        with self._door:
            self._here += 1
            self.most = max(self.most, self._here)
            self._door.notify_all()
            self._door.wait_for(lambda: self.most >= self.wanted, 10)
        try:
            return super().ask(question)
        finally:
            with self._door:
                self._here -= 1


def test_a_replay_asks_several_questions_at_once(past):
    targets = {121: 120, 122: 120}
    alone = audit_history(context(past), words_only(past), NamingJudge(targets), ISSUES)
    judge = CrowdedJudge(targets, 2)
    together = audit_history(context(past), words_only(past), judge, ISSUES._replace(workers=2))
    assert judge.most == 2
    assert together.counters == alone.counters
    assert together.counters["tp"] == 2


def test_a_sample_of_known_duplicates_is_as_large_as_was_asked(past):
    setting = ISSUES._replace(sample=2, others=0)
    report = audit_history(context(past), words_only(past), RuleJudge(trusts_statements=False), setting)
    assert report.counters["known"] == 2
    assert "others" not in report.counters


def test_an_audit_that_was_stopped_proves_nothing(past):
    report = audit_history(context(past, lambda: True), words_only(past), RuleJudge(trusts_statements=False), ISSUES)
    assert report.status == "stopped"
    assert load_audits(past, 1) == []


def test_a_project_without_known_duplicates_cannot_be_measured_by_them(make):
    store = make()
    with pytest.raises(NotFound, match="no duplicate has been marked"):
        audit_history(context(store), words_only(store), RuleJudge(), ISSUES)
