"""The review queue in a browser: two items side by side, one key for each answer, undo, and what people answered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from forgelore.errors import InvalidValue
from forgelore.surfaces.present.dedupe import describe_ending, describe_forecast
from forgelore.surfaces.web.app import Address, Answer, Page, Redirect, WebRequest
from forgelore.surfaces.web.charts import draw_cluster

if TYPE_CHECKING:
    from forgelore.api import History, ReviewPair

KEYS = (
    ("s", "same", "Same", "One of the two can be closed as a duplicate."),
    ("r", "related", "Related", "They belong together, and both stay."),
    ("t", "twin", "Twin", "The same for another platform, version or part."),
    ("n", "not", "Not a match", "Never shown as a pair again."),
    ("u", "unsure", "Unsure", "For somebody else to decide."),
)
_AHEAD = 30
_CLUSTERS = 25


def show_queue(history: "History", asked: WebRequest) -> Answer:
    """The next pair, with what is left."""
    project = _find_project(history, asked)
    queue = history.dedupe.queue(project=project, limit=_AHEAD, reviewer=_reviewer(asked))
    pairs = [
        *(one for one in queue.pairs if one.pile == "pairs"),
        *(one for one in queue.pairs if one.pile == "series"),
    ]
    skipped = min(asked.number("skip", 0), max(0, len(pairs) - 1))
    pair = pairs[skipped] if pairs else None
    values = {
        "title": "Duplicates", "queue": queue, "pair": pair, "next": pairs[skipped + 1 : skipped + 8], "keys": KEYS,
        "said": asked.query.get("said", ""), "chosen": project, "skipped": skipped, "marks": _mark_titles(pair),
        "ending": describe_ending, "forecast": describe_forecast(queue),
    }  # fmt: skip
    return Page("review.html", values)


def save_answer(history: "History", asked: WebRequest) -> Answer:
    form = asked.form
    if not form.get("newer") or not form.get("older"):
        raise InvalidValue("an answer is about two items")
    project = form.get("project") or None
    said = history.dedupe.answer(
        form["newer"], form["older"], form.get("answer", ""), project=project, reviewer=_reviewer(asked)
    )
    verdict = "disputed: others say something else" if said.is_disputed else said.answer
    return _back(project, f"{said.newer} and {said.older}: {verdict}")


def undo_answer(history: "History", asked: WebRequest) -> Answer:
    project = asked.form.get("project") or None
    undone = history.dedupe.take_back(project=project, reviewer=_reviewer(asked))
    return _back(project, f"{undone.newer} and {undone.older}: your answer is taken back")


def show_clusters(history: "History", asked: WebRequest) -> Answer:
    """What belongs together by accepted pairs, and the open items that people repeat most, as pictures with lists."""
    project = _find_project(history, asked)
    clusters = history.dedupe.clusters(project=project)
    shown = asked.number("show", _CLUSTERS)
    values = {
        "clusters": [(one, draw_cluster(one)) for one in clusters[:shown]], "total": len(clusters), "shown": shown,
        "magnets": [(one, draw_cluster(one)) for one in history.dedupe.magnets(project=project, limit=10)],
        "chosen": project,
    }  # fmt: skip
    return Page("clusters.html", {"title": "Clusters", **values})


def show_closings(history: "History", asked: WebRequest) -> Answer:
    """Closings in their grace period, and the runs that closed something, with the way back."""
    project = _find_project(history, asked)
    runs = [run for run in history.dedupe.list_runs(project=project, step="apply") if run.counters.get("closed")]
    values = {"announced": history.dedupe.list_announced(project=project), "runs": runs, "chosen": project}
    return Page("closings.html", {"title": "Closings", **values})


def list_answers(history: "History", asked: WebRequest) -> Answer:
    project = _find_project(history, asked)
    answers = history.dedupe.list_answers(project=project)
    return Page("answers.html", {"title": "Answers", "answers": answers, "chosen": project})


def show_plan(history: "History", asked: WebRequest) -> Answer:
    """What would be closed by the clusters that were built last, and the plans that were kept; nothing is sent."""
    from forgelore.surfaces.present.dedupe import describe_reason

    project = _find_project(history, asked)
    plans = history.dedupe.list_runs(project=project, step="plan", limit=8)
    try:
        lines = history.dedupe.plan(project=project, dry_run=True).lines
    except InvalidValue:  # no clusters were built yet
        lines = []
    values = {
        "closing": [line for line in lines if not line.reason], "kept": [line for line in lines if line.reason],
        "chosen": project, "reason": describe_reason, "run": None, "plans": plans,
    }  # fmt: skip
    return Page("plan.html", {"title": "Plan", **values})


def _find_project(history: "History", asked: WebRequest) -> str | None:
    projects = history.projects.list()
    return asked.project or (projects[0] if projects else None)


def _reviewer(asked: WebRequest) -> str | None:
    """Return whose answers these are; None leaves it to the settings, where nobody has to sign in."""
    return asked.visitor.name or None


def _back(project: str | None, said: str) -> Redirect:
    return Redirect(f"/duplicates?{urlencode({'said': said, **({'project': project} if project else {})})}")


def _mark_titles(pair: "ReviewPair | None") -> dict[str, list[tuple[int, int]]]:
    """Return where the words stand that only one of the two titles has."""
    if pair is None:
        return {}
    differ = pair.differences
    return {
        pair.newer.ref: _find_words(pair.newer.title, differ.title_newer),
        pair.older.ref: _find_words(pair.older.title, differ.title_older),
    }


def _find_words(title: str, words: Sequence[str]) -> list[tuple[int, int]]:
    found, end = [], 0
    if len(words) * 2 > len(title.split()):  # where most of a title differs, marks tell nothing
        return []
    for word in words:
        start = title.find(word, end)
        if start >= 0:
            end = start + len(word)
            found.append((start, end))
    return found


ADDRESSES = (
    Address("/duplicates", show_queue),
    Address("/duplicates/clusters", show_clusters),
    Address("/duplicates/closings", show_closings),
    Address("/duplicates/answers", list_answers),
    Address("/duplicates/plan", show_plan, role="apply"),
    Address("/duplicates/answer", save_answer, role="review", writes=True),
    Address("/duplicates/undo", undo_answer, role="review", writes=True),
)
