"""Found documents, for people and for programs."""

from collections.abc import Callable
from typing import Any

from forgelore.core.times import format_ms
from forgelore.surfaces.cli.terminal import Style, clean, day, fit, width


def print_hits(
    context: Any, answer: Any, text: str, *, is_explained: bool, is_filtered: bool,
    reason: Callable[[Any], str] | None = None,
) -> None:  # fmt: skip
    style = context.style
    if answer.is_nothing_indexed:
        context.print(
            "nothing is indexed yet", f"  {style.dim('→')} run: forgelore sync OWNER/REPO, or: forgelore generate-docs"
        )
        return
    if not answer.hits:
        context.print(
            f"nothing matches {clean(text)!r}", f"  {style.dim('→')} {_advice(answer.mode, is_filtered=is_filtered)}"
        )
        return
    many = len({hit.row.path for hit in answer.hits}) > 1
    for at, hit in enumerate(answer.hits, 1):
        _print_hit(context, at, hit, with_project=many, with_score=reason is None)
        if reason and reason(hit):
            context.print("    " + style.cyan(reason(hit)))
        if is_explained:
            context.print(style.dim("    " + explain(hit)))


def _advice(mode: str, *, is_filtered: bool) -> str:
    if is_filtered:
        return "try fewer filters, or other words"
    return (
        "try fewer or other words, a beginning such as auth*, or --mode hybrid"
        if mode == "lexical"
        else "try other words"
    )


def _print_hit(context: Any, at: int, hit: Any, *, with_project: bool, with_score: bool) -> None:
    style, row, columns = context.style, hit.row, min(width(), 120)
    ref = (project_of(row) if with_project else "") + ref_of(row)
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


def _state(style: Style, row: Any) -> str:
    reason = f" ({clean(row.state_reason).replace('_', ' ')})" if row.state_reason else ""
    return style.state(row.state) + reason if row.state else ""


def painted(snippet: Any, style: Style) -> str:
    """Return the snippet with what matched in bold; without colour, marked by ** as in Markdown."""
    parts, at = [], 0
    for start, end in snippet.marks:
        word = clean(snippet.text[start:end])
        parts += [_safe(snippet.text[at:start]), style.bold(style.yellow(word)) if style.on else f"**{word}**"]
        at = end
    return "".join([*parts, _safe(snippet.text[at:])])


def _safe(text: str) -> str:
    from forgelore.core.text import printable

    return printable(text).replace("\n", " ").replace("\t", " ")


def _wrapped(text: str, columns: int) -> list[str]:
    """Break at blanks; colours take no room."""
    from forgelore.surfaces.cli.terminal import cells

    lines, line = [], ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def explain(hit: Any) -> str:
    """Return "words #2 (BM25 12.31) · meaning #1 (cosine 0.612) · RRF 0.03252 · matched: deleted, files"."""
    words = f"words #{hit.lexical_rank} (BM25 {hit.lexical_score:.2f})" if hit.lexical_rank else "words: not found"
    meaning = f"meaning #{hit.vector_rank} (cosine {hit.vector_score:.3f})" if hit.vector_rank else "meaning: not found"
    matched = f" · matched: {clean(', '.join(hit.words))}" if hit.words else ""
    return f"{words} · {meaning} · RRF {hit.rrf:.5f}{matched}"


def project_of(row: Any) -> str:
    from forgelore.words import ProjectName

    return str(ProjectName(row.forge, row.host, row.path))


def ref_of(row: Any) -> str:
    from forgelore.flows.browse.items import shown_ref

    return shown_ref(row.forge, row.kind, row.number, row.tag)


def as_data(hit: Any, *, is_explained: bool = True) -> dict[str, Any]:
    from forgelore.core.search.documents import ShownHeader, build_header

    row = hit.row
    shown = ShownHeader(
        row.representation,
        row.kind,
        ref_of(row),
        row.title,
        project_of(row),
        row.url,
        row.labels,
        row.state,
        row.author,
    )
    data = {
        "header": build_header(shown),
        "ref": ref_of(row), "project": project_of(row), "kind": row.kind, "number": row.number,
        "representation": row.representation, "title": row.title, "url": row.url, "state": row.state,
        "state_reason": row.state_reason, "author": row.author, "labels": list(row.labels),
        "created_at": format_ms(row.created_at), "updated_at": format_ms(row.updated_at),
        "is_confidential": bool(row.is_confidential), "score": round(hit.score, 4), "snippet": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks], "document_id": row.document_id,
    }  # fmt: skip
    if is_explained:
        data["explain"] = {
            "lexical_rank": hit.lexical_rank, "bm25": hit.lexical_score, "vector_rank": hit.vector_rank,
            "cosine": hit.vector_score, "rrf": hit.rrf, "words": list(hit.words),
        }  # fmt: skip
    return data
