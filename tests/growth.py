"""Does work grow with its input, or with the square of it? Measured in CPU time of this thread, never against a clock.

    assert_grows_slowly(clean, lambda size: "<!--" * (size // 4))

Inputs double until the work can be measured, then the input is made 8 times as large. Linear work then takes 8 times as
long, quadratic 64 times, and the bound lies far from both: larger inputs no longer fit into the processor's cache. What
is too much is measured again before it fails, with inputs that are a little longer, so that no cached answer is measured.
"""

import gc
import time

MEASURABLE_S = 0.01
TIMES = 8
BOUND = 30  # linear: 8; n log n: 10; quadratic: 64
TRIES = 3  # another process may take the cache away
STEP = 200  # longer than any unit that inputs are made of
SMALLEST, LARGEST = 1_000, 1_000_000


def assert_grows_slowly(work, make, largest=LARGEST):
    """`make` returns an input of about a given size. What stays below 10 ms at the largest size is cheap enough."""
    size = SMALLEST
    while (spent := _first_cpu_s(work, make, size)) < MEASURABLE_S and size < largest:
        size *= 2
    if spent < MEASURABLE_S:
        return
    small, large, grown = [], [], BOUND
    while grown >= BOUND and len(small) < TRIES:
        longer = size + STEP * (len(small) + 2)  # the first call has seen the two before
        small.append(_cpu_s(work, make(longer)))
        large.append(_cpu_s(work, make(TIMES * longer)))
        grown = min(large) / min(small)
    assert grown < BOUND, f"{TIMES} times the input of {size:,}: {grown:.1f} times the work"


def _first_cpu_s(work, make, size):
    """The smaller of two measurements: the very first one also pays for what is made once, such as a pattern."""
    return min(_cpu_s(work, make(size)), _cpu_s(work, make(size + STEP)))


def _cpu_s(work, given):
    """Without the garbage collector: what it takes depends on everything else that the tests hold in memory."""
    gc.disable()
    try:
        began = time.thread_time()
        work(given)
        return time.thread_time() - began
    finally:
        gc.enable()
