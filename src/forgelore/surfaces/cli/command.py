"""One command: its parser, its context, its result for people and for programs.

The module of a noun (sync, items, people …) has a table `COMMANDS` with a `Command` for each of its verbs. A command
asks the facade, prints the answer for people through the context and returns it, or a struct of `surfaces/present` made
from it, for programs; with `--json` nothing but the envelope reaches standard output.

Output longer than a terminal goes through a pager, as git does it: FORGELORE_PAGER, then PAGER name the command; empty
or `cat` means none, and so does --no-pager.
"""

import argparse
import importlib
import io
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar, cast

from forgelore.api import check_filled
from forgelore.errors import ConfigError, LoreError, Refused, StoreError, UsageError
from forgelore.surfaces.cli.main import COLORS, COMMANDS, FORMATS, report, write_envelope
from forgelore.surfaces.present.text import Style, cells, printable, printable_line, width
from forgelore.viewer import EVERYTHING

if TYPE_CHECKING:
    from forgelore.api import History

T = TypeVar("T")
_TO_JQ, _TO_ROWS = "pipe the output of --json to jq", "use --format tsv, csv or jsonl"
# What people who know gh type, and what says it here.
_GH_OPTIONS = {
    "--jq": _TO_JQ,
    "-q": _TO_JQ,
    "--template": _TO_ROWS,
    "-t": _TO_ROWS,
    "--match": "write in:title, in:body or in:comments into the query",
    "--search": "write the qualifiers after the kind: forgelore list issues 'label:bug no:assignee'",
    "--merged": "write --state merged",
    "--no-assignee": "write --no assignee",
    "--no-label": "write --no label",
    "--no-milestone": "write --no milestone",
    "--owner": "name one project with --project",
    "--order": "write sort:created-asc into the query",
}
_PAGER = "less -FRX"
# What git sets where people have set nothing: leave when it fits, pass colours on, leave the screen as it is.
_PAGER_ENVIRON = {"LESS": "FRX", "LV": "-c"}
_NO_SUCH_PROGRAM = (126, 127)
_FIELD = r"(?:number|title|body|url|id|state|author|labels|assignees|milestone|comments|repository|\w+At|is[A-Z]\w+)"
_FIELDS = re.compile(rf"{_FIELD}|\w+(?:,\w+)+")  # that gh takes behind --json


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help in the terminal's width. Asking for it here keeps argparse from importing shutil and its compressors."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(width(), 110) - 2)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return `-L, --limit N`: the value once, as Python itself has it from 3.13 on."""
        if not action.option_strings:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(sorted(action.option_strings, key=len))} {value}".rstrip()


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are our errors, so that --json and exit codes hold for them too, and whose words may
    stand anywhere.

        search panic --label bug closure     words before, between and behind options are one list
        -L 3, -w                             a short option: alone, with its value behind it
        -n 3                                 the same; `echo -n foo` is text
        -lpthread, -rf, -a -l, -- -L 3       text, somebody may look for it
    """

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Return what was typed."""
        return self.parse_args(self._arrange(words))

    def error(self, message: str) -> NoReturn:
        message = message.replace("arguments: -- ", "arguments: ")  # that -- is ours, from _arrange
        raise UsageError(message, hint=self._find_hint(message) or f"run: {self.prog} --help")

    def _find_hint(self, message: str) -> str:
        if "'best-match'" in message:
            return "results are sorted by relevance unless you give --sort: leave it out"
        if short := re.match(r"argument --[\w-]+/(-\w)(?:/-\w)?: invalid int", message):
            return f"give a number; in a search, {short[1]} after -- is text"
        unknown = re.search(r"unrecognized arguments: (--?[\w-]+)", message)
        if not unknown:
            return ""
        if unknown[1] in _GH_OPTIONS:
            return _GH_OPTIONS[unknown[1]]
        import difflib

        flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
        meant = difflib.get_close_matches(unknown[1], flags, n=1)
        if meant:
            return f"did you mean {meant[0]}?"
        return f"to search for it: {self.prog} -- {unknown[1]}" if self.prog.endswith(" search") else ""

    def _arrange(self, words: Sequence[str]) -> list[str]:
        """Return options with their values, then everything else: argparse wants the words of a list side by side."""
        if any(action.nargs == argparse.REMAINDER for action in self._actions):
            return list(words)
        options: list[str] = []
        others: list[str] = []
        waiting = deque(words)
        while waiting:
            word = waiting.popleft()
            if word == "--":
                others += waiting
                break
            self._refuse_gh_options(word, waiting, others)
            if not self._is_option(word, waiting):
                others.append(word)
                continue
            options.append(word)
            action = self._option_string_actions.get(word)
            if action and action.nargs != 0 and waiting and not self._is_option(waiting[0], ()):
                options.append(waiting.popleft())
        return [*options, "--", *others] if others else options

    def _is_option(self, word: str, after: Sequence[str]) -> bool:
        action = self._option_string_actions.get(word.partition("=")[0])
        if word.startswith("--"):
            return action is not None or " " not in word  # unknown options are reported; a sentence is text
        if action is None or "=" in word:
            return False
        if word == "-n":
            return len(after) > 0 and after[0].isdecimal()
        return action.nargs == 0 or (len(after) > 0 and not after[0].startswith("-"))

    def _refuse_gh_options(self, word: str, after: Sequence[str], others: Sequence[str]) -> None:
        """Refuse options of gh that would be text here: nobody wants to search for them."""
        if not after:
            return
        if word in ("-q", "-t") and "-R" in self._option_string_actions and not after[0].startswith("-"):
            self.error(f"unrecognized arguments: {word}")
        if word in FORMATS and others and _FIELDS.fullmatch(after[0]):
            raise UsageError(f"{word} takes no fields: {after[0]}", hint=f"{word} prints all fields; pick them with jq")

    def _parse_optional(self, arg_string: str) -> tuple[argparse.Action | None, str, str | None] | None:
        """Read -DWITH_SSL as text that somebody looks for: one dash is an option's only where all of it is one."""
        if not arg_string.startswith("--") and arg_string not in self._option_string_actions:
            return None
        return super()._parse_optional(arg_string)

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        """Refuse an empty value, of every option and argument of every command. Words of a line that is still being
        typed (completion) may be empty.
        """
        if action.nargs != argparse.REMAINDER:
            check_filled(_name_of(action), arg_string)
        return super()._get_value(action, arg_string)

    def actions(self) -> list[argparse.Action]:
        """Return every option and argument, for completion."""
        return list(self._actions)

    def may_repeat(self, action: argparse.Action) -> bool:
        return isinstance(action, self._registry_get("action", "append")) or action.nargs in ("*", "+")


