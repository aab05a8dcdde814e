"""GitHub's GraphQL: what REST cannot say, or can say only one item at a time.

    CHANGES      50 changes at once: head, files, reviews and who is asked for one, what they close or duplicate; 25
                 where there are review threads, which come too
    FILES        50 changes at once: head and files, nothing else
    ISSUES       100 issues at once: what they duplicate, who closed them
    DISCUSSIONS  pages of discussions with comments and replies; MORE_* for what did not fit
    NOTE_TIMES   5 discussions at once: when each comment and reply was last changed, without their words
    Counts       how many items there are, to notice what was deleted
    NUMBERS      the numbers of all discussions, for a sweep

Answers are matched by their place, never by id: a node that is asked for by its old global id answers with its new one.
A null is no deletion. GitHub drops nodes of a query that is too heavy (`RESOURCE_LIMITS_EXCEEDED`, a timeout), so such
a batch is halved; a null without a word is asked for once more; a refusal is an answer. Where batch after batch brings
nothing, nobody asks any more in this run.
https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api

`X-GitHub-SSO` comes with the refusal of an organisation that wants single sign-on:

    required; url=https://github.com/orgs/acme/sso?authorization_request=…      one click away
    partial-results; organizations=21955855,20582480                             these were left out of the answer

https://docs.github.com/rest/authentication/authenticating-to-the-rest-api#authenticating-with-saml-sso
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from forgelore.errors import AuthError, ForgeError, LostPage, NotFound, format_error
from forgelore.forges.rest import TokenAccess
from forgelore.net.client import Client
from forgelore.net.pages import read
from forgelore.net.policy import GRAPHQL
from forgelore.text.dates import format_ms

FEW = 3  # batches in a row without a single node: the others would be the same
HEAVY = "RESOURCE_LIMITS_EXCEEDED"
REFUSED = "FORBIDDEN"
NO_REASON = "GitHub left this out without a reason"


class MissingNode(NamedTuple):
    """A node that did not come: GitHub's words, and its type of error, "" when it gave none.

    `is_asked` is False for what nobody asked for any more.
    """

    reason: str
    type: str = ""
    is_asked: bool = True

    @property
    def is_refused(self) -> bool:
        return self.type in (REFUSED, "INSUFFICIENT_SCOPES")


NOBODY = MissingNode("no GraphQL API available", is_asked=False)  # no token, or an older server: nothing is missing
Node = dict[str, Any] | MissingNode
Ask = Callable[[list[str]], list[Node]]


class UnknownFieldError(ForgeError):
    """The server's schema lacks a field we asked for."""


def read_nodes(data: dict[str, Any], errors: list[dict[str, Any]], count: int) -> list[Node]:
    """Return what stands at each of the `count` places that were asked for: a whole node, or a hole with its reason."""
    rows = data.get("nodes")
    if not isinstance(rows, list) or len(rows) != count:
        rows = [None] * count
    said: dict[object, MissingNode] = {}  # by place; None: of no node in particular
    for error in errors:
        path: list[object] = error.get("path") or []
        place = path[1] if len(path) > 1 and path[0] == "nodes" else None
        said.setdefault(place, _hole(error))
    silent = said.get(None) or MissingNode(NO_REASON)
    return [
        row if isinstance(row, dict) and "number" in row and place not in said else said.get(place, silent)
        for place, row in enumerate(rows)
    ]


def _hole(error: dict[str, Any]) -> MissingNode:
    kind, message = str(error.get("type") or ""), str(error.get("message") or NO_REASON)[:300]
    return MissingNode(f"{kind}: {message}" if kind else message, kind)


def ask_for_all(ask: Ask, ids: list[str]) -> list[Node]:
    """Return a node or a hole for each id, in their order, asking again in halves for what may still come.

    It gives up after more answers without a node in a row than it takes to find one heavy node among all.
    """
    found: list[Node] = [MissingNode(NO_REASON, is_asked=False)] * len(ids)
    parts = [(list(range(len(ids))), 0)]
    fruitless, patience = 0, len(ids).bit_length() + 1
    while parts and fruitless <= patience:
        places, depth = parts.pop()
        answer = _answer(ask, [ids[place] for place in places])
        for place, node in zip(places, answer, strict=True):
            found[place] = node
        fruitless = fruitless + 1 if all(isinstance(node, MissingNode) for node in answer) else 0
        if depth and all(isinstance(node, MissingNode) and not node.type for node in found):
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
        return [MissingNode(error.message, HEAVY)] * len(ids)


