"""Saving one page of a forge: rows, follow-up jobs and cursor, inside the caller's transaction."""

from forgelore.flows.sync.policy import ReadPolicy
from forgelore.flows.sync.stored import KnownStore
from forgelore.model import Item, ItemKey, Project
from forgelore.ports import ForgeReader, Page
from forgelore.store.db import Store
from forgelore.store.item_people import replace_silent_reviews
from forgelore.store.items import Saved, load_ids, save_details, save_items
from forgelore.store.jobs import queue_jobs
from forgelore.store.project_rows import save_labels, save_members
from forgelore.store.sync_state import save_cursor
from forgelore.store.threads import remember_fetch, remove_notes, save_thread_states, save_threads
from forgelore.words import JobKind, NoteScope


class PageSaver:
    """Writes pages of one project and counts, by name, what was really written."""

    def __init__(
        self, store: Store, forge: ForgeReader, project: Project, project_id: int, policy: ReadPolicy | None = None
    ) -> None:
        self.store, self.forge, self.project, self.project_id = store, forge, project, project_id
        self.policy = policy or ReadPolicy()
        self.written: dict[str, int] = {}
        self.cut: dict[ItemKey, tuple[int, int]] = {}  # changes -> how many of their files the forge lists, and counts
        self.known = KnownStore(store, project_id)

    def save(self, page: Page, resource: str, now_ms: int) -> int:
        """Save what the policy keeps of a page, with its cursor; return how many rows its list had: items, else notes,
        labels or members.
        """
        if page.items:
            saved = save_kept(self.store, self.project_id, page.items, self.policy)
            for key in (*saved.new, *saved.changed):
                self._count(key.kind)
            if self.policy.queues_files:
                changes = [job_key(key) for key in (*saved.new, *saved.changed) if key.kind == "change"]
                queue_jobs(self.store, self.project_id, JobKind.FILES, changes, now_ms)
            if not self.policy.is_items_only:
                self._queue_follow_ups(page, saved, now_ms)
        if not self.policy.is_items_only:
            self._save_beside_items(page, now_ms)
        if page.cursor is not None and self.policy.moves_cursors:
            save_cursor(self.store, self.project_id, resource, page.cursor)
        notes = sum(len(thread.notes) for thread in page.threads)
        return len(page.items) or notes or len(page.labels or ()) or len(page.members or ())

    def _save_beside_items(self, page: Page, now_ms: int) -> None:
        self._save_conversations(page, now_ms)
        self._count("detail", save_details(self.store, self.project_id, page.details))
        self.cut |= cut_lists(page)
        if page.labels is not None:
            save_labels(self.store, self.project_id, page.labels, is_complete=True)
        if page.members is not None:
            save_members(self.store, self.project_id, page.members)
        if page.seen is not None:
            self._queue_looks(page, now_ms)

    def _queue_follow_ups(self, page: Page, saved: Saved, now_ms: int) -> None:
        changed = {*saved.new, *saved.changed}
        times = self.known.fetch_times([item.key for item in page.items])
        jobs: dict[JobKind, list[str]] = {}
        for item in filter(self.policy.keeps, page.items):
            wanted = self.forge.jobs_for(
                item, is_changed=item.key in changed, is_wide=page.is_wide, threads_fetched_at=times.get(item.key)
            )
            for kind in wanted:
                jobs.setdefault(kind, []).append(job_key(item.key))
        for kind, keys in jobs.items():
            queue_jobs(self.store, self.project_id, kind, keys, now_ms)

    def _save_conversations(self, page: Page, now_ms: int) -> None:
        if page.threads or page.complete:
            saved = save_threads(self.store, self.project_id, page.threads, complete=page.complete)
            self._count("note", saved.written + saved.removed)
            # A whole conversation of an item that nobody shows us is dropped: asking again would bring the same.
            unknown = [job_key(key) for key in saved.unknown if key not in page.complete]
            for kind in (JobKind.ITEM, JobKind.THREADS):
                queue_jobs(self.store, self.project_id, kind, unknown, now_ms)
        if page.thread_states:
            self._count("thread", save_thread_states(self.store, self.project_id, page.thread_states))
        ids = load_ids(self.store, self.project_id, page.review_ids) if page.review_ids else {}
        for key, item_id in ids.items():
            keep = {f"r{number}" for number in page.review_ids[key]}
            self._count("note", remove_notes(self.store, self.project_id, item_id, keep, NoteScope.LINE_COMMENTS))
        for key, item_id in load_ids(self.store, self.project_id, page.silent_reviews).items():
            replace_silent_reviews(self.store, self.project_id, item_id, page.silent_reviews[key])
        fetched_at = page.server_ms or now_ms
        for key, scope in page.complete.items():
            # Discussions are read whole each time, and always in full.
            if scope != NoteScope.REVIEW_SUMMARIES and key.kind != "discussion":
                remember_fetch(self.store, self.project_id, key, fetched_at, page.thread_etags.get(key))
        for key in page.unchanged:
            remember_fetch(self.store, self.project_id, key, fetched_at, self.known.thread_etag(key))

    def _queue_looks(self, page: Page, now_ms: int) -> None:
        assert page.seen is not None
        for kind in page.seen_kinds:
            live = self.known.live_numbers(kind)
            keys = [ItemKey(kind, number) for number, is_hidden in live.items() if not is_hidden]
            gone = [job_key(key) for key in keys if key not in page.seen]
            queue_jobs(self.store, self.project_id, JobKind.LOOK, gone, now_ms)

    def _count(self, what: str, number: int = 1) -> None:
        if number:
            self.written[what] = self.written.get(what, 0) + number


def cut_lists(page: Page) -> dict[ItemKey, tuple[int, int]]:
    """Return the changes of a page of which the forge lists fewer files than it counts."""
    return {
        detail.key: (len(detail.files), detail.file_count)
        for detail in page.details
        if detail.files is not None and detail.file_count is not None and len(detail.files) < detail.file_count
    }


def tell_cut(cut: dict[ItemKey, tuple[int, int]]) -> list[str]:
    """Return what to tell people about lists of files that the forge cuts."""
    if not cut:
        return []
    first = min(cut, key=lambda key: key.number)
    listed, counted = cut[first]
    which = f"change {first.number} ({listed:,} of {counted:,})"
    if len(cut) == 1:
        return [f"the forge does not list all files of {which}"]
    return [f"the forge does not list all files of {len(cut):,} changes; the first is {which}"]


def save_kept(store: Store, project_id: int, items: list[Item], policy: ReadPolicy) -> Saved:
    """Save those of the items that a policy keeps; what it hides from some is forgotten, should it be there."""
    saved = save_items(store, project_id, list(filter(policy.keeps, items)), keep_raw=policy.keeps_payloads)
    if policy.forget_hidden is not None:
        policy.forget_hidden(store, project_id, [item.key for item in items if item.is_confidential])
    return saved


def job_key(key: ItemKey) -> str:
    return f"{key.kind}:{key.number}"


def is_switched_off(project: Project, key: str) -> bool:
    """True for work on a part of the project that is switched off: it waits until the part is back, and nothing is
    gone.
    """
    is_on = {"issue": project.has_issues, "change": project.has_changes, "discussion": project.has_discussions}
    return not is_on.get(parse_job_key(key).kind, True)


def parse_job_key(text: str) -> ItemKey:
    kind, _, number = text.partition(":")
    return ItemKey(kind, int(number))  # type: ignore[arg-type]
