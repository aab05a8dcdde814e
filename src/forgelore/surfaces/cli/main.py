"""The command line: find the command by name, load only its module, print its result or its error.

Nothing heavy is imported here, typing's classes included: `forgelore --help` must stay near the price of Python itself.

Standard output and standard error: what cannot be written to the one is our error, to the other is dropped.

    > /dev/full, a full disk, >&-     OutputError, one line on standard error, exit code 8
    | head -1                         BrokenPipeError: the reader has what it wanted; nothing is printed
    2> /dev/full, 2>&-, 2>&1 | head   a command whose remarks nobody can read goes on with its work

Python itself confuses these: without standard output it prints nothing and calls that success, without
standard error it prints errors into the result, and a flush that fails at the very end is a traceback.
"""

import contextlib
import errno
import io
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, cast

from forgelore.errors import LoreError, OutputError, Stopped, UsageError
from forgelore.version import describe_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forgelore.surfaces.present.data import JsonValue

# name -> (group, what it does, the module of this folder that has it, loaded when the command is used). A name of two
# words begins with that of its family.
COMMANDS = {
    "init": ("set up", "choose projects and a database, write forgelore.toml", "setup"),
    "doctor": ("set up", "check settings, tokens, forges and the database", "setup"),
    "auth-test": ("set up", "show who the tokens belong to", "setup"),
    "demo": ("set up", "take a tour of a built-in example project", "setup"),
    "completion": ("set up", "print a completion script for your shell", "setup"),
    "sync": ("fetch", "bring projects up to date", "sync"),
    "ingest": ("fetch", "fetch one kind of item only", "sync"),
    "sync-status": ("fetch", "last runs, positions and pending work", "sync"),
    "import": ("fetch", "read a tracker from a JSON-lines file", "archive"),
    "export": ("fetch", "write a project as JSON lines", "archive"),
    "open": ("fetch", "fetch a ready-made index to search: a bot's, a URL or a file", "archive"),
    "generate-docs": ("index", "build the documents that are searched", "index"),
    "embed": ("index", "compute the vectors of documents", "index"),
    "index-code": ("index", "make files and commits of a clone searchable", "index"),
    "replay": ("index", "read stored answers of the forges again, without any request", "sync"),
    "stats": ("index", "what is in the index, and whether it is sound", "index"),
    "calibrate": ("index", "learn from known duplicates how sure a match is", "evaluate"),
    "search": ("find", "find by words and by meaning", "search"),
    "ask": ("find", "answer a question, with citations that were looked up", "ask"),
    "similar": ("find", "what an item resembles, and why", "search"),
    "evaluate": ("find", "measure search on queries with known answers", "evaluate"),
    "triage": ("tidy", "say what an item repeats; inside CI, comment on new ones", "triage"),
    "dedupe intent": ("dedupe", "write a card for every item: what it is about", "dedupe_steps"),
    "dedupe refresh": ("dedupe", "fetch the new items of a project you already have", "dedupe_steps"),
    "dedupe run": ("dedupe", "candidates, judge, clusters and a plan, in one go", "dedupe_steps"),
    "dedupe review": ("dedupe", "decide pair by pair what is a duplicate", "dedupe_review"),
    "dedupe candidates": ("dedupe", "list what every open item could repeat", "dedupe_steps"),
    "dedupe judge": ("dedupe", "decide which of them it repeats", "dedupe_steps"),
    "dedupe detect-new": ("dedupe", "one new item: duplicate, maybe_duplicate or not_duplicate", "dedupe_steps"),
    "dedupe canonicalize": (
        "dedupe",
        "build clusters from accepted decisions, and choose which item each keeps",
        "dedupe_closing",
    ),
    "dedupe accept": ("dedupe", "say that an item repeats another", "dedupe_people"),
    "dedupe reject": ("dedupe", "say that two items are not duplicates", "dedupe_people"),
    "dedupe split": ("dedupe", "take an item out of its cluster", "dedupe_people"),
    "dedupe set-canonical": ("dedupe", "choose which item a cluster keeps", "dedupe_people"),
    "dedupe maintainers": ("dedupe", "whose items are never closed", "dedupe_people"),
    "dedupe plan": ("dedupe", "list what would be closed, and why the rest stays open", "dedupe_closing"),
    "dedupe apply": ("dedupe", "close what a plan lists, after checking each item", "dedupe_closing"),
    "dedupe link": ("dedupe", "post what people called related as links", "dedupe_closing"),
    "dedupe rollback": ("dedupe", "take back what a plan closed", "dedupe_closing"),
    "dedupe audit": ("dedupe", "measure how often a judge is right", "dedupe_audit"),
    "dedupe report": ("dedupe", "show an audit, and what stricter gates would have changed", "dedupe_audit"),
    "dedupe runs": ("dedupe", "what every step did, newest first", "dedupe_closing"),
    "changes overlap": ("changes", "changes that do the same as others, and why", "changes"),
    "list": ("read", "list issues, changes, discussions or releases", "items"),
    "count": ("read", "count items, threads or notes", "items"),
    "show": ("read", "show an item with its conversation", "items"),
    "history": ("read", "what happened to a file, decisions first", "history"),
    "who": ("read", "what a person did and knows, or who knows a file", "people"),
    "report": ("read", "one month of a project: filed, closed, how long people waited", "report"),
    "me": ("read", "what is assigned to you, and what waits for you", "people"),
    "waiting": ("read", "open items that wait for the team, the longest wait first", "people"),
    "serve": ("serve", "show the history in a browser", "serve"),
    "site": ("serve", "write search, duplicates and report as static pages", "site"),
    "mcp": ("serve", "let agents search and read, over MCP", "mcp"),
}


