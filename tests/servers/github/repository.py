"""The JSON of a repository: a short form for lists and pull requests, and the details of the single one."""

from .records import node_id
from .verbs import sha

PLAIN = (
    "contributors", "deployments", "downloads", "events", "forks", "hooks", "languages", "merges", "stargazers",
    "subscribers", "subscription", "tags", "teams",
)  # fmt: skip
TEMPLATES = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "statuses_url": "/statuses/{sha}",
    "trees_url": "/git/trees{/sha}",
}
ROLES = {
    "admin": "admin",
    "maintain": "maintain",
    "push": "write",
    "triage": "triage",
    "pull": "read",
    None: "read",
}
RANK = ("pull", "triage", "push", "maintain", "admin")


def permissions(held: str | None) -> dict[str, bool]:
    rank = RANK.index(held or "pull")
    return {name: index <= rank for index, name in enumerate(RANK)}


def shape(project, url: str, owner: dict) -> dict:
    items = project.items.values()
    open_items = project.view("open", lambda: sum(i.state == "open" and i.kind != "discussion" for i in items))
    host = project.web.split("://", 1)[1]
    payload = {
        "id": project.id,
        "node_id": node_id(project),
        "name": project.name,
        "full_name": project.path,
        "private": project.private,
        "owner": owner,
        "html_url": project.web,
        "description": project.description,
        "fork": False,
        "url": url,
        **{f"{name}_url": f"{url}/{name}" for name in PLAIN},
        **{name: url + tail for name, tail in TEMPLATES.items()},
        "git_url": f"git://{host}.git",
        "ssh_url": f"git@{host.replace('/', ':', 1)}.git",
        "clone_url": f"{project.web}.git",
        "svn_url": project.web,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "visibility": project.visibility,
        "default_branch": project.default_branch,
        **dict.fromkeys(("forks_count", "stargazers_count", "watchers_count", "size", "forks", "watchers"), 0),
        "open_issues_count": open_items,
        "open_issues": open_items,
        "is_template": False,
        "topics": [],
        "has_issues": project.has_issues,
        "has_projects": True,
        "has_wiki": True,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": project.has_discussions,
        "has_pull_requests": True,
        "archived": project.archived,
        "disabled": False,
        "allow_forking": True,
        "web_commit_signoff_required": False,
        "created_at": project.created_at,
        "updated_at": project.updated_at,
        "pushed_at": project.updated_at,
    } | project.told
    return {name: value for name, value in payload.items() if value is not None or name not in project.told}


def details(project, login: str | None) -> dict:
    """What only `GET /repos/o/r` adds. The clone token is a secret that no client should keep."""
    more = {"subscribers_count": 0, "network_count": 0}
    if login is None:
        return more
    secret = "TCT" + sha(f"{project.id}:{login}")[:29].upper()
    return {**more, "permissions": permissions(project.permission(login)), "temp_clone_token": secret}


def commit(project, url: str, branch: str) -> dict:
    """The newest commit of a branch; its author has no account here."""
    number, tree = sha(f"{project.id}:{branch}"), sha(f"tree of {project.id}:{branch}")
    person = {"name": "forgelore", "email": "noreply@forgelore.invalid", "date": project.branch_times[branch]}
    return {
        "url": f"{url}/commits/{number}",
        "sha": number,
        "node_id": f"C_{number[:20]}",
        "html_url": f"{project.web}/commit/{number}",
        "comments_url": f"{url}/commits/{number}/comments",
        "commit": {
            "url": f"{url}/git/commits/{number}", "author": person, "committer": person, "message": "Update",
            "tree": {"sha": tree, "url": f"{url}/git/trees/{tree}"}, "comment_count": 0,
        },
        "author": None,
        "committer": None,
        "parents": [],
    }  # fmt: skip
