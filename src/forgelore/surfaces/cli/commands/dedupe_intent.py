"""`forgelore dedupe intent`: a card for every issue and change, of what it is about."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.indexing import stopping_on_interrupt
from forgelore.surfaces.cli.progress import make_watcher
from forgelore.surfaces.cli.terminal import clean, number

if TYPE_CHECKING:
    from forgelore.api import CardsMade, IntentAnswer
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore dedupe intent",
    "forgelore dedupe intent --kind issue --states open",
    "forgelore dedupe intent --by llm --profile cheap --workers 4 --budget 500000",
    "forgelore dedupe intent --full                      all of them anew",
)
_NAMES = {"issue": "issues", "change": "changes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument(
        "--states", choices=("open", "closed", "all"), default="all", help="items in these states (default %(default)s)"
    )
    parser.add_argument(
        "--by", choices=("auto", "builtin", "llm"), default="auto",
        help="rules, or a language model; auto: a model where your settings name one (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--profile", metavar="NAME", help="the model of this part of the settings: cheap, strong")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="questions at once (default %(default)s)")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="stop asking when so many are spent")
    parser.add_argument("--full", action="store_true", help="also items whose card is up to date")


def run(context: "Context", arguments: argparse.Namespace) -> "IntentAnswer":
    project = arguments.project or context.history.name_project() or ""
    with stopping_on_interrupt(context), make_watcher(project, is_quiet=context.is_data) as watcher:
        answer = context.history.make_intent_cards(
            project=arguments.project, kind=arguments.kind, states=arguments.states, maker=arguments.by,
            profile=arguments.profile, workers=arguments.workers, budget=arguments.budget, full=arguments.full,
            watcher=watcher,
        )  # fmt: skip
    for one in answer.kinds:
        _print(context, one)
    for warning in answer.warnings:
        context.warn(warning)
    return answer


def _print(context: "Context", one: "CardsMade") -> None:
    style, name = context.style, _NAMES[one.kind]
    if not one.items:
        context.print(f"there are no such {name}")
        return
    counts = ((one.made, f"cards made by {clean(one.model)}"), (one.unchanged, "unchanged"))
    parts = ", ".join(f"{number(count)} {what}" for count, what in counts if count)
    mark = style.yellow("!") if one.is_stopped or one.fallbacks else style.green("✓")
    context.print(f"{mark} {number(one.items)} {name}: {parts}")
    if one.left and not one.is_stopped:
        context.warn(f"the budget is spent: {number(one.left)} {name} wait for a card; run it again")
    if one.prompt_tokens:
        context.print(f"    {number(one.prompt_tokens)} tokens asked, {number(one.answer_tokens)} answered")
    if one.fallbacks:
        context.warn(f"for {number(one.fallbacks)} {name} the model failed, and rules made the card")
    for error, count in sorted(one.errors.items(), key=lambda each: -each[1])[:5]:
        context.print(f"    {number(count)} times: {clean(error)}")
