"""Which change brought a commit: forges write its number into merges and squashed commits.

    Merge pull request #12 from ana/fix          GitHub; Forgejo: Merge pull request 'Fix it' (#12) from …
    Fix it (#12)                                 a squashed or rebased change
    See merge request group/project!12           GitLab, a line of the message
    Merge #12: …   Merge owner/repo#12: …   Auto merge of #12 - …   Rollup merge of #12 - …     programs that merge

A commit that names no change belongs to the change of the merge that brought it into the main line.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_SUBJECTS = (
    re.compile(r"Merge pull request #(?P<number>\d{1,9}) from "),
    re.compile(r"Merge pull request '.{0,1000}' \(#(?P<number>\d{1,9})\) from "),
    re.compile(r"Merge (?P<project>[\w.-]+/[\w.-]+)?#(?P<number>\d{1,9})(?:[: ]|\Z)"),
    re.compile(r"(?:Auto|Rollup) merge of #(?P<number>\d{1,9}) - "),
    re.compile(r".{0,1000}\((?:#|!)(?P<number>\d{1,9})\)\Z"),
)
_IN_MESSAGE = re.compile(r"^See merge request (?P<project>[\w./-]{0,500})!(?P<number>\d{1,9})[ \t]*$", re.MULTILINE)


class GraphCommit(NamedTuple):
    """A commit in the graph. `number`: the change that its message names; 0 where it names none."""

    parents: tuple[str, ...]
    number: int = 0


def named_change(message: str, project_path: str) -> int:
    """Return the change that a commit names; 0 where it names none, or one of another project."""
    subject = message.partition("\n")[0].strip()
    matches = [one.match(subject) for one in _SUBJECTS]
    for found in (*matches, _IN_MESSAGE.search(message)):
        if found:
            project = found.groupdict().get("project")
            if not project or project.lower() == project_path.lower():
                return int(found["number"])
    return 0


def assign_changes(head: str, graph: Mapping[str, GraphCommit]) -> dict[str, int]:
    """Return commit -> the change that brought it. The main line is that of first parents; what a merge brought is what
    the line did not have before it, oldest merge first.
    """
    found: dict[str, int] = {}
    seen: set[str] = set()
    waiting = [(head, 0)]
    while waiting:
        tip, number = waiting.pop()
        line = list(_first_parents(tip, graph, seen))
        seen.update(line)
        for sha in line:  # newest first, so that the oldest merge is taken up first
            change = graph[sha].number or number
            if change:
                found[sha] = change
            waiting += [(parent, change) for parent in graph[sha].parents[1:]]
    return found


def _first_parents(tip: str, graph: Mapping[str, GraphCommit], seen: set[str]) -> Iterator[str]:
    walked: set[str] = set()  # a graph that was tampered with may go round
    while tip in graph and tip not in seen and tip not in walked:
        walked.add(tip)
        yield tip
        parents = graph[tip].parents
        tip = parents[0] if parents else ""
