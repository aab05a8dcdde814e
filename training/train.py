"""Train the embedder `lore`: tune the teacher without labels, then distil it into a table.

    python training/train.py --tiny                         the whole way in small, on a CPU, in seconds
    python training/train.py --data .training --output OUT [--folds bitcoin,hadoop,seamonkey,all] [--seeds 1,2,3]

A fold leaves one tracker's text out, of tuning and of distilling, and is tested on that tracker; `all` leaves nothing
out and is what ships. The folds are trained by every recipe of `distil.RECIPES`; the one with the best mean MRR over
folds and seeds (alone plus fused) makes `all`. Writes results.json (ranks per fold, seed and recipe, versions, times),
a table in int8 per seed of `all`, and the tuned teachers of seed 1 in half precision (those of folds in FOLD/).
"""

import argparse
import copy
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

import quantise
import tiny
import trackers
from data import Data, load_data, load_evaluation
from distil import RECIPES, Recipe, build_lessons, distil
from forgelore.compare.scoring import score_ranks
from teacher import Teacher, load_teacher, published
from tuning import Tuning, tune

TRACKERS = ("bitcoin", "hadoop", "seamonkey")


def main() -> None:
    options = _options()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    device = "cuda" if torch.cuda.is_available() else "cpu"
    began = time.time()
    output = Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    if options.tiny:
        torch.set_num_threads(1)  # threads wait for each other in such small products: 12 s, with two 50 of CPU
        tiny.write_data(output / "data")
        teacher, run = tiny.teacher(), Run(load_data(output / "data", device), load_evaluation(output / "data"), output)
        recipes, tuning = tiny.RECIPES, tiny.TUNING
    else:
        folder = Path(options.data)
        teacher, run = load_teacher(folder), Run(load_data(folder, device), load_evaluation(folder), output)
        recipes, tuning = RECIPES, Tuning()
    teacher = teacher.to(device).eval()
    run.results.update(
        recipes={name: asdict(recipe) for name, recipe in recipes.items()}, tuning=asdict(tuning), versions=versions()
    )
    run.test_teacher("teacher", teacher)
    for seed in numbers(options.seeds):
        for fold in filter(None, options.folds.split(",")):
            if time.time() - began < options.stop_after:
                train_fold(run, teacher, fold, seed=seed, recipes=recipes, tuning=tuning)
                run.save(time.time() - began)
    best = run.results["recipe"] = options.recipe or best_recipe(run.results["runs"], list(recipes))
    for seed in numbers(options.all_seeds):
        train_fold(run, teacher, "all", seed=seed, recipes={best: recipes[best]}, tuning=tuning)
        run.save(time.time() - began)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def best_recipe(runs: list[dict], names: list[str]) -> str:
    """Return the recipe with the best mean MRR over all issue queries of all folds and seeds, alone plus fused."""

    def merit(name: str) -> float:
        ranks = [run["ranks"]["issue"] for run in runs if run.get("recipe") == name]
        return sum(
            score_ranks([rank for lists in ranks for rank in lists[way]]).values["mrr"] for way in ("alone", "fused")
        )

    return max(names, key=merit)


class Run:
    """What is trained on, and what came out so far."""

    def __init__(self, data: Data, evaluation: dict[str, dict], output: Path) -> None:
        self.data, self.evaluation, self.output = data, evaluation, output
        self.results: dict = {"runs": []}

    def test_teacher(self, name: str, teacher: Teacher, tested: str | None = None, **facts: object) -> None:
        for tracker in [tested] if tested else self.evaluation:
            vectors = trackers.teacher_vectors(teacher, self.data, self.evaluation[tracker], limit=128)
            self.add(name, tracker, vectors, **facts)

    def test_table(self, name: str, table: torch.Tensor, tested: str, *, by: Recipe, **facts: object) -> None:
        tracker = self.evaluation[tested]
        vectors = trackers.student_vectors(table, self.data, tracker, limit=by.limit, power=by.power)
        self.add(name, tested, vectors, **facts)

    def add(self, name: str, tracker: str, vectors: torch.Tensor, **facts: object) -> None:
        ranks = trackers.rank_all(vectors, self.evaluation[tracker])
        self.results["runs"].append({"model": name, "tracker": tracker, **facts, "ranks": ranks})
        facts_shown = f"{facts.get('seed', '')} {facts.get('recipe', ''):8}"
        for kind, lists in ranks.items():
            ways = "  ".join(f"{way} {short(lists[way])}" for way in ("alone", "fused", "summed"))
            self.say(f"{name:14} {tracker:10} {kind:6} {facts_shown} {ways}")

    def say(self, line: str) -> None:
        print(line, flush=True)

    def save(self, seconds: float) -> None:
        self.results["seconds"] = round(seconds)
        (self.output / "results.json").write_text(json.dumps(self.results, separators=(",", ":")))


