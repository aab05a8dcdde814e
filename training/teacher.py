"""The teacher: all-MiniLM-L6-v2 in plain torch, mean pooling and unit length included.

Written out because it is short, and because the machine that trains needs nothing then but torch and numpy.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own name for it
from torch import nn

CLS, SEP = 101, 102


class Shape(NamedTuple):
    vocabulary: int = 30_522
    width: int = 384
    layers: int = 6
    heads: int = 12
    inner: int = 1_536
    positions: int = 512


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query, self.key, self.value, self.out = (nn.Linear(shape.width, shape.width) for _ in range(4))
        self.norm_1 = nn.LayerNorm(shape.width, eps=1e-12)
        self.grow, self.shrink = nn.Linear(shape.width, shape.inner), nn.Linear(shape.inner, shape.width)
        self.norm_2 = nn.LayerNorm(shape.width, eps=1e-12)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        parts = [
            part(x).view(rows, length, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        seen = F.scaled_dot_product_attention(*parts, attn_mask=mask[:, None, None, :])
        x = self.norm_1(x + self.out(seen.transpose(1, 2).reshape(rows, length, width)))
        return self.norm_2(x + self.shrink(F.gelu(self.grow(x))))


class Teacher(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.positions, shape.width)
        self.norm = nn.LayerNorm(shape.width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return one vector of length 1 per row of `ids` (with CLS and SEP; what is beyond its length is not seen)."""
        mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return F.normalize((x.float() * mask[..., None]).sum(1) / lengths[:, None], dim=-1)


def load_teacher(folder: Path) -> Teacher:
    """Read the weights that `prepare.py` wrote."""
    weights: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("teacher_*.npz")):
        weights.update(np.load(path))
    teacher = Teacher(Shape())
    teacher.load_state_dict({name: torch.tensor(array.astype(np.float32)) for name, array in renamed(weights).items()})
    return teacher


def renamed(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """From the published names to ours. All texts are of type 0, so its vector goes into the places."""
    kinds = weights["embeddings.token_type_embeddings.weight"].astype(np.float32)
    found = {
        "words.weight": weights["embeddings.word_embeddings.weight"],
        "places.weight": weights["embeddings.position_embeddings.weight"].astype(np.float32) + kinds[0],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    parts = {
        "attention.self.query": "query", "attention.self.key": "key", "attention.self.value": "value",
        "attention.output.dense": "out", "attention.output.LayerNorm": "norm_1", "intermediate.dense": "grow",
        "output.dense": "shrink", "output.LayerNorm": "norm_2",
    }  # fmt: skip
    for name, array in weights.items():
        if name.startswith("encoder.layer."):
            layer, _, rest = name.removeprefix("encoder.layer.").partition(".")
            part, _, kind = rest.rpartition(".")
            found[f"layers.{layer}.{parts[part]}.{kind}"] = array
    return found


def published(teacher: Teacher) -> dict[str, np.ndarray]:
    """The way back: weights under the published names, for other tools (the type's vector stays in the places)."""
    width = teacher.words.weight.shape[1]
    zeros = {"embeddings.token_type_embeddings.weight": np.zeros((2, width), np.float32)}
    names = {
        "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
        "out": "attention.output.dense", "norm_1": "attention.output.LayerNorm", "grow": "intermediate.dense",
        "shrink": "output.dense", "norm_2": "output.LayerNorm",
    }  # fmt: skip
    top = {"words": "word_embeddings", "places": "position_embeddings", "norm": "LayerNorm"}
    found = zeros
    for name, tensor in teacher.state_dict().items():
        array = tensor.detach().float().cpu().numpy()
        first, *rest = name.split(".")
        if first == "layers":
            found[f"encoder.layer.{rest[0]}.{names[rest[1]]}.{rest[2]}"] = array
        else:
            found[f"embeddings.{top[first]}.{rest[0]}"] = array
    return found
