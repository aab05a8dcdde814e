"""A value that a person gave, on the command line or from Python: something, or an error."""

from forgelore.errors import InvalidValue


def check_filled(name: str, value: str) -> str:
    """Return the value. Raises InvalidValue for an empty one: it comes from an unset variable, and taking it for
    "nothing was said" would answer another question.
    """
    if not value.strip():
        raise InvalidValue(f"{name} is empty", hint="give it a value or leave it out; is a variable unset?")
    return value
