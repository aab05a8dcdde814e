"""`dedupe audit` with language models as lanes: profiles, budgets, costs, and servers that fail."""

import threading

import pytest

from dedupe.scripted_models import copies_of, none_of_them
from servers.chat import ChatServer

BODY = "Opening the settings twice empties the list of folders, and it ends with ERROR: no folder left to sync"


@pytest.fixture
def lanes(cli, github, github_env):
    """A synced project with three copies, and a server with a model that finds one pair and one that finds two."""
    first, second, third = [github.project.add_issue("Folders vanish from the settings", BODY) for _ in range(3)]
    for word in ("theme", "cursor", "backup", "export", "socket"):
        github.project.add_issue(f"The {word} is slow today", f"When the {word} is opened, nothing else is drawn.")
    models = {
        "small": copies_of({first: second, third: second}), "large": copies_of({first: second, second: first}),
    }  # fmt: skip

    def reply(asked):
        return models[asked["model"]](asked)

    with ChatServer(reply) as server:
        server.models = list(models)
        environ = github_env | {
            "FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_CHEAP_MODEL": "small",
            "FORGELORE_LLM_STRONG_MODEL": "large", "FORGELORE_LLM_STRONG_PRICE_IN": "2",
        }  # fmt: skip
        assert cli("sync", "acme/web", **environ).code == 0
        assert cli("dedupe", "candidates", **environ).code == 0

        def run(*words, **more):
            return cli("dedupe", *words, **environ | more)

        run.server, run.numbers, run.models = server, (first, second, third), models
        yield run


def test_a_cheap_model_is_measured_by_a_strong_one(lanes):
    _, second, third = lanes.numbers
    found = lanes("audit", "--sample", "50", "--seed", "7", "--workers", "3", "--json").data
    assert (found["judge"], found["reference"]) == ("llm", "llm large prompt 2")
    assert found["model"].startswith("small")
    assert {one["number"]: one["audit_class"] for one in found["disagreements"]} == {second: "fn", third: "fp"}
    assert (found["counters"]["tp"], found["counters"]["fp"], found["counters"]["fn"]) == (1, 1, 1)
    assert found["prompt_tokens"] == 120 * len(lanes.server.asked)
    assert found["cost"] > 0
    asked = [one["model"] for one in lanes.server.asked]
    assert asked.count("small") == asked.count("large")


def test_the_rules_may_be_the_cheap_lane(lanes):
    found = lanes("audit", "--cheap", "builtin", "--strong", "llm", FORGELORE_LLM_MODEL="large")
    assert found.code == 0, found.err
    assert "measured by llm large" in found.out
    assert "tokens in" in found.out


def test_a_report_of_models_asks_nobody(lanes):
    lanes("audit")
    asked = len(lanes.server.asked)
    assert lanes("report", "--gate-confidence-min", "0.98", "--json").data["simulated"]["classes"]["tp"] == 0
    assert len(lanes.server.asked) == asked


def test_a_spent_budget_leaves_cases_incomplete(lanes):
    found = lanes("audit", "--budget", "1", "--json").data
    assert found["counters"]["incomplete"] > 0
    assert found["counters"]["tp"] == 0
    assert lanes("audit", "--budget", "0").code == 13


def test_a_model_that_never_answers_ends_the_audit_and_proves_nothing(lanes):
    done = lanes("audit", FORGELORE_LLM_BASE_URL="http://127.0.0.1:1/v1")
    assert done.code != 0
    assert lanes("runs", "--step", "audit", "--json").data[0]["status"] == "stopped"
    assert lanes("report").code == 5


def test_kept_decisions_of_a_model_are_measured_by_people_without_asking_it(lanes, tmp_path):
    first, second, _ = lanes.numbers
    assert lanes("judge", "--judge", "llm", "--profile", "strong", "--kind", "issue").code == 0
    asked = len(lanes.server.asked)
    lines = [f'{{"kind": "issue", "number": {first}, "target": {second}, "label": "duplicate"}}\n']
    (tmp_path / "labels.jsonl").write_text("".join(lines))
    found = lanes("audit", "--against", "human", "--judge", "strong", "--labels", "labels.jsonl", "--json").data
    assert (found["counters"]["tp"], found["precision"]["of"]) == (1, 1)
    assert len(lanes.server.asked) == asked


class CrowdedChat(ChatServer):
    """Answers no question before three are there."""

    def __init__(self):
        super().__init__(lambda asked: none_of_them())
        self.most = self._here = 0
        self._door = threading.Condition()

    def answer(self, request, target):
        with self._door:
            self._here += 1
            self.most = max(self.most, self._here)
            self._door.notify_all()
            self._door.wait_for(lambda: self.most >= 3, 10)
        try:
            return super().answer(request, target)
        finally:
            with self._door:
                self._here -= 1


def test_a_model_is_asked_several_questions_at_once_about_the_past(demo):
    with CrowdedChat() as server:
        environ = {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        audit = ("dedupe", "audit", "--against", "history", "--judge", "llm", "--kind", "issue", "--others", "3")
        done = demo(*audit, "--workers", "3", "--json", **environ)
        assert done.code == 0, done.err
        assert server.most == 3
        assert done.data["counters"]["known"] > 3
        assert demo(*audit, "--workers", "0", **environ).code == 13


def test_the_chain_asks_the_model_that_it_is_given(lanes):
    chain = lanes("run", "--judge", "llm", "--profile", "strong", "--kind", "issue", "--json").data
    assert chain["decisions"][0]["accepted"] == 2
    assert len(chain["clusters"]["clusters"]) == 1
