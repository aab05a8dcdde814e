"""Work that a page starts, on a local forge: a sync, a pair that is the same, its plan, the closing, and back again."""

import re
import time

PATIENCE_S = 60


def end(team, answer):
    """Wait for the work that an answer leads to, and return its page."""
    assert answer.status_code == 303, answer.text
    until = time.monotonic() + PATIENCE_S
    while "Cancel</button>" in (page := team.text(answer.headers["location"])):
        assert time.monotonic() < until, page
        time.sleep(0.1)
    return page


def test_a_team_syncs_decides_closes_and_takes_back_in_the_page(forge, team):
    token, project = team.token_of("/projects"), forge.name_text
    late = forge.project.add_issue("Later", "Something filed since", author="zoe")
    assert "written" in end(team, team.post("/projects/sync", project=project, token=token))
    assert team.get(f"/item/%23{late}").status_code == 200

    planned = end(team, team.post("/duplicates/plan/start", project=project, token=token))
    plan = re.search(r"/duplicates/plans/(\d+)", planned)[0]
    page = team.text(plan)
    assert f"#{forge.copies[1]}" in page
    wrong = team.post(f"{plan}/apply", project=project, confirm="something else", hours="0", token=token)
    assert wrong.status_code == 400
    assert states(forge) == ["open", "open"]

    refused = end(team, team.post(f"{plan}/apply", project=project, confirm=project, hours="0", token=token))
    assert 'role="alert"' in refused  # nobody has shown that the judge is right
    assert states(forge) == ["open", "open"]

    newer, older = (f"#{number}" for number in reversed(forge.copies))
    team.post("/duplicates/answer", newer=newer, older=older, answer="same", project=project, token=token)
    planned = end(team, team.post("/duplicates/plan/start", project=project, token=token))
    plan = re.search(r"/duplicates/plans/(\d+)", planned)[0]
    closed = end(team, team.post(f"{plan}/apply", project=project, confirm=project, hours="0", token=token))
    assert "closed as a duplicate" in closed
    assert states(forge) == ["open", "closed"]

    undo = re.search(r"/duplicates/runs/\d+/rollback", closed)[0]
    assert "restored" in end(team, team.post(undo, project=project, token=token))
    assert states(forge) == ["open", "open"]


def states(forge):
    return [forge.project.items[number].state for number in forge.copies]


def test_work_that_is_not_known_is_a_page_that_says_so(team):
    assert team.get("/work/nothing").status_code == 404


def test_an_announced_closing_is_shown_until_it_is_taken_back(forge, team):
    token, project = team.token_of("/projects"), forge.name_text
    end(team, team.post("/projects/sync", project=project, token=token))
    newer, older = (f"#{number}" for number in reversed(forge.copies))
    team.post("/duplicates/answer", newer=newer, older=older, answer="same", project=project, token=token)
    planned = end(team, team.post("/duplicates/plan/start", project=project, token=token))
    plan = re.search(r"/duplicates/plans/(\d+)", planned)[0]
    end(team, team.post(f"{plan}/apply", project=project, confirm=project, hours="72", token=token))
    assert states(forge) == ["open", "open"]
    assert "<strong>1</strong> Closing soon" in team.text("/")
    page = team.text("/duplicates/closings")
    assert f"{newer}</a>" in page
    assert f"forgelore dedupe apply {plan.rpartition('/')[2]} --yes" in page
    undo = re.search(r"/duplicates/runs/\d+/rollback", page)[0]
    end(team, team.post(undo, project=project, token=token))
    assert "<strong>0</strong> Closing soon" in team.text("/")
    assert "No closing is announced" in team.text("/duplicates/closings")
