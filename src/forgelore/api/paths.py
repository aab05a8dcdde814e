"""Histories of paths, put together: the clone that somebody is in, dates as people write them, the project."""

import os
from typing import get_args

from forgelore.api.projects import require_project
from forgelore.app import App
from forgelore.checkout import clone_root
from forgelore.errors import InvalidValue
from forgelore.history.extract import ExtractedDecisions, ExtractionSetting
from forgelore.history.path_history import HistoryKind, PathHistory, PathRequest, extract_history, load_history
from forgelore.history.sources import ClonePlace
from forgelore.ports.progress import Watcher
from forgelore.search.filters import parse_filters
from forgelore.text.values import check_whole
from forgelore.words import Moment

MAX = 1_000
_BUDGET = (4_000, 10_000_000)


def history_of(
    app: App, path: str, *, project: str | None, after: Moment, before: Moment, limit: int, offset: int = 0,
    kind: HistoryKind = "",
) -> PathHistory:  # fmt: skip
    """Return what happened to a path. Raises NotFound and InvalidValue."""
    if kind not in get_args(HistoryKind):
        raise InvalidValue(
            f"unknown kind: {str(kind)[:60]!r}", hint=f"use {', '.join(filter(None, get_args(HistoryKind)))}"
        )
    if offset:
        check_whole("offset", offset, 1_000_000)
    request = make_request(app, path, after=after, before=before, limit=limit)._replace(offset=offset, kind=kind)
    return load_history(app.store(), require_project(app, project), request)


def extract_decisions(
    app: App, path: str, *, project: str | None, profile: str | None, budget: int, include_internal: bool,
    watcher: Watcher | None,
) -> ExtractedDecisions:  # fmt: skip
    """Let the language model of a profile read the conversations of a path's history. Raises ConfigError where the
    settings name none.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or not _BUDGET[0] <= budget <= _BUDGET[1]:
        hint = f"{_BUDGET[0]:,} to {_BUDGET[1]:,} tokens"
        raise InvalidValue(f"a budget of {str(budget)[:60]!r} tokens is no budget", hint=hint)
    request = make_request(app, path, after=None, before=None, limit=1)
    setting = ExtractionSetting(app.chat_model(profile), budget, app.now_ms, app.stop.is_set, app.watch(watcher))
    store, meant = app.store(create=True), require_project(app, project)
    return extract_history(store, meant, request, setting, include_internal=include_internal)


def make_request(app: App, path: str, *, after: Moment, before: Moment, limit: int) -> PathRequest:
    check_whole("limit", limit, MAX)
    dates = parse_filters({"after": after, "before": before}, now_ms=app.now_ms())
    return PathRequest(path, find_place(app.cwd), dates.after, dates.before, limit, app.config.maintainers)


def find_place(cwd: str) -> ClonePlace:
    """Return the clone that somebody is in: where it is, links followed and not, and the folder in it."""
    root = clone_root(cwd)
    if root is None:
        return ClonePlace()
    folder = os.path.relpath(os.path.abspath(cwd), root).replace(os.sep, "/")
    return ClonePlace(tuple(dict.fromkeys((root, os.path.realpath(root)))), "" if folder == "." else folder)
