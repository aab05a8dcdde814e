"""docs/python.md: the facade, its methods and every public name, read from the code."""

import functools
import inspect
import textwrap
import types
import typing

import forgelore
from forgelore import api

INTRO = """```python
from datetime import date

import forgelore

with forgelore.open("history.db") as history:
    for hit in history.search("deleted files come back", type="issue", state="open").hits:
        print(hit.ref, hit.title, hit.created_at.year, hit.url)
    for item in history.items("label:bug no:milestone", after=date(2026, 1, 1)):
        print(item.ref, item.title)
    print(history.get("#41").body)
```

Everything that a command does is a method of what `forgelore.open` returns, and gives the same answer. Nothing is
printed; what a command would warn of is in `warnings` of the answer. Errors are those of `forgelore.errors`
([errors.md](errors.md)). Filters are the words of the command line, those of [`FilterWords`](#filterwords); a date
may be a `date` or a `datetime`. Times in answers are aware datetimes in UTC. Without `project`, all projects of the
file are meant. Where it holds several, `ref` of hits and of listed items names the project (`acme/web#12`,
`acme/web v1.0`), so that `history.get(hit.ref)` and `history.similar(hit.ref)` mean that item.

Reading and asking are methods of the history itself; the rest belongs to its nouns: `history.sync.run("acme/web")`,
`history.dedupe.plan()`, `history.people.who("ana")`. Older names (`history.run_dedupe()`, `is_dry=`) work for one more
release and warn with what to write instead.

What the methods take and return is in `forgelore.api`. A name that is not on this page may change in any version.

"""


def build_page(note: str) -> str:
    parts = ["# forgelore from Python\n\n", note, INTRO, "## forgelore\n\n", _entry("open", forgelore.open)]
    parts += ["## History\n\n", _paragraph(api.History), "\n\n"]
    nouns = list_nouns()
    parts += [_entry(name, method) for name, method in _methods(api.History)]
    for noun, thing in nouns.items():
        parts += [f"## history.{noun}\n\n", _paragraph(thing), "\n\n"]
        parts += [_entry(f"{noun}.{name}", method) for name, method in _methods(thing)]
    parts.append("## What is taken and returned\n\n")
    for name in sorted(api.__all__, key=str.lower):
        thing = getattr(api, name)
        if thing not in (api.History, *nouns.values()):
            parts.append(_public(name, thing))
    return "".join(parts).rstrip() + "\n"


def list_nouns() -> dict[str, type]:
    """Return what a history is made of, by the name that it has there."""
    made = {name: one for name, one in vars(api.History).items() if isinstance(one, functools.cached_property)}
    return {name: getattr(api, one.func.__annotations__["return"]) for name, one in made.items()}


def _methods(part: type) -> list[tuple[str, object]]:
    found = vars(part).items()
    return [(name, one) for name, one in found if isinstance(one, types.FunctionType | property) and name[0] != "_"]


def _entry(name: str, thing: object) -> str:
    """A function or method: how it is called, and its docstring."""
    if isinstance(thing, property):
        return f"### `{name}`\n\n{_paragraph(thing)}\n\n"
    shown = inspect.signature(thing)  # type: ignore[arg-type]
    parameters = [one for one in shown.parameters.values() if one.name != "self"]
    called = ", ".join(_parameter(one) for one in parameters)
    returned = _clean(shown.return_annotation)
    text = f"{name}({called})" + (f" -> {returned}" if returned != "None" else "")
    wrapped = textwrap.fill(text, 100, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return f"### `{name}`\n\n```python\n{wrapped}\n```\n\n{_paragraph(thing)}\n\n"


def _parameter(one: inspect.Parameter) -> str:
    if one.kind is inspect.Parameter.VAR_KEYWORD:
        (options,) = typing.get_args(one.annotation)
        return f"**{one.name}: {options.__name__}"
    star = "*" if one.kind is inspect.Parameter.VAR_POSITIONAL else ""
    default = "" if one.default is inspect.Parameter.empty else f" = {one.default!r}"
    return f"{star}{one.name}: {_clean(one.annotation)}{default}"


def _public(name: str, thing: object) -> str:
    """A struct with its fields, a function, or a set of words."""
    if inspect.isfunction(thing):
        return _entry(name, thing)
    chosen = getattr(thing, "json_fields", None)
    fields = chosen() if chosen else getattr(thing, "_fields", None) or getattr(thing, "__struct_fields__", None)
    if fields is None and typing.is_typeddict(thing):
        fields = tuple(thing.__annotations__)
    text = _paragraph(thing) if isinstance(thing, type) else _constant(thing)
    listed = f"Fields: {', '.join(f'`{field}`' for field in fields)}." if fields else ""
    return f"### `{name}`\n\n" + "\n\n".join(part for part in (text, _wrapped(listed)) if part) + "\n\n"


def _constant(thing: object) -> str:
    """A value, or the words that may be given for something."""
    if isinstance(thing, tuple):
        return _wrapped(", ".join(f"`{one}`" for one in thing) + ".")
    return f"`{thing!r}`" if isinstance(thing, str | int) else f"`{_clean(thing)}`"


def _paragraph(thing: object) -> str:
    text = inspect.cleandoc(thing.__doc__ or "") if isinstance(thing.__doc__, str) else ""
    if isinstance(thing, type) and text.startswith(f"{thing.__name__}("):
        return ""  # what Python says of a named tuple that says nothing itself
    return "\n\n".join(_wrapped(part) for part in text.split("\n\n"))


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def _clean(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.strip("'\"").replace("typing.", "").replace("collections.abc.", "")
