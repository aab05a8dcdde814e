"""What does a search for a typed title take: CPU time of words and meaning together, over 100,000 documents.

`python bench/run.py titles [DOCUMENTS]`. The store is that of bench/search.py, kept in FORGELORE_BENCH_CACHE (or the
temporary folder). How good the answers are is bench/queries.py.
"""

import random

from lib import warm
from lib.common import report, table, verdict
from lib.tracker import SEED, Question, get_store, load_items
from lib.typed import read_queries

DOCUMENTS = 100_000
TITLES = 200
TARGET_MS = 12.0  # CPU of a hybrid search for a title
BASELINE, HYBRID = "words, all of them (AND)", "hybrid"
PARTS = (BASELINE, "words, then the rarest (OR)", "vectors alone", "lexical search", "hybrid, ranking only", HYBRID)


def main(arguments: list[str]) -> None:
    documents = int(arguments[0]) if arguments else DOCUMENTS
    items = load_items()
    desk = warm.Desk(get_store(items, documents).path)
    asked = {
        f"{TITLES} whole titles of issues": sample_titles(items),
        "the identifiers and sentences of bench/queries.jsonl": [
            Question(one.query, one.kind == "identifier")
            for one in read_queries()
            if one.kind in ("identifier", "sentence")
        ],
    }
    parts = []
    for name, questions in asked.items():
        times = warm.take_times(desk, questions, rounds=2, only=PARTS)
        parts += [f"## {documents:,} documents, {name}", times_table(times)]
        if documents == DOCUMENTS and not parts[2:]:
            met = verdict(times[HYBRID].cpu, TARGET_MS, at_most=True)
            parts.append(f"Target: a hybrid search takes at most {TARGET_MS:.0f} ms of CPU, p50: {met}.")
    desk.history.close()
    report("titles", "What a search for a typed title takes", [*parts, NOTE], " ".join(arguments))


NOTE = (
    "Milliseconds. All parts in turn for each query, in one process, two rounds, after 30 queries that are not counted."
    " What is kept about words is forgotten before each search, as if nobody had asked about them. Vectors are random,"
    " and that of the query is given: embedding it does not count. The last column compares with the least that a"
    " search by words can do, in the same run: on another machine, or a busier one, it is what to compare."
)


def sample_titles(items: list[dict]) -> list[Question]:
    """Return whole titles, which are longer than what bench/search.py asks."""
    titles = [row["title"] for row in items if row["kind"] == "issue" and len(row["title"].split()) > 1]
    return [Question(title, is_identifier=False) for title in random.Random(SEED).sample(titles, TITLES)]


def times_table(times: dict[str, warm.Timed]) -> str:
    least = times[BASELINE].cpu
    rows = [[name, one.cpu, one.p50, one.p95, f"{one.cpu / least:.1f}x"] for name, one in times.items()]
    return table(["", "CPU, p50", "wall, p50", "wall, p95", "CPU / that of the AND"], rows)