def _write_json(envelope: "JsonValue") -> str:
    import json

    return json.dumps(envelope, ensure_ascii=False)


# Output formats for programs: option -> (what it gives, the envelope as text). Each is an option of every command.
FORMATS: "dict[str, tuple[str, Callable[[JsonValue], str]]]" = {
    "--json": ("one JSON object on standard output", _write_json),
}
COLORS = ("auto", "always", "never")
_VALUED = ("--db", "--color")  # options before the command that are followed by a value
# What `sync` does by itself, a step at a time: one line in the help for all of them.
STEPS_OF_SYNC = ("ingest", "generate-docs", "embed", "replay")
# Commands that belong to one job: one line in the help, and a help of their own.
FAMILIES = {
    "dedupe": ("tidy", "find, judge, cluster and close duplicates in bulk"),
    "changes": ("tidy", "pull and merge requests that do the same as others"),
}
# What other tools of this kind call the same.
ALIASES = {
    "dedupe analyze-intent": "dedupe intent",
    "dedupe plan-close": "dedupe plan",
    "dedupe apply-close": "dedupe apply",
    "dedupe judge-audit": "dedupe audit",
    "dedupe report-audit": "dedupe report",
}
_HEAD = "forgelore turns the history of a GitHub, GitLab or Forgejo project into one local file."
_OPTIONS = """options for every command:
  --db PATH      the database file (or FORGELORE_DB)
{formats}
  --color WHEN   auto (colours on a terminal, the default), always or never
  --no-pager     do not use a pager (or FORGELORE_PAGER=cat)
  -h, --help     help, with examples
  --version      the version"""
_EXAMPLES = """examples:
  forgelore demo                       a tour in under a minute, no network
  forgelore sync acme/web              fetch a project
  forgelore list issues --state open   look at it
  forgelore show '#12'                 read a conversation"""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code. The outermost line: nothing gets past it as a traceback."""
    # One thread multiplies a matrix and a vector as fast as two, and does not keep the other one spinning.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    started = time.monotonic()
    prepare_streams()
    code = 0
    try:
        code = _run_and_report(sys.argv[1:] if argv is None else argv, started)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
    except OutputError as error:
        drop_output()
        code = report(error, None, None)
    if code == Stopped.exit_code and argv is None:  # leave without waiting for threads that hang in a slow answer
        sys.stderr.flush()
        os._exit(code)
    return code


def _run_and_report(arguments: list[str], started: float) -> int:
    """Return the exit code; errors have been reported. Raises only when the output cannot be written."""
    chosen, color = find_format(arguments), _find_color(arguments)
    try:
        code = _run(arguments, started)
        sys.stdout.flush()
    except (BrokenPipeError, OutputError):
        raise
    except SystemExit as ended:  # argparse has printed its help
        return int(ended.code or 0)
    except LoreError as error:
        return report(error, chosen, color)
    except (KeyboardInterrupt, Stopped):
        return report(Stopped(), chosen, color)
    except Exception as error:
        if os.environ.get("FORGELORE_DEBUG"):
            raise
        unexpected = LoreError(
            f"something unexpected went wrong: {type(error).__name__}: {error}",
            hint="this is a bug in forgelore, please report it; FORGELORE_DEBUG=1 shows where it happened",
        )
        return report(unexpected, chosen, color)
    return code


def _run(arguments: list[str], started: float) -> int:
    name, before, after = _split(arguments)
    if name is None and "--version" in before:
        print(f"forgelore {describe_version()}")
        return 0
    if name is None or name in FAMILIES:
        unknown = [word for word in before if word not in ("-h", "--help", *FORMATS)]
        if unknown:
            raise UsageError(f"unknown option {unknown[0]}", hint=f"run: {' '.join(['forgelore', name or '--help'])}")
        print(help_text() if name is None else family_help(name))
        return 0
    if name not in COMMANDS:
        family = name.partition(" ")[0]
        hint = f"run: forgelore {family if family in FAMILIES else '--help'}"
        raise UsageError(f"unknown command {name!r}{_suggest(name)}", hint=hint)
    from forgelore.surfaces.cli.command import run_command

    return run_command(name, before + after, started)


def _split(arguments: list[str]) -> tuple[str | None, list[str], list[str]]:
    """Return (command, options before it, everything after it). A family's name alone is returned as it is."""
    before: list[str] = []
    words: list[str] = []
    rest = list(arguments)
    while rest and (not words or words in [[family] for family in FAMILIES]):
        word = rest.pop(0)
        if not word.startswith("-"):
            words.append(word)
            continue
        before.append(word)
        if word in _VALUED and rest:
            before.append(rest.pop(0))
    name = " ".join(words)
    return ALIASES.get(name, name) or None, before, rest


