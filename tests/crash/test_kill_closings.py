"""`kill -9` at any moment of `dedupe apply` or `dedupe rollback`: nothing is closed or commented twice, nothing is closed
that no journal names, and the same command goes on to the end."""

import pytest

from crash.closing_kills import ClosingGround
from crash.killing import choose
from dedupe.closing_lab import let_ana_write

CHAINS = 5


@pytest.fixture
def ground(lab, tmp_path, forker):
    return ClosingGround(lab, tmp_path, forker)


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def lab(request):
    lab = request.getfixturevalue(request.param)
    let_ana_write(lab)
    return lab


@pytest.mark.parametrize("step", ["apply", "grace", "rollback"])
def test_a_killed_run_goes_on_and_writes_nothing_twice(ground, step):
    outcomes = [ground.kill(step, chain) for chain in choose(ground.steps(step), number=CHAINS, seed=14)]
    assert [outcome for outcome in outcomes if outcome.problem] == []
    assert sum(len(outcome.deaths) for outcome in outcomes) >= CHAINS


@pytest.mark.parametrize("step", ["apply", "rollback"])
def test_a_crash_between_a_write_and_its_journal_row_is_noticed(ground, step):
    """Dying before the first writes are sent, and after the forge has done them while nobody has read its answer."""
    positions = ground.write_positions(step)[:2]
    points = [(f"{kind}:{at}",) for at in positions for kind in ("request", "answer")]
    outcomes = [ground.kill(step, point) for point in points]
    assert [outcome for outcome in outcomes if outcome.problem] == []
    assert [len(outcome.deaths) for outcome in outcomes] == [1] * 4
