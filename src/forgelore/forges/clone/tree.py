"""A clone on this machine: the files of a commit, their contents, and the commits before it."""

import os
from collections.abc import Iterator, Mapping, Sequence

from forgelore.code_port import TreeCommit, TreeFile
from forgelore.core.text import storable
from forgelore.errors import ForgeError, NotFound
from forgelore.forges.clone.commits import (
    MIN_SPLIT,
    TouchedPaths,
    find_exact,
    find_touched,
    list_split_blobs,
    parse_commit,
    parse_rows,
)
from forgelore.forges.clone.git import GitReader, read_environ

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
            hint = (
                "give the path of a clone, or name a project that is fetched: forgelore index-code --project OWNER/REPO"
            )
            raise NotFound(f"{self.folder} is no git repository: {said[0] if said else code}", hint=hint)
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
                # What is no UTF-8 gets a sign that makes it an odd path.
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

    def read_commits(self, commits: Sequence[str]) -> list[TreeCommit]:
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
