"""What the bot learns of its project between comments: template lines, how near items usually are, labels it may trust.

An ordinary event adds a few numbers. On a first run the author waits for the first hundred only; the rest comes after
the comment, and what a run has no time for is left to the next.
"""

from collections.abc import Callable

from forgelore.core.compare.shipped import VERSION
from forgelore.flows.compare.labels import learn_labels
from forgelore.flows.compare.sample import build_sample, learn_boilerplate
from forgelore.flows.progress import Watcher
from forgelore.flows.triage.intake import KINDS
from forgelore.flows.triage.item import TriageContext
from forgelore.store.calibrations import forget_outdated
from forgelore.store.labels import load_labels_learned, save_labels_learned

FIRST = 120  # strengths of a kind that a position needs
SAMPLE = 500  # of the newest items of a kind; each run adds its own, and the oldest leave
_GROWTH = 1.1  # of the labelled items before their labels are learned again


def prepare(context: TriageContext, *, is_late: Callable[[], bool], watcher: Watcher | None = None) -> None:
    """Learn what a first comment needs: which lines are everybody's, and how near items of each kind are."""
    learn_boilerplate(context.store, context.project_id, now_ms=context.now_ms)
    for kind in KINDS:
        build_sample(context.retriever, context.project_id, kind, size=FIRST, watcher=watcher, should_stop=is_late)


def learn_more(
    context: TriageContext, *, is_thorough: bool, is_late: Callable[[], bool], watcher: Watcher | None = None
) -> list[str]:
    """Complete the sample and, now and then, learn which labels may be suggested; returns what should be noted."""
    notes = []
    with context.store.transaction():
        forget_outdated(context.store, context.project_id, VERSION)
    for kind in KINDS:
        build_sample(context.retriever, context.project_id, kind, size=SAMPLE, watcher=watcher, should_stop=is_late)
        if is_thorough and not is_late() and _has_grown(context, kind):
            trusted = learn_labels(context.retriever, context.project_id, kind, watcher=watcher)
            if trusted:
                notes.append(f"labels that may be suggested for a new {kind}: {', '.join(sorted(trusted))}")
    return notes


def _has_grown(context: TriageContext, kind: str) -> bool:
    before, now = load_labels_learned(context.store, context.project_id, kind)
    if now <= _GROWTH * before:
        return False
    save_labels_learned(context.store, context.project_id, kind, now)
    return True
