"""The port of clones: the files and the commits of a git repository, read by git and never written."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from forgelore.records import Commit


class TreeFile(NamedTuple):
    """An entry of a tree: a file, a symbolic link (120000) or a submodule (160000). `blob` names its content."""

    path: str
    mode: str
    blob: str


class Clone(Protocol):
    """A clone on this machine, as it stands now. What it holds is hostile: nothing in it runs, and nothing is fetched.
    Raises ForgeError when git fails.
    """

    folder: str
    is_shallow: bool

    def find_head(self) -> str | None:
        """Return the commit that is read; None in a repository without commits."""
        ...

    def list_files(self, commit: str) -> list[TreeFile]: ...

    def measure(self, blobs: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of those that are there."""
        ...

    def read(self, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the content of those that are there."""
        ...

    def list_commits(self, commit: str, limit: int) -> list[str]:
        """Return the newest commits that a commit is made from, itself first."""
        ...

    def read_commits(self, commits: Sequence[str]) -> list[Commit]: ...

    def read_diff(self, commit: str, parent: str | None, max_bytes: int) -> tuple[str, bool]:
        """Return what a commit changed, a merge against its first parent, and whether that is cut at the limit."""
        ...
