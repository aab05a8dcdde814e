"""`forgelore ask QUESTION`: an answer from the history, with citations that were looked up."""

import argparse
import re
import sys
from typing import TYPE_CHECKING

from forgelore.errors import ChatFailed, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.present.text import clean, printable, printable_line, table, width, wrap

if TYPE_CHECKING:
    from forgelore.api import AskAnswer, AskSession, AskStep, CheckedCitation

_ENDS = {
    "budget": "the token budget was used up", "steps": "the step limit was reached",
    "time": "the time limit was reached", "error": "the run failed",
}  # fmt: skip
_MARKED = re.compile(r"\(unchecked\)|(?<=[\d ])\u2717 \d[^\]\u3011]*")
_AFTER_ERROR = "results so far are shown; run forgelore doctor to check the model's server"
_QUOTED = ("found", "moved", "negated")  # the quote stands in the lines that are shown
_SOURCE_LINES = 6  # of the source that are shown of one citation
_STATUS = {
    "found": "", "moved": "found on other lines than the answer states", "no_quote": "NOT CHECKED: nothing is quoted",
    "quote_not_found": "NOT FOUND: the quote is not in the source",
    "negated": "WARNING: the source negates or questions this just outside the quote",
    "not_evidence": "NOT EVIDENCE: a header, licence or generated line, or only a few common words",
    "malformed": "NOT CHECKED: the citation has no usable id or lines",
    "no_such_lines": "NOT FOUND: no such lines", "no_such_item": "NOT FOUND: no such item",
}  # fmt: skip


def add_ask_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION", nargs="?", help="what you want to know")
    parser.add_argument("--project", metavar="NAME", help="only this project")
    parser.add_argument("--type", metavar="TYPE", action="append", help="only these types: issue, change, code …")
    parser.add_argument("--path", metavar="GLOB", action="append", help="only these paths")
    parser.add_argument("--budget", type=int, default=60_000, metavar="N", help="token limit (default %(default)s)")
    parser.add_argument("--steps", type=int, default=30, metavar="N", help="limit of model turns (default %(default)s)")
    parser.add_argument(
        "--time", type=float, default=600, metavar="S", help="time limit in seconds (default %(default)s)"
    )
    parser.add_argument("--strict", action="store_true", help="fail if a claim has no valid citation")
    parser.add_argument("--profile", choices=("cheap", "strong"), help="language model profile of your settings")
    parser.add_argument("--no-model", action="store_true", help="show the best-matching passages, without a model")
    parser.add_argument(
        "--include-internal", action="store_true", help="also read confidential items, and send them to the model"
    )
    parser.add_argument(
        "--continue",
        type=int,
        metavar="N",
        dest="continues",
        help="follow up a saved session: its sources stay available",
    )
    parser.add_argument("--replay", type=int, metavar="N", help="replay a saved session, without a model")
    parser.add_argument("--sessions", action="store_true", help="list the saved sessions")


def run_ask(context: Context, arguments: argparse.Namespace) -> "AskAnswer | list[AskSession]":
    if sum((bool(arguments.question), arguments.replay is not None, arguments.sessions)) != 1:
        raise UsageError("ask needs a question", hint='run: forgelore ask "why was this decided?", or ask --sessions')
    if arguments.sessions:
        return _list_sessions(context)
    written = ""
    if arguments.replay is not None:
        answer = context.history.questions.replay(arguments.replay, on_step=lambda step: _print_step(context, step))
    else:
        stream = _AnswerStream(context)
        answer = context.history.ask(
            arguments.question, budget=arguments.budget, steps=arguments.steps, seconds=arguments.time,
            strict=arguments.strict, profile=arguments.profile, include_internal=arguments.include_internal,
            without_model=arguments.no_model, continues=arguments.continues,
            on_step=stream.tell,
            on_text=stream.show if not context.is_data and context.out.isatty() else None,
            project=context.history.projects.name(arguments.project), type=arguments.type, path=arguments.path,
        )  # fmt: skip
        written = stream.written
    context.warn(*answer.warnings)
    if not context.is_data:
        _print(context, answer, written)
    if answer.ended_by == "error":
        context.fail(ChatFailed(f"the run failed: {answer.problem}", hint=_AFTER_ERROR))
    return answer


class _AnswerStream:
    """The answer on a terminal while it is written, before anything of it is checked. Nothing in it can act there."""

    def __init__(self, context: Context) -> None:
        self._context, self.written, self._is_open = context, "", False

    def show(self, text: str) -> None:
        """Print what is new; an answer that begins anew is printed below the other one."""
        self._context.out = sys.stdout  # a pager would hold it back to the end
        is_more = text.startswith(self.written)
        new = text[len(self.written) :] if is_more else f"\n\n{text}"
        self.written, self._is_open = text, True
        print(printable(new.replace("\r", "")), end="", file=self._context.out, flush=True)

    def tell(self, step: "AskStep") -> None:
        """Show a step, below what was written of an answer."""
        if self._is_open:
            print(file=self._context.out, flush=True)
        self._is_open = False
        _print_step(self._context, step)


