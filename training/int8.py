"""How well does MiniLM find duplicates in int8, as its package ships it? Adds ranks to what train.py wrote.

    python training/int8.py model.onnx --data .training --results results.json --name "teacher int8"
    python training/int8.py bitcoin/model.onnx … --name "tuned teacher int8" --fold bitcoin --seed 1

The graph is one of scripts/minilm.py; the texts, the 128 tokens and the ranking are those of train.py, so that its
figures in full precision stand beside these. A fold is tested on its own tracker. Needs torch and packages/minilm, and
a CPU for 20 minutes per three trackers.
"""

import argparse
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

import trackers
from data import Data, Slices, load_data, load_evaluation
from forgelore.compare.scoring import score_ranks
from forgelore_minilm.model import load_onnxruntime
from teacher import CLS, SEP

LIMIT = 128  # tokens, CLS and SEP among them


def main() -> None:
    options = _options()
    folder = Path(options.data)
    data, evaluation = load_data(folder, "cpu"), load_evaluation(folder)
    network = Network(options.model)
    results = json.loads(Path(options.results).read_text())
    facts = {"fold": options.fold, "seed": options.seed} if options.fold else {}
    for name in [options.fold] if options.fold in evaluation else evaluation:
        ranks = trackers.rank_all(tracker_vectors(network, data, evaluation[name]), evaluation[name])
        results["runs"].append({"model": options.name, "tracker": name, **facts, "ranks": ranks})
        for kind, lists in ranks.items():
            shown = (f"{way} {' '.join(f'{value:.3f}' for value in score_ranks(lists[way]).values.values())}"
                     for way in ("alone", "fused", "summed"))  # fmt: skip
            print(f"{options.name} {name} {kind}", *shown, sep="  ", flush=True)
    Path(options.results).write_text(json.dumps(results, separators=(",", ":")))


class Network:
    """The graph of scripts/minilm.py; texts go through it one by one, as in the product."""

    def __init__(self, path: str) -> None:
        onnxruntime = load_onnxruntime()
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])

    def embed(self, data: Data, slices: Slices) -> torch.Tensor:
        tokens = data.tokens.numpy()
        texts = [
            tokens[start : start + min(length, LIMIT - 2)].tobytes()
            for start, length in zip(slices.start.tolist(), slices.length.tolist(), strict=True)
        ]
        places: dict[bytes, int] = {}
        at = [places.setdefault(text, len(places)) for text in texts]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = np.array(list(pool.map(self._embed_one, places)), dtype=np.float32)
        return torch.as_tensor(found)[at]

    def _embed_one(self, text: bytes) -> np.ndarray:
        ids = [CLS, *np.frombuffer(text, np.int32).tolist(), SEP]
        (vectors,) = self._session.run(None, {"ids": np.array([ids], dtype=np.int64)})
        return vectors[0]


def tracker_vectors(network: Network, data: Data, tracker: dict) -> torch.Tensor:
    rows = torch.tensor(tracker["rows"])
    return trackers.mix(network.embed(data, data.titles(rows)), network.embed(data, data.wholes(rows)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", help="model.onnx of scripts/minilm.py")
    parser.add_argument("--data", default=".training", help="what prepare.py wrote")
    parser.add_argument("--results", required=True, help="results.json of train.py; ranks are added to it")
    parser.add_argument("--name", required=True, help="teacher int8, tuned teacher int8")
    parser.add_argument("--fold", help="the tracker it never saw, or all; nothing for weights as published")
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    main()
