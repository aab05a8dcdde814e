"""GraphQL as GitLab answers it: items by number or by time, with their discussions, notes and files.

Global ids carry the class of a record, times end with the second, numbers are strings. What goes wrong inside is HTTP
200 with `errors`; a query for a field that this version lacks has no `data`. `server.graphql` switches all of it off,
`server.graphql_lacks` names fields that this version does not have yet ("Note.internal") or has lost.
"""

import functools
import json
import pathlib

import graphql

from ..base import Request, Response  # noqa: TID252  works as servers.* and as tests.servers.*
from .call import ApiError, Call
from .paging import MAX_PER_PAGE

SDL = pathlib.Path(__file__).with_name("schema.graphql")
MOST_CHARS = 10_000
FEATURES = {"issue": "issues", "change": "merge_requests"}


def answer(server, request: Request, token) -> Response:
    try:
        sent = json.loads(request.body)
        query, variables = sent["query"], sent.get("variables") or {}
    except (ValueError, KeyError, TypeError):
        raise ApiError(422, {"errors": [{"message": "Unexpected end of document"}]}) from None
    if len(query) > MOST_CHARS:
        raise ApiError(422, {"errors": [{"message": "Query too large"}]})
    document, errors = prepare(query, tuple(sorted(server.graphql_lacks)))
    if errors:
        return Response(200, {"errors": [refusal(error) for error in errors]})
    result = graphql.execute_sync(
        schema(tuple(sorted(server.graphql_lacks))),
        document,
        variable_values=variables,
        context_value=Call(server, request, token),
    )
    server.errors += [repr(e) for e in result.errors or () if not isinstance(e.original_error, ApiError | None)]
    told = {"data": result.data}
    return Response(200, {**told, "errors": [{"message": e.message} for e in result.errors]} if result.errors else told)


def refusal(error) -> dict:
    """`Cannot query field 'internal' on type 'Note'` -> in the words of graphql-ruby."""
    words = error.message
    if words.startswith("Cannot query field"):
        field, kind = words.split("'")[1], words.split("'")[3]
        code = {"code": "undefinedField", "typeName": kind, "fieldName": field}
        return {"message": f"Field '{field}' doesn't exist on type '{kind}'", "extensions": code}
    return {"message": words}


@functools.lru_cache(maxsize=64)
def prepare(query: str, lacks: tuple[str, ...]):
    try:
        document = graphql.parse(query)
    except graphql.GraphQLError as error:
        return None, [error]
    return document, graphql.validate(schema(lacks), document)


@functools.cache
def schema(lacks: tuple[str, ...]) -> graphql.GraphQLSchema:
    built = graphql.build_schema(SDL.read_text(encoding="utf-8"))
    for kind_name, fields in RESOLVERS.items():
        for name, resolve in fields.items():
            built.type_map[kind_name].fields[name].resolve = resolve
    if "Note.internal" in lacks:  # as it was called before 15.5
        fields = built.type_map["Note"].fields
        fields["confidential"] = graphql.GraphQLField(graphql.GraphQLBoolean, resolve=lambda note, _: note.internal)
    for name in lacks:
        kind, _, field = name.partition(".")
        del built.type_map[kind].fields[field]
    return built


def to_the_second(text: str | None) -> str | None:
    return f"{text[:19]}Z" if text else None


def find_project(_source, info, *, fullPath):  # noqa: N803 - as GitLab spells it
    call = info.context
    project = call.world.paths.get(fullPath.lower())
    return project if project and call.may_enter(project) else None


def find_items(kind, project, info, *, iids=None, updatedAfter=None, updatedBefore=None, first=None, after=None):  # noqa: N803
    call: Call = info.context
    if not call.may_use(project, FEATURES[kind]):
        return None
    rows = [item for item in project.items(kind).values() if call.may_read(item)]
    if iids is not None:
        rows = [item for item in rows if str(item.iid) in set(iids)]
    if updatedAfter:
        rows = [item for item in rows if item.updated_at >= _stamp(updatedAfter)]
    if updatedBefore:
        rows = [item for item in rows if item.updated_at <= _stamp(updatedBefore)]
    return connection(rows, first, after)


def _stamp(text: str) -> str:
    """`2026-03-01T12:00:00Z` and `…00.123Z` -> as records write times."""
    return text if "." in text else text.replace("Z", ".000Z")


