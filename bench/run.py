"""Run all benches, or one: `python bench/run.py [NAME [ARGUMENT…]]`.

Each prints a table and keeps it in results/NAME.md. What they share, and what they start in processes of their own, is
in lib/; what writes a part of the program is in training/.
"""

import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from lib.common import Skipped

BENCHES = (
    "startup",
    "revisions",
    "quiet",
    "ingest",
    "economy",
    "plan",
    "big",
    "kills",
    "closing_kills",
    "quality",
    "search",
    "rivals",
    "overlap",
    "embed",
    "lore",
    "state",
    "event",
    "evidence",
    "outside",
    "comments",
    "blind",
    "rescore",
    "queries",
    "titles",
    "web",
    "hooks",
    "static_site",
    "agents",
    "dedupe",
    "review",
    "review_cost",
    "item_types",
    "chain",
    "intent",
    "code_index",
    "filtered",
    "tokens",
    "passages",
    "decisions",
)


def main() -> int:
    names = sys.argv[1:2] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"no bench {unknown[0]}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for name in names:
        try:
            importlib.import_module(name).main(sys.argv[2:])
        except Skipped as reason:
            print(f"{name}: skipped: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
