"""Does the product find duplicates? Its own `evaluate` on three public trackers, beside two plain floors.

The trackers are imported once into FORGELORE_BENCH_CACHE (or a folder for temporary files) and kept there: vectors of
all items take some twenty minutes of CPU, and a run that was stopped goes on where it was.

    python bench/run.py quality                      everything
    python bench/run.py quality lore                 only the built-in embedder
    python bench/run.py quality words                without vectors
"""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile

from forgelore.api import open_history
from forgelore.compare.evaluate import EvaluationSetup, evaluate, read_suite
from forgelore.compare.scoring import METRICS, compare_ranks, score_ranks
from lib.common import FORGELORE, SHARED, Skipped, clean_environ, report, table, verdict
from lib.floors import FLOORS, load_tracker

CORPORA = SHARED / "corpora"
TRACKERS = ("bitcoin", "hadoop", "seamonkey")
EMBEDDERS = ("minilm", "lore")  # the default last: the targets are its own
WORDS = "forgelore, words"
POOLED, CHANGES = "issues of all three", "bitcoin changes"
TARGETS = ((POOLED, "recall@10", 0.86), (POOLED, "mrr", 0.68), (CHANGES, "recall@10", 0.82))

Ranks = dict[str, dict[tuple[str, int], int | None]]  # set -> (tracker, line) -> rank


def main(arguments: list[str]) -> None:
    embedders = [name for name in EMBEDDERS if not arguments or name in arguments]
    methods = [WORDS, *(name_of(mode, embedder) for embedder in embedders for mode in ("semantic", "hybrid"))]
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    found: dict[str, Ranks] = {name: {} for name in [*FLOORS, *methods]}
    for tracker in TRACKERS:
        add_floors(tracker, found)
        for embedder in embedders or ["none"]:
            add_modes(tracker, embedder, found)
    for ranks in found.values():
        ranks[POOLED] = {key: rank for name in TRACKERS for key, rank in ranks[f"{name} issues"].items()}
    sets = [POOLED, *(f"{name} issues" for name in TRACKERS), CHANGES]
    parts = [part for name in sets for part in (f"## {name}", score_table(found, name))]
    best = methods[-1]
    parts += ["## Targets", target_table(found[best], best), "## Against the floor", gain_table(found, best, sets)]
    report("quality", "Finding duplicates", [NOTE, *parts], " ".join(arguments))


NOTE = (
    "The query is an item's title and body, as if just filed; candidates are all items of its kind created earlier,"
    " minus the excluded ones; a hit at k is any item of its duplicate group among the first k. Only queries that have"
    " an answer count. Items without their notes. In brackets: 95 % intervals (Wilson for recall, bootstrap for MRR).\n"
    "\nBoth floors are written out in bench/lib/floors.py. The notes that come with the trackers have their own, R@10"
    " of bitcoin, hadoop, seamonkey and bitcoin changes: BM25 .707, .818, .826, .778; TF-IDF .733, .894, .891, .733."
    "\n\nThe shipped table of lore and the tuned MiniLM have read the text of these trackers, never which items repeat"
    " which, and the weights of the ranking were fitted on these very duplicates: what holds on a tracker that took no"
    " part is in lore.md and evidence.md."
)


def name_of(mode: str, embedder: str) -> str:
    return WORDS if mode == "lexical" else f"forgelore, {'meaning' if mode == 'semantic' else 'hybrid'}, {embedder}"


def add_floors(tracker: str, found: dict[str, Ranks]) -> None:
    there = load_tracker(CORPORA, tracker)
    by_key = {(item.kind, item.number): item for item in there.items}
    for name, floor in FLOORS.items():
        ranking = floor(there)
        for line, row in enumerate(query_lines(tracker), 1):
            if row["gold"]:
                numbers = ranking.rank(by_key[row["kind"], row["query"]], row["created_at"])
                rank = next((at for at, number in enumerate(numbers, 1) if number in row["gold"]), None)
                found[name].setdefault(f"{tracker} {row['kind']}s", {})[tracker, line] = rank


