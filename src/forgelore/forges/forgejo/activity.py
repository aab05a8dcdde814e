"""When something last happened on Forgejo: a branch's last commit, the newest issue or pull request."""

from urllib.parse import quote

from forgelore.core.times import format_ms
from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.pages import LIMIT
from forgelore.forges.forgejo.rest import ForgejoRest, repo_path
from forgelore.forges.windows import DAY_MS
from forgelore.model import Item, Project
from forgelore.net.jsontext import read_ms
from forgelore.net.rows import read_rows
from forgelore.ports import Newest

_DAYS_BACK = (1, 30, 365)


def fetch_branch_time(rest: ForgejoRest, project: Project, branch: str) -> int | None:
    answer = rest.client.get(f"{repo_path(project)}/branches/{quote(branch, safe='')}")
    if answer.status == 404:
        return None
    commit = wire.loose(rest.checked(answer, f"the branch {branch}").body).get("commit")
    made = commit.get("timestamp") if isinstance(commit, dict) else None
    return read_ms(made) if isinstance(made, str) else None


def fetch_newest(rest: ForgejoRest, project: Project) -> Newest:
    """The list begins with what was created last. For the last update ever longer spans are asked for, until one holds
    something; the newest of its first page is the answer.
    """
    created = _first(rest, project, {"limit": 1})
    updated: list[Item] = []
    now_ms = rest.client.server_ms or 0
    for days in _DAYS_BACK if created else ():
        updated = updated or _first(rest, project, {"since": format_ms(max(0, now_ms - days * DAY_MS)), "limit": LIMIT})
    return Newest(_latest(created, "created_at"), _latest(updated or created, "updated_at"))


def _first(rest: ForgejoRest, project: Project, params: dict[str, object]) -> list[Item]:
    answer = rest.client.get(f"{repo_path(project)}/issues", {"state": "all", "page": 1, **params})
    return read_rows(rest.checked(answer, "issues").body, wire.parse_item, "issues").values


def _latest(items: list[Item], field: str) -> int | None:
    return max((getattr(item, field) or 0 for item in items), default=None)
