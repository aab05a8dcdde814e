"""Found documents, for people."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.cli.terminal import Style, cells, clean, fit, number, width
from forgelore.surfaces.present.text import day, printable, wrap_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgelore.api import Hit, HitRow, SearchAnswer, SimilarAnswer
    from forgelore.surfaces.cli.command import Context

# What stands before and behind a word that matched.
MARKS = {"none": ("", ""), "markdown": ("**", "**"), "ansi": ("\x1b[1;33m", "\x1b[0m")}
_TITLE_LINES = 2
_LABELS = 4
_BY_CARD = " by its card, which a program wrote"


class HitPage(NamedTuple):
    """Hits as they are printed: with how well each fits, or with why it is there. `offset`: how many come before."""

    hits: "list[Hit]"
    reasons: list[str] | None = None
    is_explained: bool = False
    offset: int = 0
    marks: str | None = None  # one of MARKS; None: colours where there are any
    facts: list[str] | None = None  # what moved each of them, with an explanation
    sort: str = "relevance"

    def print(self, context: "Context") -> None:
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


def print_count(context: "Context", count: int, mode: str, *, is_exact: bool = True) -> None:
    """Say how many results there are, how they were found and, to somebody who waited for them, how long it took: in a
    pipe equal questions have equal answers.
    """
    found = f"{'' if is_exact else 'at least '}{number(count)} {'result' if count == 1 else 'results'}"
    took = f", {context.elapsed_ms()} ms" if context.out.isatty() else ""
    context.print(context.style.dim(f"{found} ({mode}{took})"))


def print_more(context: "Context", answer: "SearchAnswer | SimilarAnswer") -> None:
    """Say how to get the next page."""
    if answer.next_page:
        first, last = answer.offset + 1, answer.offset + len(answer.hits)
        context.print(context.style.dim(f"results {first} to {last}; more with --offset {last}"))


def print_nothing(
    context: "Context", answer: "SearchAnswer | SimilarAnswer", text: str, *, is_filtered: bool, total: int = 0
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


def _print_head(context: "Context", at: str, hit: "Hit", score: str, marks: str, *, with_project: bool) -> None:
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


def _print_hit(context: "Context", hit: "Hit", marks: str, date: str) -> None:
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


def _print_wrapped(context: "Context", text: str) -> None:
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