def _may_come(node: Node, depth: int) -> bool:
    return isinstance(node, MissingNode) and (node.type == HEAVY or (not node.type and depth == 0))


class NodeFetcher:
    """What GraphQL shows of one kind of item in this run. Threads share it."""

    def __init__(self) -> None:
        self._empty = 0
        self._guard = threading.Lock()
        self.lost: MissingNode | None = None  # why nobody asks any more

    def look(self, ask: Ask, ids: list[str]) -> list[Node]:
        """Return a node or a hole for each id. Raises only what ends a run, and UnknownFieldError."""
        if self.lost is not None or not ids:
            return [self.lost or MissingNode(NO_REASON)] * len(ids)
        try:
            found = ask_for_all(ask, ids)
        except (AuthError, NotFound) as refusal:  # GraphQL as a whole
            if isinstance(refusal, AuthError) and refusal.is_rejected:
                raise
            self.lost = MissingNode(format_error(refusal), REFUSED, is_asked=False)
            return [self.lost] * len(ids)
        self._note(found)
        return found

    def _note(self, found: list[Node]) -> None:
        holes = [node for node in found if isinstance(node, MissingNode)]
        with self._guard:
            self._empty = self._empty + 1 if len(holes) == len(found) else 0
            if self._empty >= FEW:
                kind = REFUSED if all(hole.is_refused for hole in holes) else ""
                self.lost = MissingNode(holes[0].reason, kind, is_asked=False)


_PAGE = "pageInfo { hasNextPage endCursor }"

_THREADS = f"""reviewThreads(first: 50, after: $after) {{ {_PAGE} nodes {{
  id isResolved resolvedBy {{ login }} path line originalLine
  comments(first: 100) {{ totalCount nodes {{ fullDatabaseId }} }} }} }}"""

# What a mark names is the original. GitHub leaves the event on both of a pair, and the original's names itself.
_ORIGINAL = """canonical { __typename ... on Issue { number repository { nameWithOwner } }
      ... on PullRequest { number repository { nameWithOwner } } }"""
_MARKS = f"""timelineItems(first: 50, itemTypes: [MARKED_AS_DUPLICATE_EVENT, UNMARKED_AS_DUPLICATE_EVENT]) {{
      nodes {{ __typename ... on MarkedAsDuplicateEvent {{ {_ORIGINAL} }}
      ... on UnmarkedAsDuplicateEvent {{ {_ORIGINAL} }} }} }}"""

_CHANGES = f"""query Changes($ids: [ID!]!, $threads: Boolean!, $after: String) {{
  rateLimit {{ cost remaining resetAt }}
  nodes(ids: $ids) {{ __typename ... on PullRequest {{
    id number headRefOid headRefName baseRefName changedFiles %s
    files(first: 100) {{ totalCount {_PAGE} nodes {{ path changeType }} }}
    reviews(first: 50) {{ {_PAGE} nodes {{ fullDatabaseId state body url submittedAt updatedAt
      author {{ __typename login }} }} }}
    closingIssuesReferences(first: 25) {{ nodes {{ number repository {{ nameWithOwner }} }} }}
    ... @include(if: $threads) {{ {_THREADS} }} }} }} }}"""
# Of a team nothing is asked: its name takes a scope that many tokens lack, and then GitHub refuses the whole query.
_REQUESTS = "reviewRequests(first: 50) { nodes { requestedReviewer { __typename ... on Actor { login } } } }"
CHANGES = _CHANGES % f"{_MARKS} {_REQUESTS}"
# GitHub Enterprise servers lag behind: without the duplicate fields the rest still works.
LEAN_CHANGES = _CHANGES % ""

FILES = f"""query Files($ids: [ID!]!) {{
  rateLimit {{ cost remaining resetAt }}
  nodes(ids: $ids) {{ __typename ... on PullRequest {{
    id number headRefOid changedFiles files(first: 100) {{ {_PAGE} nodes {{ path changeType }} }} }} }} }}"""

