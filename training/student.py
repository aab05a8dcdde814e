"""The student: a table with one row per word piece. A text's vector is the sum of its rows, at length 1.

While it learns, a row is made of three parts, and the export folds them into one:

    row = weight * (features @ map + own)

`features` are what the teacher knows of a piece by itself (its input vector, and its output for that piece alone);
`map` is shared, so a piece that is rare in the training text is still placed well; `own` is what the piece
learned beyond that; `weight` says how much it counts, and begins at its rarity.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from data import Bags


class Student(nn.Module):
    def __init__(self, features: torch.Tensor, weights: torch.Tensor, *, width: int) -> None:
        super().__init__()
        self.register_buffer("features", features)
        self.map = nn.Linear(features.shape[1], width, bias=False)
        self.own = nn.Parameter(torch.zeros(len(features), width))
        self.weight = nn.Parameter(weights.log())
        with torch.no_grad():
            # The last features are the teacher's outputs: the first guess is that they are right as they are.
            self.map.weight.zero_()
            self.map.weight[:, -width:] = torch.eye(width)

    def table(self) -> torch.Tensor:
        return (self.map(self.features) + self.own) * self.weight.exp()[:, None]

    def forward(self, bags: Bags, rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        return embed(table, bags, rows)


def embed(table: torch.Tensor, bags: Bags, rows: torch.Tensor) -> torch.Tensor:
    token, weight, first = bags.batch(rows)
    return F.normalize(F.embedding_bag(token.long(), table, first, mode="sum", per_sample_weights=weight), dim=-1)


def embed_all(table: torch.Tensor, bags: Bags, size: int = 16_384) -> torch.Tensor:
    rows = torch.arange(len(bags.size), device=table.device)
    with torch.no_grad():
        return torch.cat([embed(table, bags, part) for part in rows.split(size)])


def rarity(data_tokens: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """Return a / (a + share of all tokens): near 1 for rare pieces, small for "the" (Arora, Liang and Ma 2017)."""
    share = torch.bincount(data_tokens.long(), minlength=vocabulary).float() / len(data_tokens)
    return 1e-3 / (1e-3 + share)
