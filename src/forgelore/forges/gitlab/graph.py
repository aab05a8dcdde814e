"""GitLab's GraphQL: conversations and lists of files of many items in one request.

    IssueThreads    50 issues with all their discussions and notes
    ChangeThreads   20 merge requests with theirs: the server finds the place in the diff of each note
    ChangeFiles     50 merge requests with the paths that they change, on servers that list them (19.x)

Items are asked for by number, and nested pages cost nothing in GitLab's arithmetic: the limit is the server's time, 30
s a request. So a batch shrinks when an answer was slow and grows again when it was fast. A timeout is HTTP 200 with
`errors` and nulls, one bad note a 500 for all: any error, and any null, means that nothing was read; such a batch is
asked for in halves, and an item alone is left to REST. So is one with more than a hundred discussions, or notes in one
of them. A server that refuses GraphQL, or lacks what is asked for, is not asked again in this run.
https://docs.gitlab.com/api/graphql/#limits
"""

import threading
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from forgelore.errors import EndpointDown, LostPage
from forgelore.forges.gitlab import wire
from forgelore.model import File, ItemKey, Kind, Thread
from forgelore.net.client import Client
from forgelore.net.pages import read
from forgelore.net.policy import RetryRule
from forgelore.text.dates import format_ms

TWICE = RetryRule(attempts=2)  # an answer that never comes is asked for in halves instead
AGAIN = "run the same command again"
FEW = 3  # batches in a row that brought nothing: the others would be the same
SLOW_S, FAST_S = 10.0, 3.0
MOST: dict[tuple[str, str], int] = {("threads", "issue"): 50, ("threads", "change"): 20, ("files", "change"): 50}

# Under the names that REST has for the same, so that one record reads both.
_NOTE = """id body system %s created_at: createdAt updated_at: updatedAt resolvable resolved
        resolved_at: resolvedAt resolved_by: resolvedBy { username } author { username }
        position { position_type: positionType old_path: oldPath new_path: newPath
          old_line: oldLine new_line: newLine }"""
_THREADS = f"""discussions(first: 100) {{ pageInfo {{ hasNextPage }} nodes {{
      id notes(first: 100) {{ pageInfo {{ hasNextPage }} nodes {{ {_NOTE} }} }} }} }}"""
_FILES = """diffs(first: 100) { pageInfo { hasNextPage } overflow nodes {
      old_path: oldPath new_path: newPath new_file: newFile renamed_file: renamedFile deleted_file: deletedFile } }"""
_BATCH = """query {name}($path: ID!, $iids: [String!]) {{
  project(fullPath: $path) {{ items: {connection}(iids: $iids, first: 100) {{ nodes {{ iid {parts} }} }} }} }}"""
_CONNECTIONS = {"issue": "issues", "change": "mergeRequests"}
_NAMES = {
    ("threads", "issue"): "IssueThreads",
    ("threads", "change"): "ChangeThreads",
    ("files", "change"): "ChangeFiles",
}
# Of the two names of one flag: older servers lack the first, newer ones the second.
_HIDDEN = ("internal", "confidential")


class _PageInfo(Struct, rename="camel"):
    has_next_page: bool


class _Notes(Struct, rename="camel"):
    page_info: _PageInfo
    nodes: list[wire.NoteRow | None]


class _Discussion(Struct):
    id: str
    notes: _Notes


class _Discussions(Struct, rename="camel"):
    page_info: _PageInfo
    nodes: list[_Discussion | None]


class _Diffs(Struct, rename="camel"):
    page_info: _PageInfo
    nodes: list[wire.DiffRow | None]
    overflow: bool = False


class GraphItem(Struct):
    """An issue or merge request: as much of it as was asked for."""

    iid: str
    discussions: _Discussions | None = None
    diffs: _Diffs | None = None


class _Items(Struct):
    nodes: list[GraphItem | None]


class _Project(Struct):
    items: _Items | None = None


class _Data(Struct):
    project: _Project | None = None


class _Answer(Struct):
    data: _Data | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)


class _Counts(Struct):
    data: dict[str, dict[str, dict[str, int] | None] | None] | None = None
    errors: list[Any] = field(default_factory=list)


_answer = msgspec.json.Decoder(_Answer)
_counts = msgspec.json.Decoder(_Counts)


