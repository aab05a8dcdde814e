"""The JSON that REST answers with, for one request: `Shapes(api, version, token).issue(item)`.

Addresses start with the host the client used, so that links lead back through a proxy. Version 2026-03-10
leaves out `assignee`, `merge_commit_sha`, `rate` and a few repository fields; older clients still get them.
"""

from . import repository
from .payload_notes import NoteShapes
from .records import html_url, node_id
from .verbs import sha

NEWEST = "2026-03-10"
VERSIONS = ("2022-11-28", NEWEST)
AVATARS = "https://avatars.githubusercontent.com/u"
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
REST_STATUS = {"deleted": "removed"}


class Shapes(NoteShapes):
    def __init__(self, api: str, version: str, token):
        self.api = api
        self.version = version
        self.token = token
        self._users: dict = {}
        self._repos: dict = {}

    def repo_url(self, project) -> str:
        return f"{self.api}/repos/{project.path}"

    def drop(self, shape: dict, *names: str) -> dict:
        if self.version == NEWEST:
            for name in names:
                shape.pop(name, None)
        return shape

    def user(self, world, login: str | None) -> dict | None:
        if login is None:
            return None
        if login not in self._users:
            self._users[login] = self._user(world.user(login), world.web())
        return self._users[login]

    def _user(self, user, web: str) -> dict:
        url = f"{self.api}/users/{user.login}"
        plain = ("followers", "subscriptions", "repos", "received_events")
        return {
            "login": user.login,
            "id": user.id,
            "node_id": node_id(user),
            "avatar_url": f"{AVATARS}/{user.id}?v=4",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{web}/{user.login}",
            **{f"{name}_url": f"{url}/{name}" for name in plain},
            "organizations_url": f"{url}/orgs",
            "following_url": f"{url}/following{{/other_user}}",
            "gists_url": f"{url}/gists{{/gist_id}}",
            "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
            "events_url": f"{url}/events{{/privacy}}",
            "type": user.kind,
            "user_view_type": "public",
            "site_admin": False,
        }

    def me(self, world, token) -> dict:
        counts = ("public_repos", "public_gists", "followers", "following")
        about = ("company", "blog", "location", "email", "hireable", "bio")
        return {
            **self.user(world, token.login),
            "name": token.name,
            **dict.fromkeys(about),
            **dict.fromkeys(counts, 0),
            "created_at": world.user(token.login).created_at,
            "updated_at": world.user(token.login).created_at,
        }

    def repo(self, project) -> dict:
        """The shape inside lists and pull requests."""
        if project.id not in self._repos:
            owner = self.user(project.world, project.owner)
            shape = repository.shape(project, self.repo_url(project), owner)
            self._repos[project.id] = self.drop(shape, "has_downloads")
        return self._repos[project.id]

    def full_repo(self, project) -> dict:
        login = self.token.login if self.token else None
        return {**self.repo(project), **repository.details(project, login)}

    def label(self, label) -> dict:
        return {
            "id": label.id,
            "node_id": node_id(label),
            "url": f"{self.repo_url(label.project)}/labels/{label.name.replace(' ', '%20')}",
            "name": label.name,
            "color": label.color,
            "default": label.default,
            "description": label.description,
        }

    def labels(self, item) -> list[dict]:
        return [self.label(item.project.label(name)) for name in item.labels]

    def reactions(self, url: str, likes: int = 0, dislikes: int = 0) -> dict:
        counts = {**dict.fromkeys(REACTIONS, 0), "+1": likes, "-1": dislikes}
        return {"url": f"{url}/reactions", "total_count": likes + dislikes, **counts}

    def association(self, thing) -> str:
        project = thing.item.project if hasattr(thing, "item") else thing.project
        if thing.author and thing.author.lower() == project.owner.lower():
            return "OWNER"
        return "COLLABORATOR" if project.permission(thing.author) else "NONE"

    def common(self, item) -> dict:
        """What issues and pull requests say alike."""
        people = [self.user(item.project.world, login) for login in item.assignees]
        return {
            "id": item.id,
            "node_id": node_id(item),
            "html_url": html_url(item),
            "number": item.number,
            "state": item.state,
            "locked": item.locked,
            "title": item.title,
            "user": self.user(item.project.world, item.author),
            "body": item.body,
            "labels": self.labels(item),
            "assignee": people[0] if people else None,
            "assignees": people,
            "milestone": {"title": item.milestone, "number": 1} if item.milestone else None,
            "active_lock_reason": None,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "closed_at": item.closed_at,
            "author_association": self.association(item),
        }

    def issue(self, item) -> dict:
        """An issue, or a pull request as the issue lists show it (with a `pull_request` key)."""
        repo = self.repo_url(item.project)
        url = f"{repo}/issues/{item.number}"
        shape = {
            "url": url,
            "repository_url": repo,
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "timeline_url": f"{url}/timeline",
            **self.common(item),
            "state_reason": item.state_reason,
            "comments": len(item.comments),
            "closed_by": self.user(item.project.world, item.closed_by),
            "reactions": self.reactions(url),
            "performed_via_github_app": None,
        }
        if item.kind == "change":
            shape["draft"] = item.draft
            shape["pull_request"] = self.pull_stub(item)
        else:
            shape["sub_issues_summary"] = {"total": 0, "completed": 0, "percent_completed": 0}
        return self.drop(shape, "assignee")

    def pull_stub(self, item) -> dict:
        web = html_url(item)
        url = f"{self.repo_url(item.project)}/pulls/{item.number}"
        return {
            "url": url,
            "html_url": web,
            "diff_url": f"{web}.diff",
            "patch_url": f"{web}.patch",
            "merged_at": item.merged_at,
        }

    def pull(self, item) -> dict:
        repo = self.repo_url(item.project)
        stub = self.pull_stub(item)
        links = {
            "html": stub["html_url"],
            "issue": f"{repo}/issues/{item.number}",
            "comments": f"{repo}/issues/{item.number}/comments",
            "review_comments": f"{stub['url']}/comments",
            "review_comment": f"{repo}/pulls/comments{{/number}}",
            "commits": f"{stub['url']}/commits",
            "statuses": f"{repo}/statuses/{item.head_sha}",
        }
        shape = {
            **stub,
            **{f"{name}_url": url for name, url in links.items()},
            **self.common(item),
            "draft": item.draft,
            "merge_commit_sha": sha(f"merge:{item.head_sha}") if item.merged_at else None,
            "requested_reviewers": [self.user(item.project.world, login) for login in item.requested],
            "requested_teams": [],
            "head": self.branch(item, item.head, item.head_sha, gone=item.fork_gone),
            "base": self.branch(item, item.base, sha(f"{item.project.id}:{item.base}")),
            "auto_merge": {"merge_method": "squash"} if item.is_merging else None,
            "_links": {name: {"href": url} for name, url in {"self": stub["url"], **links}.items()},
        }
        return self.drop(shape, "assignee", "merge_commit_sha")

    def branch(self, item, ref: str, commit: str, *, gone: bool = False) -> dict:
        project = item.project
        return {
            "label": f"{project.owner}:{ref}",
            "ref": ref,
            "sha": commit,
            "user": self.user(project.world, project.owner),
            "repo": None if gone else self.repo(project),
        }

    def full_pull(self, item) -> dict:
        return {
            **self.pull(item),
            "merged": item.merged_at is not None,
            "mergeable": None if item.merged_at else True,
            "rebaseable": None if item.merged_at else True,
            "mergeable_state": "unknown" if item.merged_at else "clean",
            "merged_by": self.user(item.project.world, item.merged_by),
            "comments": len(item.comments),
            "review_comments": len(item.review_comments),
            "maintainer_can_modify": False,
            "commits": 1,
            "additions": sum(file.additions for file in item.files),
            "deletions": sum(file.deletions for file in item.files),
            "changed_files": len(item.files),
        }

    def file(self, item, file) -> dict:
        repo, web, at = self.repo_url(item.project), item.project.web, item.head_sha
        shape = {
            "sha": sha(f"{at}:{file.new_path}"),
            "filename": file.new_path,
            "status": REST_STATUS.get(file.status, file.status),
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": f"{web}/blob/{at}/{file.new_path}",
            "raw_url": f"{web}/raw/{at}/{file.new_path}",
            "contents_url": f"{repo}/contents/{file.new_path}?ref={at}",
        }
        if file.patch is not None:
            shape["patch"] = file.patch
        if file.status == "renamed":
            shape["previous_filename"] = file.old_path
        return shape

    def release(self, release) -> dict:
        repo = self.repo_url(release.project)
        url = f"{repo}/releases/{release.id}"
        return {
            "url": url,
            "assets_url": f"{url}/assets",
            "upload_url": f"{url}/assets{{?name,label}}",
            "html_url": html_url(release),
            "id": release.id,
            "node_id": node_id(release),
            "tag_name": release.tag,
            "target_commitish": release.project.default_branch,
            "name": release.name,
            "body": release.body,
            "draft": release.draft,
            "prerelease": release.prerelease,
            "immutable": False,
            "created_at": release.created_at,
            "updated_at": release.updated_at,
            "published_at": release.published_at,
            "author": self.user(release.project.world, release.author),
            "assets": [],
            "tarball_url": None if release.draft else f"{repo}/tarball/{release.tag}",
            "zipball_url": None if release.draft else f"{repo}/zipball/{release.tag}",
        }

    def collaborator(self, project, login: str) -> dict:
        held = project.permission(login)
        return {
            **self.user(project.world, login),
            "permissions": repository.permissions(held),
            "role_name": repository.ROLES[held],
        }
