"""The language model as a judge, behind a scripted server: what it is shown, what it costs, and what it cannot do."""

import json
import re

import pytest

from dedupe.scripted_models import copies_of, data_in, llm_judge, none_of_them, numbers_in, verdict
from dedupe.test_judge import COPY, TEXT, decision, edges, judge, template  # noqa: F401 - a fixture
from dedupe.tracker import id_of, item, job, words_only, write
from forgelore.dedupe.candidates import make_candidates
from forgelore.dedupe.detect_new import detect_new
from forgelore.dedupe.judge import JudgeSetting, judge_sets
from forgelore.dedupe.llm import BODY_STEPS, JUDGE_SYSTEM
from forgelore.errors import AuthError, ChatModelNotFound, ChatUnreachable
from forgelore.store.decisions import is_accepted, list_runs
from forgelore.store.sqlite.schema import open_store
from servers.base import Response
from servers.chat import prompt_of, stall
from support import raised


@pytest.fixture
def store(template, tmp_path):  # noqa: F811 - the fixture
    (tmp_path / "lore.db").write_bytes(template.read_bytes())
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


def test_a_good_verdict_is_accepted_and_kept_with_its_cost(store):
    with llm_judge(copies_of({101: 102}), price_in=1.0, price_out=10.0) as who:
        made = judge(store, who)
        asked = len(who.server.asked)
    assert edges(store) == {(101, 102)}
    assert (made.judge, made.model) == ("llm", "scripted-model prompt 2")
    assert (made.prompt_tokens, made.answer_tokens) == (120 * asked, 30 * asked)
    assert made.cost == pytest.approx(asked * (120 * 1.0 + 30 * 10.0) / 1e6)
    sql = "SELECT judge, model, length(prompt_hash), prompt_tokens, answer_tokens, policy FROM decisions WHERE item_id = ?"
    assert store.row(sql, id_of(store, 101)) == ("llm", "scripted-model prompt 2", 16, 120, 30, "batch")
    assert (
        json.loads(store.value("SELECT verdict FROM decisions WHERE item_id = ?", id_of(store, 101)))["target"] == 102
    )
    (run, *_) = list_runs(store, 1, step="judge")
    assert (run.prompt_tokens, run.answer_tokens, run.cost) == (
        made.prompt_tokens, made.answer_tokens, pytest.approx(made.cost)
    )  # fmt: skip


def test_the_prompt_lists_allowed_numbers_and_no_similarity(store):
    with llm_judge([none_of_them()]) as who:
        judge(store, who)
        asked = next(one for one in who.server.asked if numbers_in(one)[0] == 101)
    source, candidates = numbers_in(asked)
    assert candidates == sorted(candidates), "by number: their order tells nothing"
    allowed = ", ".join(map(str, candidates))
    prompt = prompt_of(asked)
    assert f"({allowed}), or null" in prompt
    assert f"Allowed targets: {allowed}, or null." in prompt
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["target"]["enum"] == [*candidates, None]
    assert data_in(asked, source) == f"title: {COPY}\ntext:\n{TEXT}"
    assert not re.search(r"similarity|strength|cosine|score|rank|0\.\d\d", prompt.replace(JUDGE_SYSTEM, ""))
    for name in ("is_duplicate", "target", "confidence", "relation", "root_cause", "scope", "path", "certainty"):
        assert f'"{name}"' in asked["messages"][0]["content"]


def test_fences_are_drawn_anew_and_the_hash_does_not_see_them(store):
    with llm_judge([none_of_them()]) as who:
        judge(store, who)
        judge(store, who, is_rejudged=True)
        fences = [re.findall(r"^</forge-text-(\w+)>$", prompt_of(one), re.MULTILINE)[0] for one in who.server.asked]
    assert len(set(fences)) == len(fences)
    assert all(re.fullmatch(r"[0-9a-f]{16}", fence) for fence in fences)
    sql = "SELECT count(DISTINCT prompt_hash), count(*) FROM decisions WHERE item_id = ?"
    assert store.row(sql, id_of(store, 101)) == (1, 2)


def test_texts_are_cut_and_what_could_act_is_replaced(store):
    write(store, [item(101, COPY + "\x1b[2J" + "!" * 400, TEXT + " x" * 5_000)])
    with llm_judge([none_of_them()]) as who:
        judge(store, who, allows_stale=True)
        asked = next(one for one in who.server.asked if numbers_in(one)[0] == 101)
    title, body = data_in(asked, 101).split("\ntext:\n")
    assert (len(title), len(body)) == (len("title: ") + 300, 4_000)
    assert title.endswith("[cut]")
    assert body.endswith("[cut]")
    assert "\x1b" not in title


