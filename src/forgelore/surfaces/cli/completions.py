"""Completion candidates: which options a command has, and what may stand after them and in its arguments.

Read from the parsers, so a new option or choice is completed as soon as it exists. What a parser does not know (a
state in `search` is checked later, by the flow) stands in `_WORDS`; a test gives each of these words to the program.
"""

import argparse
from typing import Literal, NamedTuple

from forgelore.api import COUNTABLE, EMBEDDERS, KINDS
from forgelore.surfaces.cli.command import build_parser
from forgelore.surfaces.cli.formats import FORMATS
from forgelore.surfaces.cli.main import COLORS

WordSource = Literal["words", "files", "projects", "text"]

_LISTS = tuple(f"{kind}s" for kind in KINDS)
# "command argument", or "argument" for every command that has it.
_WORDS: dict[str, tuple[str, ...]] = {
    "list kind": (*_LISTS, "items"),
    "count kind": COUNTABLE,
    "ingest --type": _LISTS,
    "search --type": (*KINDS, "thread", "code", "commit", "all"),
    "--type": (*KINDS, "thread"),
    "--state": ("open", "closed", "merged", "all"),
    "--embedder": tuple(name for name in EMBEDDERS if name != "none"),
}
_FILES = ("FILE", "PATH")


class WordPlace(NamedTuple):
    """An option, or a positional argument (`flags` is empty), and what may stand there."""

    name: str
    flags: tuple[str, ...]
    help: str
    takes_value: bool = True
    source: WordSource = "text"
    words: tuple[str, ...] = ()
    is_repeated: bool = False

    @property
    def long_flags(self) -> list[str]:
        return [flag for flag in self.flags if flag.startswith("--")]


# What may stand before the command.
BEFORE_COMMAND = (
    WordPlace("PATH", ("--db",), "the database file (or FORGELORE_DB)", source="files"),
    *(WordPlace(option[2:], (option,), what, takes_value=False) for option, (what, _) in FORMATS.items()),
    WordPlace("WHEN", ("--color",), "colours: auto, always or never", source="words", words=COLORS),
    WordPlace("no-pager", ("--no-pager",), "print long output as it is", takes_value=False),
    WordPlace("help", ("-h", "--help"), "help, with examples", takes_value=False),
    WordPlace("version", ("--version",), "the version", takes_value=False),
)


def load_places(command: str) -> list[WordPlace]:
    """Return the options and arguments of a command, in the order of its parser."""
    parser = build_parser(command)[0]
    return [
        _place(command, action, is_repeated=parser.may_repeat(action))
        for action in parser.actions()
        if action.help != argparse.SUPPRESS
    ]


def _place(command: str, action: argparse.Action, *, is_repeated: bool) -> WordPlace:
    flags = tuple(action.option_strings)
    name = next((flag for flag in flags if flag.startswith("--")), action.dest)
    shown = str(action.metavar or action.dest)
    if action.nargs == 0:
        return WordPlace(shown, flags, action.help or "", takes_value=False)
    words = tuple(map(str, action.choices or ())) or _WORDS.get(f"{command} {name}") or _WORDS.get(name) or ()
    source: WordSource = "words" if words else _source(action, name)
    return WordPlace(shown, flags, action.help or "", True, source, words, is_repeated)


def _source(action: argparse.Action, name: str) -> WordSource:
    if name == "--project" or action.metavar == "PROJECT":
        return "projects"
    return "files" if action.metavar in _FILES else "text"
