"""The best line of a text for a query: the one that has the most of its words."""

from collections.abc import Collection, Sequence

from forgelore.core.search.snippets import MarkedSpan
from forgelore.core.text import folded, folded_letters


def find_marked_line(text: str, marks: Sequence[MarkedSpan]) -> int:
    """Return the line (from 0) with the most different words that matched, the earliest of equals; 0 without any."""
    found: dict[int, set[int]] = {}
    for start, _, word in marks:
        found.setdefault(text.count("\n", 0, start), set()).add(word)
    return max(found, key=lambda line: (len(found[line]), -line), default=0)


def find_worded_line(text: str, words: Collection[str]) -> str:
    """Return the line that holds the most of these words as they stand, the earliest of equals; the first line that
    says anything where none does.
    """
    plain = folded_letters(text)  # folding keeps the ends of lines
    wanted = [folded(word) for word in words]
    if any(" " in word for word in wanted):
        plain = "\n".join(map(folded, plain.split("\n")))
    wanted = [word for word in wanted if word in plain]  # of a long text most lines have none
    best, most = "", 0
    for line, folded_line in zip(text.split("\n"), plain.split("\n"), strict=True):
        held = sum(word in folded_line for word in wanted)
        if held > most or (not best and folded_line.strip()):
            best, most = line, held
    return best
