"""`index-code`, its second part: the commits that a commit is made from, newest first.

A batch is a transaction; a run that is cut off goes on with those that are missing. What is no longer part of the
history is removed, unless the clone is shallow: then it only does not reach as far as an earlier one did.
"""

from msgspec import Struct

from forgelore.flows.code.files import CodeSetup
from forgelore.store.code_files import load_code_tree, save_code_tree
from forgelore.store.commits import (
    NewCommit,
    count_commits,
    list_without_renames,
    load_shas,
    remove_commits,
    save_commits,
    save_renames,
)
from forgelore.store.db import Store

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
    _complete_renames(store, setup, shas)
    is_cut = len(shas) >= limit
    gone = [] if setup.clone.is_shallow or is_cut else sorted(known.difference(shas))
    with store.transaction():
        remove_commits(store, setup.project_id, gone)
        tree = load_code_tree(store, setup.project_id)
        save_code_tree(store, setup.project_id, tree._replace(history_commit=commit), setup.now_ms())
    return IndexedCommits(count_commits(store, setup.project_id), len(missing), len(gone), is_cut)


def _complete_renames(store: Store, setup: CodeSetup, shas: list[str]) -> None:
    """Ask the clone what commits renamed that were indexed before anybody wanted to know."""
    wanted = sorted(set(list_without_renames(store, setup.project_id)).intersection(shas))
    for at in range(0, len(wanted), _BATCH):
        batch = setup.clone.read_commits(wanted[at : at + _BATCH])
        with store.transaction():
            save_renames(store, setup.project_id, [NewCommit(*one) for one in batch])
        if setup.should_stop():
            raise KeyboardInterrupt
