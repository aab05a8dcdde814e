"""`forgelore search QUERY`."""

import argparse
import sys
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue, NotFound, UsageError
from forgelore.surfaces.cli.commands.similar import compare_item
from forgelore.surfaces.cli.filtering import (
    add_filters,
    add_limit,
    add_modes,
    add_output,
    check_rescore,
    filter_examples,
    read_filters,
    read_limit,
    typed_filters,
)
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
    "forgelore search 'auth*' --mode lexical",
    "forgelore search panic -l bug closure -L 5    words and flags in any order, as in gh",
    "forgelore search --author ana --state open    without words: what the filters allow, last updated first",
    "forgelore search why sqlite --type thread --explain --embedder lore",
    "forgelore search 'retry on timeout' --type code --path 'src/**/*.py'",
    *filter_examples("forgelore search relay"),
    "forgelore search 'sync loses renamed files' --rescore",
    "forgelore search - < trace.txt         a stack trace, or anything that is all text",
    "forgelore search '#12' --web           open it in the browser",
    "forgelore search --similar-to '#12' --state open",
    "forgelore search 'label:bug sync' --limit 50 --offset 50",
    "forgelore search relay --repo acme/web --sort updated --order asc",
    "forgelore search 'label:bug sync' --format tsv | cut -f 1,4",
    "forgelore search 'merge base' --marks markdown > found.md",
    "forgelore search 'title: relay NOT websocket' --fts-mode raw --json",
    "forgelore search 'folders vanish' --source intent",
)
# What other programs' commands are called: gh search issues …
_SUBCOMMANDS = {"issues": "is:issue", "prs": "is:pr", "mrs": "is:mr", "discussions": "type:discussion"}
_POOR = "nothing fits well; this comes nearest"
MAX_PASTED = 100_000  # bytes of standard input


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        metavar="QUERY",
        nargs="*",
        default=[],
        help='words; "a phrase"; auth* for a beginning; -word; label:bug and other qualifiers; #12; -: standard input',
    )
    parser.add_argument("--similar-to", metavar="REF", help="instead of words: what this item resembles, as `similar`")
    add_modes(parser)
    add_limit(parser)
    parser.add_argument(
        "--sort", choices=("relevance", "created", "updated", "comments"), help="newest or most first by this"
    )
    parser.add_argument("--order", choices=("desc", "asc"), default="desc", help="asc: oldest or fewest first")
    add_output(parser)
    parser.add_argument("--web", "-w", action="store_true", help="open the first result in the browser")
    add_filters(parser)
    parser.add_argument(
        "--fts-mode", choices=("safe", "raw"), default="safe", help="raw: QUERY is FTS5 syntax (implies --mode lexical)"
    )
    parser.add_argument(
        "--source", choices=("raw", "intent"), default="raw",
        help="what is searched: what people wrote, or the cards of `dedupe intent` (default %(default)s)",
    )  # fmt: skip


def run(context: "Context", arguments: argparse.Namespace) -> SearchData | SimilarData:
    if arguments.similar_to is not None:
        if arguments.query or arguments.fts_mode == "raw" or arguments.source != "raw":
            hint = "leave the words, --fts-mode and --source out"
            raise UsageError("--similar-to takes the place of words", hint=hint)
        if arguments.web:
            raise UsageError("--similar-to opens nothing", hint="leave --web out")
        return compare_item(context, arguments, arguments.similar_to, is_earlier=False)
    if not arguments.query and (arguments.fts_mode == "raw" or not typed_filters(arguments)):
        raise UsageError("the words to look for are missing", hint="run: forgelore search --help")
    if arguments.query == ["-"]:
        return _search(context, arguments, _read_pasted(context), is_literal=True)
    if len(arguments.query) > 1 and (kind := _SUBCOMMANDS.get(arguments.query[0])):
        context.warn(f"{arguments.query[0]!r} is searched for as a word; to find nothing else, add {kind}")
    return _search(context, arguments, " ".join(arguments.query), is_literal=False)


