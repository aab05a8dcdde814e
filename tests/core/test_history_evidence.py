"""Evidence of a candidate's history: numbers for what is known, and nothing for what is not."""

import math

import pytest

from forgelore.compare.evidence import HISTORY, compare_history
from forgelore.records import ItemHistory

DAY = 86_400_000
KNOWN = ItemHistory(
    1, "ana", is_open=False, ended_at=2 * DAY, is_marked=True, comments=3, active_at=DAY, mentions=1, duplicates=0,
    participants=frozenset(["ana", "tom"]),
)  # fmt: skip


def numbers(history=KNOWN, author="tom", asked_at=9 * DAY):
    return compare_history(history, author=author, asked_at=asked_at)


def test_a_history_that_is_known_has_every_number():
    found = numbers()
    assert tuple(found) == HISTORY
    assert (found["open"], found["marked"], found["same_author"], found["took_part"]) == (0, 1, 0, 1)
    assert [math.expm1(found[name]) for name in ("comments", "people", "mentions", "duplicates")] == pytest.approx(
        [3, 2, 1, 0]
    )
    assert (math.expm1(found["quiet"]), math.expm1(found["closed_for"])) == pytest.approx((8, 7))


def test_what_nobody_knows_has_no_number():
    assert numbers(ItemHistory(1)) == {}


@pytest.mark.parametrize("author", [None, ""])
def test_an_unknown_author_is_nobodys_equal(author):
    assert not {"same_author", "took_part"} & numbers(author=author).keys()


def test_who_asks_at_an_unknown_time_knows_no_days():
    assert not {"quiet", "closed_for"} & numbers(asked_at=None).keys()


def test_what_happened_after_the_question_is_no_day_ago():
    assert numbers(asked_at=0)["quiet"] == 0
