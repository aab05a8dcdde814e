"""Long work that a page starts: a sync, a plan, its closings, their rollback. It goes on when the page is left.

Whoever started it is led to its own page, which asks for news until it ends; it can be cancelled there, and ends after
its transaction. Work that writes waits for other work that writes. What it said is kept until the server ends.
"""

from typing import TYPE_CHECKING
from urllib.parse import quote

from forgelore.errors import AuthError, InvalidValue, LoreError, NotFound, Stopped, format_error
from forgelore.surfaces.present.dedupe import describe_reason
from forgelore.surfaces.present.text import counted_noun
from forgelore.surfaces.web.app import Address, Answer, Background, Page, Redirect, WebRequest, Work

if TYPE_CHECKING:
    from forgelore.api import AppliedLine, History, RolledBackItem

GRACE = (0, 24, 72, 168)  # hours


def start_sync(history: "History", request: WebRequest) -> Answer:
    """Sync a project. A new one takes the role that may do everything: the server will ask a forge of its choice."""
    project = _need(request, "project").strip()
    if project not in history.projects.list() and not request.visitor.may("apply"):
        raise AuthError("a new project takes the role 'apply'", hint=f"you have the role {request.visitor.role!r}")

    def run(history: "History", work: Work) -> None:
        done = history.sync.run(project)
        work.say(f"{counted_noun(sum(done.result.written.values()), 'row')} written")

    return Background(f"Sync of {project}", project, run)


def start_comparing(_: "History", request: WebRequest) -> Answer:
    """Find what each open item may repeat, so that there are pairs to decide."""
    project = _need(request, "project")

    def run(history: "History", work: Work) -> None:
        made = history.dedupe.find_candidates(project=project)
        left = history.dedupe.queue(project=project, limit=1).left
        work.say(f"{counted_noun(sum(one.sources for one in made), 'open item')} compared")
        work.say(f"{counted_noun(left, 'pair')} to decide")
        if missing := sum(one.missing_embeddings for one in made):
            work.say(f"{counted_noun(missing, 'item')} could not be compared by meaning: sync the project first")
        work.next, work.next_title = f"/duplicates?project={quote(project, safe='')}", "Decide pairs"

    return Background(f"Comparing the items of {project}", project, run)


def start_plan(_: "History", request: WebRequest) -> Answer:
    """Candidates, judge, clusters and a plan, as `dedupe run` does it; nothing is sent."""
    project = _need(request, "project")

    def run(history: "History", work: Work) -> None:
        chain = history.dedupe.run(project=project)
        closing = [line for line in chain.plan.lines if not line.reason]
        work.say(f"plan {chain.plan.run}: {counted_noun(len(closing), 'item')} would be closed")
        if chain.unproven:
            work.say(chain.unproven)
        work.next = f"/duplicates/plans/{chain.plan.run}?project={quote(project, safe='')}"
        work.next_title = "Read the plan"

    return Background(f"Plan for {project}", project, run)


def show_kept_plan(history: "History", request: WebRequest) -> Answer:
    """A plan that was kept, with the form that carries it out."""
    run = _number(request)
    plan = history.dedupe.load_plan(run)
    closing = [line for line in plan.lines if not line.reason]
    kept = [line for line in plan.lines if line.reason]
    values = {"closing": closing, "kept": kept, "chosen": plan.project, "reason": describe_reason, "run": run}
    return Page("plan.html", {"title": f"Plan {run}", "grace": GRACE, **values})


def start_apply(_: "History", request: WebRequest) -> Answer:
    """Carry a plan out, once somebody has typed the project's name. The gates are those of the command line."""
    project, run = _need(request, "project"), _number(request)
    if request.form.get("confirm", "").strip() != project:
        raise InvalidValue(
            f"to close items of {project}, type its name", hint="go back, and type it as it stands there"
        )
    hours = request.form.get("hours", "0")
    if hours not in map(str, GRACE):
        raise InvalidValue(f"{hours[:20]} hours of grace are not offered")

    def close(history: "History", work: Work) -> None:
        done = history.dedupe.apply(run, close_after=int(hours), on_line=lambda line: work.say(_describe_line(line)))
        for problem in done.problems:
            work.say(problem)
        counts = ", ".join(f"{name} {count}" for name, count in done.counters.items())
        work.say(f"run {done.run}: {counts or 'nothing to close'}")
        if done.counters.get("closed"):
            work.undo = done.run

    return Background(f"Closings of plan {run}", project, close)


def start_rollback(_: "History", request: WebRequest) -> Answer:
    project, run = _need(request, "project"), _number(request)

    def take_back(history: "History", work: Work) -> None:
        done = history.dedupe.roll_back(run, on_item=lambda item: work.say(_describe_restored(item)))
        work.say(f"{counted_noun(done.counters['restored'], 'item')} restored")

    return Background(f"Rollback of run {run}", project, take_back)


def show_work(_: "History", request: WebRequest) -> Answer:
    work = _find(request)
    error = work.task.error
    said = format_error(error) if isinstance(error, LoreError) else "cancelled" if isinstance(error, Stopped) else ""
    if error is not None and not said:
        said = "this ended by a fault of the program; the server's log has it"
    return Page("work.html", {"title": work.title, "work": work, "error": said, "progress": work.task.progress})


def cancel_work(_: "History", request: WebRequest) -> Answer:
    work = _find(request)
    work.task.cancel()
    return Redirect(f"/work/{work.task.id}")


def _find(request: WebRequest) -> Work:
    work = request.works.get(request.path["id"])
    if work is None:
        raise NotFound(
            "this work is not known", hint="the server was started again since; the lists show what came of it"
        )
    return work


def _need(request: WebRequest, name: str) -> str:
    if not request.form.get(name):
        raise InvalidValue(f"{name} is missing")
    return request.form[name]


def _number(request: WebRequest) -> int:
    text = request.path.get("run", "")
    if not text.isdecimal() or len(text) > 9:
        raise InvalidValue(f"{text[:20]!r} is not the number of a run")
    return int(text)


def _describe_line(line: "AppliedLine") -> str:
    if line.reason == "already_closed":
        return f"#{line.number} was closed before, as a duplicate of #{line.target}"
    if line.action == "closed":
        return f"#{line.number} closed as a duplicate of #{line.target}"
    return f"#{line.number} stays open: {describe_reason(line.reason)}"


def _describe_restored(item: "RolledBackItem") -> str:
    if item.problem and not item.restored:
        return f"#{item.number}: {item.problem}"
    return f"#{item.number}: {', '.join(item.restored) or 'as it was'}"


ADDRESSES = (
    Address("/work/{id}", show_work, role="review"),
    Address("/work/{id}/cancel", cancel_work, role="review", writes=True),
    Address("/projects/sync", start_sync, role="review", writes=True),
    Address("/duplicates/compare", start_comparing, role="review", writes=True),
    Address("/duplicates/plan/start", start_plan, role="apply", writes=True),
    Address("/duplicates/plans/{run}", show_kept_plan, role="apply"),
    Address("/duplicates/plans/{run}/apply", start_apply, role="apply", writes=True),
    Address("/duplicates/runs/{run}/rollback", start_rollback, role="apply", writes=True),
)
