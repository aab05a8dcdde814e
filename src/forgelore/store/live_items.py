"""Counts of items, and the numbers of those that are there: an item that is gone from its forge keeps its row."""

from forgelore.store.db import Store


def count_live(store: Store, project_id: int | None = None, kind: str | None = None, *, is_public: bool = False) -> int:
    """Return how many live items there are: of a project and of a kind where these are named. `is_public`: without
    confidential ones.
    """
    named = {name: value for name, value in (("project_id", project_id), ("kind", kind)) if value is not None}
    conditions = "".join(f"AND {name} = ? " for name in named)
    found: int = store.value(
        f"""
        SELECT count(*)
        FROM items
        WHERE deleted_at IS NULL {conditions} {"AND NOT is_confidential" if is_public else ""}
        """,
        *named.values(),
    )
    return found


def count_live_by_kind(store: Store, project_id: int, *, is_public: bool = False) -> dict[str, int]:
    """Return kind -> live items of a project; kinds that it has none of are missing. `is_public`: without confidential
    ones.
    """
    rows = store.rows(
        f"""
        SELECT kind, count(*)
        FROM items
        WHERE project_id = ? AND deleted_at IS NULL {"AND NOT is_confidential" if is_public else ""}
        GROUP BY 1
        ORDER BY 1
        """,
        project_id,
    )
    return dict(rows)


def load_live_numbers(store: Store, project_id: int, kind: str) -> dict[int, bool]:
    """Return number -> whether only some readers may see it, of everything the forge should still have.

    That is confidential issues, and drafts of releases.
    """
    rows = store.rows(
        """
        SELECT number, is_confidential OR (kind = 'release' AND is_draft)
        FROM items
        WHERE project_id = ? AND kind = ? AND deleted_at IS NULL
        """,
        project_id,
        kind,
    )
    return {number: bool(confidential) for number, confidential in rows}
