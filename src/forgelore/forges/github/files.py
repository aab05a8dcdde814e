"""The files of GitHub's changes: every path, old and new.

GraphQL tells the first hundred paths of many changes in one request, without the old path of a rename. REST tells both,
a hundred to a page, and stops at 3,000 files: how many there are is then told beside them.
https://docs.github.com/rest/pulls/pulls#list-pull-requests-files
"""

from typing import Any

from forgelore.errors import ForgeError, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.nodes import NOBODY, Hole, Node
from forgelore.forges.github.rest import GitHubRest, object_in, repo_path
from forgelore.model import Detail, File, FileStatus, ItemKey, Project
from forgelore.net.jsontext import split_rows
from forgelore.net.walk import walk_links
from forgelore.ports import MissingPart, Page
from forgelore.words import JobKind

MOST_FILES = 3_000  # that GitHub lists of a change
_STATUS: dict[str, FileStatus] = {"ADDED": "added", "DELETED": "deleted"}


class ChangedFiles:
    """Lists of files on one server."""

    def __init__(self, rest: GitHubRest) -> None:
        self._rest = rest

    def fetch(self, project: Project, nodes: dict[ItemKey, Node]) -> Page:
        """Return the files of these changes and nothing else, from their nodes or, for holes, through REST."""
        page, root = Page(), repo_path(project)
        for key, node in nodes.items():
            if isinstance(node, Hole) and node is not NOBODY and not node.is_asked:
                page.missing[key] = MissingPart(JobKind.FILES, node.reason, is_asked=False)
                continue
            try:
                page.details.append(self._detail(root, key, node))
            except (ForgeError, NotFound) as error:  # one that fails must not spoil the batch
                page.missing[key] = MissingPart(JobKind.FILES, error.message)
        return page

    def _detail(self, root: str, key: ItemKey, node: Node) -> Detail:
        if isinstance(node, Hole):
            files = self.list_all(root, key)
            return Detail(key, raw=b"", files=files, file_count=self.count(root, key, files))
        files = self.of_node(root, key, node["files"])
        return Detail(key, raw=b"", files=files, head_sha=node.get("headRefOid"), file_count=node.get("changedFiles"))

    def of_node(self, root: str, key: ItemKey, listed: dict[str, Any] | None) -> list[File]:
        """Return a change's files from its node, from REST where that has more: beyond the first page, and renames."""
        nodes = (listed or {}).get("nodes") or []
        is_complete = listed is not None and not listed["pageInfo"]["hasNextPage"] and None not in nodes
        if not is_complete or any(node["changeType"] in ("RENAMED", "COPIED") for node in nodes):
            return self.list_all(root, key)
        paths = [(wire.text(node["path"]) or "", node["changeType"]) for node in nodes]
        return [File(path, path, _STATUS.get(change, "modified")) for path, change in paths]

    def list_all(self, root: str, key: ItemKey) -> list[File]:
        """Return the files of a change, on all their pages, as far as GitHub lists them."""
        files: list[File] = []
        for answer in walk_links(self._rest.client, f"{root}/pulls/{key.number}/files", {}):
            if answer.status in (406, 422):
                break  # too large for GitHub to list: keep what came
            rows = split_rows(self._rest.checked(answer, f"files of {key.number}").body)
            files += map(wire.parse_file, rows)
        return files

    def count(self, root: str, key: ItemKey, files: list[File]) -> int | None:
        """Return how many files a change has, asking only where the list may have been cut."""
        if 0 < len(files) < MOST_FILES:
            return len(files)
        answer = self._rest.client.get(f"{root}/pulls/{key.number}")
        found = object_in(self._rest.checked(answer, f"change {key.number}")).get("changed_files")
        return found if isinstance(found, int) else None
