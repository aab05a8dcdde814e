"""`index-code`, its second part: the commits that a commit is made from, newest first.

A batch is a transaction; a run that is cut off goes on with those that are missing. What is no longer part of the
history is removed, unless the clone is shallow: then it only does not reach as far as an earlier one did. In the end
each commit is joined with the change that brought it, and each author with the account that is theirs.
"""

from msgspec import Struct

from forgelore.core.code.merges import GraphCommit, assign_changes, named_change
from forgelore.core.people.git_people import MAX_MAILMAP, GitName, Mailmap, join_people, parse_mailmap
from forgelore.flows.code.files import CodeSetup
from forgelore.store.code_files import load_code_tree, save_code_tree
from forgelore.store.commits import (
    NewCommit,
    complete_commits,
    count_commits,
    each_graph_row,
    list_incomplete,
    load_change_facts,
    load_shas,
    remove_commits,
    save_commit_changes,
    save_commits,
    save_git_people,
)
from forgelore.store.db import Store
from forgelore.store.projects import list_projects

MAX_COMMITS = 200_000  # the newest; older ones are left out
_BATCH = 500


class IndexedCommits(Struct):
    """What a run did, in commits."""

    total: int = 0
    new: int = 0
    removed: int = 0
    is_cut: bool = False  # there are more than MAX_COMMITS


def index_commits(store: Store, setup: CodeSetup, commit: str, *, limit: int = MAX_COMMITS) -> IndexedCommits:
    """Make the commits of a project those that lead to a commit."""
    if load_code_tree(store, setup.project_id).history_commit == commit:
        with store.transaction():  # a sync since then may have brought the changes of known commits
            _join(store, setup, commit)
        return IndexedCommits(total=count_commits(store, setup.project_id))
    shas = setup.clone.list_commits(commit, limit)
    known = load_shas(store, setup.project_id)
    missing = [sha for sha in shas if sha not in known]
    if missing:
        setup.watcher.begin("commits", "commits indexed", len(missing))
    for at in range(0, len(missing), _BATCH):
        batch = setup.clone.read_commits(missing[at : at + _BATCH])
        with store.transaction():
            save_commits(store, setup.project_id, [NewCommit(*one) for one in batch])
        setup.watcher.saved("commits", len(batch))
        if setup.should_stop():
            raise KeyboardInterrupt
    if missing:
        setup.watcher.done("commits")
    _complete(store, setup, shas)
    is_cut = len(shas) >= limit
    gone = [] if setup.clone.is_shallow or is_cut else sorted(known.difference(shas))
    with store.transaction():
        remove_commits(store, setup.project_id, gone)
        _join(store, setup, commit)
        tree = load_code_tree(store, setup.project_id)
        save_code_tree(store, setup.project_id, tree._replace(history_commit=commit), setup.now_ms())
    return IndexedCommits(count_commits(store, setup.project_id), len(missing), len(gone), is_cut)


def _complete(store: Store, setup: CodeSetup, shas: list[str]) -> None:
    """Read commits again that an earlier version wrote, with less than this one keeps of a commit."""
    wanted = sorted(set(list_incomplete(store, setup.project_id)).intersection(shas))
    for at in range(0, len(wanted), _BATCH):
        batch = setup.clone.read_commits(wanted[at : at + _BATCH])
        with store.transaction():
            complete_commits(store, setup.project_id, [NewCommit(*one) for one in batch])
        if setup.should_stop():
            raise KeyboardInterrupt


def _join(store: Store, setup: CodeSetup, head: str) -> None:
    """Find the change of each commit, and the account of each author. In a transaction."""
    path = next(one.name.path for one in list_projects(store) if one.id == setup.project_id)
    rows = {row.sha: row for row in each_graph_row(store, setup.project_id)}
    graph = {sha: GraphCommit(tuple(row.parents.split()), named_change(row.message, path)) for sha, row in rows.items()}
    known = load_change_facts(store, setup.project_id)
    changes = {one.head_sha: one.number for one in known if one.head_sha in rows} | assign_changes(head, graph)
    save_commit_changes(store, setup.project_id, {rows[sha].id: number for sha, number in changes.items()})
    written: dict[int, set[GitName]] = {}
    for sha, number in changes.items():
        row = rows[sha]
        if row.mail and len(graph[sha].parents) < 2:  # a merge is its maintainer's
            written.setdefault(number, set()).add(GitName(row.author or "", row.mail))
    authors = {one.number: one.author for one in known}
    names = {GitName(row.author or "", row.mail) for row in rows.values() if row.mail}
    evidence = ((authors[number], frozenset(each)) for number, each in written.items() if number in authors)
    save_git_people(store, setup.project_id, join_people(names, _read_mailmap(setup, head), evidence))


def _read_mailmap(setup: CodeSetup, head: str) -> Mailmap:
    """Return what the .mailmap of the commit says: the plain file at the root, if it is not too large."""
    entry = next((one for one in setup.clone.list_files(head) if one.path == ".mailmap"), None)
    if entry is None or not entry.mode.startswith("100"):
        return parse_mailmap("")
    if setup.clone.measure([entry.blob]).get(entry.blob, MAX_MAILMAP + 1) > MAX_MAILMAP:
        return parse_mailmap("")
    return parse_mailmap(next((data.decode("utf-8", "replace") for _, data in setup.clone.read([entry.blob])), ""))
