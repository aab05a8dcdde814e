"""Arguments of the tools: their schemas for agents, and the reading of what agents send.

Errors are in our words and list the valid arguments. A string where a list is wanted means a list of
one; nothing else is guessed or converted.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from forgelore.errors import InvalidValue
from forgelore.surfaces.present.data import JsonValue

MAX_TEXT = 100_000  # characters of a query: a pasted stack trace is one
_MAX_NAME = 1_000

_Name = Annotated[str, Meta(max_length=_MAX_NAME)]
_Ref = Annotated[
    str,
    Meta(
        max_length=_MAX_NAME,
        description="as answers name it: #12, !34, owner/repo#12, a tag, a commit, file:7; or its page's URL",
    ),
]
_Project = Annotated[
    str, Meta(max_length=_MAX_NAME, description="owner/repo; needed where the database holds several projects")
]
_Offset = Annotated[int, Meta(ge=0, le=100_000, description="`next` of the page before")]
_Limit = Annotated[int, Meta(description="1 to 20; a number outside means the nearest one")]

Given = TypeVar("Given", bound=Struct)


class SearchArguments(Struct, forbid_unknown_fields=True):
    """What `search` takes."""

    query: Annotated[
        str,
        Meta(
            min_length=1, max_length=MAX_TEXT,
            description='words, "a phrase", -word, auth*, #12, and qualifiers: label:bug is:open created:>2026-01',
        ),
    ]  # fmt: skip
    type: Annotated[
        list[_Name],
        Meta(
            max_length=10,
            description="any of issue, change (pull or merge request), discussion, release, thread, code, commit, all",
        ),
    ] = []
    state: Annotated[list[_Name], Meta(max_length=10, description="any of open, closed, merged")] = []
    author: Annotated[list[_Name], Meta(max_length=10, description="any of these people")] = []
    label: Annotated[list[_Name], Meta(max_length=10, description='all of these labels; "a,b": one of these')] = []
    path: Annotated[
        list[_Name], Meta(max_length=10, description="touches any of these files; globs such as src/**.py")
    ] = []
    after: Annotated[str, Meta(max_length=100, description="created since: 2026-03-01, 7d, 3 months ago")] | None = None
    before: Annotated[str, Meta(max_length=100, description="created before")] | None = None
    project: _Project | None = None
    mode: Annotated[
        Literal["hybrid", "lexical", "semantic"], Meta(description="by words and meaning, by words, or by meaning")
    ] = "hybrid"
    limit: _Limit = 10
    offset: Annotated[str, Meta(max_length=200, description="`next` of the page before")] = "0"


class ReadArguments(Struct, forbid_unknown_fields=True):
    """What `read` takes."""

    ref: Annotated[
        str,
        Meta(
            max_length=_MAX_NAME,
            description="as answers name it: #12, !34, owner/repo#12, a tag, a commit, file:7; a page's URL; a path",
        ),
    ]
    line: (
        Annotated[int, Meta(description="the line to read around; with a direction, where to begin or end")] | None
    ) = None
    column: Annotated[int, Meta(description="a character of a very long line")] = 1
    direction: Annotated[
        Literal["up", "down"], Meta(description="down: from the line on; up: up to the line. Without a line: the ends")
    ] | None = None  # fmt: skip
    find: Annotated[str, Meta(max_length=_MAX_NAME, description="words to look for in the text of this item")] = ""
    chars: (
        Annotated[int, Meta(description="most characters to return, 1000 to 8000; around a line 2000, else 8000")]
        | None
    ) = None
    project: _Project | None = None


class SimilarArguments(Struct, forbid_unknown_fields=True):
    """What `similar` takes."""

    ref: _Ref
    only_earlier: Annotated[bool, Meta(description="only what was there before it, which it could repeat")] = False
    limit: _Limit = 5
    project: _Project | None = None


class ShowArguments(Struct, forbid_unknown_fields=True):
    """What `show` takes."""

    ref: _Ref
    project: _Project | None = None


class HistoryArguments(Struct, forbid_unknown_fields=True):
    """What `history` takes."""

    path: Annotated[
        str, Meta(min_length=1, max_length=4_096, description="a file, a folder (src/) or a glob such as src/**.py")
    ]
    kind: Annotated[
        Literal["", "decision", "issue", "change", "discussion", "release", "commit", "thread"],
        Meta(description="only these; default: everything, decisions first"),
    ] = ""
    offset: _Offset = 0
    after: Annotated[str, Meta(max_length=100, description="since: 2026-03-01, 7d, 3 months ago")] | None = None
    before: Annotated[str, Meta(max_length=100, description="before")] | None = None
    project: _Project | None = None
    limit: _Limit = 10


class WhoArguments(Struct, forbid_unknown_fields=True):
    """What `who` takes."""

    who: Annotated[str, Meta(min_length=1, max_length=4_096, description="a login, or the path of a file or folder")]
    project: _Project | None = None
    limit: _Limit = 5


class MeArguments(Struct, forbid_unknown_fields=True):
    """What `me` takes."""

    login: Annotated[str, Meta(max_length=_MAX_NAME, description="default: who runs the server")] | None = None
    project: _Project | None = None
    limit: _Limit = 5


class ListArguments(Struct, forbid_unknown_fields=True):
    """What `list` takes."""

    kind: Annotated[Literal["items", "issues", "changes", "discussions", "releases"], Meta()] = "items"
    query: Annotated[str, Meta(max_length=_MAX_NAME, description="qualifiers: label:bug is:open -author:ana")] = ""
    sort: Annotated[
        Literal["updated", "created", "number", "comments", "updated-asc", "created-asc", "number-asc", "comments-asc"],
        Meta(),
    ] = "updated"
    project: _Project | None = None
    limit: _Limit = 10
    offset: _Offset = 0


class CountArguments(Struct, forbid_unknown_fields=True):
    """What `count` takes."""

    what: Annotated[Literal["items", "issues", "changes", "discussions", "releases", "threads", "notes"], Meta()] = (
        "items"
    )
    query: Annotated[str, Meta(max_length=_MAX_NAME, description="qualifiers: label:bug is:open -author:ana")] = ""
    project: _Project | None = None


class LabelsArguments(Struct, forbid_unknown_fields=True):
    """What `labels` takes."""

    project: _Project | None = None
    offset: _Offset = 0


class TreeArguments(Struct, forbid_unknown_fields=True):
    """What `tree` takes."""

    folder: Annotated[str, Meta(max_length=4_096, description="default: the root")] = ""
    project: _Project | None = None
    offset: _Offset = 0


class StatusArguments(Struct, forbid_unknown_fields=True):
    """What `sync_status` takes."""

    project: _Project | None = None


class AskArguments(Struct, forbid_unknown_fields=True):
    """What `ask` takes."""

    question: Annotated[str, Meta(min_length=1, max_length=8_000, description="a question about the projects")]
    project: _Project | None = None
    budget: Annotated[int, Meta(ge=1_000, le=200_000, description="tokens that the model may use in all")] = 60_000
    continue_session: Annotated[int, Meta(ge=1, description="`session` of an answer that this follows up")] | None = (
        None
    )


class SyncArguments(Struct, forbid_unknown_fields=True):
    """What `sync` takes."""

    project: Annotated[str, Meta(min_length=1, max_length=_MAX_NAME, description="a project that the database holds")]


def read_arguments(kind: type[Given], sent: Mapping[str, object]) -> Given:
    """Return what was sent, checked; a string where a list is expected becomes a list of one. Raises InvalidValue with
    the valid arguments.
    """
    lists = {field.name for field in msgspec.structs.fields(kind) if isinstance(field.default_factory, type)}
    sent = {name: [value] if name in lists and isinstance(value, str) else value for name, value in sent.items()}
    try:
        return msgspec.convert(sent, kind)
    except msgspec.ValidationError as error:
        known = ", ".join(kind.__struct_fields__)
        message = (
            str(error).replace("Object contains", "there is an").replace("Object missing required field", "missing:")
        )
        raise InvalidValue(f"the arguments do not fit: {message[:300]}", hint=f"this tool takes {known}") from error


def build_input_schema(kind: type[Struct]) -> dict[str, JsonValue]:
    """Return the schema of a tool's arguments, an object at its root as the protocol wants it."""
    definitions: dict[str, JsonValue]
    (_, *_), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    root = definitions.pop(kind.__name__)
    assert isinstance(root, dict)
    root = {name: value for name, value in root.items() if name not in ("title", "description")}  # the tool has both
    return {**root, **({"$defs": definitions} if definitions else {})}
