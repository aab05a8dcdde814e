"""The duplicates of the demo tracker: which items report again what an earlier one did, as its authors meant them.

Near copies, other words, other languages, other symptoms of one cause. Some were closed as duplicates, some are open
and unmarked.
"""

ISSUES = {  # duplicate -> what it repeats
    11: [8], 46: [41], 48: [41, 46], 31: [27], 56: [27, 31], 29: [18], 33: [18, 29], 43: [6], 79: [6, 43],
    61: [58], 73: [58, 61], 75: [65], 68: [51], 95: [91], 100: [84], 42: [35], 106: [35, 42], 97: [92],
    38: [30], 81: [30, 38], 122: [21], 117: [71], 34: [23], 157: [110], 154: [101], 159: [131], 140: [107],
    164: [127], 152: [28], 90: [89], 147: [144], 149: [145],
}  # fmt: skip
CHANGES = {26: [25], 99: [98]}


def lines() -> list[dict[str, object]]:
    """Return them as lines of a query file; the time of creation is the stored one."""
    groups = (("issue", ISSUES), ("change", CHANGES))
    return [{"query": query, "kind": kind, "gold": gold} for kind, of in groups for query, gold in of.items()]