def test_a_small_context_gets_smaller_excerpts(store):
    write(store, [item(101, COPY, TEXT + " x" * 5_000)])
    too_long = Response(400, {"error": {"message": "the request exceeds the available context size"}})

    def reply(asked):
        return too_long if numbers_in(asked)[0] == 101 and len(data_in(asked, 101)) > 1_500 else none_of_them()

    with llm_judge(reply) as who:
        judge(store, who, allows_stale=True)
        sizes = [len(data_in(one, 101)) for one in who.server.asked if numbers_in(one)[0] == 101]
    head = len(f"title: {COPY}\ntext:\n")
    assert [size - head for size in sizes] == [4_000, 2_000, 1_000]
    with llm_judge([none_of_them()], context=2_000) as who:
        judge(store, who, allows_stale=True, is_rejudged=True)
        (size,) = [len(data_in(one, 101)) for one in who.server.asked if numbers_in(one)[0] == 101]
    assert size < max(BODY_STEPS)


def test_a_change_is_shown_with_its_files_and_its_patch(store):
    body = "This makes the parser of settings forgive a folder that is listed twice, and adds a test for that."
    files = [f"src/part{at:02d}.c" for at in range(40)]
    write(store, [item(number, "Forgive folders that are listed twice", body, kind="change",
                       files=files) for number in (301, 302)])  # fmt: skip
    diff = "".join(f"diff --git a/{path} b/{path}\n@@ -1 +1 @@\n" + f"+{path} line\n" * 200 for path in files)
    with llm_judge([none_of_them()], fetch_patch=lambda one: diff if one.number == 302 else "") as who:
        detect_new(words_only(store), id_of(store, 302), who, now_ms=lambda: 9)
        (asked,) = who.server.asked
    data = data_in(asked, 302)
    listed = data.partition("files:\n")[2].partition("\npatch:\n")[0].splitlines()
    assert listed == files[:30]
    patch = data.partition("\npatch:\n")[2]
    assert len(patch) <= 12_000
    assert max(len(part) for part in patch.split("a/src/")) <= 2_100
    assert patch.count("[cut]") >= 5
    assert "patch:" not in data_in(asked, 301)


def test_a_budget_ends_the_asking_and_a_later_run_goes_on(store):
    with llm_judge(copies_of({101: 102}), budget=4_000) as who:
        first = judge(store, who, budget=4_000)
        asked = len(who.server.asked)
    assert 0 < asked < first.sets
    assert first.reasons["over_budget"] > 0
    assert first.prompt_tokens + first.answer_tokens == 150 * asked <= 4_000
    sql = "SELECT outcome, prompt_tokens FROM decisions WHERE reason = 'over_budget' LIMIT 1"
    assert store.row(sql) == ("skipped", 0)
    with llm_judge(copies_of({101: 102})) as who:
        rest = judge(store, who)
        assert len(who.server.asked) == first.reasons["over_budget"]
    assert "over_budget" not in rest.reasons
    assert edges(store) == {(101, 102)}


def test_several_questions_are_under_way_at_once(store):
    def reply(asked):
        return stall(0.05, copies_of({101: 102})(asked))

    with llm_judge(reply) as who:
        made = judge(store, who, workers=4)
        alone = {numbers_in(one)[0] for one in who.server.asked}
        assert len(who.server.asked) == len(alone), "each once"
    assert edges(store) == {(101, 102)}
    assert made.accepted + made.rejected + made.skipped == 64
    assert store.value("SELECT count(*) FROM decisions") == 64


def test_a_stopped_run_keeps_what_was_asked_and_goes_on(store):
    with llm_judge(copies_of({})) as who:
        answers = iter([False] * 12)
        stopped = judge_sets(job(store, 9, lambda: next(answers, True)), "issue", who, JudgeSetting(workers=3))
        assert stopped.is_stopped
        assert store.value("SELECT count(*) FROM decisions WHERE judge = 'llm' AND prompt_tokens > 0") == len(
            who.server.asked
        )
        rest = judge(store, who)
        assert rest.decided_before == stopped.accepted + stopped.rejected + stopped.skipped
        assert len({numbers_in(one)[0] for one in who.server.asked}) == len(who.server.asked)


FAILURES = {
    "prose": ("Of course! It repeats #102, I am certain.", "invalid_verdict"),
    "two answers": (verdict(target=102) + verdict(target=102), "invalid_verdict"),
    "a number as text": (verdict(target="102"), "invalid_verdict"),
    "a confidence above one": (verdict(target=102, confidence=1.5), "invalid_verdict"),
    "a word that is none": (verdict(target=102, relation="identical"), "invalid_verdict"),
    "nothing": ("", "invalid_verdict"),
    "garbage": (Response(200, {"choices": [{"message": {"content": 7}}]}), "judge_failed"),
    "no JSON at all": (Response(200, "<html>"), "judge_failed"),
    "a failure": (Response(500, {"error": {"message": "broken"}}), "judge_failed"),
    "a limit": (Response(429, {"error": {"message": "insufficient_quota"}}), "judge_failed"),
    "a book": ("x" * 100_001, "judge_failed"),
    "a lie about numbers": (verdict(target=4711), "target_not_candidate"),
    "itself": (verdict(target=101), "target_not_candidate"),
    "invented facts": (verdict(target=102, facts=["a dragon in the cellar", "two moons at noon"]), "facts_not_found"),
    "one fact twice": (verdict(target=102, facts=["no folder left to sync"] * 2), "facts_not_found"),
}


