"""`forgelore demo`: the built-in example project, walked through with the real commands."""

import argparse
import os
import tempfile
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.setup import DemoData

EXAMPLES = ("forgelore demo", "forgelore demo --keep demo.db     keep the database to play with")
PROJECT = "lanternsync/lantern"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="FILE", help="load into this file and keep it")


def run(context: "Context", arguments: argparse.Namespace) -> "DemoData":
    """Every step prints the command a person would type and then runs it, in this process."""
    from forgelore.surfaces.present.setup import DemoData

    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forgelore-demo-") as folder:
        path = arguments.keep or os.path.join(folder, "demo.db")
        steps = _steps(demo_file(), folder)
        for said, words in steps:
            _step(context, said, words, path, folder)
    seconds = time.monotonic() - started
    context.print(
        "",
        f"That took {seconds:.1f} s, offline. Next: {context.style.bold('forgelore sync OWNER/REPO')} on a project"
        f" of yours.",
    )
    if arguments.keep:
        context.print(f"The example stays in {arguments.keep}: try  forgelore --db {arguments.keep} list issues")
    return DemoData(PROJECT, len(steps), arguments.keep)


def demo_file() -> str:
    import forgelore

    return os.path.join(os.path.dirname(os.path.abspath(forgelore.__file__)), "data", "demo.jsonl")


def _steps(source: str, folder: str) -> list[tuple[str, list[str]]]:
    return [
        (
            "A fictional project's tracker, in the import format, becomes one SQLite file.",
            ["import", source, "--project", PROJECT],
        ),
        ("How much is there?", ["count", "issues"]),
        (
            "What is open and labelled as a bug?",
            ["list", "issues", "--state", "open", "--label", "bug", "--limit", "6"],
        ),
        ("Which changes were merged last?", ["list", "changes", "--state", "merged", "--limit", "5"]),
        ("One report, with what was said about it and what it is connected to.", ["show", "#41"]),
        (
            "Search by words and by meaning: the report that says it best need not use your words.",
            ["search", "why do removed files return", "--type", "issue", "--limit", "2"],
        ),
        (
            "Identifiers are found by their parts, within any filter.",
            ["search", "chunk cache", "--state", "open", "--limit", "2"],
        ),
        ("Has somebody reported this before?", ["similar", "#157", "--earlier", "--limit", "1"]),
        ("Where does the project stand?", ["stats"]),
        (
            "Everything can leave again: equal stores give equal bytes.",
            ["export", "--project", PROJECT, "--output", os.path.join(folder, "lantern.jsonl")],
        ),
    ]


def _step(context: "Context", said: str, words: list[str], path: str, folder: str) -> None:
    from forgelore.surfaces.cli.command import Context, build_parser

    style = context.style
    shown = " ".join(_short(word) for word in words)
    context.print("", style.dim(f"# {said}"), f"{style.green('$')} {style.bold('forgelore ' + shown)}")
    parser, module = build_parser(words[0])
    inner = Context(db=path, started=time.monotonic(), cwd=folder)
    inner.out, inner.style = context.out, style
    try:
        module.run(inner, parser.read(words[1:]))
    finally:
        inner.close()


def _short(word: str) -> str:
    word = os.path.basename(word) if os.path.isabs(word) else word
    return f"'{word}'" if word.startswith("#") or " " in word else word
