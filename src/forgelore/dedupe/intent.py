"""`dedupe intent`: a card for every issue and change, made again only where something changed.

    item → hash of its source → the same as that of its card: left alone; else a card is made, and its document waits

Rules make cards, or a language model. Where a model fails, rules make the card; that is reported, counted, and
retried by the next run. Cards are kept a few at a time, so that a run that is killed goes on where it was.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from forgelore.compare.calibrate import learn_boilerplate
from forgelore.context import JobContext
from forgelore.dedupe.cards import (
    BUILTIN,
    SCHEMA_VERSION,
    IntentCard,
    card_text,
    encode_card,
    extract_card,
    hash_source,
)
from forgelore.records import JudgedItem
from forgelore.store.calibration import load_boilerplate
from forgelore.store.candidates import (
    CardOrigin,
    list_sources,
    load_card_document,
    load_card_sources,
    load_origins,
    save_card,
)
from forgelore.store.database import Store
from forgelore.store.decisions import RunValue, begin_run, end_run, save_counters

_BATCH = 200  # items whose sources are compared at a time, and whose cards are kept together where no model is asked


class CardAnswer(NamedTuple):
    """What a maker made. `error`: why a model's card is missing, and rules made this one."""

    card: IntentCard
    error: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0


class CardMaker(Protocol):
    """Who makes cards. `model` and `prompt_version` are kept with each; when either changes, all are made again."""

    @property
    def model(self) -> str: ...
    @property
    def prompt_version(self) -> str: ...
    @property
    def batch(self) -> int:
        """How many are made before they are kept."""
        ...

    @property
    def workers(self) -> int:
        """How many of a batch are made at once."""
        ...

    def make(self, source: JudgedItem, boilerplate: Collection[int]) -> CardAnswer: ...


class RuleCards:
    """Cards from an item's own words."""

    model, prompt_version, batch, workers = BUILTIN, "", _BATCH, 1

    def make(self, source: JudgedItem, boilerplate: Collection[int]) -> CardAnswer:
        return CardAnswer(extract_card(source, boilerplate))


class CardsMade(NamedTuple):
    """What became of the items of a kind. `run_id` None: there was nothing to do."""

    kind: str
    model: str
    run_id: int | None
    items: int
    unchanged: int
    made: int = 0
    fallbacks: int = 0  # of those made, by rules because the model failed
    errors: dict[str, int] = {}  # noqa: RUF012 - never changed
    left: int = 0  # not made, because the run was stopped or its budget was spent
    prompt_tokens: int = 0
    answer_tokens: int = 0
    is_stopped: bool = False


def make_cards(
    context: JobContext, kind: str, maker: CardMaker, *, states: Sequence[str] | None = None,
    item_ids: Sequence[int] | None = None, full: bool = False, budget: int | None = None,
) -> CardsMade:  # fmt: skip
    """Make the cards of a kind's items that have none of their text by this maker, with `full` of all: of the items in
    some states, or of these. When a `budget` of tokens is spent nothing more is asked.
    """
    store, watcher, part = context.store, context.watcher, f"cards of {kind}s"
    learn_boilerplate(store, context.project.id, now_ms=context.now_ms)
    if item_ids is None:  # what is new is asked first
        item_ids = list_sources(store, context.project.id, kind, states=states)[::-1]
    todo = list(item_ids) if full else find_outdated_cards(store, item_ids, maker)
    done = CardsMade(kind, maker.model, None, len(item_ids), len(item_ids) - len(todo))
    if not todo:
        return done
    parameters: dict[str, RunValue] = {
        "kind": kind, "model": maker.model, "prompt": maker.prompt_version, "is_full": full,
    }  # fmt: skip
    with store.transaction():
        run_id = begin_run(store, context.project.id, "intent", parameters, context.now_ms())
    run = _CardRun(context, kind, maker, run_id)
    watcher.begin(part, part, len(todo))
    is_stopped = True
    try:
        for batch in _batches(todo, maker.batch):
            run.make(batch)
            watcher.saved(part, len(batch))
            if context.should_stop() or (budget is not None and sum(run.tokens) >= budget):
                break
        is_stopped = context.should_stop()
    finally:
        with store.transaction():
            run.save_counts()
            end_run(store, run_id, "stopped" if is_stopped else "done", context.now_ms())
    watcher.done(part)
    return done._replace(
        run_id=run_id, made=run.counts["made"], fallbacks=run.counts["fallbacks"], errors=dict(run.errors),
        left=len(todo) - run.counts["made"],
        prompt_tokens=run.tokens[0], answer_tokens=run.tokens[1], is_stopped=is_stopped,
    )  # fmt: skip


