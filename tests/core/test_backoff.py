"""Back-off: grows, is capped, and jitters by a tenth."""

from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.values import CAP_MS, next_attempt_at


@given(st.integers(0, 10**6), st.floats(0.9, 1.1))
def test_the_wait_is_within_a_tenth_of_the_capped_power_of_two(attempts, jitter):
    expected = min(CAP_MS, 1000 * 2 ** min(attempts, 30))
    assert abs(next_attempt_at(0, attempts, jitter) - expected) <= expected * 0.1 + 1
