"""Finding: `search`, `similar`, and `evaluate`, which measures both."""

import argparse
import sys
from typing import TYPE_CHECKING

from forgelore.errors import InvalidValue, NotFound, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import (
    add_filters,
    add_limit,
    add_mode,
    add_modes,
    add_output,
    check_rescore,
    filter_examples,
    read_filters,
    read_limit,
    typed_filters,
)
from forgelore.surfaces.cli.hits import HitPage, print_count, print_more, print_nothing
from forgelore.surfaces.cli.terminal import clean, fit, number, table, width
from forgelore.surfaces.present.find import (
    SearchData,
    SimilarData,
    describe_facts,
    present_search,
    present_similar,
    why,
)

if TYPE_CHECKING:
    from forgelore.api import Evaluation, Group, QueryResult, Score, SearchAnswer
    from forgelore.surfaces.present.evaluate import EvaluationData

# What other programs' commands are called: gh search issues …
_SUBCOMMANDS = {"issues": "is:issue", "prs": "is:pr", "mrs": "is:mr", "discussions": "type:discussion"}
_NO_CLOSE_MATCH = "no close match; nearest results:"
MAX_PASTED = 100_000  # bytes of standard input
_GROUPS: "dict[Group, str]" = {"issue": "issues", "change": "changes", "golden": "golden queries"}
_MAX_BAD_LINES = 20
_THRESHOLD = 0.92
# The first fields of a decision, in their order.
_DECIDED = ("threshold", "precision", "recall", "false_alarms", "recall@fa1", "recall@fa5", "precision_at_prevalence")


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
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


def run_search(context: Context, arguments: argparse.Namespace) -> SearchData | SimilarData:
    if arguments.similar_to is not None:
        if arguments.query or arguments.fts_mode == "raw" or arguments.source != "raw":
            hint = "leave the words, --fts-mode and --source out"
            raise UsageError("--similar-to takes the place of words", hint=hint)
        if arguments.web:
            raise UsageError("--similar-to opens nothing", hint="leave --web out")
        return _compare_item(context, arguments, arguments.similar_to, is_earlier=False)
    if not arguments.query and (arguments.fts_mode == "raw" or not typed_filters(arguments)):
        raise UsageError("the words to look for are missing", hint="run: forgelore search --help")
    if arguments.query == ["-"]:
        return _search(context, arguments, _read_pasted(context), is_literal=True)
    if len(arguments.query) > 1 and (kind := _SUBCOMMANDS.get(arguments.query[0])):
        context.warn(f"{arguments.query[0]!r} is searched for as a word; to find nothing else, add {kind}")
    return _search(context, arguments, " ".join(arguments.query), is_literal=False)


def _read_pasted(context: Context) -> str:
    """Return the text on standard input, up to a limit."""
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


def _search(context: Context, arguments: argparse.Namespace, text: str, *, is_literal: bool) -> SearchData:
    is_raw = arguments.fts_mode == "raw"
    filters = read_filters(context, arguments)
    check_rescore(arguments, is_lexical=is_raw or arguments.mode == "lexical")
    answer = context.history.search(
        text, mode=arguments.mode, limit=read_limit(context, arguments), offset=arguments.offset, raw=is_raw,
        sort=_read_sort(context, arguments), literal=is_literal, embedder=arguments.embedder,
        rescore=arguments.rescore, source=arguments.source,
        with_lines=context.is_data or arguments.rows == "jsonl", **filters,
    )  # fmt: skip
    context.warn(*answer.warnings)
    if arguments.web:
        _open_first(context, answer)

    def present() -> SearchData:
        is_full_ref = context.history.projects.are_several
        return present_search(answer, text, is_explained=arguments.explain, is_full_ref=is_full_ref)

    if arguments.rows:
        context.remark(*_notes(answer))
        context.print_rows(arguments.rows, present().hits, are_hits=True)
    elif not context.is_data and not arguments.web:
        page = HitPage(
            answer.hits, None, arguments.explain, answer.offset, arguments.marks, sort=answer.sort.key
        )  # fmt: skip
        _print_answer(context, answer, page, text)
    return context.for_programs(present)


def _read_sort(context: Context, arguments: argparse.Namespace) -> str | None:
    sort: str | None = arguments.sort
    if arguments.order == "desc":
        return sort
    if sort in (None, "relevance"):
        context.warn("--order asc says nothing without --sort created, updated or comments")
        return sort
    return f"{sort}-asc"


