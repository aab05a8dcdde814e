"""GraphQL: from a request's text to data, errors and a price.

As on GitHub, trouble inside a query is HTTP 200 with `errors[].type`. Every connection must say first or last
in 1..100; the price is one point per hundred connections asked for, and no query may ask for over 500,000 nodes.
"""

import dataclasses
import datetime as dt
import functools
import json
import pathlib

import graphql
from graphql.language import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
)

from ..base import UTC, Request, Response  # noqa: TID252  works as servers.* and as tests.servers.*
from . import fields, nodes, pull_nodes  # noqa: F401  (the last two register fields)
from .access import problem
from .state import stamp

BROKEN = (
    "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug."
    " Please include `0A1B:LOCAL` when reporting this issue."
)
SDL = pathlib.Path(__file__).with_name("schema.graphql")
MOST_NODES = 500_000


@functools.cache
def schema() -> graphql.GraphQLSchema:
    built = graphql.build_schema(SDL.read_text(encoding="utf-8"))
    fields.bind(built)
    return built


@dataclasses.dataclass
class Price:
    connections: int = 0
    nodes: int = 0
    troubles: list = dataclasses.field(default_factory=list)

    @property
    def points(self) -> int:
        return max(1, round(self.connections / 100))


@dataclasses.dataclass
class GraphCall:
    """What resolvers see as `info.context`."""

    server: object
    token: object
    price: Price

    def reset_at(self) -> str:
        return stamp(dt.datetime.fromtimestamp(self.server.limits.bucket("graphql").reset, UTC))


def answer(server, request: Request, token) -> Response:
    if token is None:
        return problem(401, "This endpoint requires you to be authenticated.").response
    if request.method != "POST":
        return problem(404, "Not Found").response
    forced = server.limits.graphql_troubles.pop(0) if server.limits.graphql_troubles else None
    if forced == "timeout":
        page = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
        return Response(502, page, {"Content-Type": "text/html"})
    if forced == "broken":
        return Response(200, {"data": None, "errors": [{"message": BROKEN}]})
    if forced == "limited":
        who = f"user ID {server.world.user(token.login).id}"
        body = {"errors": [{"type": "RATE_LIMITED", "message": f"API rate limit exceeded for {who}."}]}
        return Response(200, body, {"X-RateLimit-Remaining": "0"})
    try:
        sent = json.loads(request.body)
        query, variables = sent["query"], sent.get("variables") or {}
    except (ValueError, KeyError, TypeError):
        return problem(400, "Problems parsing JSON").response
    result = run(server, token, query, variables, sent.get("operationName"))
    if forced == "partial":
        thin(result)
    return Response(200, result)


def run(server, token, query: str, variables: dict, operation_name: str | None) -> dict:
    document, errors = prepare(query)
    if errors:
        return {"errors": [{"message": e.message, "locations": place(e)} for e in errors]}
    operation = graphql.get_operation_ast(document, operation_name)
    if operation is None:
        return {"errors": [{"message": "An operation name is required"}]}
    cost = price(document, operation, variables)
    if cost.troubles:
        return {"data": None, "errors": cost.troubles}
    server.limits.spend("graphql", cost.points)
    result = graphql.execute_sync(
        schema(),
        document,
        variable_values=variables,
        operation_name=operation_name,
        context_value=GraphCall(server, token, cost),
        type_resolver=fields.type_name,
    )
    server.errors += [repr(e) for e in result.errors or () if is_mistake(e.original_error)]
    told = {"data": result.data}
    return {**told, "errors": [format_error(e) for e in result.errors]} if result.errors else told


@functools.lru_cache(maxsize=256)
def prepare(query: str):
    """(document, errors); cached because clients send the same few texts with other variables."""
    try:
        document = graphql.parse(query)
    except graphql.GraphQLError as error:
        return None, [error]
    return document, graphql.validate(schema(), document)


def place(error) -> list[dict]:
    return [{"line": at.line, "column": at.column} for at in error.locations or ()]


def is_mistake(error: Exception | None) -> bool:
    """A resolver of ours failed, rather than refused."""
    return error is not None and not isinstance(error, fields.TroubleError | graphql.GraphQLError)


def format_error(error) -> dict:
    told = {"path": error.path or [], "locations": place(error), "message": error.message}
    kind = getattr(error.original_error, "kind", None)
    return {"type": kind, **told} if kind else told


def price(document, operation: OperationDefinitionNode, variables: dict) -> Price:
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    defaults = {d.variable.name.value: d.default_value for d in operation.variable_definitions or ()}
    total = Price()

    def number(node):
        if node is not None and node.kind == "variable":
            name = node.name.value
            return variables[name] if name in variables else number(defaults.get(name))
        return int(node.value) if node is not None and node.kind == "int_value" else None

    def walk(selection, kind, times, path):
        for chosen in selection.selections if selection else ():
            if isinstance(chosen, FieldNode):
                walk_field(chosen, kind, times, path)
            elif isinstance(chosen, FragmentSpreadNode):
                shared = fragments[chosen.name.value]
                walk(shared.selection_set, schema().get_type(shared.type_condition.name.value), times, path)
            elif isinstance(chosen, InlineFragmentNode):
                on = schema().get_type(chosen.type_condition.name.value) if chosen.type_condition else kind
                walk(chosen.selection_set, on, times, path)

    def walk_field(chosen, kind, times, path):
        spec = getattr(kind, "fields", {}).get(chosen.name.value)
        if spec is None:
            return
        inner, here = (
            graphql.get_named_type(spec.type),
            [*path, chosen.alias.value if chosen.alias else chosen.name.value],
        )
        if inner.name.endswith("Connection"):
            given = {a.name.value: number(a.value) for a in chosen.arguments or ()}
            times = check(chosen, given.get("first"), given.get("last"), times, here)
        walk(chosen.selection_set, inner, times, here)

    def check(chosen, first, last, times, path) -> int:
        name, asked = chosen.name.value, first if first is not None else last
        total.connections += times
        if asked is None:
            text = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
            total.troubles.append({"type": "MISSING_PAGINATION_BOUNDARIES", "path": path, "message": text})
        elif not 1 <= asked <= 100:
            which = "first" if first is not None else "last"
            text = f"Requesting {asked} records on the `{name}` connection exceeds the `{which}` limit of 100 records."
            total.troubles.append({"type": "EXCESSIVE_PAGINATION", "path": path, "message": text})
        total.nodes += times * (asked or 1)
        return times * (asked or 1)

    root = schema().mutation_type if operation.operation.value == "mutation" else schema().query_type
    walk(operation.selection_set, root, 1, [])
    if total.nodes > MOST_NODES:
        text = f"This query requests up to {total.nodes:,} possible nodes which exceeds the maximum limit of {MOST_NODES:,}."
        total.troubles.append({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": text})
    return total


def thin(result: dict) -> None:
    """Null out the second half of what was asked for, as when a query runs out of resources on the way."""
    errors = result.setdefault("errors", [])
    for rows, path in topmost_nodes(result.get("data") or {}, []):
        for index in range(len(rows) // 2, len(rows)):
            rows[index] = None
            text = "Resource limits for this query exceeded."
            errors.append({"type": "RESOURCE_LIMITS_EXCEEDED", "path": [*path, index], "message": text})
    if not errors:
        errors.append({"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits for this query exceeded."})


def topmost_nodes(data: dict, path: list):
    for key, value in data.items():
        if key == "nodes" and isinstance(value, list):
            yield value, [*path, key]
        elif isinstance(value, dict):
            yield from topmost_nodes(value, [*path, key])
