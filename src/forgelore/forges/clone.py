r"""A clone on this machine: files, contents and commits, read by git; and shallow copies that are fetched and kept.

Commits come as git keeps them: the object's own text, and what `diff-tree --raw -z` says of its paths.

    tree 8f1c…                              :100644 100644 3a1… 9b2… M\0src/net/conn.py\0
    parent 77ad…
    author Ana <ana@example.org> 1700000000 +0100

    Subject, then the rest of the message
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from forgelore.errors import ForgeError, NotFound
from forgelore.forges.branch import Scene, explain
from forgelore.forges.git import Git, GitReader, parse_address, read_environ
from forgelore.ports.clone import TreeFile
from forgelore.profiles import ForgeProfile
from forgelore.records import Commit
from forgelore.text.fence import storable
from forgelore.text.links import login_in_address

MAX_MESSAGE = 64_000  # characters
MAX_MAIL = 320
MAX_PATHS = 1_000  # of one commit: whoever touches more has moved the project, and says nothing of a file
_EMPTY = (  # git's names of an empty file: one is like the other
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
MIN_RENAMED = 50  # percent that a renamed file keeps: git's own bound
MIN_SPLIT = 40  # percent of the larger one that a part and its source share: halves are less than 50 with a new head
MIN_LOST = 0.5  # of the part's size, which its source must have lost
_PERSON = re.compile(r"(?P<name>[^<]*?)\s*<(?P<address>[^>]*)>\s*(?P<seconds>-?\d{1,12})")


class TouchedPaths(NamedTuple):
    """What a commit touched, and what of it was renamed, or split off: (old, new)."""

    paths: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()


class TouchedRow(NamedTuple):
    """`before` and `after` name contents; one of zeros is none. Of a rename (R) and a copy (C), `path` is the new one,
    `old` the old one, and `score` how alike they are, in percent.
    """

    before: str
    after: str
    status: str
    path: str
    old: str = ""
    score: int = 0


def parse_rows(raw: bytes) -> dict[str, list[TouchedRow]]:
    """Return commit -> its rows. A path always follows its row, so that none can pass for a commit."""
    found: dict[str, list[TouchedRow]] = {}
    words = iter(raw.split(b"\0"))
    rows: list[TouchedRow] = []
    for word in words:
        if word.startswith(b":"):
            _, _, before, after, status = (word.decode("ascii", "replace").split(" ") + [""] * 5)[:5]
            old = _path(next(words, b"")) if status[:1] in ("R", "C") else ""
            path = _path(next(words, b""))
            if len(rows) <= MAX_PATHS:
                score = int(status[1:]) if status[1:].isdecimal() else 0
                rows.append(TouchedRow(before, after, status[:1], path, old, score))
        elif word:
            rows = found.setdefault(word.decode("ascii", "replace").strip(), [])
    return found


def _path(word: bytes) -> str:
    return storable(word.decode("utf-8", "surrogateescape"))


def list_split_blobs(rows: list[TouchedRow]) -> list[str]:
    """Return the contents whose sizes say whether a copy is a part that was split off."""
    shrunk = {row.path: row.after for row in rows if row.status == "M"}
    copies = [row for row in rows if row.status == "C" and row.old in shrunk]
    return [blob for row in copies for blob in (row.before, row.after, shrunk[row.old])]


def find_touched(rows: list[TouchedRow], sizes: Mapping[str, int]) -> TouchedPaths:
    """Return the paths of a commit, and what of them was renamed or split off. A copy is a part that was split off
    where its source went away or lost about as much as the copy has: other copies (of a template, of a licence) have a
    history of their own. `sizes`: of the contents that `list_split_blobs` names.
    """
    if len(rows) > MAX_PATHS:
        return TouchedPaths()
    paths = dict.fromkeys(path for row in rows for path in ((row.old, row.path) if row.status == "R" else (row.path,)))
    shrunk = {row.path: row.after for row in rows if row.status == "M"}
    moved = {row.old for row in rows if row.status == "R"}
    copied = {row.old for row in rows if row.status == "C"}
    found = set()
    for row in rows:
        if row.status == "R":
            is_linked = row.score >= MIN_RENAMED or row.old in copied
        elif row.status == "C":
            lost = sizes.get(row.before, 0) - sizes.get(shrunk.get(row.old, ""), sizes.get(row.before, 0))
            is_linked = row.old in moved or 0 < sizes.get(row.after, 0) * MIN_LOST <= lost
        else:
            is_linked = False
        if is_linked and row.old and row.path:
            found.add((row.old, row.path))
    return TouchedPaths(tuple(paths), tuple(sorted(found)))


def find_exact(rows: list[TouchedRow]) -> TouchedPaths:
    """The same without contents, which a partial clone may lack: what went away here and came there as it was, where
    only one can be meant.
    """
    if len(rows) > MAX_PATHS:
        return TouchedPaths()
    gone, come = _by_blob(rows, "D"), _by_blob(rows, "A")
    pairs = ((gone[blob], come[blob]) for blob in gone.keys() & come.keys() if blob not in _EMPTY)
    renames = sorted((old[0], new[0]) for old, new in pairs if len(old) == len(new) == 1)
    return TouchedPaths(tuple(row.path for row in rows), tuple(renames))


def _by_blob(rows: list[TouchedRow], status: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.status == status:
            found.setdefault(row.before if status == "D" else row.after, []).append(row.path)
    return found


def parse_commit(sha: str, data: bytes, touched: TouchedPaths) -> Commit:
    """Return a commit; whatever its object lacks or garbles is None."""
    head, _, message = data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name and not line.startswith(b" "):  # a signature goes on with a blank
            fields.setdefault(name.decode("ascii", "replace"), []).append(value)
    encoding = fields.get("encoding", [b"utf-8"])[0].decode("ascii", "replace")
    author, mail, authored_at = _person(fields.get("author", [b""])[0], encoding)
    login = login_in_address(mail) if mail else None
    committed_at = _person(fields.get("committer", [b""])[0], encoding)[2]
    text = _decode(message, encoding).replace("\r\n", "\n").strip()[:MAX_MESSAGE]
    parents = tuple(one.decode("ascii", "replace").strip() for one in fields.get("parent", ()))
    is_merge = len(parents) > 1
    known = TouchedPaths() if is_merge else touched
    return Commit(
        sha, author, login, authored_at, committed_at, text, known.paths, is_merge, known.renames, mail, parents
    )


def _person(line: bytes, encoding: str) -> tuple[str | None, str | None, int | None]:
    found = _PERSON.match(_decode(line, encoding))
    if not found:
        return None, None, None
    return found["name"] or None, found["address"].strip()[:MAX_MAIL] or None, int(found["seconds"]) * 1000


def _decode(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        text = data.decode("latin-1") if b"\x00" not in data else data.decode("utf-8", "replace")
    return storable(text)


_RAW = ("diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--no-ext-diff", "--no-textconv")
# A commit that adds and changes more than so many files each is not looked at for renames, but for those that moved as
# they were: the cost is the product of both.
_RENAME_LIMIT = 400
_DIFF_TIMEOUT_S = 20.0


class LocalClone:
    """A clone, bare or not, whole or shallow. `ref`: what is read of it."""

    def __init__(self, folder: str, environ: Mapping[str, str], *, ref: str = "HEAD") -> None:
        self.folder, self._ref = os.path.abspath(folder), ref
        self._environ = read_environ(os.devnull, environ)
        self._git = GitReader(self.folder, self._environ)
        self._compares_contents = True  # until git cannot
        self._git.check_version()
        code, out, err = self._git.run("rev-parse", "--absolute-git-dir", "--is-shallow-repository")
        if code:
            said = err.decode("utf-8", "replace").strip().removeprefix("fatal: ").splitlines()
            hint = "give the path of a clone, or fetch a project: forgelore index-code --project OWNER/REPO"
            raise NotFound(f"not a git repository: {self.folder}: {said[0] if said else code}", hint=hint)
        self.is_shallow = out.split(b"\n")[1].strip() == b"true"

    def find_head(self) -> str | None:
        code, out, _ = self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{self._ref}^{{commit}}")
        return out.decode().strip() if code == 0 else None

    def list_files(self, commit: str) -> list[TreeFile]:
        """Return every entry of the whole tree, whatever folder was given."""
        found = []
        for entry in self._git.ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            facts, _, path = entry.partition(b"\t")
            if facts:
                mode, _, blob = facts.decode().split(" ")
                # A name that is not UTF-8 gets a character that makes it an odd path.
                found.append(TreeFile(path.decode("utf-8", "surrogateescape"), mode, blob))
        return found

    def measure(self, blobs: Sequence[str]) -> dict[str, int]:
        out = self._git.ask("cat-file", "--batch-check=%(objectname) %(objectsize)", feed=_lines(blobs))
        rows = (line.split(" ") for line in out.decode().splitlines())
        return {row[0]: int(row[1]) for row in rows if row[1] != "missing"}

    def read(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        return self._read(blobs)

    def list_commits(self, commit: str, limit: int) -> list[str]:
        return self._git.ask("rev-list", f"--max-count={limit}", commit).decode().split()

    def read_commits(self, commits: Sequence[str]) -> list[Commit]:
        """Return the commits in this order. At the end of a shallow clone a commit would seem to add every file: what
        it changed is not known.
        """
        touched = self._find_touched(commits)
        for end in self._shallow_ends() if self.is_shallow else ():
            touched.pop(end, None)
        return [parse_commit(sha, data, touched.get(sha, TouchedPaths())) for sha, data in self._read(commits)]

    def read_diff(self, commit: str, parent: str | None, max_bytes: int) -> tuple[str, bool]:
        words = ("-p", "-r", "--root", "--no-commit-id", "-U3", f"-l{_RENAME_LIMIT}", "-M", "--no-color")
        safe = ("--no-ext-diff", "--no-textconv", "--end-of-options")
        git = GitReader(self.folder, self._environ, timeout_s=_DIFF_TIMEOUT_S)
        out = git.ask("diff-tree", *words, *safe, *((parent, commit) if parent else (commit,)), most=max_bytes + 1)
        return storable(out[:max_bytes].decode("utf-8", "replace")), len(out) > max_bytes

    def _find_touched(self, commits: Sequence[str]) -> dict[str, TouchedPaths]:
        """Return what each commit touched. Where git cannot compare contents (they are missing from a partial clone, or
        it takes too long), only files that moved as they were count as renamed, from there on.
        """
        if self._compares_contents:
            alike = (f"-M{MIN_SPLIT}%", f"-C{MIN_SPLIT}%", f"-l{_RENAME_LIMIT}", "--no-rename-empty")
            try:
                rows = parse_rows(self._git.ask(*_RAW, *alike, feed=_lines(commits)))
                sizes = self.measure(sorted({blob for each in rows.values() for blob in list_split_blobs(each)}))
                return {sha: find_touched(each, sizes) for sha, each in rows.items()}
            except ForgeError:
                self._compares_contents = False
        rows = parse_rows(self._git.ask(*_RAW, "--no-renames", feed=_lines(commits)))
        return {sha: find_exact(each) for sha, each in rows.items()}

    def _shallow_ends(self) -> frozenset[str]:
        git_dir = self._git.ask("rev-parse", "--git-common-dir").decode().strip()
        try:
            with open(os.path.join(self.folder, git_dir, "shallow"), encoding="ascii", errors="replace") as file:
                return frozenset(file.read().split())
        except OSError:
            return frozenset()

    def _read(self, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        if not ids:
            return
        out = self._git.ask("cat-file", "--batch", feed=_lines(ids))
        at = 0
        while at < len(out):
            end = out.index(b"\n", at)
            head = out[at:end].split(b" ")
            at = end + 1
            if len(head) == 3 and head[2].isdigit():
                size = int(head[2])
                yield head[0].decode(), out[at : at + size]
                at += size + 1


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{one}\n" for one in ids).encode()


REF = "refs/heads/fetched"
TIMEOUT_S = 1_800.0


def fetch_copy(
    url: str, folder: str, *, depth: int, token: str | None, profile: ForgeProfile, environ: Mapping[str, str],
    token_advice: str = "", timeout_s: float = TIMEOUT_S,
) -> str:  # fmt: skip
    """Fetch the newest commits of the default branch into a folder, and return the repository in it. Raises LoreError
    with what the forge or git had against it.
    """
    address = parse_address(url)
    os.makedirs(folder, exist_ok=True)
    credentials = f"{profile.git_user}:{token}" if token else None
    git = Git(address, os.path.abspath(folder), credentials=credentials, environ=environ, timeout_s=timeout_s)
    words = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", f"--depth={depth}")
    done = git.run("fetch", *words, address.url, f"+HEAD:{REF}")
    if done.code and "couldn't find remote ref HEAD" not in done.err:  # a repository without commits has none
        secrets = [one for one in (token, credentials) if one]
        raise explain(done, Scene(address, "HEAD", bool(token), profile, token_advice=token_advice), secrets=secrets)
    return git.repository
