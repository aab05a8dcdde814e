"""Read a .safetensors file without its library: https://github.com/huggingface/safetensors#format."""

import json
from pathlib import Path

import numpy as np

KINDS = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The length of a JSON header, the header, the arrays."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            raw = data[8 + size + start : 8 + size + end]
            found[name] = np.frombuffer(raw, dtype=KINDS[entry["dtype"]]).reshape(entry["shape"])
    return found
