"""LightGBM's model as the file that the product reads (src/forgelore/compare/trees.py has the format).

Read from LightGBM's own text, which has every double with 17 digits; a value goes through unchanged.
"""

import json

CATEGORICAL, DEFAULT_LEFT, MISSING = 1, 2, 12  # bits of a node's `decision_type`
MISSING_NAN = 8  # ... of those of MISSING


def export_trees(model_text: str, *, name: str, version: int, made: dict) -> str:
    """Return the file's text. `model_text` is what Booster.model_to_string() gives."""
    head, *trees = model_text.split("\nTree=")
    features = next(line for line in head.splitlines() if line.startswith("feature_names=")).split("=")[1].split()
    told = {
        "format": 1, "name": name, "version": version, "features": features, "made": made,
        "trees": [export_tree(dict(line.split("=", 1) for line in tree.splitlines() if "=" in line)) for tree in trees],
    }  # fmt: skip
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in told.items() if key != "trees"]
    each = ",\n".join(json.dumps(tree, separators=(",", ":")) for tree in told["trees"])
    return "{" + ",\n".join(lines) + ',\n"trees": [\n' + each + "\n]}\n"


def export_tree(fields: dict[str, str]) -> list[list[float]]:
    leaves = numbers(fields, "leaf_value", float)
    if len(leaves) == 1:  # a stump without a split
        return [[], [], [], [], [], leaves, []]
    thresholds, kinds = numbers(fields, "threshold", float), numbers(fields, "decision_type", int)
    assert not any(kind & CATEGORICAL for kind in kinds), "no feature is a category"
    assert all(kind & MISSING in (0, MISSING_NAN) for kind in kinds), "zero is a value, not a gap"
    return [
        numbers(fields, "split_feature", int), thresholds, numbers(fields, "left_child", int),
        numbers(fields, "right_child", int),
        [int(goes_left(kind, threshold)) for kind, threshold in zip(kinds, thresholds, strict=True)], leaves,
        [round(mean, 4) for mean in numbers(fields, "internal_value", float)],
    ]  # fmt: skip


def goes_left(kind: int, threshold: float) -> bool:
    """Where an unknown value goes. A node that saw none takes it for 0, as LightGBM does."""
    return bool(kind & DEFAULT_LEFT) if kind & MISSING == MISSING_NAN else threshold >= 0


def numbers(fields: dict[str, str], name: str, kind: type) -> list:
    return [kind(value) for value in fields[name].split()]
