"""What `ask` answers to an agent: claims, and the citations behind them, each looked up in the database."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.mcp.answers import ToolAnswer, fit_answer
from forgelore.surfaces.mcp.fence import fence, one_line, seen, without_commands

if TYPE_CHECKING:
    from forgelore.api import AskAnswer, CheckedCitation

_MOST_TEXT = 4_000
_MOST_CITATIONS = 20
_GOOD = ("found", "moved")


class AnswerClaim(NamedTuple):
    """A sentence of the answer, and the numbers of its citations. `is_checked`: one of them holds. `is_absence`: it
    only says that the history does not say, and needs none.
    """

    text: str
    citations: list[int]
    is_checked: bool
    is_absence: bool


class AnswerCitation(NamedTuple):
    """Where a claim comes from. `status`: `found`, `moved` (on other lines than the model said), or why it does not
    hold. `quote` is what the model wrote, `source` what these lines say; `hash` names the version of the text.
    """

    number: int
    ref: str
    first_line: int
    last_line: int
    quote: str
    status: str
    title: str
    url: str | None
    hash: str
    source: str


class AskedAnswer(NamedTuple):
    """An answer by the language model of the settings. `is_partial`: a limit or an error (`ended_by`, `problem`) ended
    the run, and `text` is what the model had noted. `session`: what `continue_session` of a follow-up names.
    """

    text: str
    ended_by: str
    is_partial: bool
    claims: list[AnswerClaim]
    citations: list[AnswerCitation]
    model: str
    tokens: int
    problem: str
    session: int | None


def answer_ask(answer: "AskAnswer") -> ToolAnswer:
    def build(width: int) -> ToolAnswer:
        data = AskedAnswer(
            text=seen(answer.marked_text)[:_MOST_TEXT], ended_by=answer.ended_by, is_partial=answer.is_partial,
            claims=[
                AnswerClaim(
                    one_line(claim.text, max(width, 60)), list(claim.citations), claim.is_checked, claim.is_absence
                )
                for claim in answer.claims[:_MOST_CITATIONS]
            ],
            citations=[_citation(one, width) for one in answer.citations[:_MOST_CITATIONS]],
            model=one_line(answer.model, 100), tokens=answer.tokens_in + answer.tokens_out,
            problem=one_line(without_commands(answer.problem) or answer.problem, 300), session=answer.session,
        )  # fmt: skip
        return ToolAnswer(_write(data), data)

    return fit_answer(build)


def _citation(one: "CheckedCitation", width: int) -> AnswerCitation:
    return AnswerCitation(
        one.number, one_line(one.id, 200), one.first_line, one.last_line, one_line(one.quote, width), one.status,
        one_line(one.title, 90), one_line(one.url, 300) or None, one.hash, one_line(one.source, width),
    )  # fmt: skip


def _write(answer: AskedAnswer) -> str:
    kept = f", session {answer.session}" if answer.session else ""
    first = f"an answer by {answer.model or 'a model'}, {answer.tokens} tokens{kept}"
    if answer.is_partial:
        first = f"no answer: the run was ended by {answer.ended_by}; what the model had noted, unchecked"
    unchecked = sum(not claim.is_checked and not claim.is_absence for claim in answer.claims)
    lines = [answer.text or "(nothing)"]
    for one in answer.citations:
        status = "" if one.status in _GOOD else f' NOT PROVED ({one.status}), the model quotes "{one.quote}"'
        lines.append(
            f'[{one.number}] {one.ref} lines {one.first_line}-{one.last_line}{status}: "{one.source}" {one.url or ""}'
        )
    if answer.problem:  # it may quote the model, and the model a stranger
        lines.append(f"problem: {answer.problem}")
    notes = [f"{unchecked} of {len(answer.claims)} claims have no citation that holds"] if unchecked else []
    return "\n".join([first, *notes, fence("\n".join(lines))])
