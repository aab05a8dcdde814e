"""Inputs of a workflow: what it may set of triage, and by which names.

A value that makes no sense is a warning and the default: a typing error in a workflow must not silence the bot, nor
make it loud.

    similarity-threshold   INPUT_SIMILARITY_THRESHOLD   0.75          an item this close is worth a row
    duplicate-threshold    INPUT_DUPLICATE_THRESHOLD    0.92          the first one this close is worth a warning
    max-results            INPUT_MAX_RESULTS            3             rows, 1 to 20
    index-branch           INPUT_INDEX_BRANCH           triage-index  where the index lives between runs
    apply-labels           INPUT_APPLY_LABELS           false         set suggested labels instead of naming them
    also                   INPUT_ALSO                                 sibling projects, separated by commas
    dry-run                INPUT_DRY_RUN                false         say what would be posted, write nothing
    close-after            INPUT_CLOSE_AFTER            0             hours until a sure duplicate is closed; 0: never
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from forgelore.core.triage.branch_names import is_branch_name

MAX_ROWS = 20
MAX_HOURS = 8_760  # a year
_PROJECT = re.compile(r"[A-Za-z0-9_.\-]+(?:/[A-Za-z0-9_.\-]+)+")


class Inputs(NamedTuple):
    """What the owner of a project has set for triage."""

    similarity_threshold: float = 0.75
    duplicate_threshold: float = 0.92
    max_results: int = 3
    index_branch: str = "triage-index"
    apply_labels: bool = False
    also: tuple[str, ...] = ()
    dry_run: bool = False
    close_after: int = 0


class _Text(NamedTuple):
    """An input as it was written, and where complaints about it go."""

    name: str
    value: str
    warnings: list[str]

    def complain(self, wanted: str, default: object) -> None:
        self.warnings.append(f"{self.name} must be {wanted}, not {self.value[:80]!r}; {default} is used")


def parse_inputs(environ: Mapping[str, str]) -> tuple[Inputs, list[str]]:
    """Return the inputs and one warning for each that was not understood."""
    warnings: list[str] = []

    def text(name: str) -> _Text:
        return _Text(name, environ.get(f"INPUT_{name.upper().replace('-', '_')}", "").strip(), warnings)

    default = Inputs()
    inputs = Inputs(
        _share(text("similarity-threshold"), default.similarity_threshold),
        _share(text("duplicate-threshold"), default.duplicate_threshold),
        _count(text("max-results"), default.max_results, least=1, most=MAX_ROWS),
        _branch(text("index-branch"), default.index_branch),
        _is_on(text("apply-labels")),
        _projects(text("also")),
        _is_on(text("dry-run")),
        _count(text("close-after"), default.close_after, least=0, most=MAX_HOURS),
    )
    if inputs.duplicate_threshold < inputs.similarity_threshold:
        warnings.append(
            f"duplicate-threshold {inputs.duplicate_threshold:g} is below similarity-threshold"
            f" {inputs.similarity_threshold:g}; the larger one is used for both"
        )
        inputs = inputs._replace(duplicate_threshold=inputs.similarity_threshold)
    return inputs, warnings


def _share(text: _Text, default: float) -> float:
    if not text.value:
        return default
    try:
        value = float(text.value)
    except ValueError:
        value = -1.0
    if 0 <= value <= 1:  # also keeps "nan" out
        return value
    text.complain("between 0 and 1", default)
    return default


def _count(text: _Text, default: int, *, least: int, most: int) -> int:
    if not text.value:
        return default
    if text.value.isascii() and text.value.isdigit() and len(text.value) < 10 and least <= int(text.value) <= most:
        return int(text.value)
    text.complain(f"a whole number from {least} to {most}", default)
    return default


def _branch(text: _Text, default: str) -> str:
    if not text.value:
        return default
    if is_branch_name(text.value):
        return text.value
    text.complain("the name of a branch", default)
    return default


def _is_on(text: _Text) -> bool:
    if text.value.lower() in ("", "false", "no", "off", "0"):
        return False
    if text.value.lower() in ("true", "yes", "on", "1"):
        return True
    text.complain("true or false", "false")
    return False


def _projects(text: _Text) -> tuple[str, ...]:
    names = [name for name in re.split(r"[\s,]+", text.value) if name]
    for name in names:
        if not _PROJECT.fullmatch(name):
            text._replace(value=name).complain("names of projects (owner/other)", "nothing")
    return tuple(dict.fromkeys(name for name in names if _PROJECT.fullmatch(name)))