def _name_of(action: argparse.Action) -> str:
    return action.option_strings[0] if action.option_strings else str(action.metavar or action.dest)


class Context:
    """What a command gets: the history (made on first use), where to print, how."""

    def __init__(
        self, *, db: str | None, started: float, output: str | None = None, cwd: str | None = None,
        color: str | None = None, is_paged: bool = False,
    ) -> None:  # fmt: skip
        self.output = output  # one of the formats
        self.is_data = output is not None  # programs read, and nothing but the envelope is printed
        self.started = started
        self.warnings: list[str] = []
        self.out = io.StringIO() if self.is_data else PagedOutput() if is_paged else sys.stdout
        self.style = Style(self.out, color)
        self.error_style = Style(sys.stderr, color)
        self.color = color
        self.failure: LoreError | None = None
        self._db, self._cwd = db, cwd
        self._history: History | None = None

    @property
    def history(self) -> "History":
        """The facade, on the database that the options or the settings name. The file is opened when it is needed."""
        if self._history is None:
            from forgelore.api import make_history

            self._history = make_history(os.environ, cwd=self._cwd or os.getcwd(), db=self._db, viewer=EVERYTHING)
            for warning in self._history.warnings:
                self.warn(warning)
        return self._history

    def another_history(self) -> "History":
        """Return one more on the same database, for work in another thread. Who asks for it closes it."""
        from forgelore.api import make_history

        return make_history(os.environ, cwd=self._cwd or os.getcwd(), db=self._db, viewer=EVERYTHING)

    def choose_db(self, path: str) -> None:
        """Name the database after all, before anything was asked of it."""
        self._db = path

    def need_file(self, what: str) -> None:
        """Refuse what has been tried with files alone."""
        if self.history.path.startswith(("postgresql://", "postgres://")):
            raise Refused(f"{what} is not there on PostgreSQL yet", hint="docs/postgres.md lists what is")

    def close(self) -> None:
        if self._history is not None:
            self._history.close()

    def print(self, *lines: str) -> None:
        for line in lines:
            print(printable_line(line), file=self.out)

    def print_prompt(self, text: str) -> None:
        """Print a question; what is typed stands behind it."""
        print(text, end="", file=self.out, flush=True)

    def print_rows(
        self, chosen: str, rows: Iterable[object], *, are_hits: bool = False, columns: Sequence[str] = ()
    ) -> None:
        """Print rows for other programs, in one of the formats of `surfaces/present/data`."""
        from forgelore.surfaces.present.data import COLUMNS, HIT_COLUMNS, write_rows

        if self.is_data:
            raise UsageError("--format and --json cannot be combined", hint="use one of them")
        for line in write_rows(chosen, rows, columns or (HIT_COLUMNS if are_hits else COLUMNS)):
            print(line, file=self.out)

    def for_programs(self, present: Callable[[], T]) -> T:
        """Return an answer as data where a program reads it; None where people have read it already."""
        return present() if self.is_data else cast("T", None)

    def warn(self, *messages: str) -> None:
        """A warning is part of the result: on standard error for people, in the envelope for programs."""
        self.warnings += messages
        for message in () if self.is_data else messages:
            print(printable_line(f"{self.error_style.yellow('!')} {message}"), file=sys.stderr)

    def remark(self, *lines: str) -> None:
        """Print a remark that is not part of the rows people pipe elsewhere, or of the page they open."""
        for line in () if self.is_data else lines:
            print(printable_line(self.error_style.dim(line)), file=sys.stderr)

    def open_page(self, url: str) -> None:
        """Open a page whose address was checked, in the browser (BROWSER names another one).

        Raises ConfigError where nothing opens it.
        """
        import webbrowser

        if not webbrowser.open(url):
            raise ConfigError("could not start a browser", hint=f"set BROWSER, or open it yourself: {url}")
        if not self.is_data:
            print(printable(f"opened {url}"), file=sys.stderr)

    def fail(self, error: LoreError) -> None:
        """Let the command print what it has; at its end it fails with this error."""
        self.failure = error

    def elapsed_ms(self) -> int:
        """Return how long the command has run."""
        return int((time.monotonic() - self.started) * 1000)

    @property
    def is_fitted(self) -> bool:
        """Whether lines are made for a width: that of a terminal, or of COLUMNS."""
        return bool(os.environ.get("COLUMNS")) or self.out.isatty()

    @property
    def is_interactive(self) -> bool:
        return not self.is_data and sys.stdin.isatty() and sys.stderr.isatty()


