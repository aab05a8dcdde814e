"""`item_links`: replacing what one item or note says of others."""

from collections.abc import Iterable

from msgspec import Struct

from forgelore.model import Link, LinkSource
from forgelore.store.db import Store


class LinkRow(Struct, gc=False):
    item_id: int
    note_id: int | None
    created_at: int | None
    links: list[Link]


def save_links(store: Store, project_id: int, rows: Iterable[LinkRow]) -> None:
    """Save links; a target in the project itself loses its project's name, however it was spelled."""
    row = store.row("SELECT host, path FROM projects WHERE id = ?", project_id)
    host, path = row or ("", "")
    own = (path.lower(), f"{host}/{path}".lower())

    def place(name: str) -> str:
        if name.startswith("projects/"):  # GitLab's number of another project: its path if we have it
            sql = "SELECT path FROM projects WHERE host = ? AND forge_id = ?"
            name = store.value(sql, host, int(name.removeprefix("projects/"))) or name
        elif name and "/" not in name and "/" in path:  # GitLab shortens the name of a project in the same group
            name = f"{path.rpartition('/')[0]}/{name}"
        return "" if name.lower() in own else name

    store.run_many(
        "INSERT INTO item_links (project_id, item_id, note_id, relation, source, target_project, target_kind,"
        " target_number,"
        " is_withdrawn, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (project_id, row.item_id, row.note_id, link.relation, link.source,
             place(link.project), link.kind, link.number, link.is_withdrawn, row.created_at)
            for row in rows for link in row.links
        ),
    )  # fmt: skip


def drop_item_links(store: Store, item_ids: list[int], sources: tuple[LinkSource, ...]) -> None:
    """Forget what the items themselves (not their notes) said through these sources."""
    marks = ", ".join("?" * len(sources))
    store.run_many(
        f"DELETE FROM item_links WHERE item_id = ? AND note_id IS NULL AND source IN ({marks})",
        [(item_id, *sources) for item_id in item_ids],
    )


def drop_note_links(store: Store, note_ids: Iterable[int]) -> None:
    store.run_many("DELETE FROM item_links WHERE note_id = ?", [(note_id,) for note_id in note_ids])
