"""`history.questions`: the questions that were asked before, with their transcripts."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from forgelore.app import App

if TYPE_CHECKING:
    from forgelore.ask.answers import AskAnswer, AskStep
    from forgelore.search.retriever import Retriever
    from forgelore.store.ask import AskSession


class Questions:
    """Sessions of `history.ask` that were kept."""

    def __init__(self, app: App, make_retriever: "Callable[[], Retriever]") -> None:
        self._app, self._make_retriever = app, make_retriever

    def list(self, limit: int = 50) -> "list[AskSession]":
        """Return the sessions that are kept, newest first."""
        from forgelore.store.ask import list_sessions

        return list_sessions(self._app.store(), limit)

    def replay(self, session: int, *, on_step: "Callable[[AskStep], None] | None" = None) -> "AskAnswer":
        """Return what a kept session comes to on the store as it is now. No model is asked. Raises NotFound."""
        from forgelore.api.asking import replay_asked

        return replay_asked(self._app, self._make_retriever(), session, on_step=on_step)
