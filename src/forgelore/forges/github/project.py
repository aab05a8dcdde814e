"""GitHub's JSON of a repository as our `Project`, with what it says of its readers. Payload in, project out."""

import msgspec
from msgspec import Struct

from forgelore.forges.github.wire import text
from forgelore.model import Access, Project, ProjectName
from forgelore.net.jsontext import Int64, read


class _Repo(Struct):
    id: Int64
    full_name: str
    html_url: str | None = None
    default_branch: str | None = None
    description: str | None = None
    private: bool | None = None
    visibility: str | None = None
    archived: bool = False
    has_issues: bool = True
    has_pull_requests: bool | None = True
    has_discussions: bool = False


_repo = msgspec.json.Decoder(_Repo)


def parse_project(raw: bytes, host: str) -> Project:
    repo, raw = read(raw, _repo)
    return Project(
        ProjectName("github", host, repo.full_name), repo.id, repo.html_url, repo.default_branch,
        text(repo.description),
        is_private=bool(repo.private), is_archived=repo.archived, has_issues=repo.has_issues,
        has_changes=repo.has_pull_requests is not False, has_discussions=repo.has_discussions,
        access=_access(repo), raw=raw,
    )  # fmt: skip


def _access(repo: _Repo) -> Access:
    """Features can be switched off and have no readers of their own. Older servers say `private` alone."""
    visibility = repo.visibility
    if repo.private is not None and visibility in (None, "public"):
        visibility = "private" if repo.private else "public"
    return Access(
        visibility, "enabled" if repo.has_issues else "disabled",
        "disabled" if repo.has_pull_requests is False else "enabled", "enabled",
    )  # fmt: skip
