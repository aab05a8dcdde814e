"""`forgelore search QUERY`."""

import argparse
from typing import Any

from forgelore.surfaces.cli.filtering import add_filters, add_modes, build_filters
from forgelore.surfaces.cli.hits import as_data, print_hits

EXAMPLES = (
    'forgelore search "deleted files come back"',
    "forgelore search 'C++ ChunkCache::insert' --type issue --state open",
    "forgelore search 'auth*' --mode lexical --label bug --after '3 months ago'",
    "forgelore search why sqlite --type thread --explain",
    "forgelore search 'title: relay NOT websocket' --fts-mode raw --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="+", help='words; "a phrase"; auth* for a beginning')
    add_modes(parser)
    add_filters(parser)
    parser.add_argument(
        "--fts-mode", choices=("safe", "raw"), default="safe", help="raw: QUERY is FTS5 syntax (implies --mode lexical)"
    )


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.api import Lore
    from forgelore.flows.search import Request

    is_raw = arguments.fts_mode == "raw"
    text = " ".join(arguments.query)
    request = Request(
        text, "lexical" if is_raw else arguments.mode, build_filters(context, arguments), arguments.limit, is_raw
    )
    answer = Lore(context.app).search_for(request, embedder=arguments.embedder)
    for warning in answer.warnings:
        context.warn(warning)
    if not context.is_json:
        is_filtered = any(request.filters._replace(project_ids=()))
        print_hits(context, answer, text, is_explained=arguments.explain, is_filtered=is_filtered)
    return {
        "query": text, "mode": answer.mode, "total": len(answer.hits),
        "hits": [as_data(hit, is_explained=arguments.explain) for hit in answer.hits],
    }  # fmt: skip
