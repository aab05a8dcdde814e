"""Facts of a project that are stored already, in the shape in which adapters ask for them."""

from collections.abc import Sequence

from forgelore.model import ItemKey, Kind
from forgelore.ports.forge import KnownConversation
from forgelore.store.conversations import find_miscounted, has_review_notes, load_conversation, sum_comment_counts
from forgelore.store.database import Store
from forgelore.store.item_lists import count_live, load_live_numbers
from forgelore.store.items import FactName, is_confidential, load_fact, load_fetch_times, load_kinds
from forgelore.store.jobs import find_without_job
from forgelore.store.sync import was_interrupted
from forgelore.words import JobKind


class KnownStore:
    """Answers from one project's rows. Safe to use from several threads: the store has a connection for each."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._store, self._project_id = store, project_id

    def _fact(self, name: FactName, key: ItemKey) -> str | None:
        return load_fact(self._store, self._project_id, key, name)

    def thread_etag(self, key: ItemKey) -> str | None:
        return self._fact("threads_etag", key)

    def files_sha(self, key: ItemKey) -> str | None:
        return self._fact("files_sha", key)

    def head_sha(self, key: ItemKey) -> str | None:
        return self._fact("head_sha", key)

    def is_confidential(self, key: ItemKey) -> bool:
        return is_confidential(self._store, self._project_id, key)

    def node_ids(self, keys: list[ItemKey]) -> dict[ItemKey, str]:
        return {key: found for key in keys if (found := self._fact("node_id", key)) is not None}

    def kinds(self, numbers: list[int]) -> dict[int, Kind]:
        """Return the kind of the issue or change with each number."""
        return load_kinds(self._store, self._project_id, numbers)

    def has_review_notes(self, key: ItemKey) -> bool:
        return has_review_notes(self._store, self._project_id, key)

    def conversation(self, key: ItemKey) -> KnownConversation | None:
        """Return what is stored of an item's conversation; None for an item that is unknown or gone."""
        found = load_conversation(self._store, self._project_id, key)
        return KnownConversation(*found) if found else None

    def fetch_times(self, keys: list[ItemKey]) -> dict[ItemKey, int | None]:
        """Return when the threads of these items were last read in full."""
        return load_fetch_times(self._store, self._project_id, keys)

    def comment_total(self) -> int:
        """Return how many plain comments the forge counts over all issues and changes."""
        return sum_comment_counts(self._store, self._project_id)

    def miscounted(self) -> list[str]:
        """Return job keys of items whose plain comments are more or fewer than the forge counts."""
        return find_miscounted(self._store, self._project_id)

    def without_job(self, job_kind: JobKind, kinds: Sequence[Kind]) -> list[str]:
        """Return job keys of items that never had such a job done and do not wait for one."""
        return find_without_job(self._store, self._project_id, job_kind, kinds)

    def without_files(self) -> list[str]:
        """Return job keys of changes whose files nobody has read and that do not wait for it."""
        return find_without_job(self._store, self._project_id, JobKind.FILES, ("change",))

    def was_interrupted(self) -> bool:
        """True when the run before this one did not come to its end."""
        return was_interrupted(self._store, self._project_id)

    def live_count(self, kind: str) -> int:
        return count_live(self._store, self._project_id, kind)

    def live_numbers(self, kind: str) -> dict[int, bool]:
        """Return number -> whether only some readers may see it, of everything the forge should still have."""
        return load_live_numbers(self._store, self._project_id, kind)
