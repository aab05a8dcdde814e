"""The machine's clock, for callers without an app: the default of every `now_ms`.

Who has an app hands in `App.now_ms` instead, so that a test can hold time still.
"""

import time


def machine_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return int(time.time() * 1000)
