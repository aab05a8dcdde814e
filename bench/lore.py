"""How good is the built-in embedder `lore`, and what does it cost?

Two kinds of figures. Those of trackers that took no part in training come from training/results.json, which the
training run wrote: those models exist only there. Those of the shipped table are made here: it has seen the text of
these trackers (never which items are duplicates), so they show that the file is what was trained, not how it fares
elsewhere.
"""

import gzip
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, SHARED, Skipped, clean_environ, measure, report, table, verdict

sys.path.insert(0, str(ROOT / "training"))
import numpy as np

import bm25
from forgelore.core.chunks import build_chunks
from forgelore.core.fuse import fuse, fuse_scores
from forgelore.core.scoring import compare_ranks, score_ranks
from forgelore.embedders.lore import Lore

CORPORA = SHARED / "corpora"
RESULTS = ROOT / "training" / "results.json"
TRACKERS = ("bitcoin", "hadoop", "seamonkey")
WAYS = {
    "alone": "vectors alone",
    "fused": "with BM25, by reciprocal ranks",
    "summed": "with BM25, by scores (as `similar` does)",
}
SEEDS = (1, 2, 3)
DEPTH = 200
ROUNDS = 15
HEAD = ["", "n", "R@1", "R@5", "R@10", "R@20", "MRR"]


def main(arguments: list[str]) -> None:
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))
    parts = ["## On trackers left out of training", NOTE.format(recipe=runs["recipe"], seconds=runs["seconds"])]
    for way, name in WAYS.items():
        parts += [f"### {name}", left_out_table(runs, way), difference_table(runs, way)]
    parts += ["### Targets", target_table(runs), "### The other recipes", recipe_table(runs)]
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    trackers = {name: load_tracker(name) for name in TRACKERS}
    parts += ["## The shipped table", SHIPPED, shipped_table(trackers), "## Speed", speed_table(trackers["bitcoin"][0])]
    report("lore", "The embedder lore", parts, " ".join(arguments))


NOTE = """\
From training/results.json, not made by this bench: the training run's own ranks (recipe `{recipe}`, {seconds} s on one
NVIDIA H200). Each tracker is tested with a teacher tuned and a table distilled without any of its text, three times
(seeds). The query is title and body as if just filed, candidates are earlier items of the same kind; 262 issue queries
have an answer. MiniLM is all-MiniLM-L6-v2 in full precision at 128 tokens, as published (zero-shot) and as tuned. In
brackets: 95 % intervals; **clear** where the interval of a difference leaves zero out. The recipe was chosen among
three by its mean MRR on these same queries, alone and by ranks; all three are below."""

SHIPPED = """\
Made here from the packaged file, as the product embeds: first chunk of an item, BM25 with the product's query."""


def left_out(runs: dict, way: str, tracker: str | None, model: str, **facts: object) -> list[int | None]:
    """Return ranks, tracker after tracker in a fixed order: lists of different models are of the same queries."""
    return [
        rank
        for name in ([tracker] if tracker else TRACKERS)
        for run in runs["runs"]
        if run["model"] == model and run["tracker"] == name
        if model == "teacher" or run["fold"] == name
        if all(run.get(key) == value for key, value in facts.items())
        for rank in run["ranks"]["issue"][way]
    ]


def left_out_table(runs: dict, way: str) -> str:
    recipe = runs["recipe"]
    rows = []
    for tracker in (None, *TRACKERS):
        place = tracker or "all three"
        if way == "alone":
            rows.append(score_row(f"{place}: BM25", left_out(runs, "bm25", tracker, "teacher")))
        rows.append(score_row(f"{place}: MiniLM zero-shot", left_out(runs, way, tracker, "teacher")))
        rows += [
            score_row(f"{place}: MiniLM tuned, seed {seed}", left_out(runs, way, tracker, "tuned teacher", seed=seed))
            for seed in SEEDS[:1]
        ]
        rows += [
            score_row(f"{place}: **lore**, seed {seed}", left_out(runs, way, tracker, "lore", seed=seed, recipe=recipe))
            for seed in SEEDS
        ]
    return table(HEAD, rows)


def score_row(name: str, ranks: list[int | None]) -> list[object]:
    score = score_ranks(ranks)
    cells = [
        f"{value:.3f} [{score.ci95[key].low:.2f}, {score.ci95[key].high:.2f}]" for key, value in score.values.items()
    ]
    return [name, score.n, *cells]


def difference_table(runs: dict, way: str) -> str:
    """lore less MiniLM zero-shot on the same queries; the worst of three seeds."""
    rows = []
    for tracker in (None, *TRACKERS):
        before = left_out(runs, way, tracker, "teacher")
        found = [
            compare_ranks(before, left_out(runs, way, tracker, "lore", seed=seed, recipe=runs["recipe"]))
            for seed in SEEDS
        ]
        row: list[object] = [tracker or "all three"]
        for metric in ("recall@10", "mrr"):
            worst = min((one[metric] for one in found), key=lambda one: one.value)
            mean = statistics.mean(one[metric].value for one in found)
            clear = " **clear**" if worst.is_clear else ""
            row += [f"{mean:+.3f}", f"{worst.value:+.3f} [{worst.ci95.low:+.3f}, {worst.ci95.high:+.3f}]{clear}"]
        rows.append(row)
    return table(["lore less MiniLM zero-shot", "R@10, mean", "R@10, worst seed", "MRR, mean", "MRR, worst seed"], rows)