def _print_answer(context: Context, answer: "SearchAnswer", page: HitPage, text: str) -> None:
    if answer.hits:
        print_count(context, answer.total, answer.mode, is_exact=answer.is_total_exact)
    for note in (*answer.notes, *(answer.synonyms if page.is_explained else ())):
        context.print(context.style.dim(clean(note)))
    if answer.is_nothing_fitting:
        context.print(context.style.yellow(_NO_CLOSE_MATCH))
    if not print_nothing(context, answer, text, is_filtered=answer.is_filtered, total=answer.total):
        page.print(context)
        print_more(context, answer)


def _notes(answer: "SearchAnswer") -> list[str]:
    """Return remarks on an answer that is not printed here: how the query was understood, how well it matches."""
    return [*map(clean, answer.notes), *([_NO_CLOSE_MATCH] if answer.is_nothing_fitting else [])]


def _open_first(context: Context, answer: "SearchAnswer") -> None:
    """Open the first result, unless nobody asked for it."""
    from forgelore.api import check_page

    if answer.is_named and answer.notes and not answer.known_count and not answer.offset:
        raise NotFound(answer.notes[-1], hint="leave --web out to see what mentions it")
    if not answer.hits:
        raise NotFound("nothing matches, so there is no page to open", hint="try other words")
    if answer.is_nothing_fitting:
        raise NotFound("no close match, so nothing is opened", hint="leave --web out to see the nearest results")
    first, *others = [hit.row for hit in answer.hits[: max(1, answer.known_count)]]
    if others:
        names = ", ".join(clean(row.full_ref) for row in others)
        context.warn(f"{clean(first.full_ref)} is opened; the query also names {names}")
    context.remark(*_notes(answer))
    context.open_page(check_page(first.url, first.host))


def add_similar_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="#12, !34, owner/repo#12, a page's URL or a release's tag")
    add_modes(parser)
    add_limit(parser)
    add_output(parser)
    add_filters(parser)
    parser.add_argument("--earlier", action="store_true", help="only what was there before it: what it could repeat")


def run_similar(context: Context, arguments: argparse.Namespace) -> SimilarData:
    return _compare_item(context, arguments, arguments.ref, is_earlier=arguments.earlier)


def _compare_item(context: Context, arguments: argparse.Namespace, ref: str, *, is_earlier: bool) -> SimilarData:
    """Compare one item with the others; `search --similar-to` is the same."""
    filters = read_filters(context, arguments)
    check_rescore(arguments, is_lexical=arguments.mode == "lexical")
    answer = context.history.similar(
        ref, mode=arguments.mode, limit=read_limit(context, arguments), offset=arguments.offset,
        earlier=is_earlier, embedder=arguments.embedder, rescore=arguments.rescore, **filters,
    )  # fmt: skip
    context.warn(*answer.warnings)

    def present() -> SimilarData:
        is_full_ref = context.history.projects.are_several
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


def add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help='one query per line: {"q": "words", "expect": ["#12"]}, or {"query": 34, "kind": "issue", "created_at":'
        ' "…", "gold": [12]}; - for standard input',
    )
    parser.add_argument("--project", metavar="NAME", help="the project the numbers belong to")
    parser.add_argument("--exclude", metavar="FILE", help="a JSON list of item numbers that are not candidates")
    add_mode(parser)
    parser.add_argument(
        "--before", action=argparse.BooleanOptionalAction, default=True,
        help="compare an item with earlier ones only (the default), or with all others",
    )  # fmt: skip
    parser.add_argument(
        "--missed", metavar="N", type=int, help="list up to N queries whose answer is not among the first 10"
    )
    parser.add_argument(
        "--decide", action="store_true",
        help="also say how often the duplicate warning would have been right; lines without gold show its noise",
    )  # fmt: skip
    parser.add_argument(
        "--threshold", metavar="X", type=float, default=_THRESHOLD,
        help=f"the similarity that --decide warns at (default: {_THRESHOLD})",
    )  # fmt: skip


def run_evaluate(context: Context, arguments: argparse.Namespace) -> "EvaluationData":
    from forgelore.surfaces.present.evaluate import present_evaluation

    if arguments.missed is not None and arguments.missed < 0:
        raise InvalidValue(f"--missed {arguments.missed} is out of range", hint="use 0 or more")
    if not 0 <= arguments.threshold <= 1:
        raise InvalidValue(f"--threshold {arguments.threshold} is out of range", hint="use 0 to 1")
    result = _evaluate(context, arguments)
    context.warn(*result.warnings)
    for bad in result.left_out[:_MAX_BAD_LINES]:
        context.warn(f"line {bad.number} left out: {bad.reason}")
    if len(result.left_out) > _MAX_BAD_LINES:
        context.warn(f"{number(len(result.left_out) - _MAX_BAD_LINES)} more lines left out")
    if not context.is_data:
        _print_scores(context, result)
        _print_decisions(context, result)
        _print_missed(context, [one for one in result.outcomes if one.is_missed], arguments.missed or 0)
    return present_evaluation(result, missed=arguments.missed)


