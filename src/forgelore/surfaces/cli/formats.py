"""Output formats for programs. Each is an option of every command and writes the envelope: a new one is a function and
a row here.

Without typing's classes: `forgelore --help` loads this.
"""

from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forgelore.surfaces.present.data import JsonValue


def _write_json(envelope: "JsonValue") -> str:
    import json

    return json.dumps(envelope, ensure_ascii=False)


# option -> (what it gives, the envelope as text)
FORMATS: "dict[str, tuple[str, Callable[[JsonValue], str]]]" = {
    "--json": ("one JSON object on standard output", _write_json),
}


def find_format(words: Sequence[str]) -> str | None:
    """Return the format that is asked for, of several the last; None: people read."""
    return next((word for word in reversed(words) if word in FORMATS), None)


def write_envelope(chosen: str, envelope: "JsonValue") -> None:
    """Print an envelope in a format."""
    print(FORMATS[chosen][1](envelope))
