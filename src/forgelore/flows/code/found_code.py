"""Hits for code and commits: what is shown of a file or a commit that was found, with its line."""

from forgelore.core.code.pages import commit_page, file_page
from forgelore.core.search.best_line import find_marked_line
from forgelore.core.search.snippets import (
    Snippet,
    Wanted,
    build_snippet,
    find_marks,
    find_tokens,
    matched_words,
    merge_marks,
)
from forgelore.flows.search.hit import Hit
from forgelore.flows.search.retriever import Retriever
from forgelore.store.code_hits import CodeHitRow, CommitHitRow
from forgelore.store.hits import HitRow

_AROUND = 1  # lines of code that are shown before and behind the best one
_WIDEST = 160


def build_file_hit(
    retriever: Retriever, row: CodeHitRow, wanted: Wanted, *, rank: int, score: float, relevance: float
) -> Hit:
    """Return a file, told by its best line: where what the query names is defined, else where most words stand."""
    lines = list(row.lines)
    text = "\n".join(lines)
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    words = tuple(matched_words(marks, wanted))
    best = _find_definition(lines, row, words)
    at = find_marked_line(text, marks) if best is None else best
    line = row.start_line + at
    url = file_page(row.forge, row.host, row.project_path, row.tree_commit, row.path, line)
    shown = HitRow(
        row.file_id, 0, "file", "file", 0, row.path, row.path, None, None, None, None, None, url, 0, row.forge,
        row.host, row.project_path, text, None,
    )  # fmt: skip
    snippet, first = _show_lines(lines, at)
    return Hit(
        shown, score, 0.0, rank, score, None, None, _mark_lines(retriever, snippet, wanted), words,
        relevance=relevance, line=line, symbol=row.symbol, first_line=row.start_line + first,
    )  # fmt: skip


def _find_definition(lines: list[str], row: CodeHitRow, words: tuple[str, ...]) -> int | None:
    """Return the line that defines something the query names; None where there is none."""
    asked = {word.lower() for word in words}
    for name in row.names.split("\n"):
        last = name.rpartition(".")[2]
        if last and (name.lower() in asked or last.lower() in asked):
            return next(
                (at for at, line in enumerate(lines) if last in line and not line.lstrip().startswith("#")), None
            )
    return None


def _show_lines(lines: list[str], at: int) -> tuple[str, int]:
    first = max(0, at - _AROUND)
    return "\n".join(line[:_WIDEST].expandtabs(4) for line in lines[first : at + _AROUND + 1]), first


def _mark_lines(retriever: Retriever, text: str, wanted: Wanted) -> Snippet:
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    return Snippet(text, merge_marks(mark[:2] for mark in marks))


def build_commit_hit(
    retriever: Retriever, row: CommitHitRow, wanted: Wanted, *, rank: int, score: float, relevance: float
) -> Hit:
    """Return a commit; its line is that of its reading text."""
    subject, _, rest = row.message.partition("\n")
    text = rest.strip()
    marks = find_marks(text, find_tokens(text, retriever.stem, wanted), wanted)
    titled = find_marks(subject, find_tokens(subject, retriever.stem, wanted), wanted)
    url = commit_page(row.forge, row.host, row.project_path, row.sha)
    shown = HitRow(
        row.id, 0, "commit", "commit", 0, row.sha[:12], subject, None, None, row.login or row.author, row.authored_at,
        row.committed_at, url, 0, row.forge, row.host, row.project_path, text, None,
    )  # fmt: skip
    return Hit(
        shown, score, 0.0, rank, score, None, None, build_snippet(text, marks),
        tuple(matched_words([*titled, *marks], wanted)), merge_marks(mark[:2] for mark in titled), relevance,
    )  # fmt: skip
