"""The envelope: the one JSON object that a command prints with `--json`, whether it worked or not."""

from typing import NamedTuple

from forgelore.errors import LoreError
from forgelore.surfaces.present.data import MISSING, Absence, JsonValue, as_data


class ErrorData(NamedTuple):
    """What went wrong: a name for programs, a sentence, and what to do next."""

    code: str
    message: str
    hint: str


class Meta(NamedTuple):
    elapsed_ms: int


class Envelope(NamedTuple):
    """`ok` is false where `error` is there; a command that told something before it failed has `data` too."""

    ok: bool
    data: "JsonValue | Absence" = MISSING
    meta: Meta | Absence = MISSING
    warnings: list[str] | Absence = MISSING
    error: ErrorData | Absence = MISSING


def present_error(error: LoreError) -> ErrorData:
    return ErrorData(error.code, error.message, error.hint)


def present_answer(answer: object, *, warnings: list[str], elapsed_ms: int, failure: LoreError | None) -> JsonValue:
    """Return the envelope of a command that came to its end."""
    error = present_error(failure) if failure else MISSING
    return as_data(Envelope(failure is None, as_data(answer), Meta(elapsed_ms), warnings, error))


def present_failure(error: LoreError) -> JsonValue:
    """Return the envelope of a command that did not."""
    return as_data(Envelope(ok=False, error=present_error(error)))
