"""A forge's REST answers: good ones, or what the others mean to a person. The words are each forge's own."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from forgelore.errors import AuthError, LoreError
from forgelore.net.client import Client, HttpAnswer


class TokenAccess(NamedTuple):
    """Whether a token is sent, and what to do when it is refused or missing: where it is kept, how to get one."""

    has_token: bool
    advice: str


class AnswerChecker(ABC):
    """The client, with the words for what went wrong. `host` is what people call the server."""

    def __init__(self, client: Client, host: str, access: TokenAccess) -> None:
        self.client, self.host, self.access = client, host, access

    def rejected(self, what: str = "") -> AuthError:
        """Return what a 401 means."""
        did = "rejected the token" if self.access.has_token else "wants a token"
        return AuthError(f"{self.host} {did} (HTTP 401{what})", hint=self.access.advice, is_rejected=True)

    def checked(self, answer: HttpAnswer, what: str) -> HttpAnswer:
        """Return a good answer, or raise what the status means to a person."""
        if answer.status in (200, 304):
            return answer
        raise self.refusal(answer, what)

    @abstractmethod
    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        """Return what a refused answer means."""
