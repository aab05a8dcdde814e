"""`forgelore search QUERY`."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import UsageError
from forgelore.surfaces.cli.commands.similar import compare_item
from forgelore.surfaces.cli.filtering import add_filters, add_limit, add_modes, check_rescore, read_filters
from forgelore.surfaces.cli.hits import HitPage, print_count, print_more, print_nothing
from forgelore.surfaces.cli.terminal import clean
from forgelore.surfaces.present.find import SearchData, SimilarData, present_search

if TYPE_CHECKING:
    from forgelore.api import SearchAnswer
    from forgelore.surfaces.cli.command import Context

EXAMPLES = (
    'forgelore search "deleted files come back"',
    "forgelore search 'C++ ChunkCache::insert' --type issue --state open",
    "forgelore search 'crash -windows label:bug is:open created:>2026-01 sort:created'",
    "forgelore search 'auth*' --mode lexical --label bug --after '3 months ago'",
    "forgelore search why sqlite --type thread --explain",
    "forgelore search 'sync loses renamed files' --rescore",
    "forgelore search --similar-to '#12' --state open",
    "forgelore search 'label:bug sync' --limit 50 --offset 50",
    "forgelore search 'title: relay NOT websocket' --fts-mode raw --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        metavar="QUERY",
        nargs="*",
        help='words; "a phrase"; auth* for a beginning; -word; label:bug and other qualifiers; #12',
    )
    parser.add_argument("--similar-to", metavar="REF", help="instead of words: what this item resembles, as `similar`")
    add_modes(parser)
    add_limit(parser)
    parser.add_argument(
        "--offset", metavar="N", default="0", help="begin behind the first N results; or `next` of the page before"
    )
    add_filters(parser)
    parser.add_argument(
        "--fts-mode", choices=("safe", "raw"), default="safe", help="raw: QUERY is FTS5 syntax (implies --mode lexical)"
    )


def run(context: "Context", arguments: argparse.Namespace) -> SearchData | SimilarData:
    if arguments.similar_to is not None:
        if arguments.query or arguments.fts_mode == "raw":
            raise UsageError("--similar-to takes the place of words", hint="leave the words and --fts-mode out")
        return compare_item(context, arguments, arguments.similar_to, is_earlier=False)
    if not arguments.query:
        raise UsageError("the words to look for are missing", hint="run: forgelore search --help")
    return _search(context, arguments, " ".join(arguments.query))


def _search(context: "Context", arguments: argparse.Namespace, text: str) -> SearchData:
    is_raw = arguments.fts_mode == "raw"
    filters = read_filters(context, arguments)
    check_rescore(arguments, is_lexical=is_raw or arguments.mode == "lexical")
    answer = context.history.search(
        text, mode=arguments.mode, limit=arguments.limit, offset=arguments.offset, is_raw=is_raw,
        embedder=arguments.embedder, is_rescored=arguments.rescore, **filters,
    )  # fmt: skip
    for warning in answer.warnings:
        context.warn(warning)
    if not context.is_data:
        is_filtered = any(value for name, value in filters.items() if name != "project")
        _print(context, answer, text, is_explained=arguments.explain, is_filtered=is_filtered)
    is_full_ref = context.history.has_several_projects
    return present_search(answer, text, is_explained=arguments.explain, is_full_ref=is_full_ref)


def _print(context: "Context", answer: "SearchAnswer", text: str, *, is_explained: bool, is_filtered: bool) -> None:
    if answer.hits:
        print_count(context, answer.total, answer.mode, is_exact=answer.is_total_exact)
    for note in answer.notes:
        context.print(context.style.dim(clean(note)))
    if not print_nothing(context, answer, text, is_filtered=is_filtered, total=answer.total):
        HitPage(answer.hits, is_explained=is_explained, offset=answer.offset).print(context)
        print_more(context, answer)
