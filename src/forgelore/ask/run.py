"""The loop of `ask`: a model looks things up with tools until it answers, or a limit is met.

    question -> model -> call -> result -> model … -> answer -> its citations are looked up

Whatever a model does is bounded: tokens of the whole run, steps, time, wrong calls in a row, the same call again and
again. At a limit its own notes are the answer, and what was read is told. It chooses what is read, and nothing else.

A run is kept step by step as a transcript, and can be played again without its model: the same calls are carried out on
the store as it is now, citations are checked anew, and results that are not what they were are counted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from forgelore.ask.answers import (
    AskAnswer,
    AskedTool,
    AskRequest,
    AskStep,
    EndedBy,
    SourceIndex,
    ToolRunner,
    check_answer,
    describe_faults,
)
from forgelore.ask.conversation import CHAT_TOOLS, LAST_CALL, Conversation, EarlierTurn, call_schema
from forgelore.ask.tool_calls import (
    AskCall,
    MalformedCall,
    find_text_call,
    parse_call,
    read_draft,
    read_observations,
    read_written,
)
from forgelore.errors import ChatFailed, LoreError, PromptTooLong, Stopped, ToolsRefused
from forgelore.ports.chat import ChatMessage, ChatModel, ChatReply, ChatTool, ToolCall
from forgelore.store.ask import (
    AskSession,
    SessionValue,
    StoredStep,
    begin_session,
    end_session,
    load_session,
    load_steps,
    save_step,
)
from forgelore.store.database import Store

MAX_WRONG = 4  # wrong calls in a row, then the run ends
MAX_AGAIN = 3  # times the same call may be made in a row
MAX_CALLS = 4  # carried out of one reply
CONTEXT = 24_000  # tokens of a prompt where nobody said what the model takes
ANSWER_ROOM = 2_000  # tokens that are kept for the answer; of a small context a third
MIN_PROMPT = 700  # tokens of the shortest prompt that makes sense: the task, the tools, a question
MIN_REPLY = 256  # tokens that a reply may always have
_NOTES_KEPT = 2_000  # characters of one note
MAX_EARLIER = 20  # turns of a conversation that a follow-up begins with


class AskSetting(NamedTuple):
    """What a run stands on. `fence`: a name that no text can guess."""

    sources: SourceIndex
    model: ChatModel
    fence: str
    clock: Callable[[], float]
    should_stop: Callable[[], bool] = lambda: False
    on_step: Callable[[AskStep, ChatReply], None] | None = None
    on_text: Callable[[str], None] | None = None  # gets the answer so far while it is written, unchecked
    earlier: tuple[EarlierTurn, ...] = ()  # what a follow-up goes on from


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
        self.talk = Conversation(request.question, setting.fence, setting.earlier)
        self.tools = ToolRunner(setting.sources)
        self.began = setting.clock()
        context = setting.model.context or CONTEXT
        self.room = min(ANSWER_ROOM, context // 3)
        self.most = context - self.room
        self.tokens_in = self.tokens_out = 0
        self.steps: list[AskStep] = []
        self.wrong = self.again = self.mended = 0
        self.last_call: AskCall | None = None
        self.is_last_call_said = self.has_called = False
        self.answer: AskCall | None = None
        self.draft = ""  # the text of an answer that could not be read as a call

    @property
    def longest_reply(self) -> int:
        """Tokens of one reply: twice the room of an answer, for models that think; a small context has no such room."""
        return 2 * self.room if self.room == ANSWER_ROOM else self.room

    @property
    def is_late(self) -> bool:
        return self.setting.clock() - self.began >= self.request.seconds

    @property
    def left(self) -> int:
        return self.request.budget - self.tokens_in - self.tokens_out

    def check_limits(self) -> None:
        """End the run where a limit is met; say it beforehand where one is near."""
        if self.setting.should_stop():
            raise Stopped
        if len(self.steps) >= self.request.steps:
            raise _Ended("steps")
        if self.is_late:
            raise _Ended("time")
        prompt = min(self.talk.count(), self.most)
        if prompt >= self.left:
            raise _Ended("budget")
        is_near = self.left < 2 * prompt + self.room or len(self.steps) == self.request.steps - 1
        if is_near and self.steps and not self.is_last_call_said:
            self.is_last_call_said = True
            self.talk.say(LAST_CALL)

    def step(self) -> None:
        """One turn: ask the model, carry out what it calls."""
        reply = self._chat()
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.talk.hear(reply)
        notes, calls = _read_reply(reply)
        asked: list[AskedTool] = []
        end: _Ended | None = None
        try:
            if not calls:
                self._refuse(asked, "", "", self._miss_call(reply), "")
            self.has_called = self.has_called or bool(reply.tool_calls)
            for at, call in enumerate(calls):
                self._run_call(asked, call, is_allowed=at < MAX_CALLS)
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
        if self.answer:  # also one that went back to be mended, where the run ended before that was done
            citations, claims = check_answer(self.setting.sources, self.answer)
            return AskAnswer(
                text=self.answer.text,
                claims=claims,
                citations=citations,
                is_partial=end.by != "answer",
                **done,  # type: ignore[arg-type]
            )
        notes = list(dict.fromkeys(step.observations for step in self.steps if step.observations))
        drafts = [self.draft] if self.draft and self.draft not in notes else []
        return AskAnswer(text="\n\n".join([*notes, *drafts]), is_partial=True, **done)  # type: ignore[arg-type]

    def _chat(self) -> ChatReply:
        """Ask the model. One without tools is asked in text from then on; one with less room gets less."""
        while True:
            most = min(self.most, max(self.left - self.room, self.room))
            messages = self.talk.messages(most)
            is_in_text = self.talk.is_in_text
            reply_tokens = max(MIN_REPLY, min(self.longest_reply, self.left // 2))
            try:
                if is_in_text:
                    return self.setting.model.chat(
                        messages, schema=call_schema(), max_tokens=reply_tokens, on_part=self._on_part
                    )
                return self.setting.model.chat(
                    messages, tools=CHAT_TOOLS, max_tokens=reply_tokens, on_part=self._on_part
                )
            except ToolsRefused:
                if is_in_text:
                    raise _Ended("error", "the server refuses requests") from None
                self.talk.is_in_text = True
            except PromptTooLong as problem:
                if most < MIN_PROMPT:
                    raise _Ended("error", problem.message) from None
                self.most = min(most, self.talk.count()) * 2 // 3
                self.room = min(self.room, self.most // 2)
            except LoreError as problem:
                by: EndedBy = "time" if self.is_late else "error"
                raise _Ended(by, f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}") from None

    @property
    def _on_part(self) -> Callable[[ChatReply], None] | None:
        """What shows an answer while it is written; None where nobody looks."""
        on_text = self.setting.on_text
        if on_text is None:
            return None

        shown = ""

        def show(reply: ChatReply) -> None:
            nonlocal shown
            written = read_written(reply.text, [(call.name, call.arguments) for call in reply.tool_calls])
            if written and written != shown:
                shown = written
                on_text(written)

        return show

    def _miss_call(self, reply: ChatReply) -> str:
        """Return what to say of a reply without a call. A model that has never called a tool may not have seen any: a
        server may take tools and drop them. It is told of them in words from then on.
        """
        self.talk.is_in_text = self.talk.is_in_text or not self.has_called
        how = ", as JSON" if self.talk.is_in_text else ""
        said = f"no tool was called; call one{how}, or call answer with the final text"
        return f"{said}; the reply was cut off, because it was too long" if reply.finish_reason == "length" else said

    def _run_call(self, asked: list[AskedTool], said: ToolCall, *, is_allowed: bool) -> None:
        if not is_allowed:
            self._refuse(asked, said.name, said.arguments, f"only {MAX_CALLS} calls are run at once", said.id)
            return
        try:
            call = parse_call(said.name, said.arguments)
            self._check_again(call)
            if call.name == "answer":
                self._take_answer(asked, call, said)
                return
            result = self.tools.run(call)
        except MalformedCall as problem:
            self.draft = (said.name == "answer" and read_draft(said.arguments)) or self.draft
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
        citations, claims = check_answer(self.setting.sources, call)
        faults = describe_faults(citations, claims)
        has_looked = any(one.result for step in self.steps for one in step.calls) or any(one.result for one in asked)
        if not faults and not has_looked and not self.setting.earlier and any(claim.is_absence for claim in claims):
            faults = "nothing was looked up yet: search before you say that the history has no answer"
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
            raise MalformedCall("this call was just made, and its result is above; do something else")

    def _refuse(self, asked: list[AskedTool], name: str, arguments: str, problem: str, call_id: str) -> None:
        self.wrong += 1
        asked.append(AskedTool(name[:60], arguments[:_NOTES_KEPT], "", problem))
        self.talk.refuse(problem, call_id)
        if self.wrong >= MAX_WRONG:
            raise _Ended("error", f"{self.wrong} calls in a row failed; the last one: {problem}")


def read_calls(reply: ChatReply) -> list[AskCall]:
    """Return the calls of a reply that can be carried out."""
    found = []
    for said in _read_reply(reply)[1]:
        try:
            found.append(parse_call(said.name, said.arguments))
        except MalformedCall:
            continue
    return found


def _read_reply(reply: ChatReply) -> tuple[str, list[ToolCall]]:
    """Return what a model noted, and its calls. One that was offered tools may write its call as text all the same."""
    if reply.tool_calls:
        notes = [reply.text.strip(), *(read_observations(call.arguments) for call in reply.tool_calls)]
        return "\n".join(note for note in notes if note), list(reply.tool_calls)
    try:
        noted, name, arguments = find_text_call(reply.text)
        return noted, [ToolCall("", name, arguments if isinstance(arguments, str) else json.dumps(arguments))]
    except MalformedCall:
        return reply.text.strip(), []


def ask_and_keep(
    store: Store, setting: AskSetting, request: AskRequest, parameters: Mapping[str, SessionValue], *, now_ms: int
) -> AskAnswer:
    """Return the answer to a question, and keep the transcript as it grows."""
    said = {**parameters, **request._asdict()}
    said.pop("question")
    with store.transaction():
        session = begin_session(store, request.question, setting.model.model, said, now_ms)

    def keep(step: AskStep, reply: ChatReply) -> None:
        with store.transaction():
            save_step(store, session, _as_stored(step, reply))
        if setting.on_step:
            setting.on_step(step, reply)

    answer = ask(setting._replace(on_step=keep), request)
    spent = (answer.tokens_in, answer.tokens_out)
    with store.transaction():
        end_session(store, session, answer.ended_by, answer.text, spent, now_ms)
    return answer._replace(session=session)


def replay_session(store: Store, setting: AskSetting, session_id: int) -> AskAnswer:
    """Return what a kept session comes to on the store as it is now; no model is asked. Raises NotFound."""
    session, steps = load_session(store, session_id), load_steps(store, session_id)
    if isinstance(parent := session.parameters.get("continues"), int):
        seen = store if session.parameters.get("include_internal") else store.seen_by(store.viewer.without_internal())
        setting = setting._replace(earlier=load_earlier(seen, setting.sources, parent))
    model = RecordedModel(session.model, steps)
    request = AskRequest(session.question, budget=10**9, steps=len(steps) + 1, seconds=float("inf"))
    answer = ask(setting._replace(model=model), request)
    before = [result for step in steps for result in step.results]
    after = [call.result for step in answer.steps for call in step.calls]
    changed = sum(then != now for then, now in zip(before, after, strict=False)) + abs(len(before) - len(after))
    if answer.ended_by in ("error", "steps") and session.ended_by != answer.ended_by:
        answer = answer._replace(ended_by="error", problem=answer.problem or "the transcript ends here")
    return answer._replace(session=session_id, changed_results=changed)


def load_earlier(store: Store, sources: SourceIndex, session_id: int) -> tuple[EarlierTurn, ...]:
    """Return the conversation up to a session, the first question first. What was cited is looked up anew, by the
    rights of whoever asks now. Raises NotFound.
    """
    session = load_session(store, session_id)
    turns = [_load_turn(store, sources, session)]
    while (before := session.parameters.get("continues")) and isinstance(before, int) and len(turns) < MAX_EARLIER:
        session = load_session(store, before)
        turns.append(_load_turn(store, sources, session))
    return tuple(reversed(turns))


def _load_turn(store: Store, sources: SourceIndex, session: AskSession) -> EarlierTurn:
    """Return a session as a later one sees it: the answer, the lines it cited, and which lines were read."""
    cited: list[str] = []
    read: dict[str, None] = {}
    for step in load_steps(store, session.id):
        for call in read_calls(_as_reply(session.model, step)):
            if call.name == "answer":
                citations, _ = check_answer(sources, call)
                cited = [
                    f"[{one.number}] id: {one.id}, lines {one.first_line} to {one.last_line}:\n{one.source}"
                    for one in citations
                    if one.is_good
                ]
            elif call.name == "read" and sources.find(call.text):
                read[call.text] = None
    also = [f"read before: {', '.join(read)}"] if read else []
    return EarlierTurn(session.question, session.answer, "\n".join([*cited, *also]))


class RecordedModel:
    """A model that says what a transcript has, in its order."""

    profile, context, json_mode = "recorded", 0, "none"

    def __init__(self, model: str, steps: Sequence[StoredStep]) -> None:
        self.model = model
        self._replies = [_as_reply(model, step) for step in steps]

    def price(self, tokens_in: int, tokens_out: int) -> float:  # noqa: ARG002
        return 0.0

    def chat(  # what is asked does not matter: the answers are known
        self,
        messages: Sequence[ChatMessage],  # noqa: ARG002
        *,
        tools: Sequence[ChatTool] | None = None,  # noqa: ARG002
        schema: Mapping[str, object] | None = None,  # noqa: ARG002
        max_tokens: int | None = None,  # noqa: ARG002
        on_part: Callable[[ChatReply], None] | None = None,  # noqa: ARG002
    ) -> ChatReply:
        if not self._replies:
            raise ChatFailed("the transcript ends here", hint="it was cut off when it was saved")
        return self._replies.pop(0)

    def interrupt(self) -> None:
        return

    def close(self) -> None:
        return


def _as_reply(model: str, step: StoredStep) -> ChatReply:
    calls = tuple(ToolCall(call_id, name, arguments) for name, arguments, call_id in step.calls)
    return ChatReply(step.text, calls, step.tokens_in, step.tokens_out, "stop", model)


def _as_stored(step: AskStep, reply: ChatReply) -> StoredStep:
    calls = [(call.name, call.arguments, call.id) for call in reply.tool_calls]
    results = [call.result for call in step.calls]
    return StoredStep(step.number, reply.text, calls, results, step.tokens_in, step.tokens_out)
