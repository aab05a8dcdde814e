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

from lib.common import ROOT, SHARED, Skipped, report, table, verdict

sys.path.insert(0, str(ROOT / "training"))
import numpy as np

import bm25
from forgelore.compare.scoring import compare_ranks, score_ranks
from forgelore.embedders.lore import LoreEmbedder
from forgelore.index.cleaning import build_chunks
from forgelore.search.fusion import fuse, fuse_scores
from lib import lore_cost

CORPORA = SHARED / "corpora"
RESULTS = ROOT / "training" / "results.json"
MANIFEST = ROOT / "src" / "forgelore" / "embedders" / "lore_data" / "manifest.json"
TRACKERS = ("bitcoin", "hadoop", "seamonkey")
WAYS = {
    "alone": "vectors alone",
    "fused": "with BM25, by reciprocal ranks",
    "summed": "with BM25, by scores (as `similar` does)",
}
SEEDS = (1, 2, 3)
MORE_SEEDS = (4, 5)  # of the second run
OTHERS = {"teacher int8": "MiniLM zero-shot, int8", "teacher": "MiniLM zero-shot"}
TUNED = {"tuned teacher int8": "MiniLM tuned, int8", "tuned teacher": "MiniLM tuned"}
DEPTH = 200
HEAD = ["", "n", "R@1", "R@5", "R@10", "R@20", "MRR"]


def main(arguments: list[str]) -> None:
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))
    parts = ["## On trackers left out of training", NOTE.format(recipe=runs["recipe"], seconds=runs["seconds"])]
    for way, name in WAYS.items():
        parts += [f"### {name}", left_out_table(runs, way)]
        parts += [difference_table(runs, way, model, name) for model, name in OTHERS.items()]
    parts += ["### Targets", target_table(runs), MISSED, "### The other recipes", recipe_table(runs)]
    parts += ["## A second run", second_note(runs), second_table(runs)]
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    trackers = {name: load_tracker(name) for name in TRACKERS}
    parts += ["## The shipped table", SHIPPED, shipped_table(trackers)]
    parts += ["## Speed", lore_cost.speed_table(trackers["bitcoin"][0]), SEARCHED, lore_cost.search_table()]
    report("lore", "The embedder lore", parts, " ".join(arguments))


NOTE = """\
From training/results.json, not made by this bench: the training run's own ranks (recipe `{recipe}`, {seconds} s on one
NVIDIA H200). Each tracker is tested with a teacher tuned and a table distilled without any of its text, three times
(seeds). The query is title and body as if just filed, candidates are earlier items of the same kind; 262 issue queries
have an answer. MiniLM is all-MiniLM-L6-v2 at 128 tokens, as published (zero-shot) and as tuned, in full precision and
in int8 as packages/minilm ships it (training/int8.py). In brackets: 95 % intervals; **clear** where the interval of a
difference leaves zero out. The recipe was chosen among three by its mean MRR on these same queries, alone and by ranks;
all three are below."""

MISSED = """\
By ranks two or three queries of 262 are missing, which is what seeds differ by. Two things tried since reach the line
or nearly: the recipe `fourth` (.8496 over five seeds, but less MRR alone), and the mean of three tables of it (.851,
elsewhere level with `short`). Both were seen after the recipe was chosen. To ship one for that reason would fit the
model to these 262 queries, so the table stays and the line counts as missed. A sum of words finds more of what
BM25 finds anyway; MiniLM gains more from BM25 than a table can."""

SHIPPED = """\
Made here from the packaged file, as the product embeds: first chunk of an item, BM25 with the product's query."""

SEARCHED = """\
User and system time of the child, median of 15 rounds, commands in turn, another question each round. The vectors of
the 10,000 documents are random: finding among them costs the same."""


