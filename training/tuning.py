"""Tune the teacher on tracker text without labels: a title must find its own body among the others of a batch.

Pairs are (title, body) of items and commits and (item, first comment). Half of the batches come from one
source alone: telling two bodies of the same project apart is the harder and the more useful lesson.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812

from data import Data, Slices
from teacher import Teacher


@dataclass(frozen=True)
class Tuning:
    steps: int = 250
    batch: int = 1_024
    rate: float = 3e-5
    scale: float = 20.0  # 1 / temperature, as the teacher was trained
    short: int = 64  # tokens of the first of a pair
    long: int = 160
    warm: float = 0.1


def build_pairs(data: Data, rows: torch.Tensor) -> tuple[Slices, Slices, torch.Tensor]:
    """Return firsts, seconds and sources."""
    told = rows[(data.title_len[rows] >= 3) & (data.body_len[rows] >= 8)]
    partner = data.partner[rows]
    answered = rows[(partner >= 0)]
    answered = answered[data.body_len[data.partner[answered]] >= 8]
    titles, bodies = data.titles(told), data.bodies(told)
    items, comments = data.wholes(answered), data.bodies(data.partner[answered])
    firsts = Slices(torch.cat([titles.start, items.start]), torch.cat([titles.length, items.length]))
    seconds = Slices(torch.cat([bodies.start, comments.start]), torch.cat([bodies.length, comments.length]))
    return firsts, seconds, torch.cat([data.source[told], data.source[answered]])


def tune(teacher: Teacher, data: Data, rows: torch.Tensor, *, tuning: Tuning, seed: int) -> list[float]:
    """Change the teacher in place; return the loss over time."""
    firsts, seconds, sources = build_pairs(data, rows)
    chance = torch.Generator(data.tokens.device).manual_seed(seed)
    decay = [weight for weight in teacher.parameters() if weight.ndim > 1]
    plain = [weight for weight in teacher.parameters() if weight.ndim <= 1]
    groups = [{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=tuning.rate, fused=data.tokens.is_cuda)
    losses = []
    teacher.train()
    for step in range(tuning.steps):
        for group in optimizer.param_groups:
            group["lr"] = tuning.rate * schedule(step, tuning.steps, warm=tuning.warm)
        picked = pick(sources, tuning.batch, chance, is_alone=step % 2 == 1)
        with halved(data):
            first = embed_batch(teacher, data, firsts.at(picked), limit=tuning.short)
            second = embed_batch(teacher, data, seconds.at(picked), limit=tuning.long)
        scores = tuning.scale * first.float() @ second.float().T
        right = torch.arange(len(scores), device=scores.device)
        loss = (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            losses.append(round(float(loss.detach()), 4))
    teacher.eval()
    return losses


def pick(sources: torch.Tensor, size: int, chance: torch.Generator, *, is_alone: bool) -> torch.Tensor:
    """Return places of a batch, no two the same; of one source when it is to be alone and has enough."""
    rows = torch.arange(len(sources), device=sources.device)
    if is_alone:
        source = sources[torch.randint(len(sources), (1,), generator=chance, device=sources.device)]
        own = (sources == source).nonzero()[:, 0]
        rows = own if len(own) >= size else rows
    return rows[torch.randperm(len(rows), generator=chance, device=rows.device)[:size]]


def schedule(step: int, steps: int, *, warm: float) -> float:
    """Rise to 1, then fall to 0 along a cosine."""
    if step < warm * steps:
        return (step + 1) / (warm * steps)
    return 0.5 * (1 + math.cos(math.pi * (step - warm * steps) / max(1, (1 - warm) * steps)))


def embed_batch(teacher: Teacher, data: Data, slices: Slices, *, limit: int) -> torch.Tensor:
    """Return the teacher's vectors, made in four parts by length: half of a whole rectangle would be padding."""
    order = slices.length.argsort()
    parts = [teacher(*data.padded(slices.at(rows), limit)) for rows in order.chunk(4)]
    return torch.cat(parts)[order.argsort()]


def embed_slices(
    teacher: Teacher, data: Data, slices: Slices, *, limit: int, tokens_at_once: int = 400_000
) -> torch.Tensor:
    """Return the teacher's vectors in the order of the slices (half precision: they are targets, and many)."""
    length = slices.length.clamp(max=limit - 2)
    order = length.argsort()
    found = torch.zeros(len(slices), teacher.words.weight.shape[1], dtype=torch.float16, device=data.tokens.device)
    lengths = (length[order] + 2).tolist()
    at = 0
    while at < len(lengths):
        end = _batch_end(lengths, at, tokens_at_once)
        rows = order[at:end]
        with torch.no_grad(), halved(data):
            found[rows] = teacher(*data.padded(slices.at(rows), limit)).half()
        at = end
    return found


def halved(data: Data) -> torch.autocast:
    """Half precision where it is fast; on a CPU it is far slower than full."""
    return torch.autocast(data.tokens.device.type, dtype=torch.bfloat16, enabled=data.tokens.is_cuda)


def _batch_end(lengths: list[int], at: int, tokens: int) -> int:
    end = at + max(1, tokens // lengths[at])
    end = min(end, len(lengths))
    while end - at > 1 and (end - at) * lengths[end - 1] > tokens:
        end = at + max(1, tokens // lengths[end - 1])
    return end
