"""When something last happened on GitHub: a branch's last commit, the newest issue or pull request."""

from urllib.parse import quote

from forgelore.forges.github.rest import GitHubRest, object_in, repo_path
from forgelore.forges.github.wire import parse_item
from forgelore.model import Item, Project
from forgelore.net.client import Client
from forgelore.net.jsontext import read_ms
from forgelore.net.rows import read_rows
from forgelore.ports import Newest


def fetch_branch_time(client: Client, rest: GitHubRest, project: Project, branch: str) -> int | None:
    answer = client.get(f"{repo_path(project)}/commits/{quote(branch, safe='')}")
    if answer.status in (404, 409, 422):  # 409: the repository is empty, 422: no such branch
        return None
    commit = object_in(rest.checked(answer, f"the branch {branch}")).get("commit")
    person = commit.get("committer") if isinstance(commit, dict) else None
    return read_ms(person.get("date")) if isinstance(person, dict) else None


def fetch_newest(client: Client, rest: GitHubRest, project: Project) -> Newest:
    created = [item.created_at or 0 for item in _first(client, rest, project, "created")]
    updated = [item.updated_at or 0 for item in _first(client, rest, project, "updated")]
    return Newest(max(created, default=None), max(updated, default=None))


def _first(client: Client, rest: GitHubRest, project: Project, order: str) -> list[Item]:
    """Where issues are switched off their list answers 410; the pull requests have one of their own."""
    part = "issues" if project.has_issues else "pulls"
    params = {"state": "all", "sort": order, "direction": "desc", "per_page": 1}
    answer = rest.checked(client.get(f"{repo_path(project)}/{part}", params), part)
    return list(read_rows(answer.body, parse_item, part).values)
