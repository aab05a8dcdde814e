"""The part of the facade that answers questions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from forgelore.api.methods.history_find import FindingHistory
from forgelore.words import FilterWords

if TYPE_CHECKING:
    from forgelore.ask.answers import AskAnswer, AskStep
    from forgelore.store.ask import AskSession


class AskingHistory(FindingHistory):
    """What `History` can do to answer a question."""

    def ask(
        self, question: str, *, budget: int = 60_000, steps: int = 30, seconds: float = 600.0, is_strict: bool = False,
        profile: str | None = None, include_internal: bool = False, without_model: bool = False,
        continues: int | None = None, on_step: "Callable[[AskStep], None] | None" = None,
        on_text: Callable[[str], None] | None = None, **filters: Unpack[FilterWords],
    ) -> "AskAnswer":  # fmt: skip
        """Return an answer whose citations were looked up, by the language model of the settings; without one, the
        passages that fit best. Filters narrow what it may find. `continues`: the number of a kept session that the
        question follows up; its sources can be cited again. `on_text` gets the answer so far
        while it is written, unchecked, where the server can stream. Confidential items and internal
        notes are left out unless `include_internal` asks for them, which only a history opened with them may. Raises
        Refused for claims without a good citation where
        `is_strict` says so.
        """
        from forgelore.api.asking import answer_question
        from forgelore.ask.answers import AskRequest

        request = AskRequest(question, budget, steps, seconds, is_strict)
        retriever = self.retriever()
        return answer_question(
            self.app, retriever, request, filters, profile=profile, include_internal=include_internal,
            without_model=without_model, on_step=on_step, continues=continues, on_text=on_text,
        )  # fmt: skip

    def replay_asked(self, session: int, *, on_step: "Callable[[AskStep], None] | None" = None) -> "AskAnswer":
        """Return what a kept session comes to on the store as it is now. No model is asked. Raises NotFound."""
        from forgelore.api.asking import replay_asked

        return replay_asked(self.app, self.retriever(), session, on_step=on_step)

    def list_asked(self, limit: int = 50) -> "list[AskSession]":
        """Return the sessions that are kept, newest first."""
        from forgelore.store.ask import list_sessions

        return list_sessions(self.app.store(), limit)

    @property
    def has_model(self) -> bool:
        """Whether the settings name a language model."""
        from forgelore.api.asking import has_model

        return has_model(self.app)
