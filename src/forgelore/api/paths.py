"""Histories of paths, put together: the clone that somebody is in, dates as people write them, the project."""

import os

from forgelore.api.projects import meant_project
from forgelore.app import App
from forgelore.checkout import clone_root
from forgelore.core.values import check_whole
from forgelore.flows.paths.meant_path import ClonePlace
from forgelore.flows.paths.path_history import PathHistory, PathRequest, load_history
from forgelore.flows.search.filters import parse_filters
from forgelore.words import Moment

MOST = 1_000


def history_of(app: App, path: str, *, project: str | None, after: Moment, before: Moment, limit: int) -> PathHistory:
    """Return what happened to a path. Raises NotFound and InvalidValue."""
    request = make_request(app, path, after=after, before=before, limit=limit)
    return load_history(app.store(), meant_project(app, project), request, is_public=not app.include_internal)


def make_request(app: App, path: str, *, after: Moment, before: Moment, limit: int) -> PathRequest:
    check_whole("limit", limit, MOST)
    dates = parse_filters({"after": after, "before": before}, now_ms=app.now_ms())
    return PathRequest(path, find_place(app.cwd), dates.after, dates.before, limit, app.config.maintainers)


def find_place(cwd: str) -> ClonePlace:
    """Return the clone that somebody is in: where it is, links followed and not, and the folder in it."""
    root = clone_root(cwd)
    if root is None:
        return ClonePlace()
    folder = os.path.relpath(os.path.abspath(cwd), root).replace(os.sep, "/")
    return ClonePlace(tuple(dict.fromkeys((root, os.path.realpath(root)))), "" if folder == "." else folder)
