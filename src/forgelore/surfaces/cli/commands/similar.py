"""`forgelore similar REF`: what an item resembles, and why."""

import argparse
from typing import Any

from forgelore.core.names import parse_ref
from forgelore.surfaces.cli.filtering import add_filters, add_modes, build_filters
from forgelore.surfaces.cli.hits import as_data, print_hits
from forgelore.surfaces.cli.terminal import clean

EXAMPLES = (
    "forgelore similar '#12'",
    "forgelore similar '#12' --state open --limit 5 --explain",
    "forgelore similar acme/web#12 --type pr --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="#12, !34, owner/repo#12, a page's URL or a release's tag")
    add_modes(parser)
    add_filters(parser)
    parser.add_argument("--earlier", action="store_true", help="only what was there before it: what it could repeat")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.api import Lore

    ref = parse_ref(arguments.ref)
    answer, subject = Lore(context.app).similar_to(
        ref, build_filters(context, arguments), project=arguments.project, mode=arguments.mode, limit=arguments.limit,
        is_earlier=arguments.earlier, embedder=arguments.embedder,
    )  # fmt: skip
    for warning in answer.warnings:
        context.warn(warning)
    if not context.is_json:
        context.print(f"like {context.style.bold(clean(arguments.ref))} {clean(subject.title)}", "")
        print_hits(context, answer, arguments.ref, is_explained=arguments.explain, is_filtered=True, reason=why)
    return {
        "ref": arguments.ref, "title": subject.title, "mode": answer.mode, "total": len(answer.hits),
        "hits": [{**as_data(hit, is_explained=arguments.explain), "why": why(hit)} for hit in answer.hits],
    }  # fmt: skip


def why(hit: Any) -> str:
    """Return "both say: tombstone, offline, desktop · meaning 0.71"."""
    words = f"both say: {', '.join(clean(word) for word in hit.words[:6])}" if hit.words else ""
    meaning = f"meaning {hit.vector_score:.2f}" if hit.vector_score is not None else ""
    return " · ".join(part for part in (words, meaning) if part)
