"""What a model says is not enough: our own measure must support it, and it may name no newer item of a stranger."""

import json

import pytest

from dedupe.test_judge import GOOD, ScriptedJudge, decision, edges, judge, saying, template  # noqa: F401 - a fixture
from dedupe.tracker import id_of, number_of
from forgelore.dedupe.gates import SUPPORT
from forgelore.dedupe.plan import load_edges
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import JudgeAnswer, parse_verdict
from forgelore.store.candidates import each_latest_set
from forgelore.store.sqlite.schema import open_store


@pytest.fixture
def store(template, tmp_path):  # noqa: F811 - the fixture
    (tmp_path / "lore.db").write_bytes(template.read_bytes())
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


class Obedient:
    """A model that calls the least similar of its candidates a duplicate, and quotes whatever is wanted."""

    name, model = "llm", "obedient"

    def ask(self, question):
        last = min(question.candidates, key=lambda one: one.similarity)
        answer = parse_verdict(json.dumps(GOOD | {"target": last.item.number, "confidence": 1.0}))
        return JudgeAnswer(answer, facts_found=5)


def test_no_edge_without_the_support_of_our_own_measure(store):
    made = judge(store, Obedient())
    assert made.reasons["low_support"] > 0
    sets = {one.item_id: one for one in each_latest_set(store, 1, "issue")}
    for source, target in edges(store):
        members = {number_of(store, one.item_id): one.similarity for one in sets[id_of(store, source)].members}
        assert members[target] >= SUPPORT


def give_authors(store, **authors):
    for number, author in authors.items():
        store.run("UPDATE items SET author = ? WHERE number = ?", author, int(number[1:]))


@pytest.mark.parametrize("author", ["mallory", None])
def test_no_edge_onto_a_newer_item_of_another_author(store, author):
    """The copy has every quote of the original in it: whoever made it put them there."""
    give_authors(store, n101="ann", n102=author)
    judge(store, saying(target=102))
    assert decision(store, 101)[:2] == ("rejected", ReasonCode.TARGET_IS_NEWER)
    judge(store, saying(target=101), is_rejudged=True)
    assert edges(store) == {(102, 101)}


def test_an_edge_that_an_older_program_took_without_support_counts_no_more(store):
    judge(store, saying(target=101))
    assert [one.source for one in load_edges(store, 1, "issue").edges] == [id_of(store, 102)]
    store.run("UPDATE candidate_set_members SET similarity = 0.8 WHERE item_id = ?", id_of(store, 101))
    assert load_edges(store, 1, "issue").edges == []


def test_a_verdict_whose_quotes_are_not_found_is_kept_for_people_to_look_at(store):
    """The gate guards what is closed. Half of all duplicates are told in other words."""
    judge(store, saying(target=101, facts=["they say it in other words altogether"] * 2))
    sql = "SELECT outcome, reason, target_id, confidence, says_duplicate, verdict FROM decisions WHERE item_id = ? AND is_current"
    *kept, verdict = store.row(sql, id_of(store, 102))
    assert kept == ["rejected", "facts_not_found", id_of(store, 101), 0.95, 1]
    assert json.loads(verdict)["reasoning"] == "both"
    assert edges(store) == set()
