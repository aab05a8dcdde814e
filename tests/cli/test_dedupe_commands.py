"""From decisions to a plan that is reviewed, applied and taken back, as a person types it."""

import json

import pytest

from dedupe.closing_lab import ClosingLab
from dedupe.scripted_models import none_of_them
from forgelore.api.judging import PatchReader
from forgelore.net.policy import ATTEMPTS
from forgelore.store.decisions import load_judged
from forgelore.store.projects import list_projects
from forgelore.surfaces.cli.main import ALIASES, COMMANDS
from servers.chat import ChatServer, prompt_of


@pytest.fixture
def closing(github, cli, github_env):
    """A GitHub with an original and two copies, synced by the command line and decided."""
    github.project.add_collaborator("ana", "admin")
    lab = ClosingLab(github)
    numbers = [lab.add(author=f"user{at}") for at in range(3)]
    lab.numbers = numbers
    lab.run = lambda *words: cli("dedupe", *words, **github_env)
    assert cli("sync", "acme/web", **github_env).code == 0
    lab.app = github.new_app(db=str(github.folder / "lore.db"))
    return lab


def test_a_plan_is_made_reviewed_applied_and_taken_back(closing, tmp_path):
    first, second, third = closing.numbers
    closing.decide(second, first)
    assert closing.run("plan", "--dry-run").code == 13
    assert closing.run("accept", f"#{third}", f"#{first}").code == 0
    made = closing.run("canonicalize", "--json")
    assert made.data["clusters"][0]["numbers"] == closing.numbers
    assert closing.run("plan", "--dry-run", "--json").data["run"] is None
    plan = closing.run("plan", "--json", "--out", str(tmp_path / "plan.json")).data
    assert json.loads((tmp_path / "plan.json").read_text())["lines"] == plan["lines"]
    assert plan["counters"] == {"close": 2}
    closing.run("plan-close", "--out", str(tmp_path / "plan.md"))
    assert "2 items would be closed" in (tmp_path / "plan.md").read_text()
    run = str(plan["run"])
    assert closing.run("apply", run).code == 20
    refused = closing.run("apply", run, "--yes", "--json")
    assert (refused.code, refused.error["code"]) == (20, "unproven")
    assert closing.item(second).state == "open"
    applied = closing.run("apply", run, "--yes", "--unproven", "--json").data
    assert {line["action"] for line in applied["lines"]} == {"closed"}
    assert closing.item(second).state == closing.item(third).state == "closed"
    assert "was closed before, as a duplicate" in closing.run("apply", run, "--yes", "--unproven").out
    assert closing.run("rollback", run).code == 20
    back = closing.run("rollback", run, "--yes", "--json").data
    assert back["counters"] == {"restored": 2, "problems": 0}
    assert closing.item(second).state == "open"
    assert "timelines remain: closed" in closing.run("rollback", run, "--yes").out
    steps = [one["step"] for one in closing.run("runs", "--json").data]
    assert steps == ["rollback", "apply", "plan", "plan", "canonicalize", "judge"]


def test_a_plan_of_hostile_titles_is_harmless_markdown(closing, tmp_path):
    first, second, _ = closing.numbers
    closing.decide(second, first)
    closing.run("canonicalize")
    closing.store.run(
        "UPDATE items SET title = '| x | @ana <img src=x> [a](http://b) #5 /close' WHERE number = ?", second
    )
    closing.run("plan", "--out", str(tmp_path / "plan.md"))
    row = next(line for line in (tmp_path / "plan.md").read_text().splitlines() if "ana" in line)
    assert "@ana" not in row
    assert "<img" not in row
    assert row.count(" | ") == 6


def test_only_a_plan_is_applied_and_only_an_apply_taken_back(closing):
    closing.run("canonicalize")
    run = str(closing.run("runs", "--json").data[0]["id"])
    assert closing.run("apply", run, "--yes", "--unproven").code == 13
    assert closing.run("rollback", run, "--yes").code == 13
    assert closing.run("apply", "999", "--yes").code == 5
    plan = str(closing.run("plan", "--json").data["run"])
    assert closing.run("rollback", plan, "--yes").code == 13


