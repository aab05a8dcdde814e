"""Made-up data in the form that `prepare.py` writes, and a small random teacher: the whole way on a CPU in seconds.

Texts are drawn from topics; a text's words come from its topic, so duplicates (two texts of one topic) can be found and
a model that learned nothing cannot find them better than chance.
"""

import json
from pathlib import Path

import numpy as np
import torch

from distil import Recipe
from teacher import Shape, Teacher
from tuning import Tuning

WORDS = 2_000
TOPICS = 60
RECIPES = {"only": Recipe(width=32, steps=60, batch=256, limit=64, teacher_limit=64)}
TUNING = Tuning(steps=30, batch=64, rate=1e-3, short=16, long=32)
TRACKERS = ("bitcoin", "hadoop", "seamonkey")


def teacher() -> Teacher:
    torch.manual_seed(0)
    return Teacher(Shape(vocabulary=WORDS, width=32, layers=1, heads=4, inner=64, positions=128))


def write_data(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    topics = [chance.choice(np.arange(1_000, WORDS), 12, replace=False) for _ in range(TOPICS)]
    tokens, title_len, body_len, source, partner, evaluation = [], [], [], [], [], {}
    for at, name in enumerate((*TRACKERS, "commits")):
        first = len(title_len)
        drawn = chance.integers(0, TOPICS, 240)
        for topic in drawn:
            title, body = chance.choice(topics[topic], 4), _body(chance, topics[topic])
            tokens.append(np.concatenate([title, body]))
            title_len.append(len(title))
            body_len.append(len(body))
            source.append(at)
            partner.append(-1)
        if name in TRACKERS:
            evaluation[name] = _evaluation(first, drawn.tolist())
    np.savez_compressed(
        folder / "texts.npz", tokens=np.concatenate(tokens).astype(np.uint16), title_len=np.array(title_len, np.uint16),
        body_len=np.array(body_len, np.uint16), source=np.array(source, np.uint8), partner=np.array(partner, np.int32),
        sources=np.array([*TRACKERS, "commits"]),
    )  # fmt: skip
    (folder / "eval.json").write_text(json.dumps(evaluation))


def _body(chance: np.random.Generator, topic: np.ndarray) -> np.ndarray:
    return np.concatenate([chance.choice(topic, 12), chance.integers(1_000, WORDS, 8)])


def _evaluation(first: int, topics: list[int]) -> dict[str, object]:
    count = len(topics)
    queries = []
    for item in range(count // 2, count):
        gold = [other for other in range(item) if topics[other] == topics[item]]
        if gold:
            queries.append({"kind": "issue", "item": item, "gold": gold, "bm25": [(at, -at) for at in range(20)]})
    return {
        "rows": list(range(first, first + count)),
        "kinds": ["issue"] * count,
        "created": [f"2020-01-01T{at // 60:02}:{at % 60:02}:00Z" for at in range(count)],
        "is_candidate": [1] * count,
        "queries": queries,
    }
