"""Rollback after apply gives the forge's state before it, the timeline aside: whatever state that was."""

import random

import pytest

from dedupe.closing_lab import ClosingLab, actions, let_ana_write

SEEDS = range(4)


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def closing(request):
    lab = request.getfixturevalue(request.param)
    let_ana_write(lab)
    return ClosingLab(lab)


def live(closing, rng):
    """Originals and copies of both kinds, with labels, comments, links and marks as people leave them."""
    numbers = {"issue": [], "change": []}
    for kind in ("issue", "change"):
        for at in range(6):
            labels = rng.sample(["bug", "crash", "possible-duplicate"], rng.randint(0, 2))
            numbers[kind].append(closing.add(kind=kind, author=f"user{at}", labels=labels))
            for _ in range(rng.randint(0, 2)):
                place = (numbers[kind][-1],) if closing.has_shared_numbers else (kind, numbers[kind][-1])
                closing.project.comment(*place, "Me too", author=f"user{rng.randint(0, 9)}")
    first, second, *_ = numbers["issue"]
    if rng.random() < 0.5 and hasattr(closing.project, "relate"):
        closing.project.relate(second, first)
    return numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rollback_gives_the_state_before_the_apply(closing, seed):
    rng = random.Random(seed)
    numbers = live(closing, rng)
    closing.named = ("ana",)
    closing.lab.sync()
    for kind, found in numbers.items():
        closing.say("canonical", found[0], kind=kind)
        for number in found[1:]:
            closing.decide(number, rng.choice(found[:2] if number != found[1] else found[:1]), kind=kind)
    before = {kind: closing.portrait(found, kind) for kind, found in numbers.items()}
    closing.cluster()
    run = closing.plan(target_policy=rng.choice(["canonical-only", "direct-fallback"])).run
    hours = rng.choice([0, 24])
    applied = closing.apply(run, close_after=hours)
    if hours:
        closing.time.pass_by(25 * 3600)
        applied = closing.apply(run)
    assert applied.counters.get("closed", 0) >= 2
    applied_state = {kind: closing.portrait(found, kind) for kind, found in numbers.items()}
    assert applied_state != before
    sent = len(closing.server.requests)
    again = closing.apply(run)
    assert again.counters.get("closed") == again.counters.get("already_closed") == applied.counters["closed"]
    assert actions(again) == actions(applied)
    assert closing.writes(sent) == [], "a plan that was applied changes nothing the second time"
    assert all("open" in {one[0] for one in states.values()} for states in applied_state.values())
    closing.roll_back(run)
    assert {kind: closing.portrait(found, kind) for kind, found in numbers.items()} == before
