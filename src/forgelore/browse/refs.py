"""Refs: which stored item a person means by `#12`, `!34`, a tag or a URL."""

from collections.abc import Sequence

from forgelore.errors import InvalidValue, NotFound, UsageError
from forgelore.store.commits import find_commits
from forgelore.store.database import Store
from forgelore.store.item_lists import find_items
from forgelore.store.paths import load_known_paths
from forgelore.store.projects import StoredProject, list_projects, resolve_project
from forgelore.text.items import StoredItem
from forgelore.text.refs import Hosts, Ref, parse_commit_name, parse_ref, split_line
from forgelore.text.values import check_ref, check_text
from forgelore.words import KIND_WORDS, Kind

_COMMIT_WORDS = ("commit", "commits")


def parse_kind(word: str) -> Kind:
    """Return what a person means by `pr`, `issues`, `merge_requests` …"""
    kind = KIND_WORDS.get(check_text("the kind of item", word).lower().replace("-", "_"))
    if kind is None:
        raise InvalidValue(
            f"{word!r} is not a kind of item", hint="use issues, changes (or prs, mrs), discussions or releases"
        )
    return kind


def parse_spoken_ref(words: Sequence[str | int]) -> Ref:
    """Return the ref in one word (`#12`) or two: `issue 12` and `mr 34` are the same as #12 and !34."""
    if not words:
        raise InvalidValue("no item named", hint="write #12, or: issue 12")
    if len(words) == 1:
        return parse_ref(words[0])
    if len(words) > 2:
        raise UsageError("one item at a time", hint="write #12, or: issue 12")
    if str(words[0]).lower() in _COMMIT_WORDS:
        return Ref("", sha=parse_commit_name(str(words[1])))
    ref = parse_ref(words[1])
    return Ref(ref.project, ref.number, parse_kind(check_ref(words[0])), ref.tag)


def split_refs(words: list[str]) -> list[tuple[str, ...]]:
    """Return the refs that several words are, each as `parse_spoken_ref` takes it.

    ["#41", "issue", "12", "v1.0"] -> [("#41",), ("issue", "12"), ("v1.0",)]
    """
    found: list[tuple[str, ...]] = []
    rest = iter(words)
    for word in rest:
        is_kind = word.lower().replace("-", "_") in KIND_WORDS or word.lower() in _COMMIT_WORDS
        number = next(rest, None) if is_kind else None
        found.append((word,) if number is None else (word, number))
    return found


def find_item(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> int:
    """Return the id of the item a person means. Raises NotFound with what to do."""
    return find_row(store, ref, project, hosts).id


def find_row(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> StoredItem:
    """Return the row of the item; `#12` means the issue where both exist (GitLab numbers changes apart). What
    the viewer may not see is not there, in the same words as anything else that is not.
    """
    if ref.project:
        project = resolve_project(store, ref.project, hosts)
    if ref.key and not ref.key.startswith("item:"):
        raise InvalidValue(f"{ref.key} is not an item", hint=_ITEMS_ALONE)
    if ref.is_of_commit:
        raise _not_an_item(store, ref, project)
    given = {
        "tag": ref.tag or None, "number": None if ref.tag else ref.number, "kind": None if ref.tag else ref.kind,
        "project_id": project.id if project else None,
    } if not ref.key else {"id": int(ref.key.partition(":")[2])}  # fmt: skip
    rows = find_items(store, {name: value for name, value in given.items() if value is not None})
    shown = ref.key or ref.tag or f"{'!' if ref.kind == 'change' else '#'}{ref.number}"
    if not rows and ref.sha:
        raise _not_an_item(store, ref, project, shown)
    if not rows and ref.tag and _is_path(store, ref.tag, project):
        raise InvalidValue(f"{ref.tag} is a file", hint=_FILES_ALONE)
    if not rows:
        where = f"in {project.name}" if project else "in this database"
        raise NotFound(f"{shown} is not {where}", hint="check the number, or fetch it: forgelore sync")
    if len({row.project_id for row in rows}) > 1:
        names = sorted({f"{row.project}{shown}" for row in rows})
        raise InvalidValue(f"{shown} exists in several projects", hint=f"choose one: {', '.join(names[:5])}")
    return rows[0]


def find_commit(store: Store, ref: Ref, project: StoredProject | None, hosts: Hosts) -> int | None:
    """Return the commit that a ref means, None where there is none. Raises InvalidValue where it means several."""
    if ref.project:
        project = resolve_project(store, ref.project, hosts)
    rows = find_commits(store, ref.sha, project.id if project else None)
    if len({row.sha for row in rows}) > 1:
        names = ", ".join(row.sha[: len(ref.sha) + 4] for row in rows[:5])
        raise InvalidValue(f"several commits begin with {ref.sha}", hint=f"write more letters: {names}")
    if len(rows) > 1:
        names = ", ".join(f"{row.project}@{ref.sha}" for row in rows[:5])
        raise InvalidValue(f"commit {ref.sha} is in several projects", hint=f"choose one: {names}")
    return rows[0].id if rows else None


_FILES_ALONE = "use `history` for what happened to it; `show` and `read` have its text if the code is indexed"
_ITEMS_ALONE = "name an issue, a change, a discussion or a release; `show` and `read` also take commits and files"


def _is_path(store: Store, path: str, project: StoredProject | None) -> bool:
    """Whether something is a path that changes or commits touch."""
    places = [project] if project else list_projects(store)
    return any(load_known_paths(store, one.id, (path, split_line(path)), 1) for one in places)


def _not_an_item(store: Store, ref: Ref, project: StoredProject | None, shown: str = "") -> InvalidValue | NotFound:
    """Return what to say of a ref that no item has, and that may be a commit's."""
    rows = find_commits(store, ref.sha, project.id if project else None)
    if rows:
        return InvalidValue(f"{ref.sha} is a commit", hint=_ITEMS_ALONE)
    where = f"in {project.name}" if project else "in this database"
    what = f"{shown} is" if shown else f"commit {ref.sha} is"
    return NotFound(f"{what} not {where}", hint="fetch items with: forgelore sync; commits with: forgelore index-code")
