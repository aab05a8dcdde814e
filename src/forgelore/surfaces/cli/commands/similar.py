"""`forgelore similar REF`: what an item resembles, and why."""

import argparse
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.filtering import (
    add_filters,
    add_limit,
    add_modes,
    add_output,
    check_rescore,
    filter_examples,
    read_filters,
    read_limit,
)
from forgelore.surfaces.cli.hits import HitPage, print_count, print_more, print_nothing
from forgelore.surfaces.cli.terminal import clean, width
from forgelore.surfaces.present.find import SimilarData, describe_facts, present_similar, why

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    "forgelore similar '#12'",
    "forgelore similar '#12' --state open --limit 5 --explain",
    "forgelore similar acme/web#12 --type pr --json",
    "forgelore similar '#12' --rescore",
    "forgelore similar '#12' --limit 50 --offset 50",
    "forgelore similar '#12' --earlier --mode lexical --marks markdown",
    "forgelore similar '#12' --embedder lore --format csv",
    *filter_examples("forgelore similar '#12'"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="#12, !34, owner/repo#12, a page's URL or a release's tag")
    add_modes(parser)
    add_limit(parser)
    add_output(parser)
    add_filters(parser)
    parser.add_argument("--earlier", action="store_true", help="only what was there before it: what it could repeat")


def run(context: "Context", arguments: argparse.Namespace) -> SimilarData:
    return compare_item(context, arguments, arguments.ref, is_earlier=arguments.earlier)


def compare_item(context: "Context", arguments: argparse.Namespace, ref: str, *, is_earlier: bool) -> SimilarData:
    """Compare one item with the others; `search --similar-to` is the same."""
    filters = read_filters(context, arguments)
    check_rescore(arguments, is_lexical=arguments.mode == "lexical")
    answer = context.history.similar(
        ref, mode=arguments.mode, limit=read_limit(context, arguments), offset=arguments.offset,
        is_earlier=is_earlier, embedder=arguments.embedder, is_rescored=arguments.rescore, **filters,
    )  # fmt: skip
    for warning in answer.warnings:
        context.warn(warning)

    def present() -> SimilarData:
        is_full_ref = context.history.has_several_projects
        return present_similar(answer, ref, is_explained=arguments.explain, is_full_ref=is_full_ref)

    if arguments.rows:
        context.print_rows(arguments.rows, present().hits, are_hits=True)
    elif not context.is_data:
        context.print(f"like {context.style.bold(clean(ref))} {clean(answer.title)}", "")
        if not print_nothing(context, answer, ref, is_filtered=True, total=answer.total):
            print_count(context, answer.total, answer.mode)
            reasons = [why(found, columns=width() // 3) for found in answer.hits]
            hits = [found.hit for found in answer.hits]
            facts = [describe_facts(found.match) for found in answer.hits]
            HitPage(hits, reasons, arguments.explain, answer.offset, arguments.marks, facts).print(context)
            print_more(context, answer)
    return context.for_programs(present)
