"""Items as resources of the protocol: `forgelore://item/PROJECT/KIND/NUMBER`, for people who attach one to a question.

PROJECT is percent-encoded; a release is named by its tag. The newest items are listed, and every item can be read.
"""

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from forgelore.errors import NotFound
from forgelore.surfaces.mcp.fence import DATA_NOTE, fence, one_line, seen

if TYPE_CHECKING:
    from forgelore.api import History, ListedItem

TEMPLATE = "forgelore://item/{project}/{kind}/{number}"
_SCHEME = "forgelore://item/"
_LISTED = 50
_MOST_CHARS = 40_000  # of one resource: 10,000 tokens; `read` has windows for what is longer


class ListedResource(NamedTuple):
    """An item as it is listed."""

    uri: str
    name: str
    title: str
    description: str


def list_resources(history: "History") -> list[ListedResource]:
    """Return the items that changed last."""
    return [_listed(item) for item in history.items(limit=_LISTED)]


def read_resource(history: "History", uri: str) -> str:
    """Return the text of an item with line numbers, fenced. Raises NotFound for what names no item."""
    project, kind, number = _parse(uri)
    words = (number,) if kind == "release" else (kind, number)
    item = history.show(*words, project=project, with_document=True)
    lines = [f"{at}: {line}" for at, line in enumerate((item.document or "").splitlines(), 1)]
    text = "\n".join(lines)
    if len(text) > _MOST_CHARS:
        text = f"{text[:_MOST_CHARS]}\n[...more below...]"
    return f"{DATA_NOTE}\n{fence(seen(text))}"


def _listed(item: "ListedItem") -> ListedResource:
    number = item.tag if item.kind == "release" and item.tag else str(item.number)
    uri = _SCHEME + "/".join(quote(part, safe="") for part in (item.project, item.kind, number))
    state = f", {item.state}" if item.state else ""
    return ListedResource(
        uri, one_line(item.ref, 90), one_line(item.title, 90), f"{item.kind}{state} of {item.project}"
    )


def _parse(uri: str) -> tuple[str, str, str]:
    parts = [unquote(part) for part in uri.removeprefix(_SCHEME).split("/")]
    if not uri.startswith(_SCHEME) or len(parts) != 3 or not all(parts):
        raise NotFound(f"{uri[:200]!r} names no item", hint=f"write {TEMPLATE}, the project percent-encoded")
    project, kind, number = parts
    return project, kind, number