@pytest.mark.parametrize(
    "words",
    [
        ["canonicalize", "--bound", "1"],
        ["plan", "--min-close", "1.5"],
        ["plan", "--type", "releases"],
        ["apply", "PLAN", "--yes", "--unproven", "--close-after", "-1"],
    ],
)
def test_values_that_mean_nothing_are_refused(closing, words):
    closing.run("canonicalize")
    plan = str(closing.run("plan", "--json").data["run"])
    assert closing.run(*[plan if word == "PLAN" else word for word in words]).code == 13


def test_a_plan_that_cannot_be_written_to_its_file_is_kept(closing, tmp_path):
    closing.run("canonicalize")
    done = closing.run("plan", "--out", str(tmp_path / "none" / "plan.md"))
    assert done.code == 8
    assert "No such file or directory" in done.err
    assert closing.run("runs", "--step", "plan", "--json").data


def test_names_of_other_tools_mean_the_same(closing):
    assert closing.run("plan-close", "--help").out == closing.run("plan", "--help").out
    assert {name for name in ALIASES.values() if name not in COMMANDS} <= {
        "dedupe intent", "dedupe audit", "dedupe report",
    }  # fmt: skip


def test_cards_choose_the_candidates_where_that_is_asked_for(demo):
    refused = demo("dedupe", "candidates", "--source", "intent", "--json")
    assert (refused.code, refused.error["hint"]) == (13, "create them with: forgelore dedupe intent")
    made = demo("dedupe", "analyze-intent", "--kind", "issue", "--json").data
    (issues,) = made["kinds"]
    assert (issues["model"], issues["made"], issues["fallbacks"], made["warnings"]) == (
        "builtin",
        issues["items"],
        0,
        [],
    )
    said = demo("dedupe", "intent")
    assert f"{issues['items']} issues: {issues['items']} unchanged" in said.out
    (found,) = demo("dedupe", "candidates", "--kind", "issue", "--source", "intent", "--workers", "1", "--json").data
    assert (found["made"], found["raw_fallbacks"]) == (found["sources"], 0)
    (none,) = demo("dedupe", "judge", "--kind", "issue", "--source", "raw", "--json").data
    (some,) = demo("dedupe", "judge", "--kind", "issue", "--source", "intent", "--json").data
    assert (none["sets"], some["sets"]) == (0, found["sources"])
    steps = {one["step"]: one["parameters"] for one in demo("dedupe", "runs", "--json").data}
    assert steps["candidates"]["representation"] == "intent"
    assert steps["judge"]["source"] == "intent"


def test_an_item_is_detected_by_a_card_that_is_made_for_it(demo):
    found = demo("dedupe", "detect-new", "#157", "--source", "intent", "--json").data
    assert (found["source"], found["outcome"]) == (
        "intent",
        demo("dedupe", "detect-new", "#157", "--json").data["outcome"],
    )
    assert demo("dedupe", "runs", "--step", "intent", "--json").data[0]["counters"] == {"made": 1, "fallbacks": 0}
    least = demo("dedupe", "runs", "--limit", "-3")
    assert "--limit -3 is out of range; using 1" in least.err
    assert len(demo("dedupe", "runs", "--limit", "0", "--json").data) == 1
    assert demo("dedupe", "runs", "--limit", str(10**30)).code == 0


def test_a_hit_in_a_card_is_never_told_as_what_a_person_wrote(demo):
    before = demo("search", "deleted files come back", "--json").data
    assert demo("search", "deleted files", "--source", "intent", "--json").data["hits"] == []
    demo("dedupe", "intent")
    found = demo("search", "deleted files come back", "--source", "intent", "--json").data["hits"]
    assert {hit["representation"] for hit in found} == {"intent"}
    assert all(hit["header"].startswith("[[Card]] ") and "Author:" not in hit["header"] for hit in found)
    said = demo("search", "deleted files come back", "--source", "intent").out
    assert said.count("by its card, which a program wrote") == said.count("card: ") > 0
    assert demo("search", "deleted files come back", "--json").data == before
    assert demo("search", "--similar-to", "#157", "--source", "intent").code == 2


