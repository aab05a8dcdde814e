"""`kill -9` at any moment of a sync costs a repeated page and nothing else: the next run ends where an undisturbed one does."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from crash.killing import GROUNDS, choose, live_on

PARTS = 3
CHAINS_PER_PART = 6  # 3 forges x 2 kinds of sync x 3 parts x 6 = 108 chains, some of two and three kills
CASES = [f"{forge}, {which}" for forge in GROUNDS for which in ("first", "later")]


@pytest.fixture(scope="module")
def grounds(tmp_path_factory, forker):
    """The forges, each with the chains of kills that its undisturbed run suggests. Made on first use."""
    made = {}

    def ground(case):
        if case not in made:
            name, _, which = case.partition(", ")
            server, found = GROUNDS[name](tmp_path_factory.mktemp(name), forker)
            if which == "later":
                found.live_on(lambda: live_on(server))
            made[case] = server, found, choose(found.steps(), number=PARTS * CHAINS_PER_PART, seed=2026)
        return made[case][1:]

    yield ground
    for server, *_ in made.values():
        server.stop()
        assert server.errors == [], server.errors[0]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("case", CASES)
def test_a_killed_sync_goes_on_and_ends_equal(grounds, case, part):
    ground, chains = grounds(case)
    mine = chains[part * CHAINS_PER_PART : (part + 1) * CHAINS_PER_PART]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(ground.kill, mine))
    for outcome in outcomes:
        assert outcome.is_equal, outcome
    assert sum(len(outcome.deaths) for outcome in outcomes) >= len(mine), outcomes


@pytest.mark.parametrize("case", CASES)
def test_kills_fall_everywhere(grounds, case):
    """The chains are worth something only if they hit every kind of step, at the beginning and at the end."""
    _, chains = grounds(case)
    kinds = {point.partition(":")[0] for chain in chains for point in chain}
    assert kinds == {"statement", "write", "sync", "request", "answer"}
    assert {len(chain) for chain in chains} == {1, 2, 3}
    assert len(set(chains)) > 0.8 * len(chains)
