"""What would people be told, on trackers that took no part? The bot's own code path, on the bot's kind of index.

Each tracker is left out in turn: the trees that rank come from the three others. Its index holds what the bot's does:
issues and changes, no conversations. The bot makes its scale from it as it always does; then the newest labelled
duplicates and as many ordinary issues are judged as of their filing, by `triage_item`: a series by one author, what the
author cites, and titles that differ in a number alone are treated as in a real run. Needs LightGBM
(requirements/ranker.txt). What was ranked to grow trees is kept in FORGELORE_BENCH_CACHE.

    python bench/run.py comments
"""

import gzip
import json
import pathlib
import re
import sys
import time
import typing

import numpy as np

from forgelore.api import open_history
from forgelore.compare import reference
from forgelore.compare.calibrate import build_sample, learn_boilerplate
from forgelore.compare.scoring import wilson
from forgelore.compare.trees import VERSION, Trees, parse_trees
from forgelore.model import ItemKey, Project
from forgelore.store.documents import remove_documents
from forgelore.text.dates import parse_ms
from forgelore.triage.events import Inputs
from forgelore.triage.item import TriageContext, TriageResult, triage_item
from forgelore.triage.learning import SAMPLE
from forgelore.triage.report import MARKER, WORDS
from lib.common import ROOT, Skipped, clean_environ, report, table, verdict
from lib.evidence_choice import RECIPES
from lib.evidence_data import TRACKERS, Ranked, Tracker, rank_all
from lib.evidence_fit import columns, fit_without
from quality import CORPORA, cache_folder, query_lines, run

sys.path.insert(0, str(ROOT / "training"))
from tree_export import export_trees

GROWN_ON = 700, 300  # the most duplicates and ordinary issues of a tracker that trees are grown on
JUDGED = 240  # the most of either that are judged
READ = 40  # comments that are kept beside the databases, for people to read
TARGETS = {  # of what people are told -> at most or at least, in per cent
    "ordinary: warned": ("<=", 8), "ordinary: any comment": ("<=", 25),
    "duplicates: warned, the right one first": (">=", 22), "duplicates: in the list": (">=", 40),
}  # fmt: skip
NOTE = (
    "Each tracker left out: trees grown on the other three, on an index without conversations, by the code path of the"
    f" bot at its default thresholds. The newest labelled duplicates, {JUDGED} at most, and as many ordinary issues,"
    " each judged as of its filing; duplicates whose author names the original are left out: nobody needs to be told."
    f" Trees were grown on {GROWN_ON[0]} duplicates and {GROWN_ON[1]} ordinary issues of each tracker at most, fewer"
    " than the shipped ones. Labels are incomplete: some ordinary issues are duplicates. Wilson's 95 % intervals."
)


class Told(typing.NamedTuple):
    """What one issue's author would read."""

    tracker: str
    number: int
    is_duplicate: bool
    outcome: str
    similarity: float
    body: str
    right_at: int | None  # the place of the first right item in the list

    @property
    def is_warned(self) -> bool:
        return self.outcome in ("duplicate", "regression")


def main(_arguments: list[str]) -> None:
    names = [name for name in TRACKERS if (CORPORA / f"{name}.jsonl.gz").exists()]
    if len(names) < 2:
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    began = time.process_time()
    trackers = [load_tracker(name) for name in names]
    told = [one for each in trackers for one in judge(each, trackers)]
    (cache_folder() / "comments.json").write_text(json.dumps([one._asdict() for one in told]), encoding="utf-8")
    keep_for_reading(told)
    parts = [NOTE, table_of(told), targets_of(told), words_of(told)]
    parts.append(f"{time.process_time() - began:.0f} s of CPU with what was kept, but for imports and embedding.")
    report("comments", "What people would be told, on trackers that took no part", parts)


def load_tracker(name: str) -> Tracker:
    """Return what trees are grown on: pairs of a tracker, with its conversations."""
    kept = cache_folder() / f"{name}.bot.npz"
    if not kept.exists():
        db = prepare(name)
        with open_history(db, environ=environ_of(db)) as lore:
            learn_boilerplate(lore.app.store(), lore.app.find_project(name).id, is_forced=True)
            np.savez_compressed(kept, **rank_all(lore, name, chosen(name, GROWN_ON), is_lexical=False)._asdict())
    return Tracker(name, Ranked(**np.load(kept)))


def environ_of(db: pathlib.Path) -> dict[str, str]:
    return clean_environ(db.parent, FORGELORE_DB=str(db), FORGELORE_EMBEDDER="lore", FORGELORE_SECOND_EMBEDDER="none")


