"""Found documents, for people."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.cli.terminal import Style, cells, clean, fit, width
from forgelore.surfaces.present.text import day, printable

if TYPE_CHECKING:
    from forgelore.api import Hit, HitRow, SearchAnswer, SimilarAnswer, Snippet
    from forgelore.surfaces.cli.command import Context


class HitPage(NamedTuple):
    """Hits as they are printed: with a score, or with why each of them is there."""

    hits: "list[Hit]"
    reasons: list[str] | None = None
    is_explained: bool = False

    def print(self, context: "Context") -> None:
        many = len({hit.row.path for hit in self.hits}) > 1
        for at, hit in enumerate(self.hits):
            _print_hit(context, at + 1, hit, with_project=many, with_score=self.reasons is None)
            if self.reasons and self.reasons[at]:
                context.print("    " + context.style.cyan(self.reasons[at]))
            if self.is_explained:
                context.print(context.style.dim("    " + explain(hit)))


def print_nothing(context: "Context", answer: "SearchAnswer | SimilarAnswer", text: str, *, is_filtered: bool) -> bool:
    """Say why there are no hits, and what to try; False where there are some."""
    if answer.is_nothing_indexed:
        message, advice = (
            "nothing is indexed yet",
            "run: forgelore sync OWNER/REPO, or: forgelore generate-docs",
        )
    elif not answer.hits:
        message, advice = f"nothing matches {clean(text)!r}", _advice(answer.mode, is_filtered=is_filtered)
    else:
        return False
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


def _print_hit(context: "Context", at: int, hit: "Hit", *, with_project: bool, with_score: bool) -> None:
    style, row, columns = context.style, hit.row, min(width(), 120)
    ref = (row.project if with_project else "") + row.ref
    where = style.dim(" in a thread") if row.representation == "thread" else ""
    secret = style.yellow(" confidential") if row.is_confidential else ""
    head = f"{at:>2}. {style.bold(clean(ref))} "
    title = fit(clean(row.title), columns - len(ref) - 24)
    context.print(f"{head}{title}" + (f"  {style.dim(f'{hit.score:.2f}')}" if with_score else ""))
    facts = [
        _state(style, row),
        row.kind + where, f"@{clean(row.author)}" if row.author else "", day(row.created_at),
        ", ".join(clean(label) for label in row.labels[:4]),
    ]  # fmt: skip
    context.print("    " + style.dim(" · ").join(fact for fact in facts if fact) + secret)
    if hit.snippet.text.strip():
        context.print(*(f"    {line}" for line in _wrapped(painted(hit.snippet, style), columns - 4)))


def _state(style: Style, row: "HitRow") -> str:
    reason = f" ({clean(row.state_reason).replace('_', ' ')})" if row.state_reason else ""
    return style.state(row.state) + reason if row.state else ""


def painted(snippet: "Snippet", style: Style) -> str:
    """Return the snippet with what matched in bold; without colour, marked by ** as in Markdown."""
    parts, at = [], 0
    for start, end in snippet.marks:
        word = clean(snippet.text[start:end])
        parts += [_safe(snippet.text[at:start]), style.bold(style.yellow(word)) if style.on else f"**{word}**"]
        at = end
    return "".join([*parts, _safe(snippet.text[at:])])


def _safe(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\t", " ")


def _wrapped(text: str, columns: int) -> list[str]:
    """Break at blanks; colours take no room."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def explain(hit: "Hit") -> str:
    """Return "words #2 (BM25 12.31) · meaning #1 (cosine 0.612) · RRF 0.03252 · matched: deleted, files"."""
    words = f"words #{hit.lexical_rank} (BM25 {hit.lexical_score:.2f})" if hit.lexical_rank else "words: not found"
    meaning = f"meaning #{hit.vector_rank} (cosine {hit.vector_score:.3f})" if hit.vector_rank else "meaning: not found"
    matched = f" · matched: {clean(', '.join(hit.words))}" if hit.words else ""
    return f"{words} · {meaning} · RRF {hit.rrf:.5f}{matched}"