def find_outdated_cards(store: Store, item_ids: Sequence[int], maker: CardMaker) -> list[int]:
    """Return the items that have no good card of their text by this maker, in order."""
    found: list[int] = []
    for batch in _batches(item_ids, _BATCH):
        origins, sources = load_origins(store, batch), load_card_sources(store, batch)
        found += [
            item_id
            for item_id in batch
            if item_id in sources and not _is_good(origins.get(item_id), origin_of(sources[item_id], maker))
        ]
    return found


def origin_of(source: JudgedItem, maker: CardMaker) -> CardOrigin:
    """Return what a good card of a source by this maker is made from."""
    return CardOrigin(hash_source(source), SCHEMA_VERSION, maker.prompt_version, maker.model, "ok")


def _is_good(known: CardOrigin | None, wanted: CardOrigin) -> bool:
    """Whether a card may stay. Rules leave a model's card alone: it cost something, and says more."""
    if known is None or wanted.model != BUILTIN:
        return known == wanted
    return known._replace(model=BUILTIN, prompt_version="") == wanted


def has_current_card(store: Store, item_id: int) -> bool:
    """Tell whether an item has an up-to-date card, by rules or by a model, that can be searched."""
    origin, source = load_origins(store, [item_id]).get(item_id), load_card_sources(store, [item_id]).get(item_id)
    is_current = origin is not None and source is not None and origin.source_hash == hash_source(source)
    return is_current and load_card_document(store, item_id) is not None


def _batches(item_ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (item_ids[at : at + size] for at in range(0, len(item_ids), size))


class _CardRun:
    """One run: what it made, and what went wrong."""

    def __init__(self, context: JobContext, kind: str, maker: CardMaker, run_id: int) -> None:
        self._context, self._store, self._maker, self._id = context, context.store, maker, run_id
        self._lines = load_boilerplate(context.store, context.project.id, kind)
        self.counts: Counter[str] = Counter(made=0, fallbacks=0)
        self.errors: Counter[str] = Counter()
        self.tokens = (0, 0)

    def make(self, batch: Sequence[int]) -> None:
        """Make some cards and keep them together. A model is asked outside of the transaction: it takes its time. Where
        it fails, a good card that was there stays.
        """
        sources = list(load_card_sources(self._store, batch).values())
        made = zip(sources, self._make_all(sources), strict=True)
        known = load_origins(self._store, [one.item_id for one in sources])
        project_id = self._context.project.id
        with self._store.transaction():
            for source, answer in made:
                origin = origin_of(source, self._maker)
                if not answer.error or known.get(source.item_id) != origin:
                    save_card(
                        self._store, project_id, source.item_id, origin, encode_card(answer.card),
                        card_text(answer.card), self._context.now_ms(), error=answer.error,
                    )  # fmt: skip
                self._count(answer)
            self.save_counts()

    def _make_all(self, sources: Sequence[JudgedItem]) -> list[CardAnswer]:
        def make(source: JudgedItem) -> CardAnswer:
            return self._maker.make(source, self._lines)

        if self._maker.workers == 1:
            return [make(source) for source in sources]
        with ThreadPoolExecutor(self._maker.workers) as threads:
            return list(threads.map(make, sources))

    def save_counts(self) -> None:
        save_counters(self._store, self._id, self.counts, tokens=self.tokens)

    def _count(self, answer: CardAnswer) -> None:
        self.counts.update(made=1, fallbacks=bool(answer.error))
        if answer.error:
            self.errors[answer.error] += 1
        self.tokens = (self.tokens[0] + answer.prompt_tokens, self.tokens[1] + answer.answer_tokens)