def query_lines(tracker: str) -> list[dict]:
    text = (CORPORA / f"{tracker}.queries.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def add_modes(tracker: str, embedder: str, found: dict[str, Ranks]) -> None:
    """The product, through the flow behind `forgelore evaluate`: it tells the rank of every query, for pooling."""
    db = prepare(tracker, embedder)
    excluded = tuple(json.loads((CORPORA / f"{tracker}.exclude.json").read_text(encoding="utf-8")))
    with (CORPORA / f"{tracker}.queries.jsonl").open("rb") as source:
        suite = read_suite(source)
    with open_history(db, environ=clean_environ(db.parent, FORGELORE_EMBEDDER=embedder)) as lore:
        for mode in ("lexical",) if embedder == "none" else ("lexical", "semantic", "hybrid"):
            setting = EvaluationSetup(lore.app.find_project(tracker), lore.app.hosts, lore.app.now_ms(), mode, excluded)
            result = evaluate(lore.retriever(is_lexical=mode == "lexical"), suite, setting)
            if result.mode != mode or result.left_out or result.warnings:
                raise RuntimeError(f"{tracker} {mode}: {result.mode} {result.left_out[:3]} {result.warnings[:3]}")
            for one in result.outcomes:
                found[name_of(mode, embedder)].setdefault(f"{tracker} {one.group}s", {})[tracker, one.line] = one.rank


def prepare(tracker: str, embedder: str) -> pathlib.Path:
    """Return the tracker's database, made or brought up to date with the code that is measured."""
    folder = cache_folder()
    db, items = folder / f"{tracker}.{embedder}.db", folder / f"{tracker}.items.jsonl"
    if not items.exists():
        write_items(CORPORA / f"{tracker}.jsonl.gz", items)
    environ = clean_environ(folder, FORGELORE_DB=str(db), FORGELORE_EMBEDDER=embedder)
    run(environ, "import", str(items), "--project", tracker, "--no-embed")
    run(environ, "generate-docs", "--full")
    if embedder != "none":
        run(environ, "embed")
    return db


def cache_folder() -> pathlib.Path:
    named = os.environ.get("FORGELORE_BENCH_CACHE")
    folder = pathlib.Path(named) if named else pathlib.Path(tempfile.gettempdir()) / "forgelore-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_items(source: pathlib.Path, target: pathlib.Path) -> None:
    """Leave the notes out: they are no part of the protocol, and their vectors would double the time."""
    part = target.with_suffix(".part")
    with gzip.open(source, "rt", encoding="utf-8") as file, part.open("w", encoding="utf-8") as out:
        for line in file:
            out.write(json.dumps({**json.loads(line), "notes": []}) + "\n")
    part.replace(target)


def run(environ: dict[str, str], *words: str) -> None:
    subprocess.run([*FORGELORE, *words], env=environ, check=True)


def score_table(found: dict[str, Ranks], name: str) -> str:
    rows = []
    for method, ranks in found.items():
        score = score_ranks(list(ranks[name].values()))
        cells = [
            f"{score.values[metric]:.3f} [{score.ci95[metric].low:.2f}, {score.ci95[metric].high:.2f}]"
            for metric in METRICS
        ]
        rows.append([method, score.n, *cells])
    return table(["", "n", "R@1", "R@5", "R@10", "R@20", "MRR"], rows)


def target_table(ranks: Ranks, method: str) -> str:
    rows = []
    for name, metric, target in TARGETS:
        value = score_ranks(list(ranks[name].values())).values[metric]
        rows.append(
            [f"{method}: {name}, {metric}", f">= {target}", f"{value:.3f}", verdict(value, target, at_most=False)]
        )
    return table(["", "target", "measured", ""], rows)


def gain_table(found: dict[str, Ranks], best: str, sets: list[str]) -> str:
    """Paired over the same queries; `clear` when the interval leaves zero out."""
    rows = []
    floor = next(iter(FLOORS))
    for name in sets:
        before, after = found[floor][name], found[best][name]
        gains = compare_ranks([before[key] for key in after], list(after.values()))
        for metric in ("recall@10", "mrr"):
            value, (low, high) = gains[metric].value, gains[metric].ci95
            said = "clear" if gains[metric].is_clear else "may be chance"
            rows.append([name, metric, f"{value:+.3f} [{low:+.3f}, {high:+.3f}]", said])
    return table(["set", "metric", f"{best} minus {floor}", ""], rows)
