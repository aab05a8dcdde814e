"""The words everything else is named by: kinds of items, what people type for them, how projects and items are named.

Plain tuples and no libraries: a command that only reads pays for nothing more.
"""

from typing import Literal, NamedTuple

from forgelore.profiles import DEFAULT, PROFILES

Kind = Literal["issue", "change", "discussion", "release"]

KINDS: tuple[Kind, ...] = ("issue", "change", "discussion", "release")

# What people type -> what we mean. `--type discussion` covers threads too where threads are searched.
KIND_WORDS: dict[str, Kind] = {
    "issue": "issue", "issues": "issue",
    "change": "change", "changes": "change", "pr": "change", "prs": "change", "pull": "change", "pulls": "change",
    "pull_request": "change", "pull_requests": "change", "mr": "change", "mrs": "change",
    "merge_request": "change", "merge_requests": "change",
    "discussion": "discussion", "discussions": "discussion",
    "release": "release", "releases": "release",
}  # fmt: skip


class ProjectName(NamedTuple):
    """Where a project lives: `github.com` + `acme/web`. `forge` is a profile's name, or "local"."""

    forge: str
    host: str
    path: str

    def __str__(self) -> str:
        profile = PROFILES.get(self.forge)
        if profile is None:
            return self.path
        if self.host == profile.host:
            return self.path if profile is DEFAULT else f"{profile.prefix}{self.path}"
        scheme = "http" if self.host.startswith(("127.", "localhost", "[::1]")) else "https"
        return f"{scheme}://{self.host}/{self.path}"


class ItemKey(NamedTuple):
    kind: Kind
    number: int


class Passage(NamedTuple):
    """A span of a document as an embedder gets it: `text` is clean and does not repeat the title."""

    title: str
    text: str
