"""The whole chain of deduplication on the tracker of bitcoin: how long it takes, how much memory, what comes out.

The index is there before, as after a sync. Two processes rank, as by default. The second run has nothing to do.

    python bench/run.py chain
"""

import json
import shutil

from lib.common import Cost, Skipped, clean_environ, forgelore, report, table, verdict
from lib.evidence_data import prepare_whole
from quality import CORPORA, cache_folder

NAME = "bitcoin"
TARGET_S, TARGET_MB = 8 * 60, 1_000
SHOWN = 10


def main(_arguments: list[str]) -> None:
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    whole = cache_folder() / f"{NAME}.whole.lore.db"
    whole = whole if whole.exists() else prepare_whole(NAME, "lore")
    db = cache_folder() / "chain.db"
    shutil.copyfile(whole, db)
    environ = clean_environ(db.parent, FORGELORE_DB=str(db), FORGELORE_EMBEDDER="lore")
    first, second = (run_chain(environ) for _ in range(2))
    rows = [[name, one.wall_s, one.cpu_s, one.peak_mb] for name, one in (("first", first), ("again", second))]
    chain = json.loads(first.out)["data"]
    steps = table(["run", "seconds", "CPU s", "peak MB of a process"], rows)
    seconds, memory = verdict(first.wall_s, TARGET_S, at_most=True), verdict(first.peak_mb * 3, TARGET_MB, at_most=True)
    counted = (
        f"Candidates, judge, clusters and plan of open issues: {first.wall_s:,.0f} s (target {TARGET_S}: {seconds});"
        f" three processes of at most {first.peak_mb:,.0f} MB (target {TARGET_MB:,} together: {memory})."
    )
    report(
        "chain", "The whole chain", [counted, steps, "## What came out", outcome(chain), "## Clusters", clusters(chain)]
    )
    for path in cache_folder().glob("chain.db*"):
        path.unlink()


def run_chain(environ: dict[str, str]) -> Cost:
    return forgelore("dedupe", "run", NAME, "--kind", "issue", "--workers", "2", "--json", environ=environ)


def outcome(chain: dict) -> str:
    made, decided, plan = chain["candidates"][0], chain["decisions"][0], chain["plan"]
    rows = [
        ["open issues", made["sources"]], ["without a candidate", made["empty"]],
        ["candidates kept", made["members_written"]], ["accepted", decided["accepted"]],
        *([f"not accepted: {name}", count] for name, count in decided["reasons"].items()),
        ["clusters", len(chain["clusters"]["clusters"])], ["would be closed", plan["counters"].get("close", 0)],
        *([f"stays open: {name}", count] for name, count in plan["counters"].items() if name != "close"),
    ]  # fmt: skip
    return table(["", ""], rows)


def clusters(chain: dict) -> str:
    found = chain["clusters"]["clusters"][:SHOWN]
    return table(
        ["stays", "items", "title"], [[str(one["canonical"]), str(one["numbers"]), one["title"]] for one in found]
    )
