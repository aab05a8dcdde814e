"""Labels of pairs: what a person says of two items that were shown blind, one JSON object per line in a file.

    {"kind": "issue", "number": 12, "target": 7, "label": "duplicate"}

duplicate: they are the same; related and different: they are not; unsure: nobody can tell, and it counts for nothing.
Other keys, such as the titles that came with the file, are left alone; a line with an empty label is not filled in yet.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from forgelore.errors import InvalidValue

LabelWord = Literal["duplicate", "related", "different", "unsure"]
WORDS: tuple[LabelWord, ...] = ("duplicate", "related", "different", "unsure")
_EXAMPLE = '{"kind": "issue", "number": 12, "target": 7, "label": "duplicate"}'


class PairLabel(Struct, frozen=True):
    """What a person says of a pair, by the numbers of its items."""

    kind: Literal["issue", "change"]
    number: int
    target: int
    label: LabelWord


class _LabelLine(Struct):
    kind: Literal["issue", "change"]
    number: int
    target: int
    label: Literal["duplicate", "related", "different", "unsure", ""]


def parse_labels(lines: Iterable[tuple[int, bytes]]) -> list[PairLabel]:
    """Return the labels of numbered lines. Raises InvalidValue at the first line that is none."""
    found = []
    for at, line in lines:
        if not line.strip():
            continue
        try:
            said = msgspec.json.decode(line, type=_LabelLine)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidValue(f"line {at} is no label: {error}", hint=f"write: {_EXAMPLE}") from error
        if said.label:
            found.append(PairLabel(said.kind, said.number, said.target, said.label))
    return found
