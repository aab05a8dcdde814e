"""The second look at Forgejo's items: what the lists do not say.

Of changes: branches and files (`detail`), and the whole conversation (`threads`): comments, reviews, comments on lines.
Of issues: their comments, where the stream missed some or some were deleted.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from forgelore.forges.forgejo import wire
from forgelore.forges.forgejo.rest import ForgejoRest, item_path, repo_path, walk_pages
from forgelore.model import Detail, File, Involvement, ItemKey, Project, Thread
from forgelore.net.pages import split_rows
from forgelore.ports.forge import Page
from forgelore.text.fence import storable
from forgelore.words import NoteScope


class ForgejoDetails:
    """Second looks on one server."""

    def __init__(self, rest: ForgejoRest) -> None:
        self._rest = rest

    def fetch_detail(self, project: Project, key: ItemKey) -> Page:
        pull = wire.loose(self._checked(f"{repo_path(project)}/pulls/{key.number}", f"change {key.number}"))
        branches = {name: _branch(pull.get(name)) for name in ("head", "base")}
        files = self.list_files(project, key)
        listed = [(file.new_path, file.old_path, file.status) for file in files]
        raw = msgspec.json.encode(
            {"number": key.number, **branches, "files": listed, "reviewers": _asked(project, pull)}
        )
        counted = pull.get("changed_files")
        detail = parse_detail(raw, key)
        return Page(details=[replace(detail, file_count=counted if isinstance(counted, int) else None)])

    def list_files(self, project: Project, key: ItemKey) -> list[File]:
        files: list[File] = []
        for answer in walk_pages(self._rest.client, f"{repo_path(project)}/pulls/{key.number}/files"):
            body = self._rest.checked(answer, f"files of {key.number}").body
            files += [wire.parse_file(raw) for raw in split_rows(body)]
        return files

    def fetch_threads(self, project: Project, key: ItemKey) -> Page:
        """Everything that was said on an item: what is not here is gone."""
        answer = self._rest.client.get(f"{item_path(project, key)}/comments")
        raws = split_rows(self._rest.checked(answer, f"comments of {key.kind} {key.number}").body)
        comments = [wire.parse_comment(raw).note for raw in raws]
        threads = [Thread(key, "comments", comments)] if comments else []
        page = Page(threads=threads, complete={key: NoteScope.COMMENTS}, server_ms=answer.date_ms)
        if key.kind == "change":
            found, page.silent_reviews[key] = self._reviews(project, key)
            page.threads += found
            page.complete[key] = NoteScope.ALL
        return page

    def _reviews(self, project: Project, key: ItemKey) -> tuple[list[Thread], list[Involvement]]:
        root, raws = f"{repo_path(project)}/pulls/{key.number}/reviews", []
        for answer in walk_pages(self._rest.client, root):
            raws += split_rows(self._rest.checked(answer, f"reviews of {key.number}").body)
        reviews = [wire.parse_review(raw) for raw in raws]
        notes = [review.note for review in reviews if review.note is not None]
        on_lines: list[bytes] = []
        for review in reviews:
            if review.comments_count:
                on_lines += split_rows(self._checked(f"{root}/{review.id}/comments", f"review {review.id}"))
        summaries = [Thread(key, "reviews", notes)] if notes else []
        silent = [review.silent for review in reviews if review.silent is not None]
        return summaries + line_threads(key, map(wire.parse_line_comment, on_lines)), silent

    def _checked(self, path: str, what: str) -> bytes:
        return self._rest.checked(self._rest.client.get(path), what).body


def line_threads(key: ItemKey, found: Iterable[wire.FoundLineComment]) -> list[Thread]:
    """Return the conversations at lines of a change, each named by its first comment."""
    places: dict[tuple[object, ...], list[wire.FoundLineComment]] = {}
    for comment in sorted(found, key=lambda one: int(one.note.key[1:])):
        places.setdefault(comment.place, []).append(comment)
    return [line_thread(key, said[0].note.key, said) for said in places.values()]


def line_thread(key: ItemKey, name: str, said: Sequence[wire.FoundLineComment]) -> Thread:
    notes = [comment.note for comment in said]
    is_resolved = any(comment.is_resolved for comment in said)
    who = next((note.resolved_by for note in notes if note.resolved_by), None)
    return Thread(key, name, notes, True, is_resolved, notes[0].path, notes[0].line, who)


def parse_detail(raw: bytes, key: ItemKey) -> Detail:
    """Return the second look at a change, from what `fetch_detail` keeps of it."""
    said = wire.loose(raw)
    head, base = said["head"], said["base"]
    files = [File(*row) for row in said["files"]]
    asked = [Involvement(str(name), "requested", None, "detail") for name in said.get("reviewers") or ()]
    return Detail(
        key, raw=raw, files=files, people=asked,
        source_branch=head["ref"], target_branch=base["ref"], head_sha=head["sha"],
    )  # fmt: skip


def _branch(said: object) -> dict[str, str | None]:
    """Return name and commit of a branch; of a fork that is gone less is told."""
    found = said if isinstance(said, dict) else {}
    return {name: wire.text(value) if isinstance(value := found.get(name), str) else None for name in ("ref", "sha")}


def _asked(project: Project, pull: dict[str, Any]) -> list[str]:
    """Return who is asked for a review; a team by the organisation that owns the project."""
    people = [wire.login_of(user) for user in pull.get("requested_reviewers") or () if isinstance(user, dict)]
    teams = [team.get("name") for team in pull.get("requested_reviewers_teams") or () if isinstance(team, dict)]
    owner = project.name.path.partition("/")[0]
    named = [*people, *(f"{owner}/{team}" for team in teams if isinstance(team, str))]
    return [storable(name) for name in named if name]