MORE_THREADS = f"""query MoreThreads($id: ID!, $after: String) {{
  node(id: $id) {{ ... on PullRequest {{ {_THREADS} }} }} }}"""

ISSUES = f"""query Issues($ids: [ID!]!) {{
  rateLimit {{ cost remaining resetAt }}
  nodes(ids: $ids) {{ __typename ... on Issue {{ id number duplicateOf {{ number repository {{ nameWithOwner }} }}
    {_MARKS}
    closedByPullRequestsReferences(first: 10, includeClosedPrs: true) {{
      nodes {{ number repository {{ nameWithOwner }} }} }} }} }} }}"""

LEAN_ISSUES = """query Issues($ids: [ID!]!) {
  rateLimit { cost remaining resetAt }
  nodes(ids: $ids) { __typename ... on Issue { id number } } }"""

_COMMENT = "id databaseId body createdAt updatedAt url isAnswer author { login } authorAssociation"
_REPLY = "id databaseId body createdAt updatedAt url author { login } authorAssociation"

_DISCUSSION = """id databaseId number title body url createdAt updatedAt closed closedAt stateReason locked isAnswered
        author { login } authorAssociation category { name } labels(first: 50) { nodes { name } }"""

DISCUSSIONS = f"""query Discussions(
  $owner: String!, $name: String!, $first: Int!, $after: String, $direction: OrderDirection!) {{
  rateLimit {{ cost remaining resetAt }}
  repository(owner: $owner, name: $name, followRenames: true) {{
    discussions(first: $first, after: $after, orderBy: {{field: UPDATED_AT, direction: $direction}}) {{
      totalCount {_PAGE}
      nodes {{ {_DISCUSSION}
        comments(first: 30) {{ totalCount {_PAGE} nodes {{ {_COMMENT}
          replies(first: 20) {{ totalCount {_PAGE} nodes {{ {_REPLY} }} }} }} }} }} }} }} }}"""

ONE_DISCUSSION = f"""query OneDiscussion($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name, followRenames: true) {{
    discussion(number: $number) {{ {_DISCUSSION}
      comments(first: 5) {{ totalCount {_PAGE} nodes {{ {_COMMENT}
        replies(first: 5) {{ {_PAGE} nodes {{ {_REPLY} }} }} }} }} }} }} }}"""

MORE_COMMENTS = f"""query MoreComments($id: ID!, $after: String) {{
  node(id: $id) {{ ... on Discussion {{ comments(first: 50, after: $after) {{ {_PAGE} nodes {{ {_COMMENT}
    replies(first: 20) {{ {_PAGE} nodes {{ {_REPLY} }} }} }} }} }} }} }}"""

MORE_REPLIES = f"""query MoreReplies($id: ID!, $after: String) {{
  node(id: $id) {{ ... on DiscussionComment {{
    replies(first: 100, after: $after) {{ {_PAGE} nodes {{ {_REPLY} }} }} }} }} }}"""

_TIMES = """totalCount nodes { id databaseId updatedAt isAnswer
        replies(first: 100) { totalCount nodes { id databaseId updatedAt } } }"""
# Both ends, so that 200 comments fit: a connection alone shows 100.
NOTE_TIMES = f"""query NoteTimes($ids: [ID!]!) {{
  rateLimit {{ cost remaining resetAt }}
  nodes(ids: $ids) {{ __typename ... on Discussion {{ number
    comments(first: 100) {{ {_TIMES} }} newest: comments(last: 100) {{ {_TIMES} }} }} }} }}"""

_COUNTS = """query Counts($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name, followRenames: true) { %s } }"""

NUMBERS = f"""query Numbers($owner: String!, $name: String!, $after: String) {{
  repository(owner: $owner, name: $name, followRenames: true) {{
    discussions(first: 100, after: $after) {{ {_PAGE} nodes {{ number }} }} }} }}"""

DISCUSSION = """query Discussion($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name, followRenames: true) { discussion(number: $number) { number } } }"""

_document = msgspec.json.Decoder(dict[str, Any])


def counts_query(connections: list[str]) -> str:
    """Return a query for the totals of these connections alone.

    An old server refuses a query that names one it does not know.
    """
    return _COUNTS % " ".join(f"{name}(first: 1) {{ totalCount }}" for name in connections)


