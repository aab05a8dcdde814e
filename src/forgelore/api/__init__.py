"""forgelore from Python: `forgelore.open("history.db").search("deleted files come back")`.

Everything that a surface does goes through `History`, so that all of them give the same answers. The public names are
those of `__init__.pyi`, which this file reads: the nouns of a history, and what their methods take and return. They are
loaded when they are first asked for: a command that only lists pays for nothing else.

Older names work for one more release. All of them are listed here; using one says what to write instead.
"""

import os
import re
import warnings
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import ParamSpec, TypeVar

assert __spec__ is not None
_LIST = __spec__.loader.get_data(os.path.join(os.path.dirname(__file__), "__init__.pyi"))  # also inside a zip file
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _LIST.decode(), re.MULTILINE)}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


Given = ParamSpec("Given")
Result = TypeVar("Result")
# What stood on `History` itself, and where it is now.
METHODS = {
    "names_to_sync": "sync.names", "refresh": "sync.refresh", "estimate_sync": "sync.estimate",
    "status": "sync.status", "import_file": "sync.import_file", "replay": "sync.replay",
    "export_lines": "sync.export_lines", "export_to": "sync.export_to", "export_file": "sync.export_file",
    "update_index": "index.update", "build_documents": "index.build_documents", "embed": "index.embed",
    "index_code": "index.code", "count_unindexed": "index.count_waiting", "stats": "index.stats",
    "check": "index.check", "repair": "index.repair",
    "run_dedupe": "dedupe.run", "make_intent_cards": "dedupe.make_cards", "make_candidates": "dedupe.find_candidates",
    "judge_candidates": "dedupe.judge", "detect_new": "dedupe.detect", "canonicalize": "dedupe.cluster",
    "plan_closings": "dedupe.plan", "apply_closings": "dedupe.apply", "roll_back_closings": "dedupe.roll_back",
    "override_duplicate": "dedupe.override", "list_maintainers": "dedupe.list_maintainers",
    "list_dedupe_runs": "dedupe.list_runs", "load_overview": "dedupe.load_overview",
    "audit_judges": "audit.compare_judges", "audit_by_history": "audit.by_history",
    "audit_by_people": "audit.by_people",
    "list_blind_pairs": "audit.list_blind_pairs", "label_pairs": "audit.label", "read_pair_labels": "audit.read_labels",
    "analyse_audit": "audit.analyse",
    "who": "people.who", "who_knows": "people.who_knows", "who_or_path": "people.who_or_path", "me": "people.me",
    "history_of": "paths.history", "extract_decisions": "paths.extract_decisions",
    "list_asked": "questions.list", "replay_asked": "questions.replay",
    "handle_event": "triage.handle_event",
    "suggest_project": "setup.suggest_project", "set_up": "setup.write", "add_host": "setup.add_host",
    "check_up": "setup.check", "find_token_owner": "setup.find_token_owner",
    "name_project": "projects.name", "list_projects": "projects.list", "has_several_projects": "projects.are_several",
}  # fmt: skip
# What options were called.
OPTIONS = {
    "is_raw": "raw", "is_literal": "literal", "is_rescored": "rescore", "is_earlier": "earlier",
    "is_time_ordered": "earlier", "is_strict": "strict", "is_dry": "dry_run", "is_unproven": "unproven",
    "is_posted": "post", "is_reader": "read_only", "is_offline": "offline",
}  # fmt: skip


def warn_renamed(old: str, new: str) -> None:
    """Say what to write instead, at the line that has the old name."""
    warnings.warn(f"{old} is deprecated: write {new}", DeprecationWarning, stacklevel=3)


def renamed(method: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a method be called with the older names of its options."""

    @wraps(method)
    def call(*args: Given.args, **given: Given.kwargs) -> Result:
        for old in given.keys() & OPTIONS.keys():
            warn_renamed(f"{old}=", f"{OPTIONS[old]}=")
            given[OPTIONS[old]] = given.pop(old)
        return method(*args, **given)

    return call
