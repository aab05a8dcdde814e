"""Intent cards without a model: are known duplicates found more often where cards choose who is compared?

Every item with a known duplicate is replayed as of its filing, among the earlier items of its kind, once chosen by
texts and once by the cards that rules make. Evidence ranks both alike, so that only the choice differs.

    python bench/run.py intent
"""

import json
import typing

from forgelore.api import open_history
from forgelore.compare.rank import CANDIDATES, CompareRequest, rank_matches
from forgelore.context import JobContext
from forgelore.dedupe.intent import RuleCards, make_cards
from forgelore.index.update import update_index
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.text.dates import parse_ms
from lib.common import Skipped, clean_environ, report, table
from lib.evidence_data import prepare_whole
from quality import CORPORA, cache_folder, query_lines

TRACKERS = ("bitcoin", "hadoop", "seamonkey")
AT = (4, 8, 20, CANDIDATES)
NOTE = (
    "Items with known duplicates, replayed as of their filing among the earlier items of their kind, embedder `lore`."
    f" Of the first {CANDIDATES} that texts, or cards, choose, the evidence of the texts makes the order; `found at k`"
    " is the share of items of which a known duplicate is among the first k. Cards are those of rules: no model was"
    " asked, and nothing is said of cards that one writes."
)


class Compared(typing.NamedTuple):
    """Where the first known duplicate of an item is by texts and by cards, from 1; None: not among the candidates."""

    by_texts: int | None
    by_cards: int | None


def main(_arguments: list[str]) -> None:
    if not CORPORA.is_dir():
        raise Skipped(f"there are no trackers in {CORPORA.name}/")
    parts = [NOTE]
    for name in TRACKERS:
        compared, cards = measure(name)
        parts += [
            f"## {name}",
            f"{cards:,} cards; {len(compared)} items with known duplicates.",
            recall_table(compared),
        ]
    report("intent", "Intent cards that rules make", parts)


def measure(name: str) -> tuple[list[Compared], int]:
    db = cache_folder() / f"{name}.whole.lore.db"
    db = db if db.exists() else prepare_whole(name, "lore")
    with open_history(db, environ=clean_environ(db.parent, FORGELORE_EMBEDDER="lore")) as lore:
        store, retriever = lore.app.store(create=True), lore.retriever()
        project = lore.app.find_project(name)
        for kind in ("issue", "change"):
            make_cards(JobContext(store, project), kind, RuleCards())
        update_index(store, [project.id], lambda: retriever.embedder)
        cards = store.value("SELECT count(*) FROM intent_cards")
        return [compare(retriever, *asked) for asked in list_asked(store, name)], cards


def list_asked(store, name: str) -> list[tuple]:
    ids = {(kind, number): item_id for item_id, kind, number in store.rows("SELECT id, kind, number FROM items")}
    hidden = set(json.loads((CORPORA / f"{name}.exclude.json").read_text(encoding="utf-8")))
    excluded = tuple(item_id for (_, number), item_id in ids.items() if number in hidden)
    return [
        (ids[row["kind"], row["query"]], parse_ms(row["created_at"]), frozenset(row["gold"]), excluded)
        for row in query_lines(name)
        if row["gold"] and not row["cites_gold"]
    ]


def compare(retriever, item_id: int, created: int, gold: frozenset[int], excluded: tuple[int, ...]) -> Compared:
    subject = load_subject(retriever.store, item_id)._replace(created_at=created)
    filters = Filters(types=(subject.kind,), not_items=(*excluded, item_id), before=created)
    request = CompareRequest(subject, filters, limit=CANDIDATES, is_bare=True, as_of=created)
    ranks = [
        next(
            (at for at, one in enumerate(rank_matches(retriever, each).matches, 1) if one.hit.row.number in gold), None
        )
        for each in (request, request._replace(source="intent"))
    ]
    return Compared(*ranks)


def recall_table(compared: list[Compared]) -> str:
    def share(ranks: list[int | None], most: int) -> str:
        return f"{sum(rank is not None and rank <= most for rank in ranks) / len(ranks):.3f}"

    texts, cards = [one.by_texts for one in compared], [one.by_cards for one in compared]
    either = [min((rank for rank in one if rank is not None), default=None) for one in compared]
    rows = [
        [name, *(share(ranks, most) for most in AT)]
        for name, ranks in (("texts (`--source raw`)", texts), ("cards (`--source intent`)", cards), ("either", either))
    ]
    return table(["chosen by", *(f"found at {most}" for most in AT)], rows)
