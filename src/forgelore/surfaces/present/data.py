"""Answers of the facade as data for programs: JSON values, the envelope, rows and JSON Schemas.

A struct becomes an object with its fields as keys. Its class may say more: `json_fields` names what is written instead
of the fields, properties included; `json_key` gives one another key, ""
leaves it out, and "*" puts the fields of its value in its place; fractions are rounded to `json_digits`. A field that
is `MISSING` is left out. Where the data differs further, the modules beside this one have their own structs.
The schemas are published in docs/json/, and the tests check every output against them.
"""

import datetime as dt
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from forgelore.errors import LoreError, Stopped
from forgelore.surfaces.present.text import clean, printable
from forgelore.text.dates import as_ms, format_ms

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
COLUMNS = ("ref", "kind", "state", "title", "author", "created_at", "updated_at", "labels", "project", "url")
HIT_COLUMNS = (*COLUMNS, "representation")  # what was found of it: the item itself, one of its threads …
WAITING_COLUMNS = ("ref", "kind", "title", "author", "created_at", "since", "by", "url")
_IN_PLACE = "*"  # in place of a key: the fields of the value stand beside the others
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")
Schema = dict[str, JsonValue]
_NO_NAMES: Mapping[str, object] = {}
_NAMES: dict[type, dict[str, str] | None] = {}
# A time is text: 2026-03-01T12:00:00Z.
_JSON_TYPES: dict[type, str] = {
    str: "string",
    dt.datetime: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


class Absence(Enum):
    """A field that is left out of the object, where null would mean something else."""

    MISSING = "missing"


MISSING: Literal[Absence.MISSING] = Absence.MISSING


def as_data(value: object) -> JsonValue:
    """Return what the standard JSON encoder takes. Raises TypeError for anything else."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)  # also of an enum of words
    if isinstance(value, dt.datetime):
        return format_ms(as_ms(value))
    names = field_names(type(value))
    if names is not None:
        return _struct_data(value, names)
    if isinstance(value, Mapping):
        return {str(key): as_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [as_data(one) for one in value]
    raise TypeError(f"{type(value).__name__} cannot be written as data")


def _struct_data(value: object, names: dict[str, str]) -> dict[str, JsonValue]:
    digits_of: Callable[[], int] | None = getattr(value, "json_digits", None)
    digits = digits_of() if digits_of else None
    found: dict[str, JsonValue] = {}
    for name, key in names.items():
        one = getattr(value, name)
        if key == _IN_PLACE:
            found |= _row_fields(one)
        elif one is not MISSING:
            found[key] = round(one, digits) if digits and isinstance(one, float) else as_data(one)
    return found


def field_names(kind: type) -> dict[str, str] | None:
    """Return field -> key of a struct (a named tuple, or one of msgspec's); None for any other type."""
    if kind not in _NAMES:  # asked of every row of a list
        names: tuple[str, ...] | None = getattr(kind, "_fields", None) or getattr(kind, "__struct_fields__", None)
        chosen: Callable[[], tuple[str, ...]] | None = getattr(kind, "json_fields", None)
        key_of: Callable[[str], str] = getattr(kind, "json_key", str)
        names = chosen() if chosen else names
        _NAMES[kind] = None if names is None else {name: key for name in names if (key := key_of(name))}
    return _NAMES[kind]


class ErrorData(NamedTuple):
    """What went wrong: a name for programs, a sentence, and what to do next."""

    code: str
    message: str
    hint: str


class Meta(NamedTuple):
    elapsed_ms: int


class Envelope(NamedTuple):
    """`ok` is false where `error` is there; a command that failed after printing part of its answer has `data` too."""

    ok: bool
    data: "JsonValue | Absence" = MISSING
    meta: Meta | Absence = MISSING
    warnings: list[str] | Absence = MISSING
    error: ErrorData | Absence = MISSING


def present_error(error: LoreError | Stopped) -> ErrorData:
    return ErrorData(error.code, error.message, error.hint)


def present_answer(answer: object, *, warnings: list[str], elapsed_ms: int, failure: LoreError | None) -> JsonValue:
    """Return the envelope of a command that came to its end."""
    error = present_error(failure) if failure else MISSING
    return as_data(Envelope(failure is None, as_data(answer), Meta(elapsed_ms), warnings, error))


def present_failure(error: LoreError | Stopped) -> JsonValue:
    """Return the envelope of a command that did not."""
    return as_data(Envelope(ok=False, error=present_error(error)))


def write_rows(chosen: str, rows: Iterable[object], columns: Sequence[str]) -> Iterator[str]:
    """Yield the lines of structs in one of `ROW_FORMATS`."""
    return ROW_FORMATS[chosen]([_row_fields(row) for row in rows], columns)


def _row_fields(row: object) -> dict[str, JsonValue]:
    data = as_data(row)
    assert isinstance(data, dict)
    return data


def _write_json_lines(rows: Iterable[dict[str, JsonValue]], _columns: Sequence[str]) -> Iterator[str]:
    import json

    return (json.dumps(row, ensure_ascii=False) for row in rows)


def _write_tsv(rows: Iterable[dict[str, JsonValue]], columns: Sequence[str]) -> Iterator[str]:
    yield "\t".join(columns)
    for row in rows:
        yield "\t".join(clean(_cell_text(row.get(name))) for name in columns)


def _write_csv(rows: Iterable[dict[str, JsonValue]], columns: Sequence[str]) -> Iterator[str]:
    import csv
    import io

    yield ",".join(columns)
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([_quoted_cell(_cell_text(row.get(name))) for name in columns])
        yield line.getvalue()


def _quoted_cell(text: str) -> str:
    return f"'{printable(text)}" if text.startswith(_COMPUTED) else printable(text)


def _cell_text(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(_cell_text(one) for one in value)
    return "" if value is None else str(value)


ROW_FORMATS: dict[str, Callable[[Iterable[dict[str, JsonValue]], Sequence[str]], Iterator[str]]] = {
    "tsv": _write_tsv,
    "csv": _write_csv,
    "jsonl": _write_json_lines,
}


def build_schema(kind: object, names: Mapping[str, object] = _NO_NAMES, *, is_strict: bool = False) -> Schema:
    """Return the schema of a type: structs are named definitions. `names` are those of types that a module imports for
    type checkers alone. Strict: no key beyond those that are known.
    """
    maker = _SchemaBuilder(names, is_strict=is_strict)
    return {**maker.schema_of(kind), "$defs": dict(sorted(maker.definitions.items()))}


class _SchemaBuilder:
    def __init__(self, names: Mapping[str, object], *, is_strict: bool) -> None:
        self.definitions: Schema = {}
        self._names = names
        self._is_strict = is_strict

    def schema_of(self, kind: object) -> Schema:
        found = self._schema_of_type(kind) if isinstance(kind, type) else None
        found = found or self._schema_of_generic(get_origin(kind), get_args(kind))
        if found is None:
            raise TypeError(f"no schema for {kind!r}")
        return found

    def _schema_of_type(self, kind: type) -> Schema | None:
        if kind in _JSON_TYPES:
            return {"type": _JSON_TYPES[kind]}
        if field_names(kind) is not None:
            return self._struct(kind)
        return {"enum": [as_data(one.value) for one in kind]} if issubclass(kind, Enum) else None

    def _schema_of_generic(self, origin: object, arguments: tuple[object, ...]) -> Schema | None:
        if origin is Literal:
            return {"enum": [as_data(value) for value in arguments]}
        if origin in (Union, types.UnionType):
            return self._union([one for one in arguments if not _is_absence(one)])
        if origin in (list, tuple, set, frozenset):
            return self._array(arguments)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.schema_of(arguments[1])}
        return None

    def _union(self, kinds: list[object]) -> Schema:
        found = [self.schema_of(one) for one in kinds]
        if len(found) == 1:
            return found[0]
        if all(set(one) == {"type"} for one in found):
            return {"type": [one["type"] for one in found]}
        return {"anyOf": list(found)}

    def _array(self, arguments: tuple[object, ...]) -> Schema:
        if (len(arguments) == 2 and arguments[1] is Ellipsis) or len(arguments) == 1:
            return {"type": "array", "items": self.schema_of(arguments[0])}
        items: list[JsonValue] = [self.schema_of(one) for one in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def _struct(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # a struct may hold itself
            self.definitions[name] = self._object(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, kind: type) -> Schema:
        fields = list(self._list_fields(kind))
        required: list[JsonValue] = [key for key, hint in fields if not any(map(_is_absence, get_args(hint)))]
        properties: Schema = {key: self.schema_of(hint) for key, hint in fields}
        schema: Schema = {"type": "object", "properties": properties, "required": required}
        if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}("):
            schema["description"] = " ".join(kind.__doc__.split())
        return {**schema, "additionalProperties": False} if self._is_strict else schema

    def _list_fields(self, kind: type) -> Iterator[tuple[str, object]]:
        """Yield key and type of each field of an object."""
        names = {**self._names, **vars(sys.modules[kind.__module__])}
        hints = get_type_hints(kind, names)
        for name, key in (field_names(kind) or {}).items():
            if isinstance(made := getattr(kind, name, None), property):
                hints[name] = get_type_hints(made.fget, names)["return"]
            if key == _IN_PLACE:
                yield from self._list_fields(hints[name])
            else:
                yield key, hints[name]


def _is_absence(kind: object) -> bool:
    return kind is Absence or (get_origin(kind) is Literal and Absence.MISSING in get_args(kind))
