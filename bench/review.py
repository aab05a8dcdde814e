"""The review queue as of three dates of each tracker: what of the duplicates that people marked later stands in its
first 100 pairs, and what readers said of the first 50 (lib/readings.py).

    python bench/run.py review [CORPUS…]        hadoop and seamonkey where none is named

The first 50 of the last date of each are written to build/review, for a reader who knows nothing of them.

A tracker is cut at a date (later items and notes left out, what was closed later is open) and imported as it was then;
candidates and queue are those of the commands. A marked pair counts where one of its items was open then, the other
open or closed within a year, and nobody had joined them. Marks are incomplete: a pair that nobody marked may be one.
"""

import datetime as dt
import gzip
import json
import pathlib
import sys
import tempfile
import time
import typing

from forgelore.api import open_history
from forgelore.dedupe.review import RECENTLY_MS, ReviewPair
from forgelore.dedupe.review_rules import Joined
from forgelore.store.projects import list_projects
from forgelore.store.reviews import list_closed_by, list_mentions
from forgelore.viewer import EVERYTHING
from lib.common import SHARED, Skipped, clean_environ, forgelore, report, table, verdict
from lib.readings import describe_readings, load_readings, write_blind

CORPORA = ("hadoop", "seamonkey")
PLACES = (0.5, 0.7, 0.9)  # of the items, by their filing
FIRST, READ = 100, 50
TARGET = 0.30  # of the pairs that people marked later
NOTE = (
    "Candidates: those that are in the queue at all. By strength, by cosine: in the first pairs, were they ordered by"
    " that alone. Expected: by the shipped chance, before any answer. CPU: import with vectors, and candidates."
)


class Measured(typing.NamedTuple):
    corpus: str
    day: str
    open_items: int
    pairs: int
    in_series: int
    marked: int  # later, and joined by nobody
    candidates: int  # of them, those that are in the queue at all
    first: dict[str, int]  # order -> of them, those among the first 100
    expected: float  # duplicates among the first 50, by the shipped chance
    cpu_s: float
    queue_s: float
    reading: list[ReviewPair]  # the first pairs, for people


def main(arguments: list[str]) -> None:
    names = arguments or CORPORA
    rows = [measure(name, place) for name in names for place in PLACES]
    last = {one.corpus: one for one in rows}
    write_blind([(one.corpus, one.day, at, pair) for one in last.values() for at, pair in enumerate(one.reading, 1)])
    note = "\n".join(
        ["Marked later, joined by nobody, and among the first 100:", "", *map(describe_marked, split(rows))]
    )
    read = describe_readings({name: load_marked(name) for name in {one.tracker for one in load_readings()}})
    report("review", "Review queue", [write_table(rows), note, NOTE, *read], " ".join(arguments))


def split(rows: list[Measured]) -> list[list[Measured]]:
    """Return the rows of each tracker, and all of them."""
    return [*([one for one in rows if one.corpus == name] for name in dict.fromkeys(one.corpus for one in rows)), rows]


def describe_marked(rows: list[Measured]) -> str:
    marked, found = sum(one.marked for one in rows), sum(one.first["both"] for one in rows)
    listed = sum(one.candidates for one in rows)
    name = rows[0].corpus if len({one.corpus for one in rows}) == 1 else "all"
    share = f"{found / marked:.2f}, {verdict(found / marked, TARGET, at_most=False)}" if marked else "none"
    return f"- {name}: {found} of {marked}, {share}; {listed} are in the queue at all"


def write_table(rows: list[Measured]) -> str:
    head = [
        "tracker", "as of", "open", "pairs", "series", "marked later", "candidates", f"in the first {FIRST}",
        "by strength", "by cosine", f"expected of {READ}", "CPU s", "queue s",
    ]  # fmt: skip
    cells = [
        [one.corpus, one.day, one.open_items, one.pairs, one.in_series, one.marked, one.candidates, one.first["both"],
         one.first["strength"], one.first["cosine"], one.expected, one.cpu_s, one.queue_s]
        for one in rows
    ]  # fmt: skip
    return table(head, cells)


