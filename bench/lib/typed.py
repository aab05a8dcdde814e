"""Queries as people type them, with what must be on the first page: read from bench/queries.jsonl, and scored."""

import json
import statistics
import typing
from collections.abc import Iterable, Mapping

from lib.common import HERE

PAGE = 20
KINDS = ("identifier", "sentence", "known", "qualified", "unanswerable")


class TypedQuery(typing.NamedTuple):
    """One line of the set. `expect`: numbers that must be on the first page, all of them or one; `forbid`: numbers that
    must not; `contains`: what every hit should hold. An unanswerable query has none of them.
    """

    corpus: str
    kind: str
    query: str
    expect: tuple[int, ...]
    all: bool
    forbid: tuple[int, ...]
    contains: str


class Page(typing.NamedTuple):
    """The first page of an answer: the numbers of its hits, how many hold what every hit should, and whether the answer
    says that nothing fits well. One without hits says so too.
    """

    numbers: tuple[int, ...]
    holding: int = 0
    is_flagged: bool = False


def read_queries() -> list[TypedQuery]:
    lines = (HERE / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [_typed(json.loads(line)) for line in lines]


def _typed(row: dict) -> TypedQuery:
    row = {name: row[name] for name in TypedQuery._fields}
    return TypedQuery(**{**row, "expect": tuple(row["expect"]), "forbid": tuple(row["forbid"])})


def holds(text: str, token: str) -> bool:
    """Whether a text holds a token: capitals and the width of blanks do not count."""
    return " ".join(token.lower().split()) in text


def rank_of(query: TypedQuery, page: Page) -> int | None:
    """The place of the first expected item."""
    return next((at for at, number in enumerate(page.numbers, 1) if number in query.expect), None)


def is_met(query: TypedQuery, page: Page) -> bool:
    """Whether the first page has what it must have and nothing that it must not."""
    if set(query.forbid) & set(page.numbers):
        return False
    found = [number in page.numbers for number in query.expect]
    return not found or (all(found) if query.all else any(found))


def score_kind(kind: str, pages: Mapping[TypedQuery, Page]) -> dict[str, object]:
    """Return the figures of one kind of query, by name."""
    asked = {query: page for query, page in pages.items() if query.kind == kind}
    ranks = [rank_of(query, page) for query, page in asked.items() if query.expect]
    if kind == "identifier":
        shares = [page.holding / len(page.numbers) if page.numbers else 0.0 for q, page in asked.items() if q.contains]
        return {
            "of the page holds it": _mean(shares),
            "expected on the page": _share(rank is not None for rank in ranks),
        }
    if kind == "sentence":
        return {
            "on the page": _share(rank is not None for rank in ranks),
            "R@10": _mean([rank is not None and rank <= 10 for rank in ranks]),
            "MRR": _mean([1 / rank if rank else 0.0 for rank in ranks]),
        }
    if kind == "known":
        return {"first": _share(rank == 1 for rank in ranks)}
    kept = [not set(query.forbid) & set(page.numbers) for query, page in asked.items()]
    met = [is_met(query, page) for query, page in asked.items()]
    return {"as expected": _share(met), "nothing forbidden": _share(kept)}


def count_flagged(kind: str, pages: Mapping[TypedQuery, Page]) -> str:
    """Return how many queries of a kind are told so. A number that does not exist has nothing to fit."""
    asked = [query for query in pages if query.kind == kind]
    answerable = [query for query in asked if query.expect or query.contains]
    return _share(pages[query].is_flagged for query in (asked if kind == "unanswerable" else answerable))


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.fmean(found):.3f}" if found else "-"


def _share(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{sum(found)} of {len(found)}"
