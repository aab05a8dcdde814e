"""GitLab's REST answers: good ones, and what the others mean to a person.

Which files a merge request touches on GitLab, and how its diff begins.

Both come from `/diffs`, a row for each file. A file's lines are left out when it is `too_large` or `collapsed`. Beyond
the files that a server keeps of a diff (1,000 unless its owner says otherwise) there are no rows; the merge request
itself then counts "1000+". https://docs.gitlab.com/administration/diff_limits/
"""

from typing import Any

from forgelore.errors import AuthError, ForgeError, LoreError, NotFound
from forgelore.forges.gitlab import wire
from forgelore.forges.rest import BYTES_PER_CHAR, AnswerChecker, join_files, read_partial_rows
from forgelore.model import File, ItemKey, Project
from forgelore.net.client import HttpAnswer
from forgelore.net.pages import split_rows, walk_links

PART_OF: dict[str, str] = {"issue": "issues", "change": "merge_requests"}


class GitLabRest(AnswerChecker):
    """GitLab's words for what went wrong."""

    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        said = message_of(answer)
        if answer.status == 401:
            return self.rejected(f": {said}")
        if answer.status == 403:
            return AuthError(
                f"{self.host} refuses to show {what} (HTTP 403: {said})",
                hint="the token needs the scope read_api and access to the project",
            )
        if answer.status in (404, 410):
            return NotFound(
                f"{what} not found on {self.host} (HTTP {answer.status})",
                hint="check the spelling, or the token's access",
            )
        return ForgeError(f"{self.host} answered {answer.status} to {what}: {said}", hint="run the same command again")


def item_path(project: Project, key: ItemKey) -> str:
    return f"/projects/{project.forge_id}/{PART_OF[key.kind]}/{key.number}"


def message_of(answer: HttpAnswer) -> str:
    """GitLab says what is wrong in `message` (text, or lists by field) or in `error`, or in plain text."""
    try:
        body = wire.loose(answer.body)
    except LoreError:
        return answer.body[:100].decode("utf-8", "replace")
    found = body.get("message") or body.get("error_description") or body.get("error") or ""
    if isinstance(found, dict):
        found = "; ".join(
            f"{name}: {', '.join(map(str, values if isinstance(values, list) else [values]))}"
            for name, values in found.items()
        )
    return str(found)[:200]


MAY_BE_CUT = 100  # files: below that no server cuts a list
PER_PAGE = 20
MAX_PAGES = 5  # of files without lines: beyond a hundred of those the paths say enough
PAGE_BYTES = 8_000  # what a page holds beside the lines: paths, modes, flags


def list_files(rest: GitLabRest, root: str, key: ItemKey) -> list[File]:
    files: list[File] = []
    for answer in walk_links(rest.client, f"{root}/diffs", {}):
        rows = split_rows(rest.checked(answer, f"files of {key.number}").body)
        files += [wire.parse_diff(raw) for raw in rows]
    return files


def count_files(rest: GitLabRest, root: str, key: ItemKey, files: list[File]) -> int:
    """Return how many files a change has at least, asking only where the list may have been cut.

    "1000+" -> 1001
    """
    if len(files) < MAY_BE_CUT:
        return len(files)
    answer = rest.checked(rest.client.get(root), f"change {key.number}")
    counted = str(wire.loose(answer.body).get("changes_count") or "")
    digits = counted.removesuffix("+")
    return int(digits) + counted.endswith("+") if digits.isdecimal() else len(files)


def fetch_diff(rest: GitLabRest, project: Project, key: ItemKey, *, max_chars: int) -> str | None:
    """Return the beginning of a diff; "" when it has no lines, None when GitLab would not show it.

    A page is left where enough has been read of it, and no page is asked for once there is enough.
    """
    if key.kind != "change":
        return ""
    rows: list[dict[str, Any]] = []
    for page in range(1, MAX_PAGES + 1):
        found = _fetch_page(rest, project, key, page, max_bytes=PAGE_BYTES + BYTES_PER_CHAR * max_chars)
        if found is None:
            return None
        rows += found
        if len(found) < PER_PAGE or len(join_files(rows, max_chars)) >= max_chars:
            break
    return join_files(rows, max_chars)


def _fetch_page(
    rest: GitLabRest, project: Project, key: ItemKey, page: int, *, max_bytes: int
) -> list[dict[str, Any]] | None:
    params = {"per_page": PER_PAGE, **({"page": page} if page > 1 else {})}
    path = f"{item_path(project, key)}/diffs"
    try:
        answer = rest.client.get_start(path, params, accept="application/json", max_bytes=max_bytes)
    except ForgeError:
        return None
    if answer.status == 401:
        raise rest.refusal(answer, f"the diff of {key.number}")
    return read_partial_rows(answer.body) if answer.status == 200 else None