def short(ranks: list[int | None]) -> str:
    return " ".join(f"{value:.3f}" for value in score_ranks(ranks).values.values())


def train_fold(run: Run, teacher: Teacher, fold: str, *, seed: int, recipes: dict[str, Recipe], tuning: Tuning) -> None:
    """Train without one tracker's text and test on it; `all`: train on everything and save what ships."""
    began = time.time()
    rows = run.data.rows_without(fold)
    tested = list(run.evaluation) if fold == "all" else [fold]
    tuned = copy.deepcopy(teacher)
    losses = tune(tuned, run.data, rows, tuning=tuning, seed=seed)
    for tracker in tested:
        run.test_teacher("tuned teacher", tuned, tracker, fold=fold, seed=seed, losses=losses)
    lessons = build_lessons(tuned, run.data, rows, limit=next(iter(recipes.values())).teacher_limit)
    run.say(f"{fold} {seed}: tuned and asked after {time.time() - began:.1f} s, {len(lessons.slices)} texts")
    for name, recipe in recipes.items():
        codes, scales = quantise.to_int8(distil(tuned, run.data, rows, lessons, recipe=recipe, seed=seed))
        table = torch.tensor(quantise.from_int8(codes, scales), device=run.data.tokens.device)
        facts = {
            "fold": fold,
            "seed": seed,
            "recipe": name,
            "texts": len(lessons.slices),
            "seconds": round(time.time() - began, 1),
        }
        for tracker in tested:
            run.test_table("lore", table, tracker, by=recipe, **facts)
        if fold == "all":
            quantise.save(run.output / f"table_{seed}.npz", codes, scales)
    if seed == 1:
        save_teacher(run.output if fold == "all" else run.output / fold, tuned)


def save_teacher(output: Path, teacher: Teacher) -> None:
    """In parts of less than 16 MiB: what comes back from a GPU may be limited in size."""
    output.mkdir(exist_ok=True)
    weights = {name: array.astype(np.float16) for name, array in published(teacher).items()}
    table = weights.pop("embeddings.word_embeddings.weight")
    half = len(table) // 2
    names = sorted(weights)
    middle = len(names) // 2
    np.savez_compressed(output / "tuned_1.npz", first=table[:half])
    np.savez_compressed(output / "tuned_2.npz", second=table[half:])
    np.savez_compressed(output / "tuned_3.npz", **{name: weights[name] for name in names[:middle]})
    np.savez_compressed(output / "tuned_4.npz", **{name: weights[name] for name in names[middle:]})


def versions() -> dict[str, str]:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": np.__version__, "device": device}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default=".training", help="what prepare.py wrote")
    parser.add_argument("--output", default="training-output")
    parser.add_argument("--tiny", action="store_true", help="made-up text and a small random teacher")
    parser.add_argument("--folds", default=",".join(TRACKERS))
    parser.add_argument("--seeds", default="1,2,3", help="of the folds")
    parser.add_argument("--recipe", help="the recipe of what ships, instead of the best of the folds")
    parser.add_argument("--all-seeds", default="1", help="of what ships")
    parser.add_argument("--stop-after", type=float, default=1e9, help="seconds after which no new fold begins")
    return parser.parse_args()


if __name__ == "__main__":
    main()
