"""Shared paths as evidence: laws that hold for any two changes, and changes of the shapes that projects have."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.evidence import MAX, compare_paths, distinctive_paths, path_bonus, weigh_paths

PATHS = [f"src/{name}.py" for name in "abcdefgh"]
CHANGE = st.integers(0, 255).map(lambda bits: frozenset(path for at, path in enumerate(PATHS) if bits >> at & 1))
CHANGES = st.lists(CHANGE, max_size=12)


def weigh(changes):
    counts = {path: sum(path in one for one in changes) for path in set().union(*changes)}
    return weigh_paths(counts, len(changes))


def bonus(mine, theirs, others=()):
    return path_bonus(compare_paths(mine, theirs, weigh([mine, theirs, *others])))


@given(CHANGE, CHANGE, CHANGES, st.integers(0, 30))
def test_sharing_a_further_path_never_lowers_a_pair(mine, theirs, others, quiet):
    """Whether nobody, one of the two or many others touch it; the project may have changes that touch none of them."""
    others = [*others, *([frozenset()] * quiet)]
    for path in ("src/new.py", "src/a.py", "src/b.py"):
        before, after = bonus(mine, theirs, others), bonus(mine | {path}, theirs | {path}, others)
        assert after >= before - 1e-12


@given(CHANGE, CHANGE, CHANGES)
def test_a_bonus_is_bounded_and_the_same_from_both_sides(mine, theirs, others):
    found = bonus(mine, theirs, others)
    assert 0 <= found <= MAX
    assert found == pytest.approx(bonus(theirs, mine, others))
    if not mine & theirs:
        assert found == 0


@given(CHANGE, CHANGES)
def test_nothing_is_nearer_to_a_change_than_one_of_the_same_files(mine, others):
    weights = weigh([mine, mine, *others])
    of_copy = path_bonus(compare_paths(mine, mine, weights))
    assert all(path_bonus(compare_paths(mine, one, weights)) <= of_copy + 1e-12 for one in others)


@given(CHANGE, CHANGES)
def test_paths_that_are_not_known_are_no_evidence(mine, others):
    assert compare_paths(mine, (), weigh([mine, *others])) == compare_paths((), mine, weigh([mine, *others])) == {}
    assert path_bonus({}) == 0


def test_the_rarest_path_is_told_first_and_everybodys_not_at_all():
    weights = weigh_paths({"a.py": 2, "b.py": 30, "CHANGELOG.md": 99}, 99)
    assert distinctive_paths({"b.py", "a.py", "CHANGELOG.md", "c"}, {"a.py", "b.py", "CHANGELOG.md"}, weights) == [
        "a.py",
        "b.py",
    ]


# A project as there are many: 400 changes; nine of ten note themselves in the changelog, half move the lock file, modules
# are touched by a dozen changes each, and now and then somebody reformats everything.
MODULES = [f"src/{part}/{name}.py" for part in ("net", "store", "ui", "sync") for name in "abcdefghij"]
CROWD = [
    {MODULES[at % 40], MODULES[at * 7 % 40].replace("src", "tests")}
    | ({"CHANGELOG.md"} if at % 10 else set())
    | ({"requirements.lock"} if at % 2 else set())
    for at in range(396)
]
REFORMAT = {*MODULES, *(path.replace("src", "tests") for path in MODULES), "src/pay/tax.py", "setup.cfg"}
TAX = {"src/pay/tax.py", "src/pay/rates.json", "CHANGELOG.md"}
TAX_AGAIN = {"src/pay/tax.py", "src/pay/rates.json", "tests/pay/test_tax.py", "CHANGELOG.md", "requirements.lock"}
RENAMED = {"src/pay/tax.py", "src/pay/vat.py"}  # both names of one file
PROJECT = [*CROWD, REFORMAT, TAX, TAX_AGAIN, RENAMED]


SHAPES = {
    "the same work again": TAX_AGAIN, "one rare file of both": RENAMED, "a change of everything": REFORMAT,
    "everybody's files": {"CHANGELOG.md", "requirements.lock"}, "other files": {"src/pay/unknown.py"},
}  # fmt: skip


def test_changes_of_real_shapes_come_in_the_order_that_people_expect():
    weights = weigh([*PROJECT, *SHAPES.values()])
    found = {name: path_bonus(compare_paths(TAX, shape, weights)) for name, shape in SHAPES.items()}
    assert list(found) == sorted(found, key=lambda name: -found[name])
    assert found["the same work again"] > 0.6 * MAX
    assert found["one rare file of both"] > 2 * found["a change of everything"]
    assert found["everybody's files"] < 0.01
    assert found["other files"] == 0
    assert sum(path_bonus(compare_paths(TAX, one, weights)) > 0.05 for one in CROWD) == 0


def test_a_change_of_three_thousand_files_is_weighed_whole():
    wide = {f"src/{number}.py" for number in range(3_000)}
    weights = weigh([wide, wide | {"more.py"}, *CROWD])
    found = compare_paths(wide, wide | {"more.py"}, weights)
    assert found["shared_paths"] == pytest.approx(3_000 * math.log(399 / 3))
    assert found["path_share"] > 0.99
