"""A value that a person gave, on the command line or from Python: something, or an error."""

from forgelore.errors import InvalidValue


def check_whole(name: str, value: object, most: int) -> int:
    """Return a number from 1 to `most`. Raises InvalidValue for any other, and for what is no whole number: from Python
    anything may come, and True is no 1.
    """
    hint = f"use 1 to {most:,}"
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValue(f"a {name} of {str(value)[:60]!r} is no whole number", hint=hint)
    if not 1 <= value <= most:
        raise InvalidValue(f"a {name} of {value} is out of range", hint=hint)
    return value


def check_filled(name: str, value: str) -> str:
    """Return the value. Raises InvalidValue for an empty one: it comes from an unset variable, and taking it for
    "nothing was said" would answer another question.
    """
    if not value.strip():
        raise InvalidValue(f"{name} is empty", hint="give it a value or leave it out; is a variable unset?")
    return value
