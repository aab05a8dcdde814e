"""Finding duplicates in bulk, step by step or in one go: `dedupe intent`, `refresh`, `candidates`, `judge`, `run`, and
`detect-new` for one item.
"""

import argparse
import os
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.command import Command, Context, add_project_option
from forgelore.surfaces.cli.dedupe_closing import write_plan
from forgelore.surfaces.cli.progress import watched
from forgelore.surfaces.cli.sync import add_indexing_arguments, index_parts, print_synced
from forgelore.surfaces.present.dedupe import describe_clusters, describe_reason
from forgelore.surfaces.present.text import clean, counted_noun, number, table

if TYPE_CHECKING:
    from forgelore.api import (
        CandidatesMade,
        CardsMade,
        DecisionsMade,
        DedupeChain,
        Detection,
        IntentAnswer,
        SyncedProject,
    )

_SHOWN_ROWS = 10
_UNCERTAIN = "uncertain_maintainer_identity"


def add_intent_arguments(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    parser.add_argument(
        "--states", choices=("open", "closed", "all"), default="all", help="items in these states (default %(default)s)"
    )
    parser.add_argument(
        "--by", choices=("auto", "builtin", "llm"), default="auto",
        help="rules, or a language model; auto: a model where your settings name one (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--profile", metavar="NAME", help="language model profile of your settings: cheap, strong")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="questions at once (default %(default)s)")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="stop when this many tokens are spent")
    parser.add_argument("--full", action="store_true", help="also items whose card is up to date")


def run_intent(context: Context, arguments: argparse.Namespace) -> "IntentAnswer":
    project = arguments.project or context.history.projects.name() or ""
    with watched(context, project) as watcher:
        answer = context.history.dedupe.make_cards(
            project=arguments.project, kind=arguments.kind, states=arguments.states, maker=arguments.by,
            profile=arguments.profile, workers=arguments.workers, budget=arguments.budget, full=arguments.full,
            watcher=watcher,
        )  # fmt: skip
    for one in answer.kinds:
        _print_cards(context, one)
    context.warn(*answer.warnings)
    return answer


def _print_cards(context: Context, one: "CardsMade") -> None:
    style, name = context.style, f"{one.kind}s"
    if not one.items:
        context.print(f"no {name} in these states")
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


def add_refresh_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "project", metavar="PROJECT", nargs="?", help="a project that was synced; default: the only one"
    )
    parser.add_argument("--known", action="store_true", help="also items that are here already and have changed")
    parser.add_argument("--since", metavar="WHEN", help="only what was updated since then: 2026-03-01, 7d, last week …")
    parser.add_argument("--force", action="store_true", help="take over the lock of a sync that stopped responding")
    add_indexing_arguments(parser)


def run_refresh(context: Context, arguments: argparse.Namespace) -> "SyncedProject":
    project = context.history.projects.name(arguments.project)
    with watched(context, project or "") as watcher:
        synced = context.history.sync.refresh(
            arguments.project, known=arguments.known, since=arguments.since, force=arguments.force,
            index=index_parts(arguments), watcher=watcher,
        )  # fmt: skip
    print_synced(context, synced)
    return synced


