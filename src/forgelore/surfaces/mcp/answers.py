"""An answer of a tool: text that a model reads, and the same as data with a schema for programs that ask for it.

A client that gets both hands both to its model, so data is sent only where the server was started for that. The limit
is that of the text: 3,000 tokens at four characters each.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from forgelore.surfaces.present.data import JsonValue, as_data

MAX_ANSWER_CHARS = 11_500  # the protocol's own words take some hundreds
_WIDTHS = (200, 160, 120, 80, 50, 30, 0)  # characters of each long value, until everything fits


class ToolAnswer(NamedTuple):
    """What a tool says: `data` is a struct, the one that its output schema is made from."""

    text: str
    data: object

    def as_structured(self) -> dict[str, JsonValue]:
        """Return the data as a JSON object."""
        found = as_data(self.data)
        assert isinstance(found, dict)
        return found

    @property
    def size(self) -> int:
        return len(json.dumps(self.text, ensure_ascii=False))


def fit_answer(build: Callable[[int], ToolAnswer]) -> ToolAnswer:
    """Return the answer with its long values as wide as the limit allows."""
    answer = build(_WIDTHS[0])
    for width in _WIDTHS[1:]:
        if answer.size <= MAX_ANSWER_CHARS:
            break
        answer = build(width)
    return answer
