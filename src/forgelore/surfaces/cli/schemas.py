"""JSON Schemas of the commands: the answer of each, which is what its `run` returns, within the envelope."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import get_type_hints

import forgelore.api as public
from forgelore.surfaces import present
from forgelore.surfaces.cli.command import load_command
from forgelore.surfaces.present.data import ErrorData, Meta, Schema, build_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def answer_type(command: str) -> object:
    """Return the type of a command's answer."""
    hints = get_type_hints(load_command(command).run, localns=known_types())
    answer: object = hints["return"]
    return answer


@cache
def known_types() -> dict[str, object]:
    """Return the public names and the structs of `surfaces/present`, for modules that import them late."""
    modules = [import_module(f"{present.__name__}.{module.name}") for module in iter_modules(present.__path__)]
    found = {name: getattr(public, name) for name in public.__all__}
    return found | {
        name: value for module in modules for name, value in vars(module).items() if isinstance(value, type)
    }


def schema_file(command: str) -> str:
    """Return the name of the file in docs/json that holds a command's schema."""
    return f"{command.replace(' ', '-')}.schema.json"


def command_schema(command: str, *, is_strict: bool = False) -> Schema:
    """Return the schema of what a command prints with `--json`. Strict: no key beyond those that are known; published
    is the lenient one, since a later version may add keys.
    """
    kinds = (answer_type(command), ErrorData, Meta)
    answer, error, meta = (build_schema(kind, known_types(), is_strict=is_strict) for kind in kinds)
    definitions = {name: one for part in (answer, error, meta) for name, one in _definitions(part).items()}
    answered: Schema = {"data": answer, "meta": meta, "warnings": {"type": "array", "items": {"type": "string"}}}
    return {
        "$schema": DIALECT,
        "title": f"forgelore {command} --json",
        "anyOf": [
            _envelope(answered, ok=True, required=["data", "meta", "warnings"], is_strict=is_strict),
            _envelope({**answered, "error": error}, ok=False, required=["error"], is_strict=is_strict),
        ],
        "$defs": dict(sorted(definitions.items())),
    }


def _definitions(part: Schema) -> Schema:
    found = part.pop("$defs")
    assert isinstance(found, dict)
    return found


def _envelope(properties: Schema, *, ok: bool, required: list[str], is_strict: bool) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": {"ok": {"const": ok}, **properties},
        "required": ["ok", *required],
    }
    return {**schema, "additionalProperties": False} if is_strict else schema
