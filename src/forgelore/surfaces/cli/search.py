"""Finding: `search` and `similar`, and how hits are printed."""

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import InvalidValue, NotFound, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.filtering import (
    MARKS,
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
from forgelore.surfaces.present.find import (
    SearchData,
    SimilarData,
    describe_facts,
    present_search,
    present_similar,
    why,
)
from forgelore.surfaces.present.text import Style, cells, clean, day, fit, number, printable, width, wrap_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgelore.api import Hit, HitRow, SearchAnswer, SimilarAnswer

# What other programs' commands are called: gh search issues …
_SUBCOMMANDS = {"issues": "is:issue", "prs": "is:pr", "mrs": "is:mr", "discussions": "type:discussion"}
_NO_CLOSE_MATCH = "no close match; nearest results:"
MAX_PASTED = 100_000  # bytes of standard input
_TITLE_LINES = 2
_LABELS = 4
_BY_CARD = " by its card, which a program wrote"


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
        "--sort", choices=("relevance", "created", "updated", "comments"), help="sort by this, newest or most first"
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
        help="search what people wrote, or the cards of `dedupe intent` (default %(default)s)",
    )  # fmt: skip


def run_search(context: Context, arguments: argparse.Namespace) -> SearchData | SimilarData:
    if arguments.similar_to is not None:
        if arguments.query or arguments.fts_mode == "raw" or arguments.source != "raw":
            hint = "leave out the words, --fts-mode and --source"
            raise UsageError("--similar-to takes the place of words", hint=hint)
        if arguments.web:
            raise UsageError("--similar-to opens nothing", hint="leave --web out")
        return _compare_item(context, arguments, arguments.similar_to, is_earlier=False)
    if not arguments.query and (arguments.fts_mode == "raw" or not typed_filters(arguments)):
        raise UsageError("no search words given", hint="run: forgelore search --help")
    if arguments.query == ["-"]:
        return _search(context, arguments, _read_pasted(context, "forgelore search - < trace.txt"), is_literal=True)
    if len(arguments.query) > 1 and (kind := _SUBCOMMANDS.get(arguments.query[0])):
        context.warn(f"{arguments.query[0]!r} is searched for as a word; to find nothing else, add {kind}")
    return _search(context, arguments, " ".join(arguments.query), is_literal=False)


def _read_pasted(context: Context, example: str) -> str:
    """Return the text on standard input, up to a limit."""
    if sys.stdin is None:
        raise InvalidValue("standard input is closed", hint=f"give the text: {example}")
    if sys.stdin.isatty():
        print("reading standard input; end with Ctrl-D", file=sys.stderr)
    pasted = sys.stdin.buffer.read(MAX_PASTED + 1)
    if len(pasted) > MAX_PASTED:
        context.warn(f"standard input is longer than {MAX_PASTED:,} bytes; only the beginning is used")
    text = pasted[:MAX_PASTED].decode(errors="replace")
    if not text.strip():
        raise InvalidValue("standard input is empty", hint=f"give the text: {example}")
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
        context.warn("--order asc needs --sort created, updated or comments")
        return sort
    return f"{sort}-asc"


def _print_answer(context: Context, answer: "SearchAnswer", page: "HitPage", text: str) -> None:
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
        raise NotFound(answer.notes[-1], hint="leave out --web to see what mentions it")
    if not answer.hits:
        raise NotFound("nothing matches, so there is no page to open", hint="try other words")
    if answer.is_nothing_fitting:
        raise NotFound("no close match, so nothing is opened", hint="leave out --web to see the nearest results")
    first, *others = [hit.row for hit in answer.hits[: max(1, answer.known_count)]]
    if others:
        names = ", ".join(clean(row.full_ref) for row in others)
        context.warn(f"{clean(first.full_ref)} is opened; the query also names {names}")
    context.remark(*_notes(answer))
    context.open_page(check_page(first.url, first.host))


def add_similar_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ref", metavar="REF",
        help="#12, !34, owner/repo#12, a page's URL or a release's tag; or the text of a draft in quotes, - for"
        " standard input: its first line or # heading is the title",
    )  # fmt: skip
    add_modes(parser)
    add_limit(parser)
    add_output(parser)
    add_filters(parser)
    parser.add_argument("--earlier", action="store_true", help="only earlier items, which it could repeat")


def run_similar(context: Context, arguments: argparse.Namespace) -> SimilarData:
    if arguments.ref == "-":
        text = _read_pasted(context, "forgelore similar - < draft.md")
        return _compare_item(context, arguments, None, is_earlier=arguments.earlier, text=text)
    return _compare_item(context, arguments, arguments.ref, is_earlier=arguments.earlier)


