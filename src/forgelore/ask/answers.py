"""Answers of `ask`: what is told, what was read for it, step by step, and how it ended."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from forgelore.ask.claims import (
    CheckedCitation,
    CitedText,
    Claim,
    check_citation,
    find_marks,
    list_numbers,
    split_claims,
)
from forgelore.ask.sources import SourceIndex
from forgelore.ask.tool_calls import AskCall
from forgelore.text.reading import ReadingText

UNCHECKED = "(unchecked)"
_FAULTS = {
    "no_quote": "no quote", "quote_not_found": "not found", "negated": "negated in the source",
    "not_evidence": "not evidence", "no_such_lines": "no such lines", "no_such_item": "no such item",
    "malformed": "malformed",
}  # fmt: skip
EndedBy = Literal["answer", "budget", "steps", "time", "error", "no_model"]


class AskRequest(NamedTuple):
    """A question and its limits. `budget` counts the tokens of the whole run, prompts and answers."""

    question: str
    budget: int = 60_000
    steps: int = 30
    seconds: float = 600.0
    is_strict: bool = False


class AskedTool(NamedTuple):
    """A call of a tool. `problem`: why it was not carried out."""

    tool: str
    arguments: str  # JSON, as the model wrote it
    result: str
    problem: str = ""
    id: str = ""  # the item that was read
    first_line: int = 0
    last_line: int = 0


class AskStep(NamedTuple):
    """One turn of the model: what it noted, what it asked for, what it cost."""

    number: int
    observations: str
    calls: tuple[AskedTool, ...]
    tokens_in: int
    tokens_out: int


class BestPassage(NamedTuple):
    """A part of an item that fits the question, with its lines."""

    id: str
    type: str
    title: str
    url: str | None
    first_line: int
    last_line: int
    text: str
    hash: str


class AskAnswer(NamedTuple):
    """What `ask` came to. `is_partial`: a limit or an error ended it, and `text` is what the model had noted; where it
    had answered before, `text` is that answer, and its claims and citations are checked.
    `passages`: what fits best, where no model is configured.
    """

    question: str
    text: str
    ended_by: EndedBy
    is_partial: bool = False
    claims: tuple[Claim, ...] = ()
    citations: tuple[CheckedCitation, ...] = ()
    passages: tuple[BestPassage, ...] = ()
    steps: tuple[AskStep, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    problem: str = ""  # what the error was
    session: int | None = None  # under which number the transcript is kept
    changed_results: int = 0  # of a replay: results that are not what they were
    warnings: tuple[str, ...] = ()

    @property
    def unchecked(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if not claim.is_checked and not claim.is_absence)

    @property
    def marked_text(self) -> str:
        """The text, with what is wrong with a mark at its place, and a mark behind each unproved claim."""
        words = {one.number: _FAULTS.get(one.status, "") for one in self.citations}
        marked, rest = "", self.text
        for claim in self.claims:
            before, text, rest = rest.partition(claim.text)
            is_code = text.startswith(("```", "~~~"))
            for low, high in reversed(find_marks(text)) if not is_code else ():
                bad = [(number, words.get(number, "no such citation")) for number in list_numbers(text[low:high])]
                faults = ", ".join(f"{number}: {word}" for number, word in bad if word)
                text = f"{text[: high - 1]} \u2717 {faults}{text[high - 1 :]}" if faults else text
            is_bare = not claim.is_checked and not claim.is_absence
            marked += before + text + (f" {UNCHECKED}" if is_bare else "")
        return marked + rest


def check_answer(sources: SourceIndex, call: AskCall) -> tuple[tuple[CheckedCitation, ...], tuple[Claim, ...]]:
    """Return the citations of an answer, each looked up in the store, and its claims."""
    citations = []
    for number, said in enumerate(call.citations, 1):
        opened = sources.find(said.id)
        checked = check_citation(number, said, _cited(opened) if opened else None)
        if opened and checked.status in ("found", "moved", "negated"):
            checked = checked._replace(url=opened.page_at(checked.first_line))
        citations.append(checked)
    return tuple(citations), tuple(split_claims(call.text, citations))


def _cited(text: ReadingText) -> CitedText:
    path = text.title if text.kind == "file" else ""
    return CitedText(text.title, text.url, text.lines, text.hash, text.written_lines, path)


def describe_faults(citations: Sequence[CheckedCitation], claims: Sequence[Claim]) -> str:
    """Return what is wrong with the citations of an answer, in words for the model; "" where all is well."""
    words = {
        "no_quote": "has no quote, or one of too few words",
        "quote_not_found": "quotes text that is not in {id}",
        "negated": "quotes a clause that {id} negates or asks just outside the quote: quote all of it",
        "not_evidence": "proves nothing: quote at least four words that a person wrote, not a header or licence",
        "no_such_lines": "names lines that {id} does not have",
        "no_such_item": "names {id}, which does not exist",
        "malformed": "is not of the shape {{id, first_line, last_line, quote}}, with lines from 1 on",
    }
    faults = [
        f"citation {one.number} {words[one.status].format(id=one.id)}" for one in citations if one.status in words
    ]
    bare = [claim.text[:80] for claim in claims if not claim.is_checked and not claim.is_absence]
    known = {one.number for one in citations}
    lost = dict.fromkeys(number for claim in claims for number in claim.bad if number not in known)
    faults += [f"missing citation {', '.join(map(str, lost))}"] if lost else []
    faults += [f"no valid citation for: {', '.join(map(repr, bare[:5]))}"] if bare else []
    return "; ".join(faults)
