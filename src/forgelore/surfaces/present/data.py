"""Data for programs: any answer of the facade as JSON-ready values. One rule for all of them, and all formats.

A struct becomes an object with its fields as keys (`json_key` of its class says how those are called that no field can
be); `MISSING` is a key that is not there. Where the data is to look different from the answer, the modules beside this
one have structs of their own.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Literal, TypeAlias

from forgelore.core.times import as_ms, format_ms

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


class Absence(Enum):
    """A field that is left out of the object, where null would mean something else."""

    MISSING = "missing"


MISSING: Literal[Absence.MISSING] = Absence.MISSING


def as_data(value: object) -> JsonValue:
    """Return what the standard JSON encoder takes. Raises TypeError for what is no data."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)  # also of an enum of words
    if isinstance(value, dt.datetime):
        return format_ms(as_ms(value))
    names = field_names(type(value))
    if names is not None:
        found = ((key, getattr(value, name)) for name, key in names.items())
        return {key: as_data(one) for key, one in found if one is not MISSING}
    if isinstance(value, Mapping):
        return {str(key): as_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [as_data(one) for one in value]
    raise TypeError(f"{type(value).__name__} is no data")


def field_names(kind: type) -> dict[str, str] | None:
    """Return field -> key of a struct (a named tuple, or one of msgspec's); None for any other type."""
    names: tuple[str, ...] | None = getattr(kind, "_fields", None) or getattr(kind, "__struct_fields__", None)
    key_of: Callable[[str], str] = getattr(kind, "json_key", str)
    return None if names is None else {name: key_of(name) for name in names}
