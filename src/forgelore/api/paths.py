"""`history.paths`: what happened to a file, a folder or a glob, and the decisions that a model reads out of it."""

import os
from typing import get_args

from forgelore.app import App
from forgelore.browse.refs import find_item
from forgelore.checkout import clone_root
from forgelore.errors import InvalidValue
from forgelore.history.extract import ExtractedDecisions
from forgelore.history.path_history import (
    HistoryKind,
    PathDecision,
    PathHistory,
    PathRequest,
    extract_history,
    load_history,
    load_item_decisions,
)
from forgelore.history.sources import ClonePlace
from forgelore.ports.progress import Watcher
from forgelore.search.filters import parse_filters
from forgelore.store.item_lists import load_items
from forgelore.text.refs import parse_ref
from forgelore.text.values import check_whole
from forgelore.words import Moment

MAX = 1_000
_BUDGET = (4_000, 10_000_000)


class Paths:
    """What a history knows of files, folders and globs."""

    def __init__(self, app: App) -> None:
        self._app = app

    def history(
        self, path: str, *, project: str | None = None, after: Moment = None, before: Moment = None, limit: int = 30,
        offset: int = 0, kind: HistoryKind = "",
    ) -> PathHistory:  # fmt: skip
        """Return what happened to a file, a folder (`src/`) or what a glob names: decisions first, each with the words
        it stands in, then changes, commits, threads and mentions, newest first. A file is followed through renamings.
        `offset`: how many to pass over, decisions first. `kind`: only decisions, or entries of that kind. Raises
        NotFound, with the nearest path, for one that nobody knows.
        """
        if kind not in get_args(HistoryKind):
            raise InvalidValue(
                f"unknown kind: {str(kind)[:60]!r}", hint=f"use {', '.join(filter(None, get_args(HistoryKind)))}"
            )
        check_whole("offset", offset, 1_000_000, least=0)
        request = make_request(self._app, path, after=after, before=before, limit=limit)
        request = request._replace(offset=offset, kind=kind)
        return load_history(self._app.store(), self._app.require_project(project), request)

    def decisions_in(self, ref: str | int, *, project: str | None = None) -> list[PathDecision]:
        """Return what was decided in the conversation of one item, the weightiest first: in whose words, and what
        replaced it since.
        """
        store = self._app.store()
        found = find_item(store, parse_ref(str(ref)), self._app.named_project(project), self._app.hosts)
        row = load_items(store, [found])[found]
        project_of = self._app.stored_project(row.project_id)
        return load_item_decisions(store, project_of, found, self._app.config.maintainers)

    def extract_decisions(
        self, path: str, *, project: str | None = None, profile: str | None = None, budget: int = 60_000,
        include_internal: bool = False, watcher: Watcher | None = None,
    ) -> ExtractedDecisions:  # fmt: skip
        """Let the language model of the settings read the conversations of a path's history, and keep what was decided
        in them: who decided what, where, and what replaced it. `history` tells it from then on. Every quote is
        looked up; what does not stand there is thrown away. What did not change is not asked about again. Raises
        ConfigError where the settings name no model.
        """
        app = self._app
        seen = app.store_for_call(include_internal=include_internal)
        if isinstance(budget, bool) or not isinstance(budget, int) or not _BUDGET[0] <= budget <= _BUDGET[1]:
            hint = f"{_BUDGET[0]:,} to {_BUDGET[1]:,} tokens"
            raise InvalidValue(f"invalid token budget: {str(budget)[:60]!r}", hint=hint)
        request = make_request(app, path, after=None, before=None, limit=1)
        model = app.chat_model(profile)
        app.store(create=True)
        job = app.job(app.require_project(project), watcher)
        return extract_history(job, request, model, budget, seen=seen)


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