class GitLabGraph:
    """What GraphQL shows of one server in this run. Threads share it."""

    def __init__(self, client: Client, url: str, *, has_token: bool) -> None:
        self._client, self._url, self._has_token = client, url, has_token
        self._guard = threading.Lock()
        self.look_anew()

    def look_anew(self) -> None:
        """Forget what the server refused: a run gives up for itself alone."""
        self._sizes = dict(MOST)
        self._hidden = _HIDDEN[0]
        self._lost: set[str] = set() if self._has_token else {"threads", "files", "counts"}
        self._fruitless = 0

    def size(self, part: str, kind: Kind) -> int:
        """Return how many items to ask for at once; 1 where only REST is left."""
        return 1 if part in self._lost else self._sizes.get((part, kind), 1)

    def threads(self, path: str, kind: Kind, numbers: Sequence[int]) -> dict[int, list[Thread]]:
        """Return whole conversations by number; what is missing must be asked of REST."""
        found = {}
        for number, item in self._fetch("threads", path, kind, list(numbers)).items():
            threads = _threads_of(item, ItemKey(kind, number))
            if threads is not None:
                found[number] = threads
        return found

    def files(self, path: str, numbers: Sequence[int]) -> dict[int, list[File]]:
        """Return the files of changes, without their lines; what is missing must be asked of REST."""
        items = self._fetch("files", path, "change", list(numbers))
        return {number: files for number, item in items.items() if (files := _files_of(item)) is not None}

    def counts_since(self, path: str, kind: Kind, times: Sequence[int]) -> dict[int, int]:
        """Return how many items were last changed at each of these times or later; nothing where nobody counts so."""
        parts = " ".join(
            f'c{place}: {_CONNECTIONS[kind]}(first: 1, updatedAfter: "{format_ms(moment)}") {{ count }}'
            for place, moment in enumerate(times)
        )
        if "counts" in self._lost:
            return {}
        query = f"query Counts($path: ID!) {{ project(fullPath: $path) {{ {parts} }} }}"
        answer = self._client.post_json(self._url, {"query": query, "variables": {"path": path}}, TWICE)
        said = read(answer.body, _counts)[0] if answer.status == 200 else _Counts()
        found = (said.data or {}).get("project") or {}
        if said.errors or not found:
            self._lost.add("counts")
            return {}
        totals = [found.get(f"c{place}") or {} for place in range(len(times))]
        return {moment: total["count"] for moment, total in zip(times, totals, strict=True) if "count" in total}

    def _fetch(self, part: str, path: str, kind: Kind, numbers: list[int]) -> dict[int, GraphItem]:
        """Return items by number, asking in halves for a batch that failed, until too many did in a row."""
        found: dict[int, GraphItem] = {}
        parts, in_a_row, patience = [numbers], 0, len(numbers).bit_length() + 1
        while parts and part not in self._lost and in_a_row <= patience:
            batch = parts.pop()
            if len(batch) < 2:
                continue
            try:
                items = self._ask(part, path, kind, batch)
            except LostPage:
                half, in_a_row = len(batch) // 2, in_a_row + 1
                parts += [batch[half:], batch[:half]]
            else:
                in_a_row = 0
                found |= {int(item.iid): item for item in items if item is not None}
        with self._guard:
            self._fruitless = 0 if found else self._fruitless + 1
            if self._fruitless >= FEW:
                self._lost.add(part)
        return {number: found[number] for number in numbers if number in found}

    def _ask(self, part: str, path: str, kind: Kind, numbers: list[int]) -> list[GraphItem | None]:
        variables = {"path": path, "iids": [str(number) for number in numbers]}
        while part not in self._lost:
            hidden = self._hidden
            parts = _FILES if part == "files" else _THREADS % hidden
            query = _BATCH.format(name=_NAMES[part, kind], connection=_CONNECTIONS[kind], parts=parts)
            said = self._answer_to(part, kind, query, variables)
            if not said.errors:
                found = said.data.project.items if said.data and said.data.project else None
                if found is None or None in found.nodes:
                    raise LostPage("GitLab left out items", hint=AGAIN)
                return found.nodes
            if not self._note_refusal(part, hidden, said):
                raise LostPage(str(said.errors[0].get("message")), hint=AGAIN)
        raise LostPage("GitLab's GraphQL lacks what is asked for", hint=AGAIN)

    def _answer_to(self, part: str, kind: Kind, query: str, variables: dict[str, Any]) -> _Answer:
        try:
            answer = self._client.post_json(self._url, {"query": query, "variables": variables}, TWICE)
        except EndpointDown as error:  # REST may work all the same
            self._lost.add(part)
            raise LostPage(error.message, hint=AGAIN) from error
        self._adapt(part, kind, len(variables["iids"]), answer.took_s)
        if answer.status != 200:
            if answer.status < 500:  # refused as a whole: REST says what it thinks of the token
                self._lost.add(part)
            raise LostPage(f"HTTP {answer.status}", hint=AGAIN)
        return read(answer.body, _answer)[0]

    def _note_refusal(self, part: str, hidden: str, said: _Answer) -> bool:
        """True for a query that was refused for its text: that happens each time, so it is asked without the field
        that this server lacks, or not at all.
        """
        words = " ".join(str(error.get("message")) for error in said.errors)
        is_refused = said.data is None and ("doesn't exist" in words or "complexity" in words)
        if is_refused:
            with self._guard:
                if hidden == _HIDDEN[0] and f"'{hidden}'" in words:
                    self._hidden = _HIDDEN[1]
                else:
                    self._lost.add(part)
        return is_refused

    def _adapt(self, part: str, kind: Kind, asked: int, seconds: float) -> None:
        with self._guard:
            size = self._sizes[part, kind]
            if seconds > SLOW_S:
                self._sizes[part, kind] = max(1, min(size, asked // 2))
            elif seconds < FAST_S and asked >= size:
                self._sizes[part, kind] = min(MOST[part, kind], 2 * size)


def _threads_of(item: GraphItem, key: ItemKey) -> list[Thread] | None:
    """Return an item's conversation; None when some of it was left out or is on another page."""
    found = item.discussions
    if found is None or found.page_info.has_next_page:
        return None
    threads = []
    for discussion in found.nodes:
        if discussion is None or discussion.notes.page_info.has_next_page or None in discussion.notes.nodes:
            return None
        rows = [note for note in discussion.notes.nodes if note is not None]
        if not all(wire.tail(str(note.id)).isdecimal() for note in rows):
            return None  # notes that GitLab makes up on the way have no number
        if rows:  # the reader may see none of them
            threads.append(wire.as_discussion(rows, key, wire.tail(discussion.id)))
    return threads


def _files_of(item: GraphItem) -> list[File] | None:
    """Return a change's files; None when they are not all listed."""
    found = item.diffs
    if found is None or found.page_info.has_next_page or found.overflow:
        return None
    files = [wire.as_file(diff) for diff in found.nodes if diff is not None]
    return files if len(files) == len(found.nodes) else None
