"""Links of items (`item_links`): replacing what one item or note says of others.

- A target in the project itself has no project's name, however it was spelled: in capitals, with its host, or by a name
  that the project had once.
- No item links to itself, whoever says so: GitHub marks the original of a duplicate too and names it as its own
  original, and people mention the issue they are writing in.

Endings of items: the merged change that closed one, the item it was closed in favour of. Public items alone.
"""

from collections.abc import Iterable

from msgspec import Struct

from forgelore.model import ItemKey, Link, LinkSource
from forgelore.profiles import profile_of
from forgelore.store.database import SqlRow, Store
from forgelore.store.item_lists import load_public_item
from forgelore.text.items import StoredItem

_LINK_COLUMNS = "relation, source, target_project, target_kind, target_number, is_withdrawn, created_at"


class LinkRow(Struct, gc=False):
    item_id: int
    key: ItemKey
    note_id: int | None
    created_at: int | None
    links: list[Link]


class LinkTargets:
    """Which project a link means, for the links of one project."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._project_id = project_id
        row = store.row("SELECT forge, host, path FROM projects WHERE id = ?", project_id)
        forge, self._host, self._path = row or ("", "", "")
        self._numbering = profile_of(forge).numbering
        # Oldest meaning first: what is a project's name now counts more than what was another's once.
        names = store.rows("SELECT path_key, project_id FROM project_aliases WHERE host = ?", self._host)
        there = store.rows("SELECT path_key, id, forge_id, path FROM projects WHERE host = ?", self._host)
        self._ids: dict[str, int] = dict(names) | {key: project for key, project, _, _ in there}
        self._paths: dict[str, str] = {f"projects/{number}": path for _, _, number, path in there if number}

    def name(self, said: str) -> str:
        """Return what is stored for a project that a link names; "" for the project itself."""
        if said.startswith("projects/"):  # GitLab's number of another project: its path if we have it
            said = self._paths.get(said, said)
        elif said and "/" not in said and "/" in self._path:  # GitLab shortens the name of a project in the same group
            said = f"{self._path.rpartition('/')[0]}/{said}"
        return "" if self.identity(said) == self._project_id else said

    def identity(self, name: str) -> int | str:
        """Return the same for every name of one project: its row's id if we have it."""
        key = self._paths.get(name, name).lower().removeprefix(f"{self._host}/".lower())
        return self._ids.get(key, name.lower()) if name else self._project_id

    def is_self(self, key: ItemKey, link: Link) -> bool:
        """True for a link from an item to itself.

        GitHub numbers issues, changes and discussions together; on GitLab a bare number is an issue's; in an imported
        tracker, of which nobody knows, it is taken for the item's own. Releases are numbered apart everywhere.
        """
        if link.number != key.number or self.name(link.project):
            return False
        if self._numbering == "shared" and "release" not in (key.kind, link.kind):
            return True
        return (link.kind or ("issue" if self._numbering == "apart" else key.kind)) == key.kind

    def rows(self, row: LinkRow) -> list[SqlRow]:
        """Return the columns of what an item or note says of others."""
        when = row.created_at
        return [
            (link.relation, link.source, self.name(link.project), link.kind, link.number, link.is_withdrawn, when)
            for link in row.links
            if not self.is_self(row.key, link)
        ]


