"""Back-off: when a failed job is tried again. Exponential, capped at an hour, with jitter that the caller supplies."""

CAP_MS = 3_600_000


def next_attempt_at(now_ms: int, attempt_count: int, jitter: float) -> int:
    """Return now + min(1 h, 1 s * 2^attempts) * jitter; `jitter` is drawn from 0.9 to 1.1.

    next_attempt_at(0, 3, 1.0) -> 8000
    """
    delay = min(CAP_MS, 1000 << min(attempt_count, 30))
    return now_ms + int(delay * jitter)
