"""What the commands of audits print: how often a judge was right, and where it was not."""

from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import clean, number, table
from forgelore.surfaces.present.dedupe import describe_class

if TYPE_CHECKING:
    from forgelore.api import AuditAnalysis, AuditCase, AuditReport, LaneAnswer, MeasuredShare, SweptBound
    from forgelore.surfaces.cli.command import Context

SHOWN = 20
ENOUGH = 100  # accepted edges with a label, before anything is closed without being asked twice


def print_report(context: "Context", report: "AuditReport") -> None:
    """Print an audit: classes, precision and recall, disagreements."""
    style = context.style
    name = f"{report.judge} {report.model}".strip()
    context.print(f"{style.bold(f'run {report.run}')}: the judge {clean(name)}, measured by {clean(report.reference)}")
    print_classes(context, report.counters, report.against)
    print_share(context, "precision", report.precision)
    print_share(context, "recall", report.recall)
    if report.prompt_tokens or report.answer_tokens:
        cost = f", cost {report.cost:,.4f}" if report.cost else ""
        context.print(f"  {number(report.prompt_tokens)} tokens in, {number(report.answer_tokens)} out{cost}")
    _print_beside(context, report)
    print_cases(context, report.disagreements)
    if report.status == "stopped":
        context.warn("it was stopped before its end, and proves nothing; run it again")


def print_classes(context: "Context", counters: dict[str, int], against: str) -> None:
    rows = [[name, number(count), describe_class(name, against)] for name, count in counters.items() if count]
    context.print(*(f"  {line}" for line in table(rows, grow=2)))


def print_share(context: "Context", name: str, share: "MeasuredShare | None") -> None:
    context.print(f"  {name}: {share_in_words(share)}")


def share_in_words(share: "MeasuredShare | None") -> str:
    """Return `0.95 [0.89, 0.98], 95 of 100`."""
    if share is None:
        return "nothing to measure it by"
    return f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}], {number(share.right)} of {number(share.of)}"


def print_cases(context: "Context", cases: "list[AuditCase]") -> None:
    if not cases:
        return
    context.print("", f"{number(len(cases))} to look at:")
    rows = [
        [one.audit_class, f"#{one.number}", _says(one.judged), _says(one.right), clean(one.title)]
        for one in cases[:SHOWN]
    ]
    context.print(*table(rows, grow=4, head=["class", "item", "judge", "right", "title"], style=context.style))
    if len(cases) > SHOWN:
        context.print(context.style.dim(f"and {number(len(cases) - SHOWN)} more: --json has them all"))


def _says(answer: "LaneAnswer") -> str:
    if answer.outcome == "accepted":
        return ", ".join(f"#{one}" for one in (answer.target, *answer.also)[:3])
    return answer.reason or "-"


def _print_beside(context: "Context", report: "AuditReport") -> None:
    style = context.style
    if report.against == "strong":
        context.print(style.dim("  one judge beside another: no proof for closings (--against history or human is)"))
        return
    labelled = report.precision.of if report.precision else 0
    if labelled < ENOUGH:
        context.print(
            style.dim(f"  {number(labelled)} accepted edges have a label; closing asks for {ENOUGH} (or --unproven)")
        )


_BOUNDS = {
    "rank_max": "rank at most",
    "score_min": "similarity at least",
    "gap_min": "gap at least",
    "confidence_min": "confidence at least",
}


def print_simulation(context: "Context", found: "AuditAnalysis") -> None:
    """Print what the given bounds would have made of an audit."""
    if found.simulated is None:
        return
    bounds = zip(_BOUNDS.values(), found.bounds, strict=True)
    shown = ", ".join(f"{name} {value:g}" for name, value in bounds if value is not None)
    context.print("", context.style.bold(f"with {shown}:"))
    print_classes(context, found.simulated.classes, found.report.against)
    print_share(context, "precision", found.simulated.precision)
    print_share(context, "recall", found.simulated.recall)


def print_sweeps(context: "Context", found: "AuditAnalysis") -> None:
    """Print what each value of each bound would have made of it, down to the first that leaves nothing."""
    rows = [_swept(one) for one in found.sweeps if _accepted(one)]
    if not rows:
        context.print("", "nothing was accepted: there is nothing to sweep")
        return
    context.print("")
    context.print(*table(rows, grow=0, head=["gate", "accepted", "precision", "recall"], style=context.style))


def _accepted(one: "SweptBound") -> int:
    return sum(one.scores.classes.get(name, 0) for name in ("tp", "fp", "conflict"))


def _swept(one: "SweptBound") -> list[str]:
    scores = one.scores
    return [
        f"{_BOUNDS[one.bound]} {one.value:g}", number(_accepted(one)), share_in_words(scores.precision),
        share_in_words(scores.recall),
    ]  # fmt: skip