class Command(NamedTuple):
    """A command: how its arguments are added, what it runs, and the examples of its help.

    The type that `run` returns is the schema of `--json`.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Context, argparse.Namespace], object]
    examples: tuple[str, ...]


def add_project_option(parser: argparse.ArgumentParser) -> None:
    """Add the project of a command that is about one, and has another argument than its name."""
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or the only one")


def write_file(path: str, text: str, *, hint: str) -> None:
    """Write a file that somebody asked for. Raises StoreError, with what to do, where it cannot be written."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}", hint=hint) from error


def load_command(name: str) -> Command:
    """Return a command from the module that `COMMANDS` names for it."""
    module = importlib.import_module(f"forgelore.surfaces.cli.{COMMANDS[name][2]}")
    commands: dict[str, Command] = module.COMMANDS
    return commands[name]


def build_parser(name: str) -> tuple[Parser, Command]:
    command = load_command(name)
    parser = Parser(
        prog=f"forgelore {name}", description=_sentence(COMMANDS[name][1]),
        formatter_class=Formatter,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in command.examples), allow_abbrev=False,
    )  # fmt: skip
    command.add_arguments(parser)
    parser.add_argument("--db", metavar="PATH", help="the database file (or FORGELORE_DB)")
    parser.add_argument("--color", choices=COLORS, help="colours: on a terminal (auto, the default), always, never")
    parser.add_argument("--no-pager", action="store_true", help="do not use a pager (or FORGELORE_PAGER=cat)")
    for option, (what, _) in FORMATS.items():
        parser.add_argument(option, action="store_const", const=option, dest="format", help=what)
    return parser, command