def _list_sessions(context: Context) -> "list[AskSession]":
    sessions = context.history.questions.list()
    rows = [
        [str(one.id), one.ended_by or "cut off", f"{one.tokens_in + one.tokens_out:,}", clean(one.question)]
        for one in sessions
    ]
    if rows:
        context.print(*table(rows, grow=3, head=["session", "ended by", "tokens", "question"], style=context.style))
    else:
        context.print("no sessions yet")
    return sessions


def _print_step(context: Context, step: "AskStep") -> None:
    """Show a step while it happens, on standard error."""
    if context.is_data:
        return
    style = context.error_style
    noted = wrap(clean(step.observations), min(width(), 100) - 2)[:4] if step.observations else []
    lines = [f"  {style.dim(line)}" for line in noted]
    for call in step.calls:
        seen = f" → {clean(call.id)} {call.first_line}-{call.last_line}" if call.id else ""
        wrong = f" {style.yellow('✗ ' + clean(call.problem)[:100])}" if call.problem else ""
        what = clean(call.arguments)[:80] if call.tool != "answer" else ""
        lines.append(
            f"{style.dim(str(step.number).rjust(2))} {style.cyan(clean(call.tool) or '?')} {what}{seen}{wrong}"
        )
    for line in lines:
        print(printable_line(line), file=sys.stderr)


def _print(context: Context, answer: "AskAnswer", written: str) -> None:
    """Print an answer. `written`: what stands there already; it is printed again where something in it is marked."""
    style, columns = context.style, min(width(), 100)
    if answer.ended_by == "no_model":
        _print_passages(context, answer)
        return
    if answer.is_partial:
        problem = f": {clean(answer.problem)}" if answer.problem else ""
        context.print(style.yellow(f"No answer: {_ENDS[answer.ended_by]}{problem}."))
        if answer.claims:
            context.print("Its last answer, uncorrected:", "")
            _print_marked(context, answer)
        else:
            context.print("The model's notes so far, unchecked:" if answer.text else "It had made no notes.", "")
            context.print(*wrap(_clean_lines(answer.text), columns))
    elif written.strip() != answer.marked_text.strip():
        context.print(*(["", style.bold("Checked")] if written else []))
        _print_marked(context, answer)
    if answer.citations:
        context.print("", style.bold("Citations"), *(_citation(context, one) for one in answer.citations))
    _print_end(context, answer)


def _print_marked(context: Context, answer: "AskAnswer") -> None:
    """Print the text of an answer, headings and all, with a mark behind each claim that nothing proves."""
    for line in wrap(_clean_lines(answer.marked_text), min(width(), 100)):
        context.print(re.sub(_MARKED, lambda found: context.style.yellow(found[0]), line))


def _print_end(context: Context, answer: "AskAnswer") -> None:
    style = context.style
    bare = len(answer.unchecked)
    parts = [f"{len(answer.steps)} steps", f"{answer.tokens_in + answer.tokens_out:,} tokens", clean(answer.model)]
    parts += [f"session {answer.session}"] if answer.session else []
    parts += [style.yellow(f"{bare} of {len(answer.claims)} claims unchecked")] if bare else []
    parts += [f"{answer.changed_results} results have changed since"] if answer.changed_results else []
    context.print("", style.dim(" · ".join(parts)))


def _citation(context: Context, one: "CheckedCitation") -> str:
    style = context.style
    lines = f"line {one.first_line}" if one.first_line == one.last_line else f"lines {one.first_line}-{one.last_line}"
    status = f"  {style.yellow(_STATUS[one.status])}" if _STATUS[one.status] else ""
    url = f"\n    {style.dim(clean(one.url))}" if one.url else ""
    said = f'\n    the answer quotes "{clean(one.quote)[:160]}"' if one.quote and one.status not in _QUOTED else ""
    source = "".join(f"\n    | {clean(line)[:160]}" for line in one.source.split("\n")[:_SOURCE_LINES] if line.strip())
    return f"[{one.number}] {style.cyan(clean(one.id))} {lines}  {clean(one.title)}{status}{said}{source}{url}"


def _print_passages(context: Context, answer: "AskAnswer") -> None:
    style = context.style
    if not answer.passages:
        context.print("Nothing in the history matches these words.")
    for one in answer.passages:
        context.print(f"{style.cyan(clean(one.id))} {style.bold(clean(one.title))}  {style.dim(one.type)}")
        for number, line in enumerate(one.text.split("\n"), one.first_line):
            first, *more = wrap(clean(line), min(width(), 100) - 8) or [""]
            context.print(f"  {style.dim(str(number).rjust(4))} {first}", *(f"       {part}" for part in more))
        context.print(*([f"  {style.dim(clean(one.url))}"] if one.url else []), "")


def _clean_lines(text: str) -> str:
    """Return text of a model without what would act in a terminal; its lines stay."""
    return "\n".join(clean(line) for line in text.split("\n"))


COMMANDS = {
    "ask": Command(
        add_ask_arguments,
        run_ask,
        (
            'forgelore ask "why was the cache removed?"',
            'forgelore ask "how are retries handled?" --type code --path "src/**"',
            'forgelore ask "what was decided about locking?" --strict --budget 30000',
            'forgelore ask "is the proxy supported?" --no-model     passages alone',
            'forgelore ask --continue 3 "and who decided that?"     a follow-up',
            "forgelore ask --sessions",
            "forgelore ask --replay 3                               no model is asked",
        ),
    ),
}