def prepare(name: str) -> pathlib.Path:
    """Return a database whose items alone are searched, as the bot's are, and whose conversations are known."""
    folder = cache_folder()
    db, items = folder / f"{name}.bot.db", folder / f"{name}.bot.jsonl"
    for old in folder.glob(f"{name}.bot.db*"):
        old.unlink()
    hidden = set(json.loads((CORPORA / f"{name}.exclude.json").read_text(encoding="utf-8")))
    with gzip.open(CORPORA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file, items.open("w") as out:
        out.writelines(line for line in file if json.loads(line)["number"] not in hidden)
    environ = environ_of(db)
    run(environ, "import", str(items), "--project", name, "--no-embed")
    with open_history(db, environ=environ) as lore:
        store, project_id = lore.app.store(), lore.app.find_project(name).id
        with store.transaction():
            threads = [row[0] for row in store.rows("SELECT id FROM documents WHERE representation = 'thread'")]
            remove_documents(store, project_id, threads)
    run(environ, "embed")
    return db


def chosen(name: str, most: tuple[int, int], *, is_newest: bool = False) -> list[tuple]:
    """Return issues as `rank_all` asks for them: duplicates and ordinary ones, spread over time or the newest."""
    lines = [row for row in query_lines(name) if row["kind"] == "issue" and not (is_newest and row["cites_gold"])]
    lines.sort(key=lambda row: (row["created_at"], row["query"]))
    found = []
    for has_gold, count in zip((True, False), most, strict=True):
        rows = [row for row in lines if bool(row["gold"]) is has_gold]
        taken = min(count, len(rows))
        places = np.arange(len(rows) - taken, len(rows)) if is_newest else np.linspace(0, len(rows) - 1, taken)
        found += [rows[int(at)] for at in places]
    return [(row["kind"], row["query"], parse_ms(row["created_at"]), row["gold"], row["cites_gold"]) for row in found]


def judge(tracker: Tracker, trackers: list[Tracker]) -> list[Told]:
    """What the bot would say on a tracker, with trees that were grown without it."""
    name = tracker.name
    fit = fit_without(tracker, trackers, columns(), RECIPES[0])
    text = export_trees(fit.booster.model_to_string(), name="lore", version=VERSION, made={})
    db = cache_folder() / f"{name}.bot.db"
    with open_history(db, environ=environ_of(db)) as lore, RankedBy(parse_trees(text)):
        store, retriever = lore.app.store(), lore.retriever()
        project = lore.app.find_project(name)
        with store.transaction():  # what the bot does not know, and what other trees made of it
            for table_name in ("threads", "nearest_strengths"):
                store.run(f"DELETE FROM {table_name}")
        build_sample(retriever, project.id, "issue", size=SAMPLE)
        context = TriageContext(store, None, Project(project.name), project.id, retriever, retriever.embedder, Inputs())
        return [look(context, name, one) for one in chosen(name, (JUDGED, JUDGED), is_newest=True)]


class RankedBy:
    """For its duration the program ranks by these trees."""

    def __init__(self, trees: Trees) -> None:
        self._trees, self._shipped = trees, reference.load_trees

    def __enter__(self) -> None:
        reference.load_trees = lambda _family: self._trees

    def __exit__(self, *_) -> None:
        reference.load_trees = self._shipped


def look(context: TriageContext, tracker: str, asked: tuple) -> Told:
    _, number, created, gold, _ = asked
    found: TriageResult = triage_item(context._replace(as_of=created), ItemKey("issue", number))
    rows = [int(row.ref.lstrip("#!")) for row in found.report.rows] if found.report else []
    right_at = next((at for at, row in enumerate(rows, 1) if row in gold), None)
    return Told(tracker, number, bool(gold), found.outcome, found.similarity or 0.0, found.body, right_at)


def shares(told: list[Told]) -> dict[str, list[bool]]:
    ordinary, known = ([one for one in told if one.is_duplicate is has_gold] for has_gold in (False, True))
    return {
        "ordinary: warned": [one.is_warned for one in ordinary],
        "ordinary: any comment": [bool(one.body) for one in ordinary],
        "duplicates: warned, the right one first": [one.is_warned and one.right_at == 1 for one in known],
        "duplicates: in the list": [one.right_at is not None for one in known],
        "of warned duplicates: the right one first": [one.right_at == 1 for one in known if one.is_warned],
    }


def interval(is_so: list[bool]) -> str:
    share = float(np.mean(is_so)) if is_so else 0.0
    low, high = wilson(share, len(is_so))
    return f"{100 * share:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"


def groups_of(told: list[Told]) -> dict[str, list[Told]]:
    names = dict.fromkeys(one.tracker for one in told)
    return {**{name: [one for one in told if one.tracker == name] for name in names}, "all": told}


def table_of(told: list[Told]) -> str:
    rows = []
    for name, group in groups_of(told).items():
        known = sum(one.is_duplicate for one in group)
        rows.append([name, known, len(group) - known, *map(interval, shares(group).values())])
    return table(["", "duplicates", "ordinary", *shares([])], rows)


def targets_of(told: list[Told]) -> str:
    rows = []
    for name, group in groups_of(told).items():
        for what, (sign, bar) in TARGETS.items():
            value = round(100 * float(np.mean(shares(group)[what])), 1)
            rows.append([f"{name}: {what}", f"{sign} {bar} %", f"{value} %", verdict(value, bar, at_most=sign == "<=")])
    return table(["", "target", "measured", ""], rows)


def visible_words(body: str) -> int:
    """Words that are seen before a click, by whitespace; addresses of links are not seen."""
    shown = re.sub(r"<details>.*</details>", "Why", body.replace(MARKER, ""), flags=re.DOTALL)
    return len(re.sub(r"</?sub>", "", re.sub(r"\]\([^()\s]*\)", "]", shown)).split())


def words_of(told: list[Told]) -> str:
    counts = sorted(visible_words(one.body) for one in told if one.body)
    within = sum(count <= WORDS for count in counts)
    return (
        f"Of {len(counts):,} comments {within:,} show at most {WORDS} words before a click"
        f" (median {counts[len(counts) // 2]}, most {counts[-1]})."
    )


def keep_for_reading(told: list[Told]) -> None:
    """Keep some comments, half of them warnings, beside the databases."""
    said = [one for one in told if one.body]
    said.sort(key=lambda one: (one.number * 7919 % 10_007, one.tracker))
    halves = ([one for one in said if one.is_warned is is_warned][: READ // 2] for is_warned in (True, False))
    mixed = [one for half in halves for one in half]
    text = "\n".join(f"=== {one.tracker} {one.number} {one.outcome} {one.right_at}\n{one.body}" for one in mixed)
    (cache_folder() / "comments-to-read.md").write_text(text, encoding="utf-8")
