"""Teach the student: its vectors must point where the teacher's do, and texts be as alike as the teacher finds them.

    loss = (1 - cosine to the teacher's vector) + share * (disagreement of similarities within the batch)

The disagreement compares, for every text of a batch, how the teacher and the student spread it over the others (soft
nearest neighbours): being right about near texts counts, being right about far ones hardly does.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812

from data import Bags, Data, Slices
from student import Student, rarity
from teacher import Teacher
from tuning import embed_slices, pick, schedule


@dataclass(frozen=True)
class Recipe:
    width: int = 384
    steps: int = 1_200
    batch: int = 4_096
    rate: float = 2e-3
    own_rate: float = 1e-3
    share: float = 1.0
    heat: float = 0.05
    power: float = 0.5  # a piece that stands n times in a text counts n ** power
    limit: int = 600  # tokens the student reads
    teacher_limit: int = 256  # tokens the teacher reads
    agreement: str = "kl"
    pairs: float = 0.0  # share of the contrastive loss over (title, body)
    with_outputs: bool = True


RECIPES = {
    "root": Recipe(),
    "fourth": Recipe(power=0.25),
    "short": Recipe(power=0.25, steps=600),
}


@dataclass
class Lessons:
    """What is learned from: texts as slices, their sources, the teacher's vectors."""

    slices: Slices
    sources: torch.Tensor
    targets: torch.Tensor


def build_slices(data: Data, rows: torch.Tensor) -> tuple[Slices, torch.Tensor]:
    """Return titles alone, and whole texts; both are embedded at work."""
    titled = rows[(data.title_len[rows] >= 3) & (data.body_len[rows] > 0)]
    said = rows[data.title_len[rows] + data.body_len[rows] > 0]
    titles, wholes = data.titles(titled), data.wholes(said)
    slices = Slices(torch.cat([titles.start, wholes.start]), torch.cat([titles.length, wholes.length]))
    return slices, torch.cat([data.source[titled], data.source[said]])


def build_lessons(teacher: Teacher, data: Data, rows: torch.Tensor, *, limit: int) -> Lessons:
    slices, sources = build_slices(data, rows)
    return Lessons(slices, sources, embed_slices(teacher, data, slices, limit=limit))


def build_features(teacher: Teacher, *, with_outputs: bool, device: str) -> torch.Tensor:
    """Return what the teacher knows of each piece alone; both halves at a length of about 1."""
    words = teacher.words.weight.detach().float()
    words = words - words.mean(0)
    words = words / words.norm(dim=1).mean()
    if not with_outputs:
        return words
    ids = torch.arange(len(words), device=device, dtype=torch.int32)
    alone = Data(ids, ids.long(), *([torch.ones_like(ids).long()] * 2), ids.long(), ids.long(), [])
    outputs = embed_slices(teacher, alone, Slices(alone.start, alone.title_len), limit=3).float()
    return torch.cat([words, outputs - outputs.mean(0)], dim=1)


def distil(
    teacher: Teacher, data: Data, rows: torch.Tensor, lessons: Lessons, *, recipe: Recipe, seed: int
) -> torch.Tensor:
    """Return the finished table."""
    torch.manual_seed(seed)
    chance = torch.Generator(data.tokens.device).manual_seed(seed)
    device = str(data.tokens.device)
    bags = Bags(data, lessons.slices, limit=recipe.limit, power=recipe.power)
    targets, turn = _targets(lessons.targets, recipe.width)
    features = build_features(teacher, with_outputs=recipe.with_outputs, device=device)
    if turn is not None and recipe.with_outputs:
        own = features.shape[1] // 2
        features = torch.cat([features[:, :own], features[:, own:] @ turn], dim=1)
    student = Student(features, rarity(bags.token, len(features)), width=recipe.width).to(device)
    pairs = _pair_bags(data, rows, recipe) if recipe.pairs else None
    optimizer = torch.optim.Adam(
        [{"params": student.map.parameters(), "r": recipe.rate}, {"params": [student.own], "r": recipe.own_rate},
         {"params": [student.weight], "r": 5 * recipe.rate}],
        lr=recipe.rate, fused=data.tokens.is_cuda,
    )  # fmt: skip
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = group["r"] * schedule(step, recipe.steps, warm=0.05)
        picked = pick(lessons.sources, recipe.batch, chance, is_alone=step % 2 == 1)
        table = student.table()
        loss = imitation(student(bags, picked, table), targets[picked].float(), recipe)
        if pairs is not None:
            loss = loss + recipe.pairs * _contrast(student, table, pairs, recipe, chance)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return student.table().detach()


def imitation(found: torch.Tensor, wanted: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    wanted = F.normalize(wanted, dim=-1)
    away = (1 - (found * wanted).sum(-1)).mean()
    if recipe.agreement == "mse":
        return away + recipe.share * 10 * F.mse_loss(found @ found.T, wanted @ wanted.T)
    himself = torch.eye(len(found), device=found.device) * 1e4
    ours = F.log_softmax((found @ found.T) / recipe.heat - himself, dim=-1)
    theirs = F.log_softmax((wanted @ wanted.T) / recipe.heat - himself, dim=-1)
    return away + recipe.share * F.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def _targets(vectors: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Turn the vectors so that the first `width` axes hold most of them, and keep those."""
    if width == vectors.shape[1]:
        return vectors, None
    sample = vectors[:: max(1, len(vectors) // 50_000)].float()
    turn = torch.linalg.svd(sample, full_matrices=False)[2].T[:, :width].contiguous()
    return (vectors.float() @ turn).half(), turn


def _pair_bags(data: Data, rows: torch.Tensor, recipe: Recipe) -> tuple[Bags, Bags, torch.Tensor]:
    told = rows[(data.title_len[rows] >= 3) & (data.body_len[rows] >= 8)]
    titles = Bags(data, data.titles(told), limit=recipe.limit, power=recipe.power)
    return titles, Bags(data, data.bodies(told), limit=recipe.limit, power=recipe.power), data.source[told]


def _contrast(
    student: Student,
    table: torch.Tensor,
    pairs: tuple[Bags, Bags, torch.Tensor],
    recipe: Recipe,
    chance: torch.Generator,
) -> torch.Tensor:
    titles, bodies, sources = pairs
    picked = pick(sources, recipe.batch // 2, chance, is_alone=False)
    scores = student(titles, picked, table) @ student(bodies, picked, table).T / recipe.heat
    right = torch.arange(len(scores), device=scores.device)
    return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2
