"""Which JSON describes a place and who is in it: project, group, release, member, the current user?"""

from .payloads import user
from .project import Project
from .records import Release, Token
from .state import World

MAINTAINER = 40
FEATURES = ("issues", "repository", "merge_requests", "releases")


def basic_project(project: Project) -> dict:
    """What an anonymous reader gets: no feature switches, no permissions."""
    web = f"{project.world.web}/{project.path}"
    host = project.world.web.partition("://")[2].partition(":")[0]
    return {
        "id": project.id,
        "description": None,
        "name": project.name,
        "name_with_namespace": project.path.replace("/", " / "),
        "path": project.name,
        "path_with_namespace": project.path,
        "created_at": project.created_at,
        "default_branch": project.default_branch,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": f"git@{host}:{project.path}.git",
        "http_url_to_repo": f"{web}.git",
        "web_url": web,
        "readme_url": f"{web}/-/blob/{project.default_branch}/README.md",
        "forks_count": 0,
        "avatar_url": None,
        "star_count": 0,
        "last_activity_at": last_activity(project),
        "visibility": project.visibility,
        "namespace": namespace(project),
    }


def namespace(project: Project) -> dict:
    world, path = project.world, project.namespace
    number = world.user(path).id if project.personal else world.groups[path]
    return {
        "id": number,
        "name": path.rpartition("/")[2],
        "path": path.rpartition("/")[2],
        "kind": "user" if project.personal else "group",
        "full_path": path,
        "parent_id": world.groups.get(path.rpartition("/")[0]),
        "avatar_url": None,
        "web_url": f"{world.web}/{path if project.personal else 'groups/' + path}",
    }


def last_activity(project: Project) -> str:
    times = [item.updated_at for items in (project.issues, project.changes) for item in items.values()]
    return max(times, default=project.created_at)


def full_project(project: Project, token: Token) -> dict:
    """What a signed-in reader gets; maintainers also see a secret, the runners' token."""
    api = f"{project.world.web}/api/v4/projects/{project.id}"
    parts = ("issues", "merge_requests", "repo_branches", "labels", "events", "members")
    payload = basic_project(project) | {
        "_links": {"self": api} | {p: f"{api}/{p.replace('repo_', 'repository/')}" for p in parts},
        "packages_enabled": True,
        "empty_repo": False,
        "archived": project.archived,
        "resolve_outdated_diff_discussions": False,
        "issues_enabled": project.level("issues") != "disabled",
        "merge_requests_enabled": project.level("merge_requests") != "disabled",
        "wiki_enabled": True,
        "jobs_enabled": True,
        "snippets_enabled": True,
        "container_registry_enabled": True,
        "service_desk_enabled": False,
        "can_create_merge_request_in": True,
        **{f"{name}_access_level": project.level(name) for name in FEATURES},
        "emails_disabled": False,
        "shared_runners_enabled": True,
        "lfs_enabled": True,
        "creator_id": 1,
        "import_status": "none",
        "open_issues_count": sum(i.state == "opened" for i in project.issues.values()),
        "description_html": "",
        "updated_at": project.created_at,
        "public_jobs": True,
        "shared_with_groups": [],
        "only_allow_merge_if_pipeline_succeeds": False,
        "request_access_enabled": True,
        "merge_method": "merge",
        "squash_option": "default_off",
        "autoclose_referenced_issues": True,
        "permissions": {
            "project_access": {"access_level": token.access_level, "notification_level": 3},
            "group_access": None,
        },
    }
    if token.access_level >= MAINTAINER:
        payload |= {"runners_token": f"GR1348941local{project.id}", "ci_config_path": None}
    told = project.told
    return {name: value for name, value in (payload | told).items() if value is not None or name not in told}


def commit(project: Project, branch: str) -> dict:
    """The newest commit of a branch."""
    sha, at = project.new_sha(), project.branch_times[branch]
    return {
        "id": sha,
        "short_id": sha[:8],
        "created_at": at,
        "parent_ids": [],
        "title": "Update",
        "message": "Update",
        "author_name": "forgelore",
        "author_email": "noreply@forgelore.invalid",
        "authored_date": at,
        "committer_name": "forgelore",
        "committer_email": "noreply@forgelore.invalid",
        "committed_date": at,
        "trailers": {},
        "web_url": f"{project.world.web}/{project.path}/-/commit/{sha}",
        "stats": {"additions": 1, "deletions": 1, "total": 2},
        "status": None,
        "project_id": project.id,
        "last_pipeline": None,
    }


def group(world: World, path: str) -> dict:
    return {
        "id": world.groups[path],
        "web_url": f"{world.web}/groups/{path}",
        "name": path.rpartition("/")[2],
        "path": path.rpartition("/")[2],
        "description": "",
        "visibility": "public",
        "avatar_url": None,
        "full_name": path.replace("/", " / "),
        "full_path": path,
        "parent_id": world.groups.get(path.rpartition("/")[0]),
        "archived": False,
        "shared_with_groups": [],
        "shared_projects": [],
    }


def current_user(world: World, token: Token) -> dict:
    return user(world, token.username) | {
        "name": token.name or world.user(token.username).name,
        "created_at": "2020-01-01T00:00:00.000Z",
        "bio": "",
        "bot": False,
        "email": f"{token.username}@example.org",
        "last_activity_on": world.at()[:10],
        "confirmed_at": "2020-01-01T00:00:00.000Z",
        "two_factor_enabled": False,
        "external": False,
        "private_profile": False,
    }


def release(project: Project, record: Release) -> dict:
    world = project.world
    page = f"{world.web}/{project.path}/-/releases/{record.tag}"
    archive = f"{world.web}/{project.path}/-/archive/{record.tag}/{project.name}-{record.tag}"
    return {
        "name": record.name or record.tag,
        "tag_name": record.tag,
        "description": record.body,
        "created_at": record.created_at,
        "released_at": record.released_at,
        "upcoming_release": record.released_at > world.at(),
        "author": user(world, record.author),
        "commit": None,
        "milestones": [],
        "commit_path": None,
        "tag_path": f"/{project.path}/-/tags/{record.tag}",
        "assets": {
            "count": 2,
            "sources": [{"format": kind, "url": f"{archive}.{kind}"} for kind in ("zip", "tar.gz")],
            "links": [],
        },
        "evidences": [],
        "_links": {"self": page, "edit_url": f"{page}/edit"},
    }


def member(world: World, username: str, access_level: int, since: str) -> dict:
    return user(world, username) | {
        "access_level": access_level,
        "created_at": since,
        "expires_at": None,
        "membership_state": "active",
    }
