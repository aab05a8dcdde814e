"""Run a command and write what it cost: `measure.py OUT.json COMMAND…`.

A process of its own: Linux counts the memory of whoever starts a process into its peak, and this one is small.
"""

import json
import os
import sys
import time


def main() -> int:
    out, *command = sys.argv[1:]
    began = time.monotonic()
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    cost = {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": time.monotonic() - began,
        "peak_mb": usage.ru_maxrss / 1024,
    }
    with open(out, "w", encoding="utf-8") as file:
        json.dump(cost, file)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