def _evaluate(context: Context, arguments: argparse.Namespace) -> "Evaluation":
    from contextlib import nullcontext

    from forgelore.surfaces.cli.progress import make_watcher

    project = context.history.projects.name(arguments.project)
    is_watched = not context.is_data and sys.stderr.isatty()
    with make_watcher(project or "evaluate", is_quiet=False) if is_watched else nullcontext() as watcher:
        return context.history.evaluate(
            arguments.file, project=project, exclude=arguments.exclude, mode=arguments.mode,
            embedder=arguments.embedder, earlier=arguments.before,
            threshold=arguments.threshold if arguments.decide else None, watcher=watcher,
        )  # fmt: skip


def _print_scores(context: Context, result: "Evaluation") -> None:
    measured = {group: score for group in _GROUPS for score in [result.score(group)] if score.n}
    if not measured:
        context.print("no line has an answer to look for")
        return
    style = context.style
    head = [result.mode, *(f"{_GROUPS[group]} ({number(score.n)})" for group, score in measured.items())]
    metrics = next(iter(measured.values())).values
    rows = [
        [metric.upper() if metric == "mrr" else metric, *(_cell(score, metric) for score in measured.values())]
        for metric in metrics
    ]
    context.print(*table(rows, grow=0, head=head, style=style))
    context.print(style.dim("in brackets: the 95 % interval"))
    if result.not_duplicates and not result.decisions:
        context.print(style.dim(f"{number(result.not_duplicates)} lines without gold: nothing to find, not counted"))


def _cell(score: "Score", metric: str) -> str:
    low, high = score.ci95[metric]
    return f"{score.values[metric]:.3f} [{low:.2f}, {high:.2f}]"


def _print_decisions(context: Context, result: "Evaluation") -> None:
    from forgelore.surfaces.present.evaluate import present_decision

    if not result.decisions:
        return
    groups = [(_GROUPS[group], present_decision(one)) for group, one in result.decisions.items()]
    head = ["warned at", *(f"{name} ({number(one.duplicates + one.others)})" for name, one in groups)]
    rows = [
        [name, *("-" if one[at] is None else f"{one[at]:.3f}" for _, one in groups)] for at, name in enumerate(_DECIDED)
    ]
    context.print("", *table(rows, grow=0, head=head, style=context.style))


def _print_missed(context: Context, missed: "list[QueryResult]", limit: int) -> None:
    if not missed:
        return
    style, columns = context.style, width()
    advice = "" if limit else " (--missed 20 lists them)"
    context.print("", f"{number(len(missed))} not found among the first 10{advice}")
    for one in missed[:limit]:
        place = f"at {one.rank}" if one.rank else "not among the hits"
        asked = f"{one.query} {one.title}" if one.title else one.query
        context.print(f"  {style.bold(fit(clean(asked), columns - 2))}")
        context.print(f"    expected {clean(', '.join(one.expected))}: {place}")
        if one.first:
            context.print(f"    first was {fit(clean(f'{one.first.ref} {one.first.title}'), columns - 14)}")


COMMANDS = {
    "search": Command(
        add_search_arguments,
        run_search,
        (
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
        ),
    ),
    "similar": Command(
        add_similar_arguments,
        run_similar,
        (
            "forgelore similar '#12'",
            "forgelore similar '#12' --state open --limit 5 --explain",
            "forgelore similar acme/web#12 --type pr --json",
            "forgelore similar '#12' --rescore",
            "forgelore similar '#12' --limit 50 --offset 50",
            "forgelore similar '#12' --earlier --mode lexical --marks markdown",
            "forgelore similar '#12' --embedder lore --format csv",
            *filter_examples("forgelore similar '#12'"),
        ),
    ),
    "evaluate": Command(
        add_evaluate_arguments,
        run_evaluate,
        (
            "forgelore evaluate golden.jsonl",
            "forgelore evaluate duplicates.jsonl --project acme/web --missed 20",
            "forgelore evaluate duplicates.jsonl --exclude spam.json --mode lexical --json",
            "forgelore evaluate duplicates.jsonl --decide      what triage would have said, right and wrong",
        ),
    ),
}