def measure(name: str, place: float) -> Measured:
    folder = SHARED / "corpora"
    if not (folder / f"{name}.jsonl.gz").exists():
        raise Skipped("the corpora (../shared/corpora) are not on this machine")
    with gzip.open(folder / f"{name}.jsonl.gz", "rb") as lines:
        items = [one for one in map(json.loads, lines) if one["kind"] == "issue" and one["created_at"]]
    hidden = set(json.loads((folder / f"{name}.exclude.json").read_text()))
    gold = load_marked(name)
    day = sorted(one["created_at"] for one in items)[int(place * len(items))]
    cut = [cut_item(one, day) for one in items if one["created_at"] < day and one["number"] not in hidden]
    with tempfile.TemporaryDirectory() as place_of_store:
        return measure_cut(name, day, cut, gold, pathlib.Path(place_of_store))


def load_marked(name: str) -> set[frozenset[int]]:
    """Return the pairs that the people of a tracker called duplicates, at any time."""
    lines = (SHARED / "corpora" / f"{name}.queries.jsonl").read_text().splitlines()
    queries = [one for one in map(json.loads, lines) if one["kind"] == "issue"]
    return {frozenset((one["query"], other)) for one in queries for other in one["gold"]}


def cut_item(item: dict, day: str) -> dict:
    """Return an item as it was on a day, as far as the corpus tells."""
    notes = [note for note in item.get("notes") or () if (note.get("created_at") or "9") < day]
    was_open = item.get("state") == "open" or not item.get("closed_at") or item["closed_at"] >= day
    if item.get("state") != "open" and not item.get("closed_at"):
        was_open = False
    ended = {"state": "open", "closed_at": None, "state_reason": None} if was_open else {}
    return {**item, **ended, "notes": notes}


def measure_cut(name: str, day: str, items: list[dict], gold: set[frozenset[int]], folder: pathlib.Path) -> Measured:
    source, database = folder / "items.jsonl", folder / "lore.db"
    source.write_text("".join(json.dumps(one) + "\n" for one in items))
    environ = clean_environ(folder, FORGELORE_DB=str(database))
    cost = forgelore("import", str(source), "--project", f"bench/{name}", environ=environ).cpu_s
    cost += forgelore("dedupe", "candidates", "--kind", "issue", "--workers", "1", environ=environ).cpu_s
    since_ms = int(dt.datetime.fromisoformat(day).timestamp() * 1000) - RECENTLY_MS
    since = dt.datetime.fromtimestamp(since_ms / 1000, dt.UTC)
    with open_history(database, environ=environ, viewer=EVERYTHING) as history:
        store = history.app.store()
        began = time.monotonic()
        queue = history.dedupe.queue(kind="issue", closed_since=since, limit=1_000)
        queue_s = time.monotonic() - began
        numbers = dict(store.rows("SELECT id, number FROM items"))
        pairs = [one for one in queue.pairs if one.pile == "pairs"]
        wanted = find_marked(store, items, gold, numbers, since_ms)
        listed = {frozenset((one.newer.number, one.older.number)) for one in queue.pairs}
        first = {order: len(wanted & set(keys[:FIRST])) for order, keys in order_pairs_by(pairs).items()}
        return Measured(
            name, day[:10], sum(one["state"] == "open" for one in items), queue.left, queue.in_series, len(wanted),
            len(wanted & listed), first, sum(one.chance for one in pairs[:READ]), cost, queue_s,
            pairs[:READ],
        )  # fmt: skip


def order_pairs_by(pairs) -> dict[str, list[frozenset[int]]]:
    orders = {"both": lambda _: 0, "strength": lambda one: -one.strength, "cosine": lambda one: -(one.cosine or 0)}
    return {
        name: [frozenset((one.newer.number, one.older.number)) for one in sorted(pairs, key=key)]
        for name, key in orders.items()
    }


def find_marked(store, items: list[dict], gold, numbers: dict[int, int], since_ms: int) -> set[frozenset[int]]:
    """Return the pairs that people marked later: one was open, the other open or just closed, and nobody had joined."""
    ids = {number: item_id for item_id, number in numbers.items()}
    states = {one["number"]: (one["state"], one.get("closed_at")) for one in items}
    project_id = list_projects(store)[0].id
    joined = Joined(list_mentions(store, project_id, "issue"), list_closed_by(store, project_id))

    def is_near(number: int) -> bool:
        state, closed = states[number]
        return state == "open" or (bool(closed) and dt.datetime.fromisoformat(closed).timestamp() * 1000 >= since_ms)

    found = set()
    for pair in gold:
        one, other = pair
        if one not in states or other not in states or joined.has(ids[one], ids[other]):
            continue
        if "open" in (states[one][0], states[other][0]) and is_near(one) and is_near(other):
            found.add(pair)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
