"""`kill -9` at any moment of `dedupe apply` or `dedupe rollback`: nothing is closed or commented twice, nothing is closed
that no journal names, and the same command goes on to the end."""

import pytest

from crash.closing_kills import ClosingGround
from crash.killing import choose

CHAINS = 5


@pytest.fixture
def ground(lab, tmp_path, forker):
    return ClosingGround(lab, tmp_path, forker)


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def lab(request):
    lab = request.getfixturevalue(request.param)
    if request.param == "gitlab":
        lab.server.tokens[lab.good_token].scopes = ("api",)
        lab.project.add_member("ana", 40)
    else:
        lab.project.add_collaborator("ana", "admin")
    return lab


@pytest.mark.parametrize("step", ["apply", "rollback"])
def test_a_killed_run_goes_on_and_writes_nothing_twice(ground, step):
    outcomes = [ground.kill(step, chain) for chain in choose(ground.steps(step), number=CHAINS, seed=14)]
    assert [outcome for outcome in outcomes if outcome.problem] == []
    assert sum(len(outcome.deaths) for outcome in outcomes) >= CHAINS


def test_a_crash_between_the_closing_and_its_journal_row_is_noticed(ground):
    """Dying at each request, and at each answer that nobody has read: those are the moments that matter most."""
    steps = ground.steps("apply")
    writes = [f"answer:{number}" for number in range(steps["answer"] // 2, steps["answer"] // 2 + 4)]
    outcomes = [ground.kill("apply", (point,)) for point in writes]
    assert [outcome for outcome in outcomes if outcome.problem] == []
    assert all(outcome.deaths for outcome in outcomes)