def save_links(store: Store, project_id: int, rows: Iterable[LinkRow], targets: LinkTargets | None = None) -> None:
    targets = targets or LinkTargets(store, project_id)
    sql = f"""
        INSERT INTO item_links (project_id, item_id, note_id, {_LINK_COLUMNS})
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
    store.run_many(
        sql, ((project_id, row.item_id, row.note_id, *columns) for row in rows for columns in targets.rows(row))
    )


def restore_links(
    store: Store, project_id: int, row: LinkRow, sources: tuple[LinkSource, ...], targets: LinkTargets
) -> bool:
    """Make what an item or note says through these sources this, and write nothing when it is; returns whether it
    was not.
    """
    whose = "item_id = ? AND note_id IS NULL" if row.note_id is None else "note_id = ?"
    where = f"{whose} AND source IN ({', '.join('?' * len(sources))})"
    place = (row.item_id if row.note_id is None else row.note_id, *sources)
    stored = store.rows(f"SELECT {_LINK_COLUMNS} FROM item_links WHERE {where}", *place)
    if _comparable(stored, targets) == _comparable(targets.rows(row), targets):
        return False
    store.run(f"DELETE FROM item_links WHERE {where}", *place)
    save_links(store, project_id, [row], targets)
    return True


def _comparable(rows: Iterable[SqlRow], targets: LinkTargets) -> list[str]:
    """Return rows in a form that equals that of others which say the same, in whatever order and by whatever name."""
    return sorted(repr((*row[:2], targets.identity(row[2]), *row[3:5], bool(row[5]), row[6])) for row in rows)


def adopt_names(store: Store, project_id: int) -> None:
    """Make links that name a project by the name it has just got links inside it."""
    sql = """
        SELECT l.id, l.target_project, i.kind, i.number, l.target_kind, l.target_number
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        WHERE l.project_id = ? AND l.target_project <> ''
    """
    targets = LinkTargets(store, project_id)
    for link_id, said, kind, number, target_kind, target in store.rows(sql, project_id):
        if targets.is_self(ItemKey(kind, number), Link("mentions", target, target_kind, said)):
            store.run("DELETE FROM item_links WHERE id = ?", link_id)
        elif not targets.name(said):
            store.run("UPDATE item_links SET target_project = '' WHERE id = ?", link_id)


def drop_item_links(store: Store, item_ids: list[int], sources: tuple[LinkSource, ...]) -> None:
    """Forget what the items themselves (not their notes) said through these sources."""
    sql = f"""
        DELETE FROM item_links
        WHERE item_id = ? AND note_id IS NULL AND source IN ({", ".join("?" * len(sources))})
    """
    store.run_many(sql, [(item_id, *sources) for item_id in item_ids])


def drop_note_links(store: Store, note_ids: Iterable[int]) -> None:
    store.run_many("DELETE FROM item_links WHERE note_id = ?", [(note_id,) for note_id in note_ids])


def load_fix(store: Store, item_id: int) -> StoredItem | None:
    """Return the merged change that closed an issue, the last one of several; None when none is known.

    A change says so in its own text or the forge says so of it (`closes`), or the forge says it of the issue (GitHub's
    closedByPullRequestsReferences, kept as a `relates` of the details). What a comment says closes nothing.
    """
    sql = """
        SELECT c.id
        FROM items c
        WHERE c.kind = 'change' AND c.state = 'merged' AND c.deleted_at IS NULL AND NOT c.is_confidential
          AND c.id IN (
            SELECT l.item_id
            FROM items t
            JOIN item_links l ON l.project_id = t.project_id AND l.target_number = t.number
            WHERE t.id = ?1 AND t.kind = 'issue' AND l.relation = 'closes' AND l.note_id IS NULL
              AND NOT l.is_withdrawn AND l.target_project = '' AND coalesce(l.target_kind, 'issue') = 'issue'
            UNION
            SELECT o.id
            FROM item_links l
            JOIN items o ON o.project_id = l.project_id AND o.number = l.target_number AND o.kind = 'change'
            WHERE l.item_id = ?1 AND l.relation = 'relates' AND l.source = 'detail' AND l.target_kind = 'change'
              AND NOT l.is_withdrawn AND l.target_project = ''
          )
        ORDER BY coalesce(c.merged_at, c.closed_at, 0) DESC, c.number DESC
        LIMIT 1
    """
    return load_public_item(store, store.value(sql, item_id))


def load_original(store: Store, item_id: int, *, is_marked: bool) -> StoredItem | None:
    """Return the item of the same kind that an item was closed in favour of; None when it is not known.

    With `is_marked` the forge says that it is a duplicate, and what people wrote ("duplicate of #5") names the
    original; without, only the forge's own marks do.
    """
    sql = """
        SELECT t.id
        FROM item_links l
        JOIN items i ON i.id = l.item_id
        JOIN items t ON t.project_id = i.project_id AND t.number = l.target_number AND t.kind = i.kind AND t.id <> i.id
        WHERE i.id = ? AND l.relation = 'duplicate_of' AND NOT l.is_withdrawn AND l.target_project = ''
          AND coalesce(l.target_kind, i.kind) = i.kind AND (l.source <> 'text' OR ?)
          AND t.deleted_at IS NULL AND NOT t.is_confidential
        ORDER BY l.source = 'text', l.id DESC
        LIMIT 1
    """
    return load_public_item(store, store.value(sql, item_id, is_marked))
