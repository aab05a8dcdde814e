"""Pages of code on a forge: a file at a commit with its lines, and a commit."""

from urllib.parse import quote

from forgelore.core.names import web_root
from forgelore.profiles import PROFILES


def file_page(forge: str, host: str, project: str, commit: str, path: str, line: int | None = None) -> str | None:
    """Return the address of a file as it was at a commit, and of a line in it; None for a project on no forge."""
    profile = PROFILES.get(forge)
    if profile is None or not profile.code_pages[0] or not commit:
        return None
    page = profile.code_pages[0].format(commit=commit, path=quote(path))
    return f"{web_root(host)}/{project}{page}{f'#L{line}' if line else ''}"


def commit_page(forge: str, host: str, project: str, sha: str) -> str | None:
    profile = PROFILES.get(forge)
    if profile is None or not profile.code_pages[1]:
        return None
    return f"{web_root(host)}/{project}{profile.code_pages[1].format(commit=sha)}"
