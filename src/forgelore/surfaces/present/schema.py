"""JSON Schemas of what the commands print with `--json`, made from the structs that they are made from.

Published in docs/json/; the tests hold every output against them. Only what writes or checks them imports this.
"""

import datetime as dt
import types
from collections.abc import Mapping
from enum import Enum
from typing import Literal, Union, get_args, get_origin, get_type_hints

from forgelore.surfaces.present.data import Absence, JsonValue, as_data, field_names

Schema = dict[str, JsonValue]
# A time is text: 2026-03-01T12:00:00Z.
_PLAIN: dict[type, str] = {
    str: "string",
    dt.datetime: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def build_schema(kind: object, *, is_strict: bool = False) -> Schema:
    """Return the schema of a type: structs are named definitions. Strict: no key beyond those that are known."""
    maker = _Maker(is_strict=is_strict)
    return {**maker.schema_of(kind), "$defs": dict(sorted(maker.definitions.items()))}


class _Maker:
    def __init__(self, *, is_strict: bool) -> None:
        self.definitions: Schema = {}
        self._is_strict = is_strict

    def schema_of(self, kind: object) -> Schema:
        found = self._schema_of_type(kind) if isinstance(kind, type) else None
        found = found or self._schema_of_generic(get_origin(kind), get_args(kind))
        if found is None:
            raise TypeError(f"no schema for {kind!r}")
        return found

    def _schema_of_type(self, kind: type) -> Schema | None:
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
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
        hints = get_type_hints(kind)
        names = field_names(kind) or {}
        required: list[JsonValue] = [
            key for name, key in names.items() if not any(map(_is_absence, get_args(hints[name])))
        ]
        schema: Schema = {
            "type": "object",
            "properties": {key: self.schema_of(hints[name]) for name, key in names.items()},
            "required": required,
        }
        if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}("):
            schema["description"] = " ".join(kind.__doc__.split())
        return {**schema, "additionalProperties": False} if self._is_strict else schema


def _is_absence(kind: object) -> bool:
    return kind is Absence or (get_origin(kind) is Literal and Absence.MISSING in get_args(kind))
