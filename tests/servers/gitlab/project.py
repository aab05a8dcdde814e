"""The verbs of a project: what can happen to its issues, changes and releases.

State and label changes leave resource events; title, assignment, duplicates, relations, moves, pushes and
mentions leave system notes. Verbs move `updated_at` at once; notes only as `threads.py` allows.
"""

import dataclasses
import hashlib

from .records import Event, File, Item, Label, Link, Release
from .text import find_closing
from .threads import Threads, bump, locked


class Project(Threads):
    def __init__(
        self,
        world,
        number: int,
        path: str,
        *,
        private=False,
        visibility=None,
        has_issues=True,
        has_merge_requests=True,
        default_branch="main",
        archived=False,
        personal=False,
    ):
        self.world = world
        self.id = number
        self.path = path
        self.visibility = visibility or ("private" if private else "public")
        self.levels: dict[str, str] = {}  # feature -> disabled, private, enabled, public; else as the switches say
        self.told: dict[str, object] = {}  # laid over the project's payload; None: the field is missing
        self.has_issues = has_issues
        self.has_merge_requests = has_merge_requests
        self.default_branch = default_branch
        self.archived = archived
        self.personal = personal
        self.created_at = world.at()
        self.most_diff_files = 1000  # that the server keeps of a merge request's diff; its owner may allow 3000
        self.branch_files: dict[str, dict[str, str]] = {}  # branch -> path -> text
        self.branch_times: dict[str, str] = {}  # branch -> when its last commit was made
        self.issues: dict[int, Item] = {}
        self.changes: dict[int, Item] = {}
        self.releases: dict[str, Release] = {}
        self.labels: dict[str, Label] = {}
        self.members: dict[str, int] = {}
        self.links: list[Link] = []
        self.notes: dict = {}
        self._last_iid = {"issue": 0, "change": 0}

    @property
    def private(self) -> bool:
        return self.visibility == "private"

    @private.setter
    def private(self, is_private: bool) -> None:
        self.visibility = "private" if is_private else "public"

    def level(self, feature: str) -> str:
        """The access level of issues, merge_requests, repository or releases."""
        is_on = {"issues": self.has_issues, "merge_requests": self.has_merge_requests}.get(feature, True)
        return self.levels.get(feature, "enabled") if is_on else "disabled"

    @property
    def namespace(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def items(self, kind: str) -> dict[int, Item]:
        return self.issues if kind == "issue" else self.changes

    def item(self, kind: str, iid: int) -> Item:
        return self.items(kind)[iid]

    @locked
    def add_issue(
        self, title, body="", *, author="ana", labels=(), created_at=None, confidential=False, **extra
    ) -> int:
        """`extra` is laid over the payload (`weight=3`), except `assignees`, a list of user names."""
        item = self.new_item("issue", title, body, author, labels, self.world.at(created_at))
        item.confidential = confidential
        item.assignees = list(extra.pop("assignees", ()))
        item.extra = extra
        self.mention(item, body, author, item.created_at)
        return item.iid

    @locked
    def add_change(
        self,
        title,
        body="",
        *,
        author="ana",
        labels=(),
        files=(("modified", "src/a.py"),),
        head="branch",
        base=None,
        draft=False,
        created_at=None,
        **extra,
    ) -> int:
        if draft and not title.lower().startswith("draft:"):
            title = f"Draft: {title}"  # GitLab keeps the flag in the title
        item = self.new_item("change", title, body, author, labels, self.world.at(created_at))
        item.files = [File.read(spec) for spec in files]
        item.head, item.base = head, base or self.default_branch
        item.assignees = list(extra.pop("assignees", ()))
        item.extra = extra
        self.mention(item, body, author, item.created_at)
        return item.iid

    def new_item(self, kind, title, body, author, labels, at: str) -> Item:
        self._last_iid[kind] += 1
        iid = self._last_iid[kind]
        item = Item(kind, self.world.next_id(kind), iid, self, title, body, author, at, at)
        for name in labels:
            self._change_label(item, name, "+", author, at)
        if kind == "change":
            item.sha, item.base_sha = self.new_sha(), self.new_sha()
        self.items(kind)[iid] = item
        return item

    def new_sha(self) -> str:
        return hashlib.sha1(f"commit {self.world.next_id('commit')}".encode()).hexdigest()

    @locked
    def edit(self, kind, iid, *, title=None, body=None, labels=None, assignees=None, by="ana", at=None) -> None:
        item, now = self.item(kind, iid), self.world.at(at)
        bump(item, now)
        if title is not None and title != item.title:
            self.write_system_note(item, f"changed title from **{item.title}** to **{title}**", by, now)
            item.title = title
        if body is not None and body != item.body:
            self.write_system_note(item, "changed the description", by, now)
            item.body = body
            self.mention(item, body, by, now)
        if labels is not None:
            for name in sorted(item.labels - set(labels)):
                self._change_label(item, name, "-", by, now)
            for name in sorted(set(labels) - item.labels):
                self._change_label(item, name, "+", by, now)
        if assignees is not None:
            self._assign(item, list(assignees), by, now)

    @locked
    def close(self, kind, iid, by="ana", *, at=None, source: Item | None = None) -> None:
        item = self.item(kind, iid)
        if item.state != "opened":
            return
        now = self.world.at(at)
        item.state, item.closed_at, item.closed_by = "closed", now, by
        bump(item, now)
        self._record_state(item, "closed", by, now, source)

    @locked
    def reopen(self, kind, iid, by="ana", *, at=None) -> None:
        item = self.item(kind, iid)
        if item.state != "closed":
            return
        now = self.world.at(at)
        item.state, item.closed_at, item.closed_by = "opened", None, None
        item.duplicate_of = item.moved_to = None
        bump(item, now)
        self._record_state(item, "reopened", by, now)

    @locked
    def merge(self, iid, by="ana", *, at=None) -> None:
        """Merging into the default branch also closes the issues that the description says it closes."""
        item = self.item("change", iid)
        if item.state != "opened":
            raise ValueError(f"!{iid} is {item.state}")
        now = self.world.at(at)
        item.state, item.merged_at, item.merged_by = "merged", now, by
        bump(item, now)
        item.merge_commit_sha = self.new_sha()
        self._record_state(item, "merged", by, now)
        for issue in self.closes(item) if item.base == self.default_branch else ():
            self.close("issue", issue.iid, by, at=at, source=item)

    def closes(self, change: Item) -> list[Item]:
        return [self.issues[n] for n in find_closing(change.body) if n in self.issues]

    @locked
    def mark_duplicate(self, iid, of_iid, by="ana", *, at=None) -> None:
        item, canonical, now = self.item("issue", iid), self.item("issue", of_iid), self.world.at(at)
        self.write_system_note(item, f"marked this issue as a duplicate of #{of_iid}", by, now)
        self.write_system_note(canonical, f"marked #{iid} as a duplicate of this issue", by, now)
        if not any({link.source, link.target} == {item, canonical} for link in self.links):
            self.links.append(Link(self.world.next_id("link"), item, canonical, now))
        self.close("issue", iid, by, at=at)
        item.duplicate_of = canonical
        bump(item, now)

    @locked
    def relate(self, iid, other, by="ana", *, at=None) -> int:
        source, target, now = self.item("issue", iid), self.item("issue", other), self.world.at(at)
        link = Link(self.world.next_id("link"), source, target, now)
        self.links.append(link)
        self.write_system_note(source, f"marked this issue as related to #{other}", by, now)
        self.write_system_note(target, f"marked this issue as related to #{iid}", by, now)
        return link.id

    @locked
    def move(self, iid, other_project: "Project", by="ana", *, at=None) -> int:
        """Close the issue here and copy it, notes and all, to another project; returns the number there."""
        item, now = self.item("issue", iid), self.world.at(at)
        copy = other_project.new_item("issue", item.title, item.body, item.author, sorted(item.labels), item.created_at)
        copy.updated_at, copy.assignees, copy.confidential = now, list(item.assignees), item.confidential
        for discussion in item.discussions:
            self._copy_discussion(discussion, copy)
        self.write_system_note(copy, f"moved from {item.reference(other_project)}", by, now)
        self.write_system_note(item, f"moved to {copy.reference(self)}", by, now)
        self.close("issue", iid, by, at=at)
        item.moved_to = copy
        bump(item, now)
        return copy.iid

    @locked
    def delete(self, kind, iid) -> None:
        item = self.items(kind).pop(iid)
        for note in item.notes():
            del self.notes[note.id]
        self.links = [link for link in self.links if item not in (link.source, link.target)]

    @locked
    def push(self, iid, files, by="ana", *, at=None) -> None:
        """A new head commit; `files` is the whole difference to the base afterwards."""
        item, now = self.item("change", iid), self.world.at(at)
        item.sha, item.files = self.new_sha(), [File.read(spec) for spec in files]
        bump(item, now)
        self.write_system_note(item, "added 1 commit", by, now)

    @locked
    def add_release(self, tag, *, name=None, body="", author="ana", at=None) -> str:
        now = self.world.at(at)
        self.releases[tag] = Release(tag, name, body, author, now, now)
        return tag

    @locked
    def edit_release(self, tag, **fields) -> None:
        """Fields: name, body, released_at, author."""
        self.releases[tag] = dataclasses.replace(self.releases[tag], **fields)

    @locked
    def delete_release(self, tag) -> None:
        del self.releases[tag]

    @locked
    def add_label(self, name, color="#ededed", description=None) -> int:
        if name not in self.labels:
            self.labels[name] = Label(self.world.next_id("label"), name)
        label = self.labels[name]
        label.color, label.description = color, description
        return label.id

    @locked
    def add_member(self, username, access_level=40) -> None:
        self.world.user(username)
        self.members[username] = access_level

    def _change_label(self, item: Item, name, sign, by, at) -> None:
        if name not in self.labels:
            self.labels[name] = Label(self.world.next_id("label"), name)
        (item.labels.add if sign == "+" else item.labels.discard)(name)
        item.label_events.append(Event(self.world.next_id("label_event"), by, at, sign + name))

    def _record_state(self, item: Item, state, by, at, source: Item | None = None) -> None:
        number = self.world.next_id("state_event")
        item.state_events.append(Event(number, by, at, state, source.id if source else None))

    def _assign(self, item: Item, people: list[str], by, at) -> None:
        added = [f"@{p}" for p in people if p not in item.assignees]
        removed = [f"@{p}" for p in item.assignees if p not in people]
        said = [f"assigned to {' and '.join(added)}"] if added else []
        said += [f"unassigned {' and '.join(removed)}"] if removed else []
        item.assignees = people
        if said:
            self.write_system_note(item, " and ".join(said), by, at)

    def _copy_discussion(self, discussion, copy: Item) -> None:
        target = copy.project
        for position, note in enumerate(discussion.notes):
            if position == 0:
                new = target._open_discussion(
                    copy, note.body, author=note.author, at=note.created_at, individual=discussion.individual
                )
            else:
                new = target._add_note(new.discussion, note.body, author=note.author, at=note.created_at)
            new.type, new.system, new.internal = note.type, note.system, note.internal
            new.mentioner, new.updated_at = note.mentioner, note.updated_at
