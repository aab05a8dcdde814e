"""`history.ask` and `history.questions` put together: the sources that a question is answered from, the model of the
settings, the transcript.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from forgelore.api.find import only_filters
from forgelore.api.options import AskOptions
from forgelore.app import App
from forgelore.ask.answers import AskAnswer, AskRequest, AskStep, SourceIndex
from forgelore.ask.passages import find_passages
from forgelore.ask.run import AskSetting, RecordedModel, ask, ask_and_keep, load_earlier, replay_session
from forgelore.errors import InvalidValue, Refused
from forgelore.search.query import QuerySetting
from forgelore.store.ask import AskSession, list_sessions, load_session
from forgelore.text.fence import name_fence
from forgelore.text.values import check_filled
from forgelore.words import FilterWords

if TYPE_CHECKING:
    from forgelore.ports.chat import ChatModel
    from forgelore.search.retriever import Retriever
    from forgelore.store.database import Store

_LIMITS = {"budget": (1_000, 10_000_000), "steps": (1, 500), "seconds": (1, 86_400)}
_MAX_QUESTION = 8_000
NO_MODEL = "No language model configured; showing the best-matching passages."
NOT_ASKED = "No language model was asked; showing the best-matching passages."


class Questions:
    """Sessions of `history.ask` that were kept."""

    def __init__(self, app: App, make_retriever: "Callable[[], Retriever]") -> None:
        self._app, self._make_retriever = app, make_retriever

    def list(self, limit: int = 50) -> "list[AskSession]":
        """Return the sessions that are kept, newest first."""
        return list_sessions(self._app.store(), limit)

    def replay(self, session: int, *, on_step: Callable[[AskStep], None] | None = None) -> AskAnswer:
        """Return what a kept session comes to on the store as it is now. No model is asked. Raises NotFound."""
        kept = load_session(self._app.store(), session)
        project, internal = kept.parameters.get("project"), bool(kept.parameters.get("include_internal"))
        filters: FilterWords = {"project": str(project)} if project else {}
        sources = open_sources(self._app, self._make_retriever(), filters, include_internal=internal)
        setting = _setting(self._app, sources, RecordedModel(kept.model, ()), on_step)
        return replay_session(self._app.store(), setting, session)


def answer_question(app: App, retriever: "Retriever", question: str, options: AskOptions) -> AskAnswer:
    """Return the answer, or the best passages where there is no model. Raises Refused in strict runs."""
    request, filters = _read_request(question, options), only_filters(options, AskOptions)
    profile, continues = options.get("profile"), options.get("continues")
    without_model = options.get("without_model") or (profile is None and not app.has_model)
    include_internal = options.get("include_internal", False)
    seen = app.store_for_call(include_internal=include_internal)
    if continues is not None:
        before = load_session(seen, continues).parameters.get("project")
        filters = {**filters, "project": filters.get("project") or (str(before) if before else None)}
    sources = open_sources(app, retriever, filters, include_internal=include_internal)
    if continues is not None and without_model:
        raise InvalidValue(
            "a follow-up needs a language model", hint="configure one under [llm], or ask a new question"
        )
    if without_model:
        warning = NOT_ASKED if options.get("without_model") else NO_MODEL
        return find_passages(sources, request.question)._replace(warnings=(warning,))
    setting = _setting(app, sources, app.chat_model(profile), options.get("on_step"))
    setting = setting._replace(on_text=options.get("on_text"))
    if continues is not None:
        earlier = load_earlier(seen, sources, continues)
        setting = setting._replace(earlier=earlier)
    kept = tuple[str, ...]()
    with _transcripts(app) as store:
        if store.is_read_only:
            answer = ask(setting, request)
            kept = ("the database is read-only: the transcript was not saved",)
        else:
            parameters = {
                "project": filters.get("project"), "include_internal": include_internal, "continues": continues,
            }  # fmt: skip
            answer = ask_and_keep(store, setting, request, parameters, now_ms=app.now_ms())
    has_answered = answer.ended_by == "answer" or bool(answer.claims)
    if request.is_strict and has_answered and (answer.unchecked or not answer.claims):
        said = "; ".join(claim.text[:100] for claim in answer.unchecked[:3])
        raise Refused(
            f"the answer contains claims without a valid citation: {said}",
            hint="ask again, or without the strict check"
            + (f"; the transcript is session {answer.session}" if answer.session else ""),
        )
    return answer._replace(warnings=kept)


@contextlib.contextmanager
def _transcripts(app: App) -> "Iterator[Store]":
    """Yield where a run is kept. A history for reading has no other store that can be written."""
    if not app.for_reading:
        yield app.store()
        return
    store = app.open_transcripts()
    try:
        yield store
    finally:
        store.close()


def open_sources(app: App, retriever: "Retriever", filters: FilterWords, *, include_internal: bool) -> SourceIndex:
    """Return what may be looked up."""
    project = app.named_project(filters.get("project"))
    setting = QuerySetting(project, app.hosts, app.now_ms())
    if not include_internal:
        retriever = retriever.seen_by(app.viewer.without_internal())
    return SourceIndex(retriever, setting, filters, has_several=app.has_several_projects)


def _setting(
    app: App, sources: SourceIndex, model: "ChatModel", on_step: Callable[[AskStep], None] | None
) -> AskSetting:
    watch = (lambda step, _reply: on_step(step)) if on_step else None
    return AskSetting(sources, model, name_fence(secrets.token_hex(8)), app.clock, app.stop.is_set, watch)


def _read_request(question: str, options: AskOptions) -> AskRequest:
    check_filled("the question", question)
    if len(question) > _MAX_QUESTION:
        raise InvalidValue(
            f"the question is too long: {len(question):,} characters", hint=f"use at most {_MAX_QUESTION:,}"
        )
    request = AskRequest(
        question, options.get("budget", 60_000), options.get("steps", 30), options.get("seconds", 600.0),
        options.get("strict", False),
    )  # fmt: skip
    for name, (low, high) in _LIMITS.items():
        value = getattr(request, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise InvalidValue(f"{name} must be between {low:,} and {high:,}, not {value!r}", hint="choose another one")
    return request
