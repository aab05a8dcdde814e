"""The prepared texts on the training device: every text is a slice of one long row of tokens."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from teacher import CLS, SEP


@dataclass
class Slices:
    """Where texts begin in the row of tokens, and how long they are."""

    start: torch.Tensor
    length: torch.Tensor

    def __len__(self) -> int:
        return len(self.start)

    def at(self, rows: torch.Tensor) -> "Slices":
        return Slices(self.start[rows], self.length[rows])

    def cut(self, limit: int) -> "Slices":
        return Slices(self.start, self.length.clamp(max=limit))


@dataclass
class Data:
    tokens: torch.Tensor
    start: torch.Tensor
    title_len: torch.Tensor
    body_len: torch.Tensor
    source: torch.Tensor
    partner: torch.Tensor
    sources: list[str]

    def titles(self, rows: torch.Tensor) -> Slices:
        return Slices(self.start[rows], self.title_len[rows])

    def bodies(self, rows: torch.Tensor) -> Slices:
        return Slices(self.start[rows] + self.title_len[rows], self.body_len[rows])

    def wholes(self, rows: torch.Tensor) -> Slices:
        return Slices(self.start[rows], self.title_len[rows] + self.body_len[rows])

    def rows_without(self, tracker: str | None) -> torch.Tensor:
        """Return the rows that may be learned from when a tracker is left out: nothing of it, comments included."""
        keep = torch.ones_like(self.source, dtype=torch.bool)
        if tracker in self.sources:
            keep = self.source != self.sources.index(tracker)
        return keep.nonzero()[:, 0]

    def padded(self, slices: Slices, limit: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the texts as a rectangle for the teacher, with CLS and SEP inside the limit, and their lengths."""
        length = slices.length.clamp(max=limit - 2)
        places = torch.arange(int(length.max()) + 2, device=self.tokens.device)
        at = (slices.start[:, None] + places - 1).clamp(0, len(self.tokens) - 1)
        ids = self.tokens[at].long()
        ids = torch.where(places <= length[:, None], ids, 0)
        ids[:, 0] = CLS
        ids.scatter_(1, (length + 1)[:, None].long(), SEP)
        return ids, length + 2


def load_data(folder: Path, device: str) -> Data:
    with np.load(folder / "texts.npz") as found:
        title, body = found["title_len"].astype(np.int64), found["body_len"].astype(np.int64)
        ends = np.cumsum(title + body)

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.as_tensor(array, device=device)

        return Data(
            tokens=tensor(found["tokens"].astype(np.int32)),
            start=tensor(ends - title - body),
            title_len=tensor(title),
            body_len=tensor(body),
            source=tensor(found["source"].astype(np.int64)),
            partner=tensor(found["partner"].astype(np.int64)),
            sources=[str(name) for name in found["sources"]],
        )


def load_evaluation(folder: Path) -> dict[str, dict]:
    return json.loads((folder / "eval.json").read_text())


class Bags:
    """Texts as the student sees them: which pieces, how often. Made once; a batch is cut out of it."""

    def __init__(self, data: Data, slices: Slices, *, limit: int, power: float) -> None:
        slices = slices.cut(limit)
        device = data.tokens.device
        keys = []
        for rows in torch.arange(len(slices), device=device).split(65_536):
            part = slices.at(rows)
            owner = rows.repeat_interleave(part.length)
            first = part.length.cumsum(0) - part.length
            inside = torch.arange(len(owner), device=device) - first.repeat_interleave(part.length)
            token = data.tokens[part.start.repeat_interleave(part.length) + inside]
            keys.append(torch.unique(owner * 65_536 + token, return_counts=True))
        key = torch.cat([key for key, _ in keys])
        self.token = (key % 65_536).int()
        self.weight = torch.cat([count for _, count in keys]).float() ** power
        self.size = torch.bincount(key // 65_536, minlength=len(slices))
        self.first = self.size.cumsum(0) - self.size

    def batch(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return tokens, weights and offsets as `embedding_bag` takes them."""
        size = self.size[rows]
        first = size.cumsum(0) - size
        inside = torch.arange(int(size.sum()), device=rows.device) - first.repeat_interleave(size)
        at = self.first[rows].repeat_interleave(size) + inside
        return self.token[at], self.weight[at], first