def _compare_item(
    context: Context, arguments: argparse.Namespace, ref: str | None, *, is_earlier: bool, text: str | None = None
) -> SimilarData:
    """Compare one item, or a draft, with the others; `search --similar-to` is the same."""
    filters = read_filters(context, arguments)
    check_rescore(arguments, is_lexical=arguments.mode == "lexical")
    answer = context.history.similar(
        ref, text=text, mode=arguments.mode, limit=read_limit(context, arguments), offset=arguments.offset,
        earlier=is_earlier, embedder=arguments.embedder, rescore=arguments.rescore, **filters,
    )  # fmt: skip
    context.warn(*answer.warnings)
    ref = "" if ref is None or answer.is_draft else ref

    def present() -> SimilarData:
        is_full_ref = context.history.projects.are_several
        return present_similar(answer, ref, is_explained=arguments.explain, is_full_ref=is_full_ref)

    if arguments.rows:
        context.print_rows(arguments.rows, present().hits, are_hits=True)
    elif not context.is_data:
        context.print(f"like {context.style.bold(clean(ref) or 'the draft')} {clean(answer.title)}", "")
        if not print_nothing(context, answer, ref or "the draft", is_filtered=True, total=answer.total):
            print_count(context, answer.total, answer.mode)
            reasons = [why(found, columns=width() // 3) for found in answer.hits]
            hits = [found.hit for found in answer.hits]
            facts = [describe_facts(found.match) for found in answer.hits]
            HitPage(hits, reasons, arguments.explain, answer.offset, arguments.marks, facts).print(context)
            print_more(context, answer)
    return context.for_programs(present)


class HitPage(NamedTuple):
    """Hits as they are printed: with how well each fits, or with why it is there. `offset`: how many come before."""

    hits: "list[Hit]"
    reasons: list[str] | None = None
    is_explained: bool = False
    offset: int = 0
    marks: str | None = None  # one of MARKS; None: colours where there are any
    facts: list[str] | None = None  # what moved each of them, with an explanation
    sort: str = "relevance"

    def print(self, context: Context) -> None:
        with_project = context.history.projects.are_several
        for at, hit in enumerate(self.hits):
            marks = self.marks or ("ansi" if context.style.on else "none")
            score = self._score(hit)
            _print_head(context, f"{self.offset + at + 1:>2}. ", hit, score, marks, with_project=with_project)
            _print_hit(context, hit, marks, self._date(hit))
            if self.reasons and self.reasons[at]:
                _print_wrapped(context, context.style.cyan(self.reasons[at]))
            if self.is_explained:
                _print_wrapped(context, context.style.dim(explain(hit)))
            if self.is_explained and self.facts and self.facts[at]:
                _print_wrapped(context, context.style.dim(self.facts[at]))

    def _score(self, hit: "Hit") -> str:
        """Return how well it fits; nothing where it is listed: all of these fit, and no words say how well."""
        is_listed = self.sort != "relevance" or (hit.kind in ("file", "commit") and not hit.words)
        return "" if hit.relevance is None or is_listed else hit.fit

    def _date(self, hit: "Hit") -> str:
        """Return the date that hits are sorted by, or else when it was created."""
        is_by_update = self.sort == "updated" and hit.row.updated_at is not None
        return f"updated {day(hit.row.updated_at)}" if is_by_update else day(hit.row.created_at)


def print_count(context: Context, count: int, mode: str, *, is_exact: bool = True) -> None:
    """Say how many results there are, how they were found and, to somebody who waited for them, how long it took: in a
    pipe equal questions have equal answers.
    """
    found = f"{'' if is_exact else 'at least '}{number(count)} {'result' if count == 1 else 'results'}"
    took = f", {context.elapsed_ms()} ms" if context.out.isatty() else ""
    context.print(context.style.dim(f"{found} ({mode}{took})"))


def print_more(context: Context, answer: "SearchAnswer | SimilarAnswer") -> None:
    """Say how to get the next page."""
    if answer.next_page:
        first, last = answer.offset + 1, answer.offset + len(answer.hits)
        context.print(context.style.dim(f"results {first} to {last}; more with --offset {last}"))


def print_nothing(
    context: Context, answer: "SearchAnswer | SimilarAnswer", text: str, *, is_filtered: bool, total: int = 0
) -> bool:
    """Say why there are no hits, and what to try. Return False where there are hits. `total`: hits on all pages."""
    if answer.is_nothing_indexed:
        message, advice = (
            "nothing is indexed yet",
            "run: forgelore sync OWNER/REPO, or: forgelore generate-docs",
        )
    elif answer.hits:
        return False
    elif total:
        message, advice = f"no such page: {number(total)} results in all", "try a smaller --offset"
    else:
        asked = repr(fit(clean(text), 200)) if text else "the filters"
        message, advice = f"nothing matches {asked}", _advice(answer.mode, is_filtered=is_filtered)
    context.print(message, f"  {context.style.dim('→')} {advice}")
    return True


def _advice(mode: str, *, is_filtered: bool) -> str:
    if is_filtered:
        return "try fewer filters, or other words"
    return (
        "try fewer or other words, a beginning such as auth*, or --mode hybrid"
        if mode == "lexical"
        else "try other words"
    )


def _print_head(context: Context, at: str, hit: "Hit", score: str, marks: str, *, with_project: bool) -> None:
    """Print number, ref and title: in two lines where one has no room for it, in full where nobody knows how wide."""
    ref = clean(hit.row.full_ref if with_project else hit.row.ref)
    if hit.kind == "file":
        head = f"{at}{context.style.bold(f'{ref}:{hit.line}')} {clean(hit.symbol)}"
        context.print(f"{head}  {context.style.dim(score)}".rstrip())
        return
    columns = _columns() - (len(score) + 2 if score else 0)
    taken, indent = len(at) + cells(ref) + 1, "    "
    title = mark_words(hit.row.title, hit.title_marks, marks)
    lines = wrap_words(title, columns - len(indent), columns - taken) if context.is_fitted else [title]
    if len(lines) > _TITLE_LINES:
        # Cut without colours: one that is cut off would never end.
        plain = wrap_words(clean(hit.row.title), columns - len(indent), columns - taken)
        lines = [*plain[: _TITLE_LINES - 1], fit(" ".join(plain[_TITLE_LINES - 1 :]), columns - len(indent))]
    shown = [f"{at}{context.style.bold(ref)} {lines[0]}", *(indent + line for line in lines[1:])]
    shown[-1] += f"  {context.style.dim(score)}" if score else ""
    context.print(*shown)


def _print_hit(context: Context, hit: "Hit", marks: str, date: str) -> None:
    style, row = context.style, hit.row
    more = [f"+{len(row.labels) - _LABELS}"] if len(row.labels) > _LABELS else []
    where = style.dim(_BY_CARD) if row.representation == "intent" else ""
    facts = [
        _state(style, row),
        "" if row.kind == "file" else row.kind + where,
        f"@{clean(row.author)}" if row.author else "", date,
        _thread(row),
        ", ".join([*(clean(label) for label in row.labels[:_LABELS]), *more]),
    ]  # fmt: skip
    secret = style.yellow(" confidential") if row.is_confidential else ""
    if any(facts):
        _print_wrapped(context, style.dim(" · ").join(fact for fact in facts if fact) + secret)
    if hit.kind == "file":
        context.print(*_code_lines(hit, marks))
    elif hit.snippet.text.strip():
        shown = mark_words(hit.snippet.text, hit.snippet.marks, marks)
        _print_wrapped(context, f"{style.dim('card:')} {shown}" if row.representation == "intent" else shown)
    if row.url:
        context.print("    " + style.dim(clean(row.url)))


def _thread(row: "HitRow") -> str:
    """Return whose thread was found: who began it is not who wrote the page."""
    if row.thread is None:
        return ""
    is_other = row.thread.author not in (None, row.author)
    return f"in a thread of @{clean(row.thread.author)}" if is_other else "in a thread"


def _code_lines(hit: "Hit", marks: str) -> list[str]:
    """Return the lines of a snippet of code with their numbers."""
    lines, at = [], 0
    for row, line in enumerate(hit.snippet.text.split("\n"), hit.first_line):
        inside = [(start - at, end - at) for start, end in hit.snippet.marks if at <= start and end <= at + len(line)]
        lines.append(f"    {row:>5}  {mark_words(line, inside, marks)}")
        at += len(line) + 1
    return lines


def _print_wrapped(context: Context, text: str) -> None:
    context.print(*(f"    {line}" for line in wrap_words(text, _columns() - 4)))


def _columns() -> int:
    return min(width(), 120)


def _state(style: Style, row: "HitRow") -> str:
    reason = f" ({clean(row.state_reason).replace('_', ' ')})" if row.state_reason else ""
    return style.state(row.state) + reason if row.state else ""


def mark_words(text: str, marks: "Iterable[tuple[int, int]]", how: str) -> str:
    """Return a text with what matched, as (start, end), marked in one of the ways of `MARKS`."""
    before, after = MARKS[how]
    parts, at = [], 0
    for start, end in marks:
        parts += [_safe(text[at:start]), before, clean(text[start:end]), after]
        at = end
    return "".join([*parts, _safe(text[at:])])


def _safe(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\t", " ")


def explain(hit: "Hit") -> str:
    """Return "words #2 (BM25 12.31) · meaning #1 (cosine 0.612) · RRF 0.03252 · matched: deleted, files"."""
    words = f"words #{hit.lexical_rank} (BM25 {hit.lexical_score:.2f})" if hit.lexical_rank else "words: not found"
    meaning = f"meaning #{hit.vector_rank} (cosine {hit.vector_score:.3f})" if hit.vector_rank else "meaning: not found"
    matched = f" · matched: {clean(', '.join(hit.words))}" if hit.words else ""
    return f"{words} · {meaning} · RRF {hit.rrf:.5f}{matched}"


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
            "forgelore similar - < draft.md         what would this repeat, before it is filed",
            "forgelore similar 'Sync loses renamed files on Windows'",
            "forgelore similar '#12' --rescore",
            "forgelore similar '#12' --limit 50 --offset 50",
            "forgelore similar '#12' --earlier --mode lexical --marks markdown",
            "forgelore similar '#12' --embedder lore --format csv",
            *filter_examples("forgelore similar '#12'"),
        ),
    ),
}