def add_candidates_arguments(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    parser.add_argument("--k", type=int, default=4, metavar="N", help="candidates per item (default %(default)s)")
    parser.add_argument(
        "--min-score", type=float, default=0.75, metavar="S", help="minimum similarity (default %(default)s)"
    )
    parser.add_argument(
        "--states", choices=("open", "closed", "all"), default="open",
        help="states of the candidates that count; closed ones are never judged (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--source", choices=("raw", "intent"), default="raw",
        help="what decides which items are compared: texts, or the cards of `dedupe intent` (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes (default: up to 2)"
    )
    parser.add_argument("--full", action="store_true", help="also items whose candidates are known")


def run_candidates(context: Context, arguments: argparse.Namespace) -> "list[CandidatesMade]":
    project = arguments.project or context.history.projects.name() or ""
    with watched(context, project) as watcher:
        found = context.history.dedupe.find_candidates(
            project=arguments.project, kind=arguments.kind, k=arguments.k, min_score=arguments.min_score,
            states=arguments.states, source=arguments.source, workers=arguments.workers, full=arguments.full,
            watcher=watcher,
        )  # fmt: skip
    for one in found:
        _print_candidates(context, one)
    return found


def _print_candidates(context: Context, one: "CandidatesMade") -> None:
    style, name = context.style, f"{one.kind}s"
    if not one.sources:
        context.print(f"no open {name}")
        return
    counts = (
        (one.made, "looked at"), (one.unchanged, "unchanged"), (one.empty, "without a candidate"),
        (one.members_written, "candidates kept"), (one.stale_marked, "earlier lists replaced"),
    )  # fmt: skip
    parts = ", ".join(f"{number(count)} {what}" for count, what in counts if count)
    mark = style.yellow("!") if one.is_stopped else style.green("✓")
    context.print(f"{mark} {number(one.sources)} open {name}: {parts}")
    if one.raw_fallbacks:
        context.warn(
            f"{number(one.raw_fallbacks)} {name} have no up-to-date card and were compared by their texts;"
            " run: forgelore dedupe intent"
        )
    if one.missing_embeddings:
        context.warn(f"{number(one.missing_embeddings)} {name} have no vector of their own; run: forgelore embed")


def add_judge_arguments(parser: argparse.ArgumentParser) -> None:
    _add_scope(parser)
    parser.add_argument(
        "--min-edge", type=float, default=0.85, metavar="C", help="minimum confidence (default %(default)s)"
    )
    parser.add_argument("--rejudge", action="store_true", help="decide again, even where an edge was accepted")
    parser.add_argument(
        "--allow-stale", action="store_true", help="also use candidates of items that were edited since"
    )
    parser.add_argument(
        "--source", choices=("raw", "intent"), help="only candidates found by texts, or by cards; default: the latest",
    )  # fmt: skip
    _add_judge_choice(parser)
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="questions at once, to a model (%(default)s)"
    )
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="token limit for a model; a later run continues")


def run_judge(context: Context, arguments: argparse.Namespace) -> "list[DecisionsMade]":
    project = arguments.project or context.history.projects.name() or ""
    with watched(context, project) as watcher:
        found = context.history.dedupe.judge(
            project=arguments.project, kind=arguments.kind, min_edge=arguments.min_edge, rejudge=arguments.rejudge,
            allow_stale=arguments.allow_stale, source=arguments.source, trust_statements=arguments.statements,
            judge=arguments.judge, profile=arguments.profile, workers=arguments.workers, budget=arguments.budget,
            watcher=watcher,
        )  # fmt: skip
    for one in found:
        _print_decisions(context, one)
    return found


def _print_decisions(context: Context, one: "DecisionsMade") -> None:
    style, name = context.style, f"{one.kind}s"
    if not one.sets:
        context.print(f"no open {name} have candidates; run: forgelore dedupe candidates")
        return
    counts = (
        (one.accepted, "accepted"), (one.rejected, "rejected"), (one.skipped, "skipped"),
        (one.decided_before, "decided before"),
    )  # fmt: skip
    mark = style.yellow("!") if one.is_stopped else style.green("✓")
    parts = ", ".join(f"{number(count)} {what}" for count, what in counts if count)
    context.print(f"{mark} {number(one.sets)} {name} with candidates: {parts}")
    if one.prompt_tokens or one.answer_tokens:
        cost = f", cost {one.cost:,.4f}" if one.cost else ""
        context.print(f"    {number(one.prompt_tokens)} tokens asked, {number(one.answer_tokens)} answered{cost}")
    for reason, count in sorted(one.reasons.items(), key=lambda each: -each[1]):
        context.print(f"    {reason} {number(count)}")


def add_chain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PROJECT", nargs="?", help="default: the clone's project, or the only one")
    parser.add_argument("--project", metavar="NAME", help="the same as PROJECT, as in other commands")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes (default: up to 2)"
    )
    parser.add_argument(
        "--min-edge",
        type=float,
        default=0.85,
        metavar="C",
        help="minimum confidence of a decision (default %(default)s)",
    )
    parser.add_argument(
        "--min-close", type=float, default=0.9, metavar="C", help="... of a closing (default %(default)s)"
    )
    parser.add_argument(
        "--target-policy", choices=("canonical-only", "direct-fallback"), default="canonical-only",
        help="close onto the item the cluster keeps, or else onto what the item itself repeats (default %(default)s)",
    )  # fmt: skip
    _add_judge_choice(parser)
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="token limit for a model")
    parser.add_argument("--out", metavar="FILE", help="write the plan to a file: .json, or Markdown")


