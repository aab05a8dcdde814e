"""Does work grow with its input, or with the square of it? Measured in CPU time of this thread, never against a clock.

    assert_grows_slowly(clean, lambda size: "<!--" * (size // 4))

Inputs double until the work can be measured, then the input is made four times as large. Linear work then takes 4 times
as long, quadratic 16 times, and the bound lies between. What is too much is measured again before it fails.
"""

import time

MEASURABLE_S = 0.01
TIMES = 4
BOUND = 9  # linear: 4; n log n: 4.5; quadratic: 16
TRIES = 3  # another process may take the cache away; three times in a row, and only in the second half, it does not
SMALLEST, LARGEST = 1_000, 1_000_000


def assert_grows_slowly(work, make, largest=LARGEST):
    """`make` returns an input of about a given size. What stays below 10 ms at the largest size is cheap enough."""
    size = SMALLEST
    while (spent := _cpu_s(work, make(size))) < MEASURABLE_S and size < largest:
        size *= 2
    if spent < MEASURABLE_S:
        return
    small, large = make(size), make(TIMES * size)
    grown = []
    while len(grown) < TRIES and (not grown or grown[-1] >= BOUND):
        grown.append(_cpu_s(work, large) / _cpu_s(work, small))
    assert grown[-1] < BOUND, f"{TIMES} times the input of {size:,}: {grown[-1]:.1f} times the work"


def _cpu_s(work, given):
    began = time.thread_time()
    work(given)
    return time.thread_time() - began