def target_table(runs: dict) -> str:
    rows = []
    for way, target in (("alone", 0.80), ("fused", 0.85), ("summed", 0.85)):
        ranks = [rank for seed in SEEDS for rank in left_out(runs, way, None, "lore", seed=seed, recipe=runs["recipe"])]
        value = score_ranks(ranks).values["recall@10"]
        rows.append([WAYS[way], f"{value:.3f}", target, verdict(value, target, at_most=False)])
    return table(["R@10, all three trackers, mean of three seeds", "lore", "target", ""], rows)


def recipe_table(runs: dict) -> str:
    rows = []
    for recipe, facts in runs["recipes"].items():
        cells: list[object] = [recipe, f"n ** {facts['power']}, {facts['steps']} steps"]
        for way in WAYS:
            values = score_ranks(
                [rank for seed in SEEDS for rank in left_out(runs, way, None, "lore", seed=seed, recipe=recipe)]
            ).values
            cells.append(f"{values['recall@10']:.3f} / {values['mrr']:.3f}")
        rows.append(cells)
    return table(["recipe", "", *(f"{way}: R@10 / MRR" for way in WAYS)], rows)


def load_tracker(name: str) -> tuple[list[dict], set[int], list[dict]]:
    """Return items in the order of creation, excluded numbers, and the queries that have an answer."""
    with gzip.open(CORPORA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = sorted(map(json.loads, lines), key=lambda item: item["created_at"])
    queries = map(json.loads, (CORPORA / f"{name}.queries.jsonl").read_text(encoding="utf-8").splitlines())
    excluded = set(json.loads((CORPORA / f"{name}.exclude.json").read_text(encoding="utf-8")))
    return items, excluded, [query for query in queries if query["gold"]]


def shipped_table(trackers: dict) -> str:
    found: dict[tuple[str, str], list[int | None]] = {}
    for name, (items, excluded, queries) in trackers.items():
        for kind, way, rank in shipped_ranks(items, excluded, queries):
            found.setdefault((f"{name} {kind}s", way), []).append(rank)
            if kind == "issue":
                found.setdefault(("all three, issues", way), []).append(rank)
    return table(HEAD, [score_row(f"{place}: {way}", ranks) for (place, way), ranks in sorted(found.items())])


def shipped_ranks(items: list[dict], excluded: set[int], queries: list[dict]):
    """Yield kind, way and rank of each query."""
    embedder = Lore()
    vectors = np.asarray(embedder.embed_passages([first_passage(item, embedder) for item in items]))
    index = bm25.Index(items, excluded)
    places = {(item["kind"], item["number"]): at for at, item in enumerate(items)}
    for query in queries:
        at = places[query["kind"], query["query"]]
        earlier = [place for place, item in enumerate(items) if item["created_at"] < items[at]["created_at"]]
        may_be = [
            place
            for place in earlier
            if items[place]["kind"] == query["kind"] and items[place]["number"] not in excluded
        ]
        scores = vectors[may_be] @ vectors[at]
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        near = [(may_be[place], float(scores[place])) for place in best]
        words = index.search(at, limit=DEPTH)
        gold = {places[query["kind"], number] for number in query["gold"] if (query["kind"], number) in places}
        lists = {
            "alone": near,
            "bm25": words,
            "fused": ids(fuse([words, near])),
            "summed": ids(fuse_scores([words, near])),
        }
        for way, ranked in lists.items():
            yield query["kind"], way, next((rank for rank, (place, _) in enumerate(ranked, 1) if place in gold), None)


def ids(hits) -> list[tuple[int, float]]:
    return [(hit.id, hit.rrf) for hit in hits]


def first_passage(item: dict, embedder: Lore):
    return build_chunks(item["title"] or "", item["body"] or "", max_chars=embedder.chunk_chars)[0].passage


def speed_table(items: list[dict]) -> str:
    sample = items[:: len(items) // 5_000][:5_000]
    embedder = Lore()
    embedder.embed_query("warm")
    began = time.process_time()
    chunks = [
        chunk
        for item in sample
        for chunk in build_chunks(item["title"] or "", item["body"] or "", max_chars=embedder.chunk_chars)
    ]
    for at in range(0, len(chunks), embedder.batch_size):
        embedder.embed_passages([chunk.passage for chunk in chunks[at : at + embedder.batch_size]])
    rate = len(sample) / (time.process_time() - began)
    start_ms, peak = cold_start()
    return table(
        ["", "measured", "target", ""],
        [
            ["documents per CPU second, cleaning included", rate, 500, verdict(rate, 500, at_most=False)],
            [
                "cold start up to the first vector, CPU ms beyond importing numpy",
                start_ms,
                200,
                verdict(start_ms, 200, at_most=True),
            ],
            ["peak memory of a process that embeds one query, MB", peak, 100, verdict(peak, 100, at_most=True)],
            ["CPU s for 10,000 items", 10_000 / rate, 60, verdict(10_000 / rate, 60, at_most=True)],
        ],
    )


def cold_start() -> tuple[float, float]:
    """Return CPU ms and peak MB; medians of processes in turn."""
    imports = "import numpy"
    model = f"{imports}; from forgelore.embedders.lore import Lore; Lore().embed_query('crash')"
    with tempfile.TemporaryDirectory() as folder:
        environ = clean_environ(Path(folder))
        costs = [[measure([sys.executable, "-c", code], environ) for code in (imports, model)] for _ in range(ROUNDS)]
    spent = statistics.median(whole.cpu_s - bare.cpu_s for bare, whole in costs)
    return spent * 1000, statistics.median(whole.peak_mb for _, whole in costs)


if __name__ == "__main__":
    main(sys.argv[1:])
