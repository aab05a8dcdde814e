"""What the store already knows, in the shape adapters ask for it."""

import json
from collections.abc import Sequence

from forgelore.model import ItemKey, Kind
from forgelore.ports import KnownConversation
from forgelore.store.db import Store

_NEVER_HAD = {
    "threads": "i.threads_fetched_at IS NULL",
    "detail": "i.detail_hash IS NULL",
    "links": "i.detail_hash IS NOT NULL AND i.files_sha IS NULL",  # files without a head: GitHub's REST alone
}


class KnownStore:
    """Answers from one project's rows. Safe to use from several threads: the store has a connection for each."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._store, self._project_id = store, project_id

    def _column(self, column: str, key: ItemKey) -> str | None:
        sql = f"SELECT {column} FROM items WHERE project_id = ? AND kind = ? AND number = ?"
        value: str | None = self._store.value(sql, self._project_id, key.kind, key.number)
        return value

    def thread_etag(self, key: ItemKey) -> str | None:
        return self._column("threads_etag", key)

    def files_sha(self, key: ItemKey) -> str | None:
        return self._column("files_sha", key)

    def head_sha(self, key: ItemKey) -> str | None:
        return self._column("head_sha", key)

    def is_confidential(self, key: ItemKey) -> bool:
        return bool(self._column("is_confidential", key))

    def node_ids(self, keys: list[ItemKey]) -> dict[ItemKey, str]:
        return {key: found for key in keys if (found := self._column("node_id", key)) is not None}

    def kinds(self, numbers: list[int]) -> dict[int, Kind]:
        """Return the kind of the issue or change with each number. Live ones before tombstones, and changes before
        issues: an issue can become a change.
        """
        rows = self._store.rows(
            "SELECT number, kind FROM items WHERE project_id = ? AND kind IN ('issue', 'change')"
            " AND number IN (SELECT value FROM json_each(?)) ORDER BY deleted_at IS NULL, kind = 'change'",
            self._project_id, json.dumps(numbers),
        )  # fmt: skip
        return dict(rows)

    def has_review_notes(self, key: ItemKey) -> bool:
        return bool(
            self._store.value(
                "SELECT EXISTS (SELECT 1 FROM items i JOIN notes n ON n.item_id = i.id WHERE i.project_id = ? AND"
                " i.kind = ?"
                " AND i.number = ? AND n.key LIKE 'r%')", self._project_id, key.kind, key.number,
            )
        )  # fmt: skip

    def conversation(self, key: ItemKey) -> KnownConversation | None:
        """Return what is stored of an item's conversation; None for an item that is unknown or gone."""
        found = self._store.row(
            """
            SELECT id, updated_at, comment_count FROM items
            WHERE project_id = ? AND kind = ? AND number = ? AND deleted_at IS NULL
            """,
            self._project_id, key.kind, key.number,
        )  # fmt: skip
        if found is None:
            return None
        sizes = self._store.rows(
            """
            SELECT t.key, count(*) FROM threads t JOIN notes n ON n.thread_id = t.id
            WHERE t.item_id = ? GROUP BY t.id
            """,
            found[0],
        )
        return KnownConversation(found[1], found[2], dict(sizes))

    def fetch_times(self, keys: list[ItemKey]) -> dict[ItemKey, int | None]:
        """Return when the threads of these items were last read whole."""
        found: dict[ItemKey, int | None] = {}
        for kind in {key.kind for key in keys}:
            numbers = json.dumps([key.number for key in keys if key.kind == kind])
            for number, fetched_at in self._store.rows(
                "SELECT number, threads_fetched_at FROM items WHERE project_id = ? AND kind = ?"
                " AND number IN (SELECT value FROM json_each(?))", self._project_id, kind, numbers,
            ):  # fmt: skip
                found[ItemKey(kind, number)] = fetched_at
        return found

    def comment_total(self) -> int:
        """Return how many plain comments the forge counts over all issues and changes."""
        sql = "SELECT coalesce(sum(comment_count), 0) FROM items WHERE project_id = ? AND kind IN ('issue', 'change')"
        return int(self._store.value(sql, self._project_id))

    def miscounted(self) -> list[str]:
        """Return job keys of items whose plain comments are more or fewer than the forge counts.

        An item whose conversation was read whole after its last update stays as it is: GitHub may count what it does
        not show.
        """
        rows = self._store.rows(
            "SELECT i.kind || ':' || i.number FROM items i WHERE i.project_id = ? AND i.kind IN ('issue', 'change')"
            " AND i.comment_count IS NOT NULL AND i.deleted_at IS NULL"
            " AND (i.threads_fetched_at IS NULL OR i.threads_fetched_at < i.updated_at)"
            " AND i.comment_count <> (SELECT count(*) FROM threads t JOIN notes n ON n.thread_id = t.id"
            " WHERE t.item_id = i.id AND t.key = 'comments')", self._project_id,
        )  # fmt: skip
        return [row[0] for row in rows]

    def owing(self, job_kind: str, kinds: Sequence[Kind]) -> list[str]:
        """Return job keys of items that never had such a job done and do not wait for one."""
        rows = self._store.rows(
            f"SELECT i.kind || ':' || i.number FROM items i WHERE i.project_id = ? AND {_NEVER_HAD[job_kind]}"
            " AND i.deleted_at IS NULL AND i.kind IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM"
            " jobs j WHERE j.project_id = i.project_id AND j.kind = ? AND j.key = i.kind || ':' || i.number)",
            self._project_id, json.dumps(list(kinds)), job_kind,
        )  # fmt: skip
        return [row[0] for row in rows]

    def was_interrupted(self) -> bool:
        """True when the run before this one did not come to its end."""
        rows = self._store.rows(
            "SELECT status FROM sync_runs WHERE project_id = ? ORDER BY id DESC LIMIT 2", self._project_id
        )
        return len(rows) == 2 and rows[1][0] != "succeeded"

    def live_count(self, kind: str) -> int:
        return int(
            self._store.value(
                "SELECT count(*) FROM items WHERE project_id = ? AND kind = ? AND deleted_at IS NULL",
                self._project_id,
                kind,
            )
        )

    def live_numbers(self, kind: str) -> dict[int, bool]:
        """Return number -> whether only some readers may see it, of everything the forge should still have.

        That is confidential issues, and drafts of releases.
        """
        rows = self._store.rows(
            "SELECT number, is_confidential OR (kind = 'release' AND is_draft) FROM items WHERE project_id = ?"
            " AND kind = ? AND deleted_at IS NULL",
            self._project_id, kind,
        )  # fmt: skip
        return {number: bool(confidential) for number, confidential in rows}
