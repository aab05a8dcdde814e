"""`forgelore search QUERY`."""

import argparse
from typing import Any

from forgelore.errors import UsageError
from forgelore.surfaces.cli.filtering import add_filters, add_limit, add_modes, build_filters, find_rescorer
from forgelore.surfaces.cli.hits import as_data, print_hits

EXAMPLES = (
    'forgelore search "deleted files come back"',
    "forgelore search 'C++ ChunkCache::insert' --type issue --state open",
    "forgelore search 'auth*' --mode lexical --label bug --after '3 months ago'",
    "forgelore search why sqlite --type thread --explain",
    "forgelore search 'sync loses renamed files' --rescore",
    "forgelore search --similar-to '#12' --state open",
    "forgelore search 'title: relay NOT websocket' --fts-mode raw --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="*", help='words; "a phrase"; auth* for a beginning')
    parser.add_argument("--similar-to", metavar="REF", help="instead of words: what this item resembles, as `similar`")
    add_modes(parser)
    add_limit(parser)
    add_filters(parser)
    parser.add_argument(
        "--fts-mode", choices=("safe", "raw"), default="safe", help="raw: QUERY is FTS5 syntax (implies --mode lexical)"
    )


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.api import History
    from forgelore.flows.search.run import SearchRequest

    if arguments.similar_to is not None:
        return _run_similar(context, arguments)
    if not arguments.query:
        raise UsageError("the words to look for are missing", hint="run: forgelore search --help")
    is_raw = arguments.fts_mode == "raw"
    text = " ".join(arguments.query)
    request = SearchRequest(
        text, "lexical" if is_raw else arguments.mode, build_filters(context, arguments), arguments.limit, is_raw
    )
    lore = History(context.app)
    rescorer = find_rescorer(lore, arguments, mode=request.mode)
    answer = lore.search_for(request, embedder=arguments.embedder, rescorer=rescorer)
    for warning in answer.warnings:
        context.warn(warning)
    if not context.is_json:
        is_filtered = any(request.filters._replace(project_ids=()))
        print_hits(context, answer, text, is_explained=arguments.explain, is_filtered=is_filtered)
    return {
        "query": text, "mode": answer.mode, "total": len(answer.hits),
        "hits": [as_data(hit, is_explained=arguments.explain) for hit in answer.hits],
    }  # fmt: skip


def _run_similar(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    from forgelore.surfaces.cli.commands.similar import run_like

    if arguments.query or arguments.fts_mode == "raw":
        raise UsageError("--similar-to takes the place of words", hint="leave the words and --fts-mode out")
    return run_like(context, arguments, arguments.similar_to, is_earlier=False)