def run_command(name: str, arguments: list[str], started: float) -> int:
    parser, command = build_parser(name)
    parsed = parser.read(arguments)
    is_read = COMMANDS[name][0] in ("find", "read")
    is_paged_here = is_read and not parsed.no_pager and not getattr(parsed, "rows", None) and is_paged()
    context = Context(db=parsed.db, output=parsed.format, started=started, color=parsed.color, is_paged=is_paged_here)
    try:
        answer = command.run(context, parsed)
        if is_read or name == "export":
            _warn_about_replays(context)
    finally:
        context.close()
        if isinstance(context.out, PagedOutput):
            context.out.show()
    sys.stdout.flush()
    if context.output:
        _print_envelope(context, answer)
    elif context.failure:
        report(context.failure, None, context.color)
    sys.stdout.flush()
    return context.failure.exit_code if context.failure else 0


def _warn_about_replays(context: Context) -> None:
    """Warn about rows that an earlier version misread and that still wait to be corrected."""
    waiting = context.history.count_replays()
    if waiting:
        context.warn(f"{waiting:,} items need to be read again after an upgrade; run: forgelore replay")


def _print_envelope(context: Context, answer: object) -> None:
    from forgelore.surfaces.present.data import present_answer

    elapsed = context.elapsed_ms()
    envelope = present_answer(answer, warnings=context.warnings, elapsed_ms=elapsed, failure=context.failure)
    write_envelope(context.output or "", envelope)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


class PagedOutput(io.StringIO):
    """What a command prints, held back until it is known how long it is."""

    def isatty(self) -> bool:
        return True

    def show(self) -> None:
        """Print it all: through the pager where it is longer than the screen."""
        text, command = self.getvalue(), find_pager()
        if not text:
            return
        if command is None or _fits_screen(text) or not _run_pager(command, text):
            sys.stdout.write(text)
            sys.stdout.flush()


def is_paged() -> bool:
    """Whether somebody looks at a screen that can be paged. Without TERM, `less` warns and waits for a key."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def find_pager() -> str | None:
    """Return the command of the pager; None where none is wanted."""
    named = (os.environ.get(name) for name in ("FORGELORE_PAGER", "PAGER"))
    command = next((one for one in named if one is not None), None)
    if command is None:
        from shutil import which

        return _PAGER if which("less") else None
    return None if command.strip() in ("", "cat") else command


def _fits_screen(text: str) -> bool:
    size = os.get_terminal_size(sys.stdout.fileno())
    columns = max(1, size.columns)
    return sum(max(1, -(-cells(line) // columns)) for line in text.splitlines()) < size.lines


def _run_pager(command: str, text: str) -> bool:
    """Return False where there is no such program, and nothing has been shown."""
    import subprocess

    environ = {**_PAGER_ENVIRON, **os.environ}
    # A pager is a line of shell, in git as here; it is the user's own, never a clone's.
    pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ)  # noqa: S602
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's to understand
    try:
        pager.communicate(text.encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode not in _NO_SUCH_PROGRAM