@pytest.mark.parametrize(("said", "reason"), FAILURES.values(), ids=FAILURES)
def test_what_a_model_gets_wrong_costs_a_skip_or_a_rejection_and_no_edge(store, said, reason):
    def reply(asked):
        return said if numbers_in(asked)[0] == 101 else none_of_them()

    with llm_judge(reply) as who:
        made = judge(store, who)
    outcome = "rejected" if reason in ("target_not_candidate", "facts_not_found") else "skipped"
    assert decision(store, 101)[:2] == (outcome, reason)
    assert made.reasons[reason] == 1
    assert edges(store) == set()


@pytest.mark.parametrize(("said", "reason"), FAILURES.values(), ids=FAILURES)
def test_online_it_is_at_most_a_maybe(store, said, reason):
    """101 has a copy, so its nearest candidate is as near as can be."""
    with llm_judge([said]) as who:
        found = detect_new(words_only(store), id_of(store, 101), who, now_ms=lambda: 9)
    assert (found.outcome, found.reason) == ("maybe_duplicate", reason)


def test_online_a_model_that_is_too_slow_is_at_most_a_maybe(store):
    with llm_judge([stall(1.5, verdict(target=102))], timeout=0.3) as who:
        found = detect_new(words_only(store), id_of(store, 101), who, now_ms=lambda: 9)
    assert (found.outcome, found.reason) == ("maybe_duplicate", "judge_failed")
    assert "did not answer" in found.warnings[0]


class BrokenJudge:
    name, model = "llm", "broken"

    def ask(self, question):
        raise RuntimeError("a bug of ours")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_bug_in_a_thread_is_raised_and_the_run_is_not_called_done(store, workers):
    with pytest.raises(RuntimeError, match="a bug of ours"):
        judge(store, BrokenJudge(), workers=workers)
    assert list_runs(store, 1, step="judge")[0].status == "stopped"


def test_a_model_that_is_too_slow_costs_a_skip(store):
    def reply(asked):
        return stall(1.5) if numbers_in(asked)[0] == 101 else none_of_them()

    with llm_judge(reply, timeout=0.3) as who:
        judge(store, who)
    assert decision(store, 101)[:2] == ("skipped", "judge_failed")
    assert "raise timeout" in store.value("SELECT verdict FROM decisions WHERE item_id = ?", id_of(store, 101))


def test_what_failed_is_asked_again_by_the_next_run(store):
    broken = Response(500, {"error": {"message": "broken"}})
    with llm_judge(lambda asked: broken if numbers_in(asked)[0] == 101 else none_of_them()) as who:
        judge(store, who)
    with llm_judge(copies_of({101: 102})) as who:
        judge(store, who)
        assert [numbers_in(one)[0] for one in who.server.asked] == [101]
    assert edges(store) == {(101, 102)}


@pytest.mark.parametrize("said", ["prose", Response(500, {"error": {"message": "broken"}})], ids=["prose", "failure"])
def test_silence_does_not_take_an_accepted_edge_away(store, said):
    judge(store)
    before = edges(store)
    with llm_judge(lambda asked: said if numbers_in(asked)[0] == 101 else none_of_them()) as who:
        judge(store, who, is_rejudged=True)
    assert is_accepted(store, id_of(store, 101))
    assert edges(store) == {(101, 102)} < before


@pytest.mark.parametrize(
    ("fault", "error", "asked"),
    [
        ({"status": 401, "body": {"error": {"message": "no"}}}, AuthError, 1),
        ({"status": 404, "body": {"error": {"code": "model_not_found"}}}, ChatModelNotFound, 1),
        ({"drop": True}, ChatUnreachable, 5 * 3),
    ],
)
def test_what_no_other_question_would_change_ends_the_run(store, fault, error, asked):
    with llm_judge(["x"]) as who:
        who.server.fail(**fault)
        with raised(error):
            judge(store, who)
        assert len(who.server.requests) == asked
        (run, *_) = list_runs(store, 1, step="judge")
        assert run.status == "stopped"
        assert run.counters["judge_failed"] == (1 if asked == 1 else 5)
        who.server.faults.clear()
        who.server.replies = copies_of({101: 102})
        judge(store, who)
    assert edges(store) == {(101, 102)}


def test_a_rejected_source_is_asked_again_after_a_new_set(store):
    with llm_judge([none_of_them()]) as who:
        judge(store, who)
        before = len(who.server.asked)
        write(store, [item(101, COPY, TEXT + " and then nothing is synced any more")])
        make_candidates(job(store, 6), words_only(store), "issue")
        judge(store, who)
        assert [numbers_in(one)[0] for one in who.server.asked[before:]] == [101]