def help_text() -> str:
    formats = "\n".join(f"  {option:<14} {what}" for option, (what, _) in FORMATS.items())
    usage = " ".join(f"[{option}]" for option in ("--db PATH", *FORMATS))
    lines = [_HEAD, "", f"usage: forgelore {usage} COMMAND …", ""]
    shown = first_words()
    for group in dict.fromkeys(group for group, _ in shown.values()):
        lines.append(f"{group}:")
        lines += [f"  {name:<14} {summary}" for name, (its_group, summary) in shown.items() if its_group == group]
    lines += ["", f"steps of sync, one by one: {', '.join(STEPS_OF_SYNC)}"]
    lines += ["", _OPTIONS.format(formats=formats), "", _EXAMPLES]
    return "\n".join(lines)


def first_words() -> dict[str, tuple[str, str]]:
    """Return what people type first, commands and families, each with (group, what it does)."""
    shown = {name: one for name, one in COMMANDS.items() if " " not in name and name not in STEPS_OF_SYNC}
    plain = {name: (group, does) for name, (group, does, _) in shown.items()}
    at = next(index for index, (group, _) in enumerate(plain.values()) if group == "read")
    entries = list(plain.items())
    return dict([*entries[:at], *FAMILIES.items(), *entries[at:]])


def family_help(family: str) -> str:
    """Return the help of a family: its commands, in the order in which they are used."""
    does = FAMILIES[family][1]
    lines = [f"{does[0].upper()}{does[1:]}.", "", f"usage: forgelore {family} COMMAND …", "", "commands:"]
    lines += [f"  {name:<15} {summary}" for name, summary in family_commands(family).items()]
    return "\n".join([*lines, "", f"forgelore {family} COMMAND --help shows more."])


def family_commands(family: str) -> dict[str, str]:
    """Return the second words of a family's commands, each with what it does."""
    return {name.partition(" ")[2]: does for name, (_, does, _) in COMMANDS.items() if name.startswith(f"{family} ")}


def _suggest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, [*COMMANDS, *FAMILIES], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _find_color(words: list[str]) -> str | None:
    """Return what --color says, wherever it stands: errors may be reported before the words are parsed."""
    said = [word.removeprefix("--color=") for word in words if word.startswith("--color=")]
    said += [after for word, after in itertools.pairwise(words) if word == "--color"]
    return said[-1] if said else None


def find_format(words: Sequence[str]) -> str | None:
    """Return the format that is asked for, of several the last; None: people read."""
    return next((word for word in reversed(words) if word in FORMATS), None)


def write_envelope(chosen: str, envelope: "JsonValue") -> None:
    """Print an envelope in a format."""
    print(FORMATS[chosen][1](envelope))


def report(error: LoreError | Stopped, chosen: str | None, color: str | None) -> int:
    """Report an error to a person, or to a program in the format it chose. Return its exit code."""
    if chosen:
        from forgelore.surfaces.present.data import present_failure

        write_envelope(chosen, present_failure(error))
        return error.exit_code
    from forgelore.surfaces.present.text import Style, printable

    style = Style(sys.stderr, color)
    if isinstance(error, Stopped):
        print(f"{style.yellow('stopped')}: {printable(error.hint)}", file=sys.stderr)
        return error.exit_code
    print(f"{style.red('error')}: {printable(error.message)}", file=sys.stderr)
    if error.hint:
        print(f"  {style.dim('→')} {printable(error.hint)}", file=sys.stderr)
    return error.exit_code


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Turn an output that takes no more into our error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
        raise OutputError(f"standard output cannot be written: {why}") from error


class Output(io.TextIOWrapper):
    def write(self, text: str) -> int:
        with output_errors():
            return super().write(text)

    def flush(self) -> None:
        with output_errors():
            super().flush()


class Remarks(io.TextIOWrapper):
    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Put ours in the place of Python's; a caller that has put its own there keeps them."""
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _wrapped(Output, 1, sys.__stdout__)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _wrapped(Remarks, 2, sys.__stderr__)


def drop_output() -> None:
    """Send what is still in memory nowhere: Python flushes it once more at the end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _wrapped(kind: type[io.TextIOWrapper], number: int, stream: TextIO | None) -> io.TextIOWrapper:
    # A terminal that cannot show a letter shows ? instead of a crash.
    if stream is None:
        return kind(_take_place(number), encoding="utf-8", errors="replace")
    python = cast("io.TextIOWrapper", stream)  # what Python itself puts there
    return kind(
        python.buffer, encoding=python.encoding, errors="replace", line_buffering=python.line_buffering,
        write_through=python.write_through,
    )  # fmt: skip


def _take_place(number: int) -> io.BufferedWriter:
    """Return a file in the place of a closed stream: else the next one to be opened, a socket, would become it.

    The one for standard output is open for reading only, so that a result which goes there is missed.
    """
    found = os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_WRONLY)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    return open(number, "wb", closefd=False)


if __name__ == "__main__":
    sys.exit(main())