def _read_pasted(context: "Context") -> str:
    """Return what stands on standard input, as far as it is of use."""
    if sys.stdin is None:
        raise InvalidValue("standard input is closed", hint="give the text: forgelore search - < trace.txt")
    if sys.stdin.isatty():
        print("reading standard input; end with Ctrl-D", file=sys.stderr)
    pasted = sys.stdin.buffer.read(MAX_PASTED + 1)
    if len(pasted) > MAX_PASTED:
        context.warn(f"standard input is longer than {MAX_PASTED:,} bytes; its beginning is searched for")
    text = pasted[:MAX_PASTED].decode(errors="replace")
    if not text.strip():
        raise InvalidValue("standard input is empty", hint="give the text: forgelore search - < trace.txt")
    return text


def _search(context: "Context", arguments: argparse.Namespace, text: str, *, is_literal: bool) -> SearchData:
    is_raw = arguments.fts_mode == "raw"
    filters = read_filters(context, arguments)
    check_rescore(arguments, is_lexical=is_raw or arguments.mode == "lexical")
    answer = context.history.search(
        text, mode=arguments.mode, limit=read_limit(context, arguments), offset=arguments.offset, is_raw=is_raw,
        sort=_read_sort(context, arguments), is_literal=is_literal, embedder=arguments.embedder,
        is_rescored=arguments.rescore, source=arguments.source,
        with_lines=context.is_data or arguments.rows == "jsonl", **filters,
    )  # fmt: skip
    for warning in answer.warnings:
        context.warn(warning)
    if arguments.web:
        _open_first(context, answer)

    def present() -> SearchData:
        is_full_ref = context.history.has_several_projects
        return present_search(answer, text, is_explained=arguments.explain, is_full_ref=is_full_ref)

    if arguments.rows:
        context.remark(*_notes(answer))
        context.print_rows(arguments.rows, present().hits, are_hits=True)
    elif not context.is_data and not arguments.web:
        page = HitPage(
            answer.hits, None, arguments.explain, answer.offset, arguments.marks, sort=answer.sort.key
        )  # fmt: skip
        _print(context, answer, page, text)
    return context.for_programs(present)


def _read_sort(context: "Context", arguments: argparse.Namespace) -> str | None:
    sort: str | None = arguments.sort
    if arguments.order == "desc":
        return sort
    if sort in (None, "relevance"):
        context.warn("--order asc says nothing without --sort created, updated or comments")
        return sort
    return f"{sort}-asc"


def _print(context: "Context", answer: "SearchAnswer", page: HitPage, text: str) -> None:
    if answer.hits:
        print_count(context, answer.total, answer.mode, is_exact=answer.is_total_exact)
    for note in (*answer.notes, *(answer.synonyms if page.is_explained else ())):
        context.print(context.style.dim(clean(note)))
    if answer.is_nothing_fitting:
        context.print(context.style.yellow(_POOR))
    if not print_nothing(context, answer, text, is_filtered=answer.is_filtered, total=answer.total):
        page.print(context)
        print_more(context, answer)


def _notes(answer: "SearchAnswer") -> list[str]:
    """Return what is said about an answer that is not printed here: how the query was understood, how well it fits."""
    return [*map(clean, answer.notes), *([_POOR] if answer.is_nothing_fitting else [])]


def _open_first(context: "Context", answer: "SearchAnswer") -> None:
    """Open the first result, unless it is none that anybody asked for."""
    from forgelore.api import check_page
    from forgelore.surfaces.cli.browser import open_page

    if answer.is_named and answer.notes and not answer.known_count and not answer.offset:
        raise NotFound(answer.notes[-1], hint="leave --web out to see what mentions it")
    if not answer.hits:
        raise NotFound("nothing matches, and there is no page to open", hint="try other words")
    if answer.is_nothing_fitting:
        raise NotFound("nothing fits well, and nothing is opened", hint="leave --web out to see what comes nearest")
    first, *others = [hit.row for hit in answer.hits[: max(1, answer.known_count)]]
    if others:
        names = ", ".join(clean(row.full_ref) for row in others)
        context.warn(f"{clean(first.full_ref)} is opened; the query also names {names}")
    context.remark(*_notes(answer))
    open_page(context, check_page(first.url, first.host))