def test_a_model_that_judges_many_changes_is_shown_their_patches_with_a_token(github, cli, github_env):
    text = "Opening the settings twice empties the list of folders; it ends with ERROR: no folder left to sync"
    for _ in range(2):
        github.project.add_change("Keep the folders of the settings", text, files=[("modified", "src/folders.py")])
    with ChatServer(lambda asked: none_of_them()) as model:
        environ = github_env | {"FORGELORE_LLM_BASE_URL": model.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        assert cli("sync", "acme/web", **environ).code == 0
        assert cli("dedupe", "candidates", "--kind", "change", **environ).code == 0
        judge = ("dedupe", "judge", "--judge", "llm", "--kind", "change", "--rejudge", "--workers", "2", "--json")
        assert cli(*judge, **environ).data[0]["rejected"] == 2
        with_patch = [prompt_of(one).count("\npatch:\na/src/folders.py") for one in model.asked]
        asked, requests = len(model.asked), len(github.server.requests)
        assert cli(*judge, **environ | {"GITHUB_TOKEN": ""}).data[0]["rejected"] == 2
        assert len(github.server.requests) == requests, "unnamed, hundreds of patches are more than a forge shows"
    assert with_patch == [1, 1], "of the source; candidates are shown by their files"
    assert not [one for one in model.asked[asked:] if "\npatch:" in prompt_of(one)]


def test_a_forge_that_does_not_answer_is_not_asked_for_every_patch(github):
    numbers = [github.project.add_change(f"Change {at}", files=[("modified", "src/a.py")]) for at in range(8)]
    github.sync()
    items = {item.number: item for item in load_judged(github.app.store(), range(1, 100)).values()}
    project = list_projects(github.app.store())[0]
    assert PatchReader(github.app, project).fetch(items[numbers[0]]).startswith("diff --git")
    reader, before = PatchReader(github.app, project), len(github.server.requests)
    github.server.fail(path=r"/repos/acme/web$", status=500, times=1000)
    assert [reader.fetch(items[number]) for number in numbers] == [""] * 8
    assert 0 < len(github.server.requests) - before <= ATTEMPTS, "an endpoint that is down is known to be"


def test_a_model_is_shown_the_files_and_the_patch_of_a_change(github, cli, github_env):
    change = github.project.add_change(
        "Fix", "It falls.", files=[("added", "src/new_part.py"), ("modified", "src/old.py")]
    )
    with ChatServer(['{"symptom": "it falls", "wants": "no fall"}']) as model:
        environ = github_env | {"FORGELORE_LLM_BASE_URL": model.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        assert cli("sync", "acme/web", **environ).code == 0
        made = cli("dedupe", "intent", "--kind", "change", "--json", **environ).data["kinds"][0]
        assert (made["model"], made["fallbacks"]) == ("scripted-model", 0)
        (asked,) = [text for text in map(prompt_of, model.asked) if f"item change {change}>\n" in text]
    assert "files:\nsrc/new_part.py\nsrc/old.py\npatch:\na/src/new_part.py b/src/new_part.py" in asked
    assert github.good_token not in asked


def test_what_people_called_related_is_listed_and_posted_and_taken_back(closing):
    first, second, third = closing.numbers
    assert "Nothing to link" in closing.run("link").out
    assert closing.run("review", f"#{second}", f"#{first}", "--answer", "related").code == 0
    assert closing.run("review", f"#{third}", f"#{first}", "--answer", "related").code == 0
    listed = closing.run("link")
    assert f"#{second} is related to #{first}: Crash on start" in listed.out
    assert "2 comments; post them: forgelore dedupe link --yes" in listed.out
    assert closing.portrait([second])[second][4] == []
    done = closing.run("link", "--yes")
    assert f"✓ #{third} names #{first}" in done.out
    assert closing.portrait([second])[second][4][0].endswith(f"Related to #{first}.")
    run = str(closing.run("runs", "--step", "link", "--json").data[0]["id"])
    assert closing.run("rollback", run, "--yes").code == 0
    assert closing.portrait([second])[second][4] == []
