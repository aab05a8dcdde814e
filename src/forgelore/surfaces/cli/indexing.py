"""What commands that index share: their options, what they say of it, and how Ctrl-C ends them."""

import contextlib
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import number

if TYPE_CHECKING:
    import argparse

    from forgelore.api import IndexParts, UpdatedIndex
    from forgelore.surfaces.cli.command import Context


def add_indexing_arguments(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument("--no-docs", action="store_true", help="do not build search documents (and no vectors)")
    parser.add_argument("--no-embed", action="store_true", help="do not compute vectors")


def read_parts(arguments: "argparse.Namespace") -> "IndexParts":
    """Return which parts of the index are to be brought up to date."""
    if arguments.no_docs:
        return "none"
    return "documents" if arguments.no_embed else "all"


def describe(index: "UpdatedIndex") -> str:
    """Return what was done as half a sentence, empty when it was nothing: "3 documents indexed, 3 embedded"."""
    documents, vectors = index.documents, index.vectors
    counts = (
        (documents.new + documents.changed if documents else 0, "documents indexed"),
        (documents.removed if documents else 0, "removed"),
        (vectors.embedded if vectors else 0, "embedded"),
    )
    return ", ".join(f"{number(count)} {word}" for count, word in counts if count)


@contextlib.contextmanager
def stopping_on_interrupt(context: "Context") -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command at once, a request that hangs included.

    Only a transaction is finished first, which takes a moment; a second Ctrl-C does not wait for that either.
    """
    history = context.history

    def stop(_signal: int, _frame: object) -> None:
        is_second = history.stop.is_set()
        history.stop.set()
        if is_second or not history.is_writing:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
