"""Transcripts: a run is kept step by step, and can be played again without its model.

A replay carries out the same calls on the store as it is now. Its citations are checked anew, and results that are not
what they were are counted.
"""

from collections.abc import Callable, Mapping, Sequence

from forgelore.ask.answers import AskAnswer, AskRequest, AskStep, check_answer
from forgelore.ask.conversation import EarlierTurn
from forgelore.ask.run import AskSetting, ask, read_calls
from forgelore.ask.sources import SourceIndex
from forgelore.errors import ChatFailed
from forgelore.ports.chat import ChatMessage, ChatReply, ChatTool, ToolCall
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

MAX_EARLIER = 20  # turns of a conversation that a follow-up begins with


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