def left_out(runs: dict, way: str, tracker: str | None, model: str, **facts: object) -> list[int | None]:
    """Return ranks, tracker after tracker in a fixed order: lists of different models are of the same queries."""
    return [
        rank
        for name in ([tracker] if tracker else TRACKERS)
        for run in runs["runs"]
        if run["model"] == model and run["tracker"] == name
        if run.get("fold") in (None, name)
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
        rows += [score_row(f"{place}: {name}", left_out(runs, way, tracker, model)) for model, name in OTHERS.items()]
        rows += [
            score_row(f"{place}: {name}, seed 1", left_out(runs, way, tracker, model, seed=1))
            for model, name in TUNED.items()
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


def difference_table(runs: dict, way: str, model: str, name: str) -> str:
    """lore less a MiniLM on the same queries; the worst of three seeds."""
    rows = []
    for tracker in (None, *TRACKERS):
        before = left_out(runs, way, tracker, model)
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
    return table([f"lore less {name}", "R@10, mean", "R@10, worst seed", "MRR, mean", "MRR, worst seed"], rows)


def target_table(runs: dict) -> str:
    rows = []
    for way, target in (("alone", 0.80), ("fused", 0.85), ("summed", 0.85)):
        value = mean_scores(runs, way, SEEDS, runs["recipe"])["recall@10"]
        rows.append([f"R@10, {WAYS[way]}", f"{value:.3f}", f">= {target:.2f}", verdict(value, target, at_most=False)])
    for way, name in WAYS.items():
        low = [below for metric in ("recall@10", "mrr") for below in clearly_below(runs, way, metric)]
        met = "met" if not low else f"missed: {', '.join(low)}"
        rows.append([f"not clearly below MiniLM zero-shot, int8, {name}", "", "", met])
    return table(["all three trackers, mean of three seeds", "lore", "target", ""], rows)


def clearly_below(runs: dict, way: str, metric: str) -> list[str]:
    """Return where any seed is clearly below, of all three trackers together and of each."""
    found = []
    for tracker in (None, *TRACKERS):
        before = left_out(runs, way, tracker, "teacher int8")
        for seed in SEEDS:
            after = left_out(runs, way, tracker, "lore", seed=seed, recipe=runs["recipe"])
            one = compare_ranks(before, after)[metric]
            if one.is_clear and one.value < 0:
                found.append(f"{metric} of {tracker or 'all three'}, seed {seed}")
    return found


def mean_scores(runs: dict, way: str, seeds: tuple[int, ...], recipe: str) -> dict[str, float]:
    ranks = [rank for seed in seeds for rank in left_out(runs, way, None, "lore", seed=seed, recipe=recipe)]
    return score_ranks(ranks).values


def recipe_table(runs: dict) -> str:
    rows = []
    for recipe, facts in runs["recipes"].items():
        cells: list[object] = [recipe, f"n ** {facts['power']}, {facts['steps']} steps"]
        for way in WAYS:
            values = mean_scores(runs, way, SEEDS, recipe)
            cells.append(f"{values['recall@10']:.3f} / {values['mrr']:.3f}")
        rows.append(cells)
    return table(["recipe", "", *(f"{way}: R@10 / MRR" for way in WAYS)], rows)


def second_note(runs: dict) -> str:
    """Say whether the second run gave the shipped table again, by the sum of its manifest."""
    again = runs["again"]
    shipped = json.loads(MANIFEST.read_text(encoding="utf-8"))["table_sha256"]
    came = "byte for byte the same" if again["table_sha256"] == shipped else "with other bytes"
    return (
        "The data prepared anew, and the training run again on a fresh machine of the same kind"
        f" ({again['seconds']} s): the shipped table, seed {SEEDS[0]}, came out {came}. Two more seeds show how far"
        " apart runs are that share nothing but text and recipe."
    )


def second_table(runs: dict) -> str:
    rows = []
    for name, source, seeds in (
        *((f"first run, seed {seed}", runs, (seed,)) for seed in SEEDS),
        *((f"second run, seed {seed}", runs["again"], (seed,)) for seed in (SEEDS[0], *MORE_SEEDS)),
        ("first run, mean", runs, SEEDS),
        ("second run, mean of the new seeds", runs["again"], MORE_SEEDS),
    ):
        values = [mean_scores(source, way, seeds, runs["recipe"]) for way in WAYS]
        rows.append([name, *(f"{value['recall@10']:.3f} / {value['mrr']:.3f}" for value in values)])
    return table(["lore, all three trackers", *(f"{way}: R@10 / MRR" for way in WAYS)], rows)


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
    embedder = LoreEmbedder()
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


def first_passage(item: dict, embedder: LoreEmbedder):
    return build_chunks(item["title"] or "", item["body"] or "", max_chars=embedder.chunk_chars)[0].passage


if __name__ == "__main__":
    main(sys.argv[1:])