def run_chain(context: Context, arguments: argparse.Namespace) -> "DedupeChain":
    project = context.history.projects.name(arguments.name or arguments.project)
    with watched(context, project or "") as watcher:
        chain = context.history.dedupe.run(
            project=project, kind=arguments.kind, min_edge=arguments.min_edge, min_close=arguments.min_close,
            target_policy=arguments.target_policy, trust_statements=arguments.statements, workers=arguments.workers,
            judge=arguments.judge, profile=arguments.profile, budget=arguments.budget, watcher=watcher,
        )  # fmt: skip
    if arguments.out:
        write_plan(arguments.out, chain.plan)
    _print_steps(context, chain)
    _print_clusters(context, chain)
    _print_plan(context, chain)
    _print_next(context, chain, arguments.out)
    return chain


def _print_steps(context: Context, chain: "DedupeChain") -> None:
    for made, decided in zip(chain.candidates, chain.decisions, strict=True):
        name = f"{made.kind}s"
        if not made.sources:
            continue
        compared = f"{number(made.made)} compared now" if made.made else "none has changed"
        context.print(
            f"{context.style.bold(name)}: {number(made.sources)} open, {compared};"
            f" {number(decided.accepted)} newly accepted as duplicates ({decided.judge} {decided.model})"
        )
        if made.missing_embeddings:
            context.warn(f"{number(made.missing_embeddings)} {name} have no vector of their own; run: forgelore embed")


def _print_clusters(context: Context, chain: "DedupeChain") -> None:
    clusters, style = chain.clusters.clusters, context.style
    context.print("", describe_clusters(chain.clusters.edges, len(clusters)))
    rows = [
        [f"#{one.canonical}", one.kind, number(len(one.numbers)), clean(one.title)] for one in clusters[:_SHOWN_ROWS]
    ]
    context.print(*table(rows, grow=3, head=["stays", "kind", "items", "title"], style=style))
    _print_rest(context, len(clusters), "clusters")


def _print_plan(context: Context, chain: "DedupeChain") -> None:
    plan, style = chain.plan, context.style
    closing = [line for line in plan.lines if not line.reason]
    kept = len(plan.lines) - len(closing)
    context.print("", f"plan {plan.run}: {number(len(closing))} would be closed, {number(kept)} stay open")
    rows = [
        [f"#{one.number}", f"#{one.target}", f"{one.confidence or 0:.2f}", clean(one.title)]
        for one in closing[:_SHOWN_ROWS]
    ]
    context.print(*table(rows, grow=3, head=["close", "onto", "confidence", "title"], style=style))
    _print_rest(context, len(closing), "closings")
    for reason, count in plan.counters.items():
        if reason != "close":
            context.print(style.dim(f"  {number(count):>5}  {reason}: {describe_reason(reason)}"))


def _print_rest(context: Context, count: int, what: str) -> None:
    if count > _SHOWN_ROWS:
        context.print(context.style.dim(f"and {number(count - _SHOWN_ROWS)} more {what}"))


def _print_next(context: Context, chain: "DedupeChain", out: str | None) -> None:
    """Say what a maintainer does next: read, measure, apply."""
    plan = chain.plan
    if not plan.counters.get("close"):
        if not plan.lines:
            context.print("", "Nothing to close: no pair is accepted yet.")
        else:
            context.print(
                "", "Nothing to close. Reasons are listed above, and in: forgelore dedupe report --html page.html"
            )
        if _UNCERTAIN in plan.counters:
            context.print("Who maintains the project: forgelore dedupe maintainers")
        _print_review(context, chain)
        return
    context.print("", context.style.bold("next"))
    read = f"read {out}" if out else "read the plan: forgelore dedupe report --html page.html"
    context.print(f"  1. {read}; forgelore dedupe reject '#12' '#7' takes a pair out (then run this again)")
    if chain.unproven:
        context.print(f"  2. measure the judge ({clean(chain.unproven.partition(': ')[2])}):")
        context.print("     forgelore dedupe audit --against history, or --against human")
    else:
        proven = "; ".join(map(clean, chain.proven)) or "people decided all of it, so no proof is needed"
        context.print(f"  2. {proven}")
    context.print(f"  3. forgelore dedupe apply {plan.run} --yes --close-after 72")
    context.print(f"  4. to undo it: forgelore dedupe rollback {plan.run} --yes")
    _print_review(context, chain)


def _print_review(context: Context, chain: "DedupeChain") -> None:
    if chain.to_review:
        context.print("", f"{counted_noun(chain.to_review, 'pair')} worth a look: forgelore dedupe review")


