"""`history.changes`: changes that do the same as others, and who is at work on what somebody is about to change."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from forgelore.app import App
from forgelore.browse.refs import find_row
from forgelore.compare.overlap import (
    ChangeFacts,
    Overlap,
    OverlapGroup,
    describe_default_branch,
    find_groups,
    find_overlaps,
    load_change_facts,
)
from forgelore.errors import InvalidValue, NotFound
from forgelore.store.change_lines import count_open_changes
from forgelore.store.database import Store
from forgelore.store.projects import StoredProject
from forgelore.text.items import StoredItem
from forgelore.text.patches import find_diff_paths, read_diff
from forgelore.text.refs import parse_ref, shown_ref
from forgelore.text.values import check_filled, check_number, check_whole

MAX_DIFF = 4_000_000  # characters
_MAX = 1_000


class OverlapAnswer(NamedTuple):
    """Which changes do the same: those that overlap with one (`change`, None for one that does not exist yet), or the
    groups of a project. `total`: how many there are, before the limit. `compared`: of the open changes those whose
    lines are known. `on_default`: in words, whether the default branch has its lines already, or those that it removes
    are gone from there; "" where neither holds, or the code is not indexed.
    """

    project: str
    forge: str
    change: StoredItem | None
    overlaps: tuple[Overlap, ...]
    groups: tuple[OverlapGroup, ...]
    total: int
    open_changes: int
    compared: int
    on_default: str = ""

    def ref(self, row: StoredItem) -> str:
        """Return how a change is named here: #12, !34."""
        return shown_ref(self.forge, "change", row.number)

    @property
    def warnings(self) -> tuple[str, ...]:
        missing = self.open_changes - self.compared
        if not missing:
            return ()
        which = f"{missing:,} of {self.open_changes:,} open changes are"
        return (f"the lines of {which} not known, so that only issues and files were compared; run: forgelore sync",)


class Changes:
    """What a history knows of changes beside each other."""

    def __init__(self, app: App) -> None:
        self._app = app

    def overlap(
        self, ref: str | int | None = None, *, diff: str = "", paths: Sequence[str] = (), closes: Sequence[int] = (),
        project: str | None = None, limit: int = 30,
    ) -> OverlapAnswer:  # fmt: skip
        """Return the changes that do the same as one: that change the same lines, close the same issue or touch the
        same rare files, each with the facts in words. Without a ref or anything else: the groups of a project, best
        first. Before a change exists: by the `diff` as git prints it, the `paths` it will touch, the numbers of the
        issues that it `closes`.
        """
        check_whole("limit", limit, _MAX)
        draft = _read_draft(diff, paths, closes)
        if ref is not None:
            if draft:
                raise InvalidValue("an existing change already has its diff", hint="leave out the ref, or the rest")
            return _of_ref(self._app, ref, self._app.named_project(project), limit)
        store, meant = self._app.store(), self._app.require_project(project)
        if draft:
            found = find_overlaps(store, meant.id, draft, as_of=self._app.now_ms())
            answer = _answer(store, meant, None, found, limit)
            return answer._replace(on_default=describe_default_branch(store, meant.id, draft))
        groups = find_groups(store, meant.id, as_of=self._app.now_ms())
        return _answer(store, meant, None, [], limit)._replace(groups=tuple(groups[:limit]), total=len(groups))


def _of_ref(app: App, ref: str | int, project: StoredProject | None, limit: int) -> OverlapAnswer:
    store = app.store()
    named = parse_ref(ref)
    is_bare = named.kind is None and not (named.key or named.tag or named.sha)
    row = find_row(store, named, project, app.hosts)
    if row.kind != "change" and is_bare:  # 12 may be an issue's number and a change's
        with suppress(NotFound):
            row = find_row(store, named._replace(kind="change"), project, app.hosts)
    if row.kind != "change":
        raise InvalidValue(f"{ref} is not a change", hint="name a pull or merge request; issues: forgelore similar")
    mine = load_change_facts(store, row.project_id, [row.id]).get(row.id)
    if mine is None or mine.row is None:
        raise NotFound(f"{ref} is gone from its forge")
    meant = app.stored_project(row.project_id)
    as_of = mine.row.ended_ms or app.now_ms()
    found = find_overlaps(store, meant.id, mine, as_of=as_of)
    answer = _answer(store, meant, mine.row, found, limit)
    is_open = mine.row.state == "open"
    return answer._replace(on_default=describe_default_branch(store, meant.id, mine)) if is_open else answer


def _answer(
    store: Store, project: StoredProject, row: StoredItem | None, found: list[Overlap], limit: int
) -> OverlapAnswer:
    every, compared = count_open_changes(store, project.id)
    return OverlapAnswer(
        str(project.name), project.name.forge, row, tuple(found[:limit]), (), len(found), every, compared
    )


def _read_draft(diff: str, paths: Sequence[str], closes: Sequence[int]) -> ChangeFacts | None:
    """Return the facts of a change that does not exist yet; None where nothing is said of one."""
    if not diff and not paths and not closes:
        return None
    if len(diff) > MAX_DIFF:
        raise InvalidValue(f"a diff of more than {MAX_DIFF:,} characters is not compared")
    named = find_diff_paths(diff)
    if diff and not named:
        raise InvalidValue("no diff was found in this text", hint="give it as git diff prints it")
    every = named.union(check_filled("a path", path).removeprefix("./") for path in paths)
    issues = frozenset(check_number("an issue", number) for number in closes)
    return ChangeFacts(lines=read_diff(diff), paths=every, issues=issues)
