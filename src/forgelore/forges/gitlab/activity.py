"""When something last happened on GitLab: a branch's last commit, the newest issue or merge request."""

from functools import partial
from urllib.parse import quote

from forgelore.forges.gitlab import wire
from forgelore.forges.gitlab.rest import PART_OF, GitLabRest
from forgelore.model import Item, Kind, Project
from forgelore.net.client import Client
from forgelore.net.jsontext import read_ms
from forgelore.net.rows import read_rows
from forgelore.ports import Newest


def fetch_branch_time(client: Client, rest: GitLabRest, project: Project, branch: str) -> int | None:
    answer = client.get(f"/projects/{project.forge_id}/repository/commits/{quote(branch, safe='')}")
    if answer.status == 404:
        return None
    made = wire.loose(rest.checked(answer, f"the branch {branch}").body).get("committed_date")
    return read_ms(made) if isinstance(made, str) else None


def fetch_newest(client: Client, rest: GitLabRest, project: Project) -> Newest:
    created = [item.created_at or 0 for item in _first(client, rest, project, "created_at")]
    updated = [item.updated_at or 0 for item in _first(client, rest, project, "updated_at")]
    return Newest(max(created, default=None), max(updated, default=None))


def _first(client: Client, rest: GitLabRest, project: Project, order: str) -> list[Item]:
    """Return the first issue and the first merge request of that order."""
    kinds: list[Kind] = ["issue"] if project.has_issues else []
    kinds += ["change"] if project.has_changes else []
    found: list[Item] = []
    for kind in kinds:
        path = f"/projects/{project.forge_id}/{PART_OF[kind]}"
        params = {"state": "all", "scope": "all", "order_by": order, "sort": "desc", "per_page": 1}
        body = rest.checked(client.get(path, params), PART_OF[kind]).body
        found += read_rows(body, partial(wire.parse_item, kind=kind), PART_OF[kind]).values
    return found