def connection(rows: list, first, after) -> dict:
    """Positions are cursors. `rows` may hold more than the reader may see: see `notes`."""
    start, size = int(after or 0), min(first or MAX_PER_PAGE, MAX_PER_PAGE)
    end = min(start + size, len(rows))
    info = {
        "hasNextPage": end < len(rows),
        "hasPreviousPage": start > 0,
        "startCursor": str(start),
        "endCursor": str(end),
    }
    return {"nodes": rows[start:end], "pageInfo": info, "count": len(rows), "overflow": False}


def discussions(item, info, *, first=None, after=None, last=None, before=None):
    """What the reader may not see is left out after paging, as in GitLab."""
    rows = sorted(item.discussions, key=lambda d: (d.notes[0].created_at, d.notes[0].id))
    found = connection(rows, first, after)
    call = info.context
    found["nodes"] = [row for row in found["nodes"] if any(call.may_read_note(n) for n in row.notes)]
    return found


def notes(discussion, info, *, first=None, after=None, last=None, before=None):
    found = connection(discussion.notes, first, after)
    found["nodes"] = [note for note in found["nodes"] if info.context.may_read_note(note)]
    return found


def diffs(item, info, *, first=None, after=None, expanded=False):
    most = item.project.most_diff_files
    found = connection(item.files[:most], first or 20, after)
    return {**found, "overflow": len(item.files) > most}


def user(world, username):
    person = world.user(username) if username is not None else None
    return person and {"id": f"gid://gitlab/User/{person.id}", "username": person.username, "name": person.name}


def position(note, _info):
    place = note.position
    if not place or note.type != "DiffNote":
        return None
    return {
        "filePath": place["new_path"] or place["old_path"],
        "oldPath": place["old_path"],
        "newPath": place["new_path"],
        "oldLine": place["old_line"],
        "newLine": place["new_line"],
        "positionType": place["position_type"],
    }


def _item_fields(class_name: str) -> dict:
    return {
        "id": lambda item, _: f"gid://gitlab/{class_name}/{item.id}",
        "iid": lambda item, _: str(item.iid),
        "updatedAt": lambda item, _: to_the_second(item.updated_at),
        "userNotesCount": lambda item, _: sum(not note.system for note in item.notes()),
        "discussions": discussions,
    }


def _class_of(discussion) -> str:
    if discussion.individual:
        return "IndividualNoteDiscussion"
    return "DiffDiscussion" if discussion.notes[0].type == "DiffNote" else "Discussion"


RESOLVERS = {
    "Query": {"project": find_project, "queryComplexity": lambda *_: {"limit": 250, "score": 90}},
    "Project": {
        "id": lambda project, _: f"gid://gitlab/Project/{project.id}",
        "fullPath": lambda project, _: project.path,
        "issues": functools.partial(find_items, "issue"),
        "mergeRequests": functools.partial(find_items, "change"),
    },
    "Issue": _item_fields("Issue"),
    "MergeRequest": _item_fields("MergeRequest") | {"diffs": diffs},
    "Discussion": {
        "id": lambda one, _: f"gid://gitlab/{_class_of(one)}/{one.id}",
        "createdAt": lambda one, _: to_the_second(one.notes[0].created_at),
        "resolvable": lambda one, _: any(note.resolvable for note in one.notes),
        "resolved": lambda one, _: all(note.resolved_at for note in one.notes if note.resolvable),
        "notes": notes,
    },
    "Note": {
        "id": lambda note, _: f"gid://gitlab/{note.type or 'Note'}/{note.id}",
        "createdAt": lambda note, _: to_the_second(note.created_at),
        "updatedAt": lambda note, _: to_the_second(note.updated_at),
        "author": lambda note, _: user(note.discussion.item.project.world, note.author),
        "position": position,
        "resolved": lambda note, _: note.resolvable and note.resolved_at is not None,
        "resolvedAt": lambda note, _: to_the_second(note.resolved_at) if note.resolvable else None,
        "resolvedBy": lambda note, _: (
            user(note.discussion.item.project.world, note.resolved_by) if note.resolvable else None
        ),
    },
    "Diff": {
        "oldPath": lambda file, _: file.old_path,
        "newPath": lambda file, _: file.new_path,
        "newFile": lambda file, _: str(file.status == "added").lower(),
        "renamedFile": lambda file, _: str(file.status == "renamed").lower(),
        "deletedFile": lambda file, _: str(file.status == "deleted").lower(),
    },
}
