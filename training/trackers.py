"""Find duplicates with vectors, and with vectors and BM25, by the protocol of the trackers.

Candidates are earlier items of the same kind; a rank is that of the first gold item. See the trackers' README.
"""

import torch
import torch.nn.functional as F  # noqa: N812

from data import Bags, Data
from forgelore.search.fusion import fuse, fuse_scores
from student import embed_all
from teacher import Teacher
from tuning import embed_slices

TITLE_SHARE = 0.3
DEPTH = 200


def mix(titles: torch.Tensor, wholes: torch.Tensor, share: float = TITLE_SHARE) -> torch.Tensor:
    return F.normalize(share * titles.float() + (1 - share) * wholes.float(), dim=-1)


def student_vectors(table: torch.Tensor, data: Data, tracker: dict, *, limit: int, power: float) -> torch.Tensor:
    rows = torch.tensor(tracker["rows"], device=table.device)
    parts = [
        embed_all(table, Bags(data, part, limit=limit, power=power)) for part in (data.titles(rows), data.wholes(rows))
    ]
    return mix(*parts)


def teacher_vectors(teacher: Teacher, data: Data, tracker: dict, *, limit: int) -> torch.Tensor:
    rows = torch.tensor(tracker["rows"], device=data.tokens.device)
    return mix(*(embed_slices(teacher, data, part, limit=limit) for part in (data.titles(rows), data.wholes(rows))))


def rank_all(vectors: torch.Tensor, tracker: dict) -> dict[str, dict[str, list[int | None]]]:
    """Return the ranks of the first gold item by kind and way: {"issue": {"alone": [1, None, 7], "bm25": ...}}."""
    kinds, created = tracker["kinds"], tracker["created"]
    found: dict[str, dict[str, list[int | None]]] = {}
    may_be = {
        kind: torch.tensor([a == kind and bool(b) for a, b in zip(kinds, tracker["is_candidate"], strict=True)]).to(
            vectors.device
        )
        for kind in set(kinds)
    }
    for query in tracker["queries"]:
        scores = vectors @ vectors[query["item"]]
        # Items are in the order of their creation: those before the first of the same moment are earlier.
        at = query["item"]
        while at and created[at - 1] == created[query["item"]]:
            at -= 1
        scores = torch.where(may_be[query["kind"]], scores, -9.0)[:at]
        best = scores.topk(min(DEPTH, len(scores)))
        ours = [
            (row, score) for row, score in zip(best.indices.tolist(), best.values.tolist(), strict=True) if score > -2
        ]
        words = [(row, score) for row, score in query["bm25"]]
        lists = {
            "alone": [row for row, _ in ours],
            "bm25": [row for row, _ in words],
            "fused": [hit.id for hit in fuse([words, ours])],
            "summed": [hit.id for hit in fuse_scores([words, ours])],
        }
        for name, ranked in lists.items():
            gold = set(query["gold"])
            rank = next((place for place, row in enumerate(ranked, 1) if row in gold), None)
            found.setdefault(query["kind"], {}).setdefault(name, []).append(rank)
    return found
