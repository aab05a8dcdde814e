"""A value that a person gave, on the command line or from Python: something, or an error."""

from forgelore.errors import InvalidValue


def check_whole(name: str, value: object, most: int) -> int:
    """Return a number from 1 to `most`. Raises InvalidValue for any other, and for what is no whole number: from Python
    anything may come, and True is no 1.
    """
    hint = f"use 1 to {most:,}"
    number = check_number(name, value, hint)
    if not 1 <= number <= most:
        raise InvalidValue(f"a {name} of {value} is out of range", hint=hint)
    return number


def check_number(name: str, value: object, hint: str = "give a whole number") -> int:
    """Return a whole number, in whatever range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValue(f"a {name} of {str(value)[:60]!r} is no whole number", hint=hint)
    return value


def check_text(name: str, value: object) -> str:
    """Return a text, empty or not. Raises InvalidValue for anything else that comes from Python."""
    if not isinstance(value, str):
        raise InvalidValue(f"{name} is no text: {str(value)[:60]}", hint="give a text, or leave it out")
    return value


def check_filled(name: str, value: object) -> str:
    """Return the value. Raises InvalidValue for an empty one: it comes from an unset variable, and taking it for
    "nothing was said" would answer another question.
    """
    text = check_text(name, value)
    if not text.strip():
        raise InvalidValue(f"{name} is empty", hint="give it a value or leave it out; is a variable unset?")
    return text


def check_ref(value: object) -> str:
    """Return an item's ref as text; from Python its number will do. Raises InvalidValue for what is neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidValue(f"{str(value)[:60]} names no item", hint="give its number, or a text such as '#12'")
