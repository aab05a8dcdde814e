"""`triage --since`: what the bot would have said of the items that were filed in a period, and what became of them.

Every item is judged as of its filing: among earlier items, each as far as it was known then (open until it was closed,
notes until that moment). Three things cannot be known any more, and the page says so: texts are read as they are now,
the scale of similarity is that of the newest items, and marks of duplicates are what people happened to make.

Nothing is asked of the forge, and nothing is written on it. What is learned of the project on the way (its boilerplate,
how near its items usually are) stays in the store, and makes the next replay faster.
"""

from collections.abc import Callable
from typing import NamedTuple

from forgelore.compare.calibrate import build_sample, learn_boilerplate
from forgelore.ports.progress import Watcher
from forgelore.store.decisions import load_refused_pairs
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import load_public_item
from forgelore.store.items import load_ids
from forgelore.store.triage import FiledItem, list_filed, load_newest_filed
from forgelore.text.items import StoredItem
from forgelore.text.links import is_program
from forgelore.triage.item import TriageContext, TriageResult, triage_item
from forgelore.triage.learning import SAMPLE
from forgelore.triage.outcomes import RIGHT, Aftermath, KnownDuplicates, ReportOutcome, judge_outcome
from forgelore.triage.steering import STAFF
from forgelore.words import ItemKey, Kind, ProjectName

TEXT_CHARS = 1_000  # of a text that people read to judge a comment
_STAGE = "items"


class ReplayedItem(NamedTuple):
    """An item, what the bot would have said of it, and what is known of it today."""

    item: FiledItem
    triaged: TriageResult
    outcome: ReportOutcome
    right: int | None = None  # the first listed item that people say it repeats, where there is one
    originals: tuple[StoredItem, ...] = ()  # what it was marked as a duplicate of
    first_text: str = ""  # of the item that is named first, its beginning

    @property
    def is_warned(self) -> bool:
        return self.triaged.outcome in ("duplicate", "regression")

    @property
    def is_right_first(self) -> bool:
        return self.right is not None and self.right == self.triaged.first_number


class ReplayCounts(NamedTuple):
    """How often. `noise`: the comment is there, and the item was closed for another reason or people said no;
    `undecided`: with a comment, still open. What was right is right first, or further down in the list.
    """

    seen: int
    commented: int
    warned: int
    right_first: int
    right_listed: int
    noise: int
    undecided: int
    missed: int


class Replay(NamedTuple):
    """A period of a project. `items`: those that get a comment, and the duplicates among the others, oldest first.
    `programs` and `maintainers`: how many were filed by those, whom the bot leaves alone. `is_cut`: it was stopped
    before the end.
    """

    project: ProjectName
    since: int
    until: int
    seen: int
    programs: int
    items: list[ReplayedItem]
    warnings: list[str]
    newest: int | None = None  # when the newest item of the project was filed
    is_cut: bool = False
    maintainers: int = 0

    def tally(self) -> ReplayCounts:
        said = [one for one in self.items if one.triaged.body]
        right = [one for one in said if one.outcome in RIGHT]
        first = sum(one.is_right_first for one in right)
        return ReplayCounts(
            self.seen, len(said), sum(one.is_warned for one in said), first, len(right) - first,
            sum(one.outcome == "noise" for one in said), sum(one.outcome == "open" for one in said),
            sum(one.outcome == "missed" for one in self.items),
        )  # fmt: skip


def replay(
    context: TriageContext, since: int, until: int, *, kinds: tuple[Kind, ...],
    watcher: Watcher | None = None, should_stop: Callable[[], bool] = lambda: False,
) -> Replay:  # fmt: skip
    """Judge each item of the period as of its filing. What is done when `should_stop` says so is returned."""
    watcher = watcher or Watcher()
    filed = [one for one in list_filed(context.store, context.project_id, since, until) if one.kind in kinds]
    result = Replay(
        context.project.name, since, until, 0, 0, [], [], load_newest_filed(context.store, context.project_id)
    )
    found_kinds = [kind for kind in kinds if any(one.kind == kind for one in filed)]
    learn_boilerplate(context.store, context.project_id, now_ms=context.now_ms)
    for kind in found_kinds:
        build_sample(context.retriever, context.project_id, kind, size=SAMPLE, watcher=watcher, should_stop=should_stop)
    judge = _Judge(context, found_kinds)
    watcher.begin(_STAGE, "items judged as of their filing", len(filed))
    for one in filed:
        if should_stop():
            result = result._replace(is_cut=True)
            break
        if is_program(one.author):
            result = result._replace(programs=result.programs + 1)
        elif one.author_role in STAFF and not context.inputs.comment_on_maintainers:
            result = result._replace(maintainers=result.maintainers + 1)
        else:
            result = result._replace(seen=result.seen + 1)
            judged = judge.look(one)
            result.warnings.extend(each for each in judged.triaged.warnings if each not in result.warnings)
            if judged.triaged.body or judged.outcome != "quiet":
                result.items.append(judged)
        watcher.saved(_STAGE, 1)
    watcher.done(_STAGE)
    return result


class _Judge:
    """Looks at items one after the other. Holds what people have said of duplicates until today."""

    def __init__(self, context: TriageContext, kinds: list[Kind]) -> None:
        self._context = context
        self._duplicates = {kind: KnownDuplicates(context.store, context.project_id, kind) for kind in kinds}
        self._refused = load_refused_pairs(context.store, context.project_id)

    def look(self, item: FiledItem) -> ReplayedItem:
        context = self._context._replace(as_of=item.created_at)
        triaged = triage_item(context, ItemKey(item.kind, item.number))
        duplicates = self._duplicates[item.kind]
        listed = load_ids(context.store, context.project_id, [ItemKey(item.kind, each) for each in triaged.shown])
        matching = duplicates.matching(item.id, listed.values())
        right = next((key.number for key, item_id in listed.items() if item_id in matching), None)
        originals = [load_public_item(context.store, each) for each in sorted(duplicates.originals(item.id))]
        known = tuple(one for one in originals if one is not None)
        after = Aftermath(
            item.state == "open", known, matching,
            is_rejected=any(frozenset((item.id, each)) in self._refused for each in listed.values()),
        )  # fmt: skip
        first = listed.get(ItemKey(item.kind, triaged.first_number)) if triaged.first_number else None
        text = load_subject(context.store, first).body[:TEXT_CHARS] if first else ""
        item = item._replace(body=item.body[:TEXT_CHARS])
        return ReplayedItem(item, triaged, judge_outcome(triaged.shown, after), right, known, text)
