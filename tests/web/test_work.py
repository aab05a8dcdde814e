"""Work that a page starts, on a local forge: a sync, a pair that is the same, its plan, the closing, and back again."""

import re
import time

import pytest
from sites import Site, serving

from dedupe.closing_lab import let_ana_write
from meta.test_journeys import COPIED, of_forge
from support import GitHubLab

PATIENCE_S = 60


@pytest.fixture(scope="module")
def forge(tmp_path_factory):
    """A forge with thirty issues, two of which say the same."""
    with GitHubLab(tmp_path_factory.mktemp("forge")) as lab:
        let_ana_write(lab)
        for at in range(30):
            text = f"After {at} seconds thing {at * 13 % 17} is slow"
            lab.project.add_issue(f"Part {at * 7 % 11} waits", text, author="u")
        lab.copies = [lab.project.add_issue(*COPIED, author=name) for name in ("zoe", "tom")]
        lab.sync()
        yield lab


@pytest.fixture(scope="module")
def team(forge):
    env = {name: value for name, value in of_forge(forge).items() if name not in ("PATH", "HOME", "FORGELORE_DB")}
    words = ("--role", "apply", "--include-internal", "--sync-every", "0")
    with serving(forge.app.config.db, forge.folder, *words, **env) as url:
        yield Site(url)


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
