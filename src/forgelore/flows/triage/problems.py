"""Problems of a run: an error of ours becomes a line of what went wrong, and what follows still happens."""

from typing import Protocol

from forgelore.errors import LoreError, in_words


class HasProblems(Protocol):
    problems: list[str]


class ProblemCollector:
    """`with ProblemCollector(outcome):` turns an error of ours into a problem of the run."""

    def __init__(self, outcome: HasProblems) -> None:
        self._outcome = outcome

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, LoreError):
            self._outcome.problems.append(in_words(error))
        return isinstance(error, LoreError)
