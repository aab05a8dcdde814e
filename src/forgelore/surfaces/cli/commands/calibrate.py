"""`forgelore calibrate`: learn from the project's own duplicates how sure a match is."""

import argparse
from typing import Any

from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.terminal import number, table

EXAMPLES = (
    "forgelore calibrate --project acme/web",
    "forgelore calibrate --dry-run         say the same, and write nothing at all",
)
_NAMES = {"issue": "issues", "change": "changes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--embedder", metavar="NAME", help="use these vectors instead of the configured ones")
    parser.add_argument("--dry-run", action="store_true", help="measure only; write nothing")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.api import History
    from forgelore.flows.compare.calibrate import calibrate
    from forgelore.surfaces.cli.progress import make_watcher

    project = _project(context, arguments.project)
    retriever = History(context.app).retriever(arguments.embedder)
    with stopping_on_interrupt(context), make_watcher(str(project.name), is_json=context.is_json) as watcher:
        found = calibrate(
            retriever, project.id, is_dry=arguments.dry_run, watcher=watcher, should_stop=context.app.stop.is_set
        )
    for one in found:
        _print(context, one, is_dry=arguments.dry_run)
    if not found:
        context.print("there are no issues or changes to learn from")
    return {"project": str(project.name), "dry_run": arguments.dry_run, "kinds": [_data(one) for one in found]}


def _project(context: Any, name: str | None) -> Any:
    from forgelore.errors import InvalidValue
    from forgelore.store.projects import list_projects

    project = context.app.find_project(name)
    if project is None:
        names = ", ".join(str(known.name) for known in list_projects(context.app.store())[:8])
        raise InvalidValue("a project is calibrated by itself", hint=f"say which with --project: {names}")
    return project


def _print(context: Any, one: Any, *, is_dry: bool) -> None:
    style = context.style
    first = f", {number(one.found_first)} of them found first" if one.pairs else ""
    context.print(
        f"{style.bold(_NAMES[one.kind])}: {number(one.pairs)} known duplicates{first}; {number(one.items)} items"
    )
    if one.pairs:
        rows = [
            [f"{at.similarity:.2f}", _share(at.precision), _share(at.recall), number(at.flagged)]
            for at in one.thresholds
        ]
        head = ["similarity", "precision", "recall", "ranked items at or above"]
        context.print(*(f"  {line}" for line in table(rows, grow=3, head=head, style=style)))
    if one.kept:
        context.print(f"  {style.yellow('!')} the shipped chance is kept: {one.kept}")
    else:
        done = "would be used" if is_dry else "is used from now on"
        error = f"off by {one.error:.3f} on items it had not seen"
        context.print(f"  {style.green('✓')} a chance fitted on {number(one.pairs)} pairs {done} ({error})")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _data(one: Any) -> dict[str, Any]:
    rounded = [
        {name: round(value, 4) if isinstance(value, float) else value for name, value in at._asdict().items()}
        for at in one.thresholds
    ]
    return {
        "kind": one.kind, "pairs": one.pairs, "others": one.others, "items": one.items,
        "found_first": one.found_first, "thresholds": rounded,
        "chance": {
            "source": one.curve.source, "slope": round(one.curve.slope, 4), "intercept": round(one.curve.intercept, 4),
            "most": round(one.curve.most, 4),
            "pairs": one.curve.pairs, "calibration_error": None if one.error is None else round(one.error, 4),
        },
        "kept": one.kept or None,
    }  # fmt: skip
