"""Citations: whether what an answer quotes really stands where it says, and which of its claims rest on that.

    The cache is written late [1], which was decided in 2023 [2].

A citation is *found* when its quote stands in the lines it names, and *moved* when it stands elsewhere in the same item
(then it gets the right lines). Else it proves nothing: the quote stands nowhere (`core/ask/quotes` says when it does),
the source negates it just outside the quote, or it is no evidence: a line that we or a program wrote, licence text, a
few common words. A claim (`core/ask/claims`) is checked when one of its citations was found or moved.
What is checked is that somebody wrote this, not that it is true, nor that the claim follows from it.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from forgelore.core.ask.quotes import find_evidence
from forgelore.core.ask.tool_calls import SaidCitation

CitationStatus = Literal[
    "found",
    "moved",
    "no_quote",
    "quote_not_found",
    "negated",
    "not_evidence",
    "no_such_lines",
    "no_such_item",
    "malformed",
]
MIN_QUOTE = 8  # letters and digits of a quote that is worth looking for
_SLACK = 2  # lines around the named ones in which a quote may stand
_MAX_SOURCE = 600  # characters that are kept of the lines where a quote stands
_WORDS = re.compile(r"\w+", re.UNICODE)


class CheckedCitation(NamedTuple):
    """A citation of an answer. Lines are those where the quote stands, where it does; `url` leads to
    the comment or the line of code, or else to the page of the item.
    `quote` is what the model wrote, `source` what these lines say.
    """

    number: int
    id: str
    first_line: int
    last_line: int
    quote: str
    status: CitationStatus
    title: str = ""
    url: str | None = None
    hash: str = ""  # of the version of the item that was read
    source: str = ""

    @property
    def is_good(self) -> bool:
        return self.status in ("found", "moved")


class Claim(NamedTuple):
    """A sentence of an answer, the numbers of its citations, and whether one of them holds. `bad`: those that do not.
    `is_absence`: it only says that the history does not say, or what was looked for, and needs no citation.
    """

    text: str
    citations: tuple[int, ...]
    is_checked: bool
    bad: tuple[int, ...] = ()
    is_absence: bool = False


class CitedText(NamedTuple):
    """What a citation points to, as the store has it now. `written`: the first and the last line of what each person
    wrote, in order; nothing: every line is. `code_path`: it is a file of code.
    """

    title: str
    url: str | None
    lines: Sequence[str]
    hash: str
    written: tuple[tuple[int, int], ...] = ()
    code_path: str = ""


def check_citation(number: int, said: SaidCitation, source: CitedText | None) -> CheckedCitation:
    """Return a citation with what became of it; `source` is None where there is no such item."""
    if said.problem:
        return CheckedCitation(number, said.id, said.first_line, said.last_line, said.quote, "malformed")
    if source is None:
        return CheckedCitation(number, said.id, said.first_line, said.last_line, said.quote, "no_such_item")
    checked = CheckedCitation(
        number, said.id, said.first_line, said.last_line, said.quote, "no_quote", source.title, source.url, source.hash
    )
    place = find_evidence(
        source.lines, said.quote, (said.first_line, said.last_line), written=source.written, title=source.title,
        code_path=source.code_path,
    )  # fmt: skip
    if place is None:
        is_outside, letters = said.last_line > len(source.lines), sum(map(len, _words(said.quote)))
        missing: CitationStatus = "no_such_lines" if is_outside else "quote_not_found"
        return _with_source(checked._replace(status="no_quote" if letters < MIN_QUOTE else missing), source)
    is_near = said.first_line - _SLACK <= place.last and place.first <= said.last_line + _SLACK
    status: CitationStatus = ("found" if is_near else "moved") if place.worth == "good" else place.worth
    return _with_source(checked._replace(status=status, first_line=place.first, last_line=place.last), source)


def _with_source(checked: CheckedCitation, source: CitedText) -> CheckedCitation:
    """Return a citation with what its lines say."""
    said = "\n".join(source.lines[checked.first_line - 1 : checked.last_line])
    return checked._replace(source=said if len(said) <= _MAX_SOURCE else said[:_MAX_SOURCE] + "…")


def find_quote(lines: Sequence[str], quote: str) -> tuple[int, int] | None:
    """Return the first and the last line of a quote; None where it stands nowhere. It may run over lines; blanks,
    capitals and punctuation at its ends do not matter, but no word may be left out.
    """
    wanted = _words(quote)
    if not wanted:
        return None
    words: list[str] = []
    line_of: list[int] = []
    for number, line in enumerate(lines, 1):
        found = _words(line)
        words += found
        line_of += [number] * len(found)
    at = -1
    while True:
        try:
            at = words.index(wanted[0], at + 1)
        except ValueError:
            return None
        if words[at : at + len(wanted)] == wanted:
            return line_of[at], line_of[at + len(wanted) - 1]


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())
