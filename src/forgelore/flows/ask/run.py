"""The loop of `ask`: a model looks things up with tools until it answers, or a limit is met.

    question -> model -> call -> result -> model … -> answer -> its citations are looked up

Whatever a model does is bounded: tokens of the whole run, steps, time, wrong calls in a row, the same call again and
again. At a limit its own notes are the answer, and what was read is told. It chooses what is read, and nothing else.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from forgelore.chat_port import ChatModel, ChatReply, ToolCall
from forgelore.core.ask.prompt import LAST_CALL
from forgelore.core.ask.tool_calls import AskCall, MalformedCall, find_text_call, parse_call, read_observations
from forgelore.errors import LoreError, PromptTooLong, ToolsRefused
from forgelore.flows.ask.answers import AskAnswer, AskedTool, AskRequest, AskStep, EndedBy, check_answer, tell_faults
from forgelore.flows.ask.conversation import CHAT_TOOLS, Conversation
from forgelore.flows.ask.desk import ReadingDesk
from forgelore.flows.ask.library import Library

MAX_WRONG = 4  # wrong calls in a row, then the run ends
MAX_AGAIN = 3  # times the same call may be made in a row
MAX_CALLS = 4  # carried out of one reply
CONTEXT = 24_000  # tokens of a prompt where nobody said what the model takes
ANSWER_ROOM = 2_000  # tokens that are kept for the answer
_NOTES_KEPT = 2_000  # characters of one note


class AskSetting(NamedTuple):
    """What a run stands on. `fence`: a line that no text can guess."""

    library: Library
    model: ChatModel
    fence: str
    clock: Callable[[], float]
    should_stop: Callable[[], bool] = lambda: False
    on_step: Callable[[AskStep, ChatReply], None] | None = None


class _Ended(Exception):
    def __init__(self, by: EndedBy, problem: str = "") -> None:
        super().__init__(by)
        self.by: EndedBy = by
        self.problem = problem


def ask(setting: AskSetting, request: AskRequest) -> AskAnswer:
    """Return the answer to a question, with its citations checked; or how far it came."""
    run = _Run(setting, request)
    try:
        while True:
            run.check_limits()
            run.step()
    except _Ended as end:
        return run.finish(end)


class _Run:
    """One run: the conversation, the desk, what was spent, what was noted."""

    def __init__(self, setting: AskSetting, request: AskRequest) -> None:
        self.setting, self.request = setting, request
        self.talk = Conversation(request.question, setting.fence)
        self.desk = ReadingDesk(setting.library)
        self.began = setting.clock()
        self.most = (setting.model.context or CONTEXT) - ANSWER_ROOM
        self.tokens_in = self.tokens_out = 0
        self.steps: list[AskStep] = []
        self.wrong = self.again = self.mended = 0
        self.last_call: AskCall | None = None
        self.is_last_call_said = False
        self.answer: AskCall | None = None

    @property
    def left(self) -> int:
        return self.request.budget - self.tokens_in - self.tokens_out

    def check_limits(self) -> None:
        """End the run where a limit is met; say it beforehand where one is near."""
        if self.setting.should_stop():
            raise KeyboardInterrupt
        if len(self.steps) >= self.request.steps:
            raise _Ended("steps")
        if self.setting.clock() - self.began >= self.request.seconds:
            raise _Ended("time")
        prompt = min(self.talk.count(), self.most)
        if prompt >= self.left:
            raise _Ended("budget")
        is_near = self.left < 2 * prompt + ANSWER_ROOM or len(self.steps) == self.request.steps - 1
        if is_near and self.steps and not self.is_last_call_said:
            self.is_last_call_said = True
            self.talk.say(LAST_CALL)

    def step(self) -> None:
        """One turn: ask the model, carry out what it calls."""
        reply = self._chat()
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.talk.hear(reply)
        notes, calls = _read_reply(reply, is_in_text=self.talk.is_in_text)
        asked: list[AskedTool] = []
        end: _Ended | None = None
        try:
            if not calls:
                self._refuse(asked, "", "", "no tool was called; call one, or call answer with the final text", "")
            for at, call in enumerate(calls):
                self._carry_out(asked, call, is_allowed=at < MAX_CALLS)
        except _Ended as found:
            end = found
        step = AskStep(len(self.steps) + 1, notes[:_NOTES_KEPT], tuple(asked), reply.tokens_in, reply.tokens_out)
        self.steps.append(step)
        if self.setting.on_step:
            self.setting.on_step(step, reply)
        if end:
            raise end

    def finish(self, end: _Ended) -> AskAnswer:
        """Return what the run came to."""
        done = {
            "question": self.request.question, "ended_by": end.by, "steps": tuple(self.steps), "problem": end.problem,
            "tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "model": self.setting.model.model,
        }  # fmt: skip
        if end.by == "answer" and self.answer:
            citations, claims = check_answer(self.setting.library, self.answer)
            return AskAnswer(text=self.answer.text, claims=claims, citations=citations, **done)  # type: ignore[arg-type]
        notes = list(dict.fromkeys(step.observations for step in self.steps if step.observations))
        return AskAnswer(text="\n\n".join(notes), is_partial=True, **done)  # type: ignore[arg-type]

    def _chat(self) -> ChatReply:
        """Ask the model. One without tools is asked in text from then on; one with less room gets less."""
        for _ in range(5):
            most = min(self.most, max(self.left - ANSWER_ROOM, ANSWER_ROOM))
            messages = self.talk.messages(most)
            tools = None if self.talk.is_in_text else CHAT_TOOLS
            try:
                return self.setting.model.chat(messages, tools=tools, max_tokens=max(256, min(4096, self.left // 2)))
            except ToolsRefused:
                if self.talk.is_in_text:
                    raise _Ended("error", "the server refuses to be asked") from None
                self.talk.is_in_text = True
            except PromptTooLong as problem:
                if self.most < 1_000:
                    raise _Ended("error", problem.message) from None
                self.most = self.most // 2
            except LoreError as problem:
                raise _Ended("error", f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}") from None
        raise _Ended("error", "the model took no prompt, however short")

    def _carry_out(self, asked: list[AskedTool], said: ToolCall, *, is_allowed: bool) -> None:
        if not is_allowed:
            self._refuse(asked, said.name, said.arguments, f"only {MAX_CALLS} calls at once are carried out", said.id)
            return
        try:
            call = parse_call(said.name, said.arguments)
            self._check_again(call)
            if call.name == "answer":
                self._take_answer(asked, call, said)
                return
            result = self.desk.carry_out(call)
        except MalformedCall as problem:
            self._refuse(asked, said.name, said.arguments, str(problem), said.id)
            return
        self.wrong = 0
        self.talk.tell(result, said.id)
        asked.append(
            AskedTool(call.name, said.arguments, result.text, "", result.id, result.first, result.last)
        )  # fmt: skip

    def _take_answer(self, asked: list[AskedTool], call: AskCall, said: ToolCall) -> None:
        """End with an answer; the first whose citations do not hold goes back once, in strict runs twice."""
        self.answer = call
        faults = tell_faults(*check_answer(self.setting.library, call))
        may_mend = self.mended < (2 if self.request.is_strict else 1) and not self.is_last_call_said
        asked.append(AskedTool("answer", said.arguments, "", faults))
        if not faults or not may_mend:
            raise _Ended("answer")
        self.mended += 1
        self.talk.refuse(
            f"{faults}. Read the lines again if need be, and call answer with quotes that stand there", said.id
        )

    def _check_again(self, call: AskCall) -> None:
        """Refuse a call that was just made; a scroll may follow a scroll."""
        is_same = call == self.last_call and call.name not in ("scroll", "answer")
        self.again, self.last_call = (self.again + 1 if is_same else 0), call
        if self.again >= MAX_AGAIN:
            raise _Ended("error", f"the model made the same call {self.again + 1} times: {call.name}")
        if is_same:
            raise MalformedCall("this very call was made just now, and its result stands above; do something else")

    def _refuse(self, asked: list[AskedTool], name: str, arguments: str, problem: str, call_id: str) -> None:
        self.wrong += 1
        asked.append(AskedTool(name[:60], arguments[:_NOTES_KEPT], "", problem))
        self.talk.refuse(problem, call_id)
        if self.wrong >= MAX_WRONG:
            raise _Ended("error", f"{self.wrong} calls in a row could not be carried out; the last one: {problem}")


def _read_reply(reply: ChatReply, *, is_in_text: bool) -> tuple[str, list[ToolCall]]:
    """Return what a model noted, and its calls. One that was offered tools may write its call as text all the same."""
    if reply.tool_calls and not is_in_text:
        notes = [reply.text.strip(), *(read_observations(call.arguments) for call in reply.tool_calls)]
        return "\n".join(note for note in notes if note), list(reply.tool_calls)
    try:
        noted, name, arguments = find_text_call(reply.text)
        return noted, [ToolCall("", name, arguments if isinstance(arguments, str) else json.dumps(arguments))]
    except MalformedCall:
        return reply.text.strip(), []
