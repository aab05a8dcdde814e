"""A forge's REST answers: good ones, or what the others mean to a person. The words are each forge's own."""

from abc import ABC, abstractmethod

from forgelore.errors import LoreError
from forgelore.net.client import Answer, Client


class Answers(ABC):
    """The client, with the words for what went wrong. `host` is what people call the server."""

    def __init__(self, client: Client, host: str) -> None:
        self.client, self.host = client, host

    def checked(self, answer: Answer, what: str) -> Answer:
        """Return a good answer, or raise what the status means to a person."""
        if answer.status in (200, 304):
            return answer
        raise self.refusal(answer, what)

    @abstractmethod
    def refusal(self, answer: Answer, what: str) -> LoreError:
        """Return what a refused answer means."""
