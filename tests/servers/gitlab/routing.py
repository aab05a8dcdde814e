"""Which function answers a path? Templates such as `/projects/:ref/:items/:iid`; `:items` is a list."""

import dataclasses
import re
import urllib.parse
from collections.abc import Callable


@dataclasses.dataclass
class Answer:
    body: object
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    status: int = 200


@dataclasses.dataclass
class Route:
    method: str
    template: str
    handler: Callable
    signed_in: bool = False  # refuses anonymous readers, always
    thread: bool = False  # refuses them unless the server's `anonymous_threads` says otherwise
    etag: bool = False

    def __post_init__(self):
        rule = self.template.replace(":items", "(?P<items>issues|merge_requests)")
        self.rule = re.compile(re.sub(r":(\w+)", r"(?P<\1>[^/]+)", rule) + r"\Z")

    def match(self, path: str) -> dict[str, str] | None:
        found = self.rule.match(path)
        return {name: urllib.parse.unquote(value) for name, value in found.groupdict().items()} if found else None


def find_route(routes, method: str, path: str) -> tuple[Route | None, dict[str, str], bool]:
    """The route and its segments, and whether the path exists at all (then the method is what is wrong)."""
    exists = False
    for route in routes:
        segments = route.match(path)
        if segments is not None:
            exists = True
            if route.method == method:
                return route, segments, True
    return None, {}, exists