class Graph:
    """GraphQL over the forge's client."""

    def __init__(self, client: Client, url: str, access: TokenAccess) -> None:
        self._client, self._url, self._access = client, url, access
        self._is_lean = False
        self._change_queries: tuple[str, ...] = (CHANGES, LEAN_CHANGES)
        self.look_anew()

    def look_anew(self) -> None:
        """Forget that GraphQL showed nothing: a run gives up for itself alone."""
        self._issue_sight, self.change_sight, self._talk_sight = NodeFetcher(), NodeFetcher(), NodeFetcher()

    def viewer(self) -> str:
        """Return the login of whoever asks: `github-actions[bot]` for the token of a workflow."""
        return str((self.query("query Viewer { viewer { login } }").get("viewer") or {}).get("login") or "?")

    def query(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return `data`; null nodes stay null. Raises when there is no data at all."""
        return self._ask(query, variables)[0]

    def change(self, mutation: str, **variables: Any) -> None:
        """Send a mutation of one field. Raises what GitHub answers to one that it does not carry out."""
        data, errors = self._ask(mutation, variables)
        if errors or None in data.values():
            raise _as_error(errors, self._client.host)

    def _ask(self, query: str, variables: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return `data` and `errors`: GitHub may send both, and then the data has holes."""
        host = self._client.host
        answer = self._client.post_json(self._url, {"query": query, "variables": variables}, GRAPHQL)
        if answer.status == 401:
            # REST may still take the token: then it is one thing that is refused, and not the end of everything.
            is_rejected = self._client.get("/rate_limit").status == 401
            did = (
                "rejected the token" if is_rejected and self._access.has_token else "requires another token for GraphQL"
            )
            raise AuthError(f"{host} {did} (HTTP 401)", hint=self._access.advice, is_rejected=is_rejected)
        sign_on = sso_hint(answer.headers, host)
        if answer.status == 403:
            needs = answer.headers.get("x-accepted-github-permissions")
            raise AuthError(
                f"{host} refuses GraphQL to this token",
                hint=sign_on or (f"give it the permission {needs}" if needs else "check its scopes"),
            )
        if answer.status == 404:
            raise NotFound(
                f"{host} has no GraphQL (HTTP 404)", hint="check GITHUB_GRAPHQL_URL, or the server's version"
            )
        if answer.status != 200:
            raise ForgeError(f"{host} answered {answer.status} to GraphQL", hint="run the same command again")
        document, _ = read(answer.body, _document)
        errors = [error for error in document.get("errors") or () if isinstance(error, dict)]
        data = document.get("data")
        if isinstance(data, dict) and (data.get("repository") is not None or "repository" not in data):
            return data, errors
        raise _as_error(errors, host, sign_on)

    def part_of(self, path: str, part: str, query: str, **variables: Any) -> dict[str, Any] | None:
        """Return a part of a repository. None when GitHub says that it is not there; any other null is none of that
        and raises what it means.
        """
        owner, _, name = path.partition("/")
        data, errors = self._ask(query, {"owner": owner, "name": name, **variables})
        found: dict[str, Any] | None = data["repository"].get(part)
        if found is not None or {error.get("type") for error in errors} == {"NOT_FOUND"}:
            return found
        if errors:
            raise _as_error(errors, self._client.host)
        raise LostPage(f"{self._client.host} left out the {part} without a reason", hint="run the same command again")

    def has_discussion(self, path: str, number: int) -> bool:
        return self.part_of(path, "discussion", DISCUSSION, number=number) is not None

    def count_open_changes(self, path: str) -> int:
        owner, _, name = path.partition("/")
        query = _COUNTS % "pullRequests(first: 1, states: [OPEN]) { totalCount }"
        found = self.query(query, owner=owner, name=name)["repository"].get("pullRequests")
        return int((found or {}).get("totalCount") or 0)

    def counts_since(self, path: str, times: Sequence[int]) -> list[int | None]:
        """Return how many issues were last changed at each of these times or later."""
        parts = " ".join(
            f'c{place}: issues(first: 1, filterBy: {{since: "{format_ms(moment)}"}}) {{ totalCount }}'
            for place, moment in enumerate(times)
        )
        owner, _, name = path.partition("/")
        found = self.query(_COUNTS % parts, owner=owner, name=name)["repository"]
        return [(found.get(f"c{place}") or {}).get("totalCount") for place in range(len(times))]

    def _nodes(self, query: str, variables: dict[str, Any], ids: list[str]) -> list[Node]:
        data, errors = self._ask(query, {"ids": ids, **variables})
        return read_nodes(data, errors, len(ids))

    def issues(self, ids: list[str]) -> list[Node]:
        """Return a node or a hole for each issue, asking an older server only for what it knows."""
        if not self._is_lean:
            try:
                return self._issue_sight.look(partial(self._nodes, ISSUES, {}), ids)
            except UnknownFieldError:
                self._is_lean = True
        return self._issue_sight.look(partial(self._nodes, LEAN_ISSUES, {}), ids)

    def changes(self, ids: list[str], *, threads: bool) -> list[Node]:
        """Return a node or a hole for each change, asking an older server only for what it knows; nobody to ask on a
        very old one, whose REST says most of it.
        """
        variables = {"threads": threads, "after": None}
        for query in self._change_queries:
            try:
                return self.change_sight.look(partial(self._nodes, query, variables), ids)
            except UnknownFieldError:
                self._change_queries = tuple(other for other in self._change_queries if other is not query)
        return [NOBODY] * len(ids)

    def files(self, ids: list[str]) -> list[Node]:
        """Return the files of each change, or a hole; nobody to ask on a very old server."""
        try:
            return self.change_sight.look(partial(self._nodes, FILES, {}), ids)
        except UnknownFieldError:
            return [NOBODY] * len(ids)

    def note_times(self, ids: list[str]) -> list[Node]:
        """Return the times of what was said in each discussion, or a hole."""
        return self._talk_sight.look(partial(self._nodes, NOTE_TIMES, {}), ids)

    def rest_of(self, query: str, node_id: str, connection: str, page: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the nodes of a connection: those of its first page and all that follow."""
        nodes = list(page.get("nodes") or ())
        while (page.get("pageInfo") or {}).get("hasNextPage"):
            node = self.query(query, id=node_id, after=page["pageInfo"]["endCursor"]).get("node")
            if not node or not node.get(connection):
                raise LostPage("a conversation vanished while it was being read", hint="run the same command again")
            page = node[connection]
            nodes += page.get("nodes") or ()
        if any(node is None for node in nodes):
            raise LostPage("GitHub left out parts of a conversation", hint="run the same command again later")
        return nodes


def _as_error(errors: list[dict[str, Any]], host: str, sign_on: str = "") -> Exception:
    message = "; ".join(str(error.get("message")) for error in errors)[:300] or "no data"
    types = {error.get("type") for error in errors}
    if any((error.get("extensions") or {}).get("code") == "undefinedField" for error in errors):
        return UnknownFieldError(f"{host}: {message}")
    if "NOT_FOUND" in types:
        return NotFound(f"{host}: {message}", hint="check the spelling, or the token's access")
    if types & {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return AuthError(f"{host}: {message}", hint=sign_on or "the token needs read access to this project")
    return ForgeError(f"{host} refused a GraphQL query: {message}", hint="run the same command again")


MAX_CHARS = 1000
_IDS = re.compile(r"organizations=([\d, ]{1,200})")


def sso_hint(headers: Mapping[str, str], host: str) -> str:
    """Return what to do when single sign-on stands in the way, with the address to open; "" when it does not."""
    said = headers.get("x-github-sso", "")
    if not said:
        return ""
    if said.startswith("required"):
        url = said.partition("url=")[2].strip()
        if _is_of_github(url, host):
            return f"authorise the token for the organisation's single sign-on: {url}"
        return "authorise the token for the organisation's single sign-on, in the token's settings (Configure SSO)"
    found = _IDS.search(said)
    named = f" of the organisations {found[1].strip()}" if found else ""
    return f"authorise the token for the single sign-on{named}, in the token's settings (Configure SSO)"


def _is_of_github(url: str, host: str) -> bool:
    """A person will open it and sign in there: https, and GitHub's own host or the one that was asked."""
    if len(url) > MAX_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        split = urlsplit(url)
    except ValueError:
        return False
    return split.scheme == "https" and split.netloc.lower() in ("github.com", host.lower().removeprefix("api."))
