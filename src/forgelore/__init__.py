"""forgelore: a project's issues, changes and conversations in one local file."""

__version__ = "0.1.0"
