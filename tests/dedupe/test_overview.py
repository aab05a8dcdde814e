"""What reviewers see: clusters with the evidence behind each edge, the plan as it was kept, audits with their sweeps."""

import pytest

from dedupe.tracker import id_of, item, job, ordinary, words_only, write
from forgelore.dedupe.audit import AuditSetting, audit_lanes
from forgelore.dedupe.audit_human import StoredJudge
from forgelore.dedupe.audit_rules import GateBounds
from forgelore.dedupe.candidates import make_candidates
from forgelore.dedupe.gates import RuleJudge
from forgelore.dedupe.judge import JudgeSetting, judge_sets
from forgelore.dedupe.overrides import override
from forgelore.dedupe.plan import ClusterSettings, PlanSettings, canonicalize, plan_closings
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.report import analyse_audit, find_audit, load_overview
from forgelore.errors import InvalidValue, NotFound
from forgelore.store.decisions import Decision
from forgelore.store.projects import list_projects
from forgelore.store.sqlite.schema import open_store

TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"
CHEAP, STRONG = RuleJudge(trusts_statements=False), RuleJudge()


@pytest.fixture
def store(tmp_path):
    """Three copies of one report, two of another, judged and clustered."""
    store = open_store(str(tmp_path / "lore.db"))
    copies = [item(number, "Folders vanish from the settings", TEXT) for number in (101, 102, 103)]
    pair = [item(number, "The relay is slow", f"{TEXT} when paired with another relay") for number in (111, 112)]
    write(store, [*map(ordinary, range(1, 60)), *copies, *pair])
    make_candidates(job(store, 5), words_only(store), "issue")
    judge_sets(job(store, 6), "issue", CHEAP, JudgeSetting())
    cluster(store)
    yield store
    store.close()


def project(store):
    return list_projects(store)[0]


def cluster(store):
    canonicalize(job(store, 7), ClusterSettings())


def audit(store, judge=CHEAP, other=STRONG):
    context = job(store, 9)
    return audit_lanes(context, judge, other, AuditSetting(kinds=("issue",)))


def overview(store, **more):
    return load_overview(store, project(store), 10, **more)


def test_clusters_come_largest_first_with_the_evidence_of_each_edge(store):
    found = overview(store)
    assert [[one.number for one in each.items] for each in found.clusters] == [[101, 102, 103], [111, 112]]
    first = found.clusters[0]
    assert (first.canonical, first.kind) == (101, "issue")
    assert {frozenset((edge.number, edge.target)) for edge in first.edges} >= {frozenset((101, 102))}
    assert len(first.edges) == len({frozenset((edge.number, edge.target)) for edge in first.edges})
    edge = first.edges[0]
    assert edge.judge == "builtin rules 2 without statements"
    assert "rule: same text" in edge.reasoning
    assert edge.facts
    assert edge.similarity >= 0.99
    assert first.items[0].body.startswith("Opening")


def test_a_persons_own_word_is_told_as_theirs(store):
    override(store, 1, "accept", id_of(store, 112), id_of(store, 101), said_by="ana", now_ms=8)
    cluster(store)
    (found,) = overview(store).clusters
    said = [edge for edge in found.edges if (edge.number, edge.target) == (112, 101)]
    assert [(edge.judge, edge.confidence) for edge in said] == [("a person", 1.0)]


def test_a_verdict_that_nobody_can_read_leaves_the_edge(store):
    store.run("UPDATE decisions SET verdict = '{}'")
    edge = overview(store).clusters[0].edges[0]
    assert (edge.reasoning, edge.confidence) == ("", 0.94)


def test_small_clusters_are_left_out_and_counted(store):
    found = overview(store, most=1)
    assert (len(found.clusters), found.more_clusters) == (1, 1)


def test_the_newest_plan_is_shown_as_it_was_kept(store):
    assert overview(store).plan is None
    made = plan_closings(job(store, 8), PlanSettings(min_close=0.8))
    assert overview(store).plan == made
    plan_closings(job(store, 9), PlanSettings(min_close=0.95))
    assert overview(store).plan.min_close == 0.95


def test_of_each_kind_of_audit_the_newest_is_shown(store):
    audit(store)
    second, third = audit(store), audit(store, STRONG, CHEAP)
    assert [one.report.run for one in overview(store).audits] == [third.run, second.run]


def test_an_audit_is_found_by_its_number_or_as_the_newest(store):
    with pytest.raises(NotFound, match="no audit yet"):
        find_audit(store, 1, None)
    run = audit(store).run
    assert find_audit(store, 1, None).id == find_audit(store, 1, run).id == run
    with pytest.raises(InvalidValue, match="not an audit but a run of candidates"):
        find_audit(store, 1, 1)


def test_an_analysis_holds_the_judge_to_stricter_bounds(store):
    run = find_audit(store, 1, audit(store).run)
    plain, strict = (analyse_audit(store, run, bounds) for bounds in (GateBounds(), GateBounds(confidence_min=0.99)))
    assert plain.simulated is None
    assert plain.report.counters["tp"] == 5
    assert (strict.simulated.classes["tp"], strict.simulated.classes["fn"]) == (0, 5)
    assert plain.report == strict.report


@pytest.mark.parametrize(
    ("reason", "verdict", "expected"),
    [("judge_failed", "", ReasonCode.JUDGE_FAILED), ("", "", None), ("invalid_verdict", '{"problem": "x"}', None)],
)
def test_a_kept_decision_without_a_verdict_is_no_answer(reason, verdict, expected):
    made = Decision(1, 1, 1, None, "batch", "llm", "m", "", None, None, None, verdict, "skipped", reason)
    answer = StoredJudge(made).ask(None)
    assert answer.reason == expected
    assert answer.verdict is None or isinstance(answer.verdict, str)