def add_detect_new_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="#12, !34, owner/repo#12 or a page's URL")
    parser.add_argument("--project", metavar="NAME", help="the project of a short REF")
    parser.add_argument("--k", type=int, default=8, metavar="N", help="candidates (default %(default)s)")
    for name, value, what in (
        ("--min-score", 0.75, "minimum similarity of a candidate"), ("--maybe", 0.85, "confidence of a maybe"),
        ("--duplicate", 0.92, "confidence of a duplicate"), ("--support", 0.9, "similarity of a duplicate"),
    ):  # fmt: skip
        parser.add_argument(name, type=float, default=value, metavar="N", help=f"{what} (default %(default)s)")
    parser.add_argument(
        "--source", choices=("raw", "intent"), default="raw",
        help="what chooses who it is compared with: its text, or its card (default %(default)s)",
    )  # fmt: skip
    _add_judge_choice(parser)


def run_detect_new(context: Context, arguments: argparse.Namespace) -> "Detection":
    found = context.history.dedupe.detect(
        arguments.ref, project=arguments.project, k=arguments.k, min_score=arguments.min_score, maybe=arguments.maybe,
        duplicate=arguments.duplicate, support=arguments.support, source=arguments.source,
        trust_statements=arguments.statements, judge=arguments.judge, profile=arguments.profile,
    )  # fmt: skip
    context.warn(*found.warnings)
    _print_detection(context, found)
    return found


def _print_detection(context: Context, found: "Detection") -> None:
    of = f" of #{found.target}" if found.target else ""
    sure = f", confidence {found.confidence:.2f}" if found.confidence and found.target else ""
    why = f" ({found.reason})" if found.reason else ""
    context.print(f"{context.style.bold(found.outcome)}{of}{sure}{why}")
    if found.reasoning:
        context.print(f"  {clean(found.reasoning)}")
    rows = [
        [f"#{one.number}", one.state, f"{one.similarity:.2f}", one.sameness.replace("_", " "), clean(one.title)]
        for one in found.candidates
    ]
    if rows:
        head = ["item", "state", "similarity", "", "title"]
        context.print("", *table(rows, grow=4, head=head, style=context.style))


def _add_scope(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")


def _add_judge_choice(parser: argparse.ArgumentParser) -> None:
    """Add who judges, rules or a model, and what they believe."""
    parser.add_argument(
        "--statements", action="store_true", help='count what maintainers wrote ("duplicate of #5") and marks'
    )
    parser.add_argument("--judge", choices=("builtin", "llm"), default="builtin", help="rules, or the model of [llm]")
    parser.add_argument(
        "--profile", choices=("default", "cheap", "strong"), help="the model's profile, in your settings"
    )


COMMANDS = {
    "dedupe intent": Command(
        add_intent_arguments,
        run_intent,
        (
            "forgelore dedupe intent",
            "forgelore dedupe intent --kind issue --states open",
            "forgelore dedupe intent --by llm --profile cheap --workers 4 --budget 500000",
            "forgelore dedupe intent --full                      all of them anew",
        ),
    ),
    "dedupe refresh": Command(
        add_refresh_arguments,
        run_refresh,
        (
            "forgelore dedupe refresh acme/web              what was filed since the last sync",
            "forgelore dedupe refresh acme/web --known      and what has changed",
            "forgelore dedupe refresh --known --since 7d    what moved in the last week",
        ),
    ),
    "dedupe candidates": Command(
        add_candidates_arguments,
        run_candidates,
        (
            "forgelore dedupe candidates --kind issue",
            "forgelore dedupe candidates --k 8 --min-score 0.9   more of them, and closer ones",
            "forgelore dedupe candidates --source intent         chosen by cards, after: forgelore dedupe intent",
            "forgelore dedupe candidates --full                  all of them anew",
        ),
    ),
    "dedupe judge": Command(
        add_judge_arguments,
        run_judge,
        (
            "forgelore dedupe judge",
            "forgelore dedupe judge --min-edge 0.9 --rejudge   decide anew, and accept less",
            "forgelore dedupe judge --statements               count what maintainers wrote, too",
            "forgelore dedupe judge --judge llm --profile cheap --workers 4 --budget 500000",
        ),
    ),
    "dedupe run": Command(
        add_chain_arguments,
        run_chain,
        (
            "forgelore dedupe run acme/web",
            "forgelore dedupe run acme/web --kind issue --out plan.md     and the plan as a page to be read",
        ),
    ),
    "dedupe detect-new": Command(
        add_detect_new_arguments,
        run_detect_new,
        (
            "forgelore dedupe detect-new '#157'",
            "forgelore dedupe detect-new acme/web#12 --json    for a workflow: data.outcome",
            "forgelore dedupe detect-new '#157' --judge llm --profile strong",
        ),
    ),
}
