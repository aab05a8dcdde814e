"""`index-code`: the files of a commit into chunks that full text finds, and its history.

    tree -> left out by name -> known by blob, or moved -> sizes -> contents -> left out by text -> chunks

A file whose content is known costs nothing, nor does one that only moved. Then the commits that lead to that one,
newest first: each is joined with the change that brought it, each author with an account. A batch is a transaction, so
that a run that is cut off goes on where it was.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from msgspec import Struct, field

from forgelore.context import JobContext
from forgelore.errors import Stopped
from forgelore.index.definitions import cut_code, find_language
from forgelore.index.left_out import (
    MAX_RULES,
    AttributeRule,
    GraphCommit,
    LeftOut,
    assign_changes,
    decode_text,
    find_attributes,
    is_odd,
    judge_path,
    judge_text,
    named_change,
    parse_attributes,
)
from forgelore.ports.clone import Clone, TreeFile
from forgelore.records import GitName
from forgelore.store.code import (
    CodeFile,
    CodeTree,
    forget_left_out,
    load_code_tree,
    load_known_files,
    load_left_out,
    move_file,
    remove_files,
    save_code_tree,
    save_file,
    save_left_out,
)
from forgelore.store.commits import (
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
from forgelore.store.database import Store
from forgelore.text.links import MAX_MAILMAP, Mailmap, join_people, parse_mailmap

RULES = 1  # grows when files are cut or left out by other rules
_BATCH_FILES, _BATCH_BYTES = 200, 8 << 20
_MEASURED = 5_000
_MAX_ATTRIBUTES = 256 << 10  # bytes of a file of attributes


class IndexedFiles(Struct):
    """What a run did, in files. `left_out`: reason -> how many of the tree are no documents."""

    commit: str = ""
    total: int = 0
    new: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


class _Plan(NamedTuple):
    """What is to be done: files to read (path -> entry), to leave out, to move (from -> to), to remove."""

    to_read: dict[str, TreeFile]
    left_out: dict[str, tuple[str, str]]  # path -> blob, reason
    moved: list[tuple[CodeFile, str]]
    gone: list[CodeFile]
    attributes: dict[str, dict[str, bool]]


def index_files(job: JobContext, clone: Clone, commit: str, *, max_bytes: int) -> IndexedFiles:
    """Make the files of a project those of a commit. `max_bytes`: of the largest that is read."""
    store, project_id = job.store, job.project.id
    before = load_code_tree(store, project_id)
    known = load_known_files(store, project_id)
    result = IndexedFiles(commit, total=len(known))
    entries = None if before.tree_commit == commit else clone.list_files(commit)
    rules = f"{RULES} {max_bytes} {_name_attributes(entries)}" if entries is not None else before.rules
    if entries is None and not before.rules.startswith(f"{RULES} {max_bytes} "):
        entries = clone.list_files(commit)
        rules = f"{RULES} {max_bytes} {_name_attributes(entries)}"
    if entries is None:
        result.unchanged = len(known)
        result.left_out = _count(reason for _, reason in load_left_out(store, project_id).values())
        return result
    is_same_rules = before.rules == rules
    skipped = load_left_out(store, project_id) if is_same_rules else {}
    plan = _make_plan(clone, entries, known, skipped, is_same_rules=is_same_rules)
    with store.transaction():
        save_code_tree(store, project_id, before._replace(tree_commit="", rules=rules), job.now_ms())
        _tidy(store, project_id, plan)
    _read_files(job, clone, plan, known, result, max_bytes)
    with store.transaction():
        history = load_code_tree(store, project_id).history_commit
        save_code_tree(store, project_id, CodeTree(commit, history, rules), job.now_ms())
    result.moved, result.removed = len(plan.moved), len(plan.gone)
    result.left_out = _count(reason for _, reason in load_left_out(store, project_id).values())
    result.total = len(load_known_files(store, project_id))
    result.unchanged = result.total - result.new - result.changed - result.moved
    return result


def _count(reasons: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for reason in reasons:
        found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items()))


def _name_attributes(entries: list[TreeFile]) -> str:
    return " ".join(sorted(f"{one.path}:{one.blob}" for one in entries if _is_attributes(one)))


def _is_attributes(entry: TreeFile) -> bool:
    is_plain = entry.mode.startswith("100") and not is_odd(entry.path)
    return is_plain and entry.path.rpartition("/")[2] == ".gitattributes"


def _load_rules(clone: Clone, entries: list[TreeFile]) -> list[AttributeRule]:
    """Return what the files of attributes say, those of higher folders first."""
    files = sorted((one for one in entries if _is_attributes(one)), key=lambda one: (one.path.count("/"), one.path))
    sizes = clone.measure([one.blob for one in files]) if files else {}
    texts = dict(clone.read([blob for blob, size in sizes.items() if size <= _MAX_ATTRIBUTES]))
    rules: list[AttributeRule] = []
    for one in files:
        text = decode_text(texts.get(one.blob, b""))
        rules += parse_attributes(one.path.removesuffix(".gitattributes"), text or "")
    return rules[:MAX_RULES]


def _make_plan(
    clone: Clone, entries: list[TreeFile], known: dict[str, CodeFile], skipped: dict[str, tuple[str, str]], *,
    is_same_rules: bool,
) -> _Plan:  # fmt: skip
    rules = _load_rules(clone, entries)
    to_read: dict[str, TreeFile] = {}
    left_out: dict[str, tuple[str, str]] = {}
    attributes: dict[str, dict[str, bool]] = {}
    kept = set()
    for entry in entries:
        said = find_attributes(rules, entry.path)
        reason = judge_path(entry.path, entry.mode, said)
        seen = skipped.get(entry.path)
        there = known.get(entry.path)
        if reason is not None:
            left_out[entry.path] = (entry.blob, reason)
        elif is_same_rules and there and there.blob == entry.blob:
            kept.add(entry.path)
        elif seen and seen[0] == entry.blob:
            left_out[entry.path] = seen
        else:
            to_read[entry.path] = entry
            attributes[entry.path] = said
    gone = {path: file for path, file in known.items() if path not in kept and path not in to_read}
    moved = _find_moved(to_read, gone, known) if is_same_rules else []
    return _Plan(to_read, left_out, moved, list(gone.values()), attributes)


def _find_moved(
    to_read: dict[str, TreeFile], gone: dict[str, CodeFile], known: dict[str, CodeFile]
) -> list[tuple[CodeFile, str]]:
    """Take files that only moved out of what is to be read and removed, and return them with their new paths."""
    by_blob = {file.blob: path for path, file in gone.items()}
    moved = []
    for path, entry in list(to_read.items()):
        old = by_blob.get(entry.blob)
        if old is not None and path not in known and gone[old].language == find_language(path):
            moved.append((gone.pop(old), path))
            del by_blob[entry.blob], to_read[path]
    return moved


def _tidy(store: Store, project_id: int, plan: _Plan) -> None:
    """Write all that needs no content: what is left out, what moved, what is gone."""
    remove_files(store, [file.id for file in plan.gone])
    for file, path in plan.moved:
        move_file(store, file.id, path)
    before = load_left_out(store, project_id)
    forget_left_out(store, project_id, [path for path in before if path not in plan.left_out])
    fresh = ((path, *row) for path, row in plan.left_out.items() if before.get(path) != row)
    # A path that is not text cannot be stored; it is only counted.
    save_left_out(store, project_id, ((_written(path), blob, reason) for path, blob, reason in fresh))


def _written(path: str) -> str:
    return path.encode("utf-8", "replace").decode().replace("\0", "?")


def _read_files(
    job: JobContext, clone: Clone, plan: _Plan, known: dict[str, CodeFile], result: IndexedFiles, max_bytes: int
) -> None:
    if not plan.to_read:
        return
    job.watcher.begin("files", "files indexed", len(plan.to_read))
    entries = iter(plan.to_read.values())
    while part := list(islice(entries, _MEASURED)):
        sizes = clone.measure([entry.blob for entry in part])
        for batch in _batches(part, sizes, max_bytes):
            wanted = {one.blob for one in batch if sizes.get(one.blob, max_bytes + 1) <= max_bytes}
            texts = dict(clone.read(sorted(wanted)))
            _index_batch(job, batch, sizes, texts, plan, known, result)
            job.watcher.saved("files", len(batch))
            if job.should_stop():
                raise Stopped
    job.watcher.done("files")


def _batches(entries: list[TreeFile], sizes: dict[str, int], max_bytes: int) -> Iterator[list[TreeFile]]:
    """Yield files that together are not too much to hold. Those that are too large are not read, and weigh nothing."""
    batch: list[TreeFile] = []
    room = _BATCH_BYTES
    for entry in entries:
        size = sizes.get(entry.blob, 0)
        size = size if size <= max_bytes else 0
        if batch and (size > room or len(batch) >= _BATCH_FILES):
            yield batch
            batch, room = [], _BATCH_BYTES
        batch.append(entry)
        room -= size
    if batch:
        yield batch


def _index_batch(
    job: JobContext, batch: list[TreeFile], sizes: dict[str, int], texts: dict[str, bytes], plan: _Plan,
    known: dict[str, CodeFile], result: IndexedFiles,
) -> None:  # fmt: skip
    store, project_id = job.store, job.project.id
    files: list[CodeFile] = []
    left_out: list[tuple[str, str, str]] = []
    for entry in batch:
        made = _make_file(entry, sizes.get(entry.blob), texts.get(entry.blob), plan.attributes[entry.path])
        if isinstance(made, LeftOut):
            left_out.append((entry.path, entry.blob, made))
        else:
            files.append(made)
    with store.transaction():
        for file in files:
            save_file(store, project_id, file)
        remove_files(store, [known[path].id for path, _, _ in left_out if path in known])
        save_left_out(store, project_id, left_out)
    result.changed += sum(file.path in known for file in files)
    result.new += sum(file.path not in known for file in files)


def _make_file(
    entry: TreeFile, size: int | None, data: bytes | None, attributes: dict[str, bool]
) -> CodeFile | LeftOut:
    """Return a file with its chunks, or why it is left out."""
    if size is None:
        return LeftOut.MISSING
    if data is None:
        return LeftOut.TOO_LARGE
    text = decode_text(data)
    if text is None:
        return LeftOut.BINARY
    language = find_language(entry.path)
    reason = judge_text(text, language, attributes)
    return reason or CodeFile(entry.path, entry.blob, language, size, text, cut_code(text, language))


MAX_COMMITS = 200_000  # the newest; older ones are left out
_BATCH = 500


class IndexedCommits(Struct):
    """What a run did, in commits."""

    total: int = 0
    new: int = 0
    removed: int = 0
    is_cut: bool = False  # there are more than MAX_COMMITS


def index_commits(job: JobContext, clone: Clone, commit: str, *, limit: int = MAX_COMMITS) -> IndexedCommits:
    """Make the commits of a project those that lead to a commit."""
    store, project_id = job.store, job.project.id
    if load_code_tree(store, project_id).history_commit == commit:
        with store.transaction():  # a sync since then may have brought the changes of known commits
            _join(job, clone, commit)
        return IndexedCommits(total=count_commits(store, project_id))
    shas = clone.list_commits(commit, limit)
    known = load_shas(store, project_id)
    missing = [sha for sha in shas if sha not in known]
    if missing:
        job.watcher.begin("commits", "commits indexed", len(missing))
    for at in range(0, len(missing), _BATCH):
        batch = clone.read_commits(missing[at : at + _BATCH])
        with store.transaction():
            save_commits(store, project_id, batch)
        job.watcher.saved("commits", len(batch))
        if job.should_stop():
            raise Stopped
    if missing:
        job.watcher.done("commits")
    _complete(job, clone, shas)
    is_cut = len(shas) >= limit
    gone = [] if clone.is_shallow or is_cut else sorted(known.difference(shas))
    with store.transaction():
        remove_commits(store, project_id, gone)
        _join(job, clone, commit)
        tree = load_code_tree(store, project_id)
        save_code_tree(store, project_id, tree._replace(history_commit=commit), job.now_ms())
    return IndexedCommits(count_commits(store, project_id), len(missing), len(gone), is_cut)


def _complete(job: JobContext, clone: Clone, shas: list[str]) -> None:
    """Read commits again that an earlier version wrote, with less than this one keeps of a commit."""
    store, project_id = job.store, job.project.id
    wanted = sorted(set(list_incomplete(store, project_id)).intersection(shas))
    for at in range(0, len(wanted), _BATCH):
        batch = clone.read_commits(wanted[at : at + _BATCH])
        with store.transaction():
            complete_commits(store, project_id, batch)
        if job.should_stop():
            raise Stopped


def _join(job: JobContext, clone: Clone, head: str) -> None:
    """Find the change of each commit, and the account of each author. In a transaction."""
    store, project_id = job.store, job.project.id
    graph: dict[str, GraphCommit] = {}
    ids: dict[str, int] = {}
    authors_of: dict[str, GitName] = {}
    for commit_id, sha, parents, message, author, mail in each_graph_row(store, project_id):
        graph[sha], ids[sha] = (
            GraphCommit(tuple(parents.split()), named_change(message, job.project.name.path)),
            commit_id,
        )
        if mail:
            authors_of[sha] = GitName(author or "", mail)
    known = load_change_facts(store, project_id)
    changes = {one.head_sha: one.number for one in known if one.head_sha in graph} | assign_changes(head, graph)
    save_commit_changes(store, project_id, {ids[sha]: number for sha, number in changes.items()})
    written: dict[int, set[GitName]] = {}
    for sha, number in changes.items():
        if sha in authors_of and len(graph[sha].parents) < 2:  # a merge is its maintainer's
            written.setdefault(number, set()).add(authors_of[sha])
    authors = {one.number: one.author for one in known}
    evidence = ((authors[number], frozenset(each)) for number, each in written.items() if number in authors)
    save_git_people(store, project_id, join_people({*authors_of.values()}, _read_mailmap(clone, head), evidence))


def _read_mailmap(clone: Clone, head: str) -> Mailmap:
    """Return what the .mailmap of the commit says: the plain file at the root, if it is not too large."""
    entry = next((one for one in clone.list_files(head) if one.path == ".mailmap"), None)
    if entry is None or not entry.mode.startswith("100"):
        return parse_mailmap("")
    if clone.measure([entry.blob]).get(entry.blob, MAX_MAILMAP + 1) > MAX_MAILMAP:
        return parse_mailmap("")
    return parse_mailmap(next((data.decode("utf-8", "replace") for _, data in clone.read([entry.blob])), ""))
