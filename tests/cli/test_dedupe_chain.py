"""The whole chain as a person types it: on the example project, and from a refresh to a plan on local forges."""

import json

import pytest

from dedupe.closing_lab import let_ana_write

TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"


def copies(*numbers):
    return [
        {"kind": "issue", "number": number, "title": "Folders vanish from the settings", "body": TEXT, "state": "open",
         "author": f"user{number}", "created_at": f"2026-01-{number - 900:02d}T00:00:00Z"}
        for number in numbers
    ]  # fmt: skip


@pytest.fixture
def copied(demo, tmp_path):
    """The example project and three copies of a report that it has not."""
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in copies(901, 902, 903)))
    assert demo("import", "more.jsonl", "--project", "lanternsync/lantern").code == 0
    return demo


def test_the_chain_goes_from_items_to_a_plan(copied, tmp_path):
    done = copied("dedupe", "run", "lanternsync/lantern", "--workers", "1", "--out", "plan.md")
    assert done.code == 0, done.err
    assert "newly accepted as duplicates (builtin rules 2 without statements)" in done.out
    assert "Folders vanish" in done.out
    assert (tmp_path / "plan.md").read_text().startswith("# Plan ")
    steps = [one["step"] for one in copied("dedupe", "runs", "--json").data]
    assert steps[0] == "plan"
    assert {"candidates", "judge", "canonicalize"} <= set(steps)


def test_the_chain_of_the_example_tracker_finds_its_copies(copied):
    chain = copied("dedupe", "run", "--kind", "issue", "--workers", "1", "--json").data
    assert sum(one["accepted"] for one in chain["decisions"]) >= 3
    cluster = next(one for one in chain["clusters"]["clusters"] if 901 in one["numbers"])
    assert cluster["numbers"] == [901, 902, 903]
    assert chain["plan"]["lines"]
    assert {line["kind"] for line in chain["plan"]["lines"]} == {"issue"}


def test_a_second_run_does_nothing_again(copied):
    first = copied("dedupe", "run", "--workers", "1", "--json").data
    second = copied("dedupe", "run", "--workers", "1", "--json").data
    assert sum(one["made"] for one in first["candidates"]) > 0
    assert [one["made"] for one in second["candidates"]] == [0, 0]
    assert [one["decided_before"] for one in second["decisions"]] == [one["sets"] for one in second["decisions"]]
    assert second["clusters"]["clusters"] == first["clusters"]["clusters"]
    assert "none has changed" in copied("dedupe", "run", "--workers", "1").out


@pytest.mark.parametrize("words", [["nobody/knows"], ["--min-edge", "3"], ["--min-close", "-1"]])
def test_a_chain_that_means_nothing_is_refused(copied, words):
    assert copied("dedupe", "run", *words).code in (5, 13)


def test_the_next_steps_lead_to_an_apply(cli, github, github_env):
    """Two copies by strangers on a forge: the plan closes one, and says what is missing before that."""
    let_ana_write(github)
    for at in range(30):
        github.project.add_issue(
            f"Thing {at} of part {at * 7 % 11}", f"It waits for {at * 13 % 17} seconds", author="u"
        )
    for author in ("zoe", "tom"):
        github.project.add_issue("Folders vanish from the settings", TEXT, author=author)
    assert cli("sync", "acme/web", **github_env).code == 0
    done = cli("dedupe", "run", "acme/web", "--workers", "1")
    assert "1 would be closed" in done.out
    assert "no audit has measured the judge builtin" in done.out
    assert "forgelore dedupe apply " in done.out
    assert "--close-after 72" in done.out


def test_a_refresh_is_of_a_project_that_is_here(cli, github, github_env):
    github.populate(issues=2)
    assert cli("sync", "acme/web", **github_env).code == 0
    unknown = cli("dedupe", "refresh", "acme/other", **github_env)
    assert (unknown.code, "acme/other" in unknown.err) == (5, True)
    github.project.add_issue("A new one")
    done = cli("dedupe", "refresh", "acme/web", "--json", **github_env)
    assert done.data["written"]["issue"] == 1
    assert cli("dedupe", "refresh", "--known", "--since", "7d", **github_env).code == 0
    assert cli("dedupe", "refresh", "--since", "some day", **github_env).code == 13
