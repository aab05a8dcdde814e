"""GitHub's nodes, asked for many at once by their global ids: which came, which did not, and in whose words why.

Answers are matched by their place, never by id: a node that is asked for by its old global id answers with its new one.
A null is no deletion. GitHub drops nodes of a query that is too heavy (`RESOURCE_LIMITS_EXCEEDED`, a timeout) and a
smaller one brings them, so such a batch is halved; a null without a word is asked for once more; a refusal is an
answer. Where batch after batch brings nothing at all, nobody asks any more in this run.
https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from forgelore.errors import AuthError, ForgeError, NotFound, in_words

FEW = 3  # batches in a row without a single node: the others would be the same
HEAVY = "RESOURCE_LIMITS_EXCEEDED"
REFUSED = "FORBIDDEN"
NO_REASON = "GitHub left this out without a reason"


class Hole(NamedTuple):
    """A node that did not come: GitHub's words, and its type of error, "" when it gave none.

    `is_asked` is False for what nobody asked for any more.
    """

    reason: str
    type: str = ""
    is_asked: bool = True

    @property
    def is_refused(self) -> bool:
        return self.type in (REFUSED, "INSUFFICIENT_SCOPES")


NOBODY = Hole("there is no GraphQL to ask", is_asked=False)  # no token, or an older server: nothing is missing
Node = dict[str, Any] | Hole
Ask = Callable[[list[str]], list[Node]]


class UnknownFieldError(ForgeError):
    """The server's schema lacks a field we asked for."""


def read_nodes(data: dict[str, Any], errors: list[dict[str, Any]], count: int) -> list[Node]:
    """Return what stands at each of the `count` places that were asked for: a whole node, or a hole with its reason."""
    rows = data.get("nodes")
    if not isinstance(rows, list) or len(rows) != count:
        rows = [None] * count
    said: dict[object, Hole] = {}  # by place; None: of no node in particular
    for error in errors:
        path: list[object] = error.get("path") or []
        place = path[1] if len(path) > 1 and path[0] == "nodes" else None
        said.setdefault(place, _hole(error))
    silent = said.get(None) or Hole(NO_REASON)
    return [
        row if isinstance(row, dict) and "number" in row and place not in said else said.get(place, silent)
        for place, row in enumerate(rows)
    ]


def _hole(error: dict[str, Any]) -> Hole:
    kind, message = str(error.get("type") or ""), str(error.get("message") or NO_REASON)[:300]
    return Hole(f"{kind}: {message}" if kind else message, kind)


def ask_for_all(ask: Ask, ids: list[str]) -> list[Node]:
    """Return a node or a hole for each id, in their order, asking again in halves for what may still come.

    It gives up after more answers without a node in a row than it takes to find one heavy node among all.
    """
    found: list[Node] = [Hole(NO_REASON, is_asked=False)] * len(ids)
    parts = [(list(range(len(ids))), 0)]
    fruitless, patience = 0, len(ids).bit_length() + 1
    while parts and fruitless <= patience:
        places, depth = parts.pop()
        answer = _answer(ask, [ids[place] for place in places])
        for place, node in zip(places, answer, strict=True):
            found[place] = node
        fruitless = fruitless + 1 if all(isinstance(node, Hole) for node in answer) else 0
        if depth and all(isinstance(node, Hole) and not node.type for node in found):
            break  # half of a silent batch is silent too
        again = [place for place, node in zip(places, answer, strict=True) if _may_come(node, depth)]
        if len(places) > 1:
            half = (len(again) + 1) // 2
            parts += [(part, depth + 1) for part in (again[half:], again[:half]) if part]
    return found


def _answer(ask: Ask, ids: list[str]) -> list[Node]:
    try:
        return ask(ids)
    except UnknownFieldError:
        raise
    except ForgeError as error:
        return [Hole(error.message, HEAVY)] * len(ids)


def _may_come(node: Node, depth: int) -> bool:
    return isinstance(node, Hole) and (node.type == HEAVY or (not node.type and depth == 0))


class NodeFetcher:
    """What GraphQL shows of one kind of item in this run. Threads share it."""

    def __init__(self) -> None:
        self._empty = 0
        self._guard = threading.Lock()
        self.lost: Hole | None = None  # why nobody asks any more

    def look(self, ask: Ask, ids: list[str]) -> list[Node]:
        """Return a node or a hole for each id. Raises only what ends a run, and UnknownFieldError."""
        if self.lost is not None or not ids:
            return [self.lost or Hole(NO_REASON)] * len(ids)
        try:
            found = ask_for_all(ask, ids)
        except (AuthError, NotFound) as refusal:  # GraphQL as a whole
            if isinstance(refusal, AuthError) and refusal.is_rejected:
                raise
            self.lost = Hole(in_words(refusal), REFUSED, is_asked=False)
            return [self.lost] * len(ids)
        self._note(found)
        return found

    def _note(self, found: list[Node]) -> None:
        holes = [node for node in found if isinstance(node, Hole)]
        with self._guard:
            self._empty = self._empty + 1 if len(holes) == len(found) else 0
            if self._empty >= FEW:
                kind = REFUSED if all(hole.is_refused for hole in holes) else ""
                self.lost = Hole(holes[0].reason, kind, is_asked=False)
