"""What everybody may read of a project, for pages that are published: items with the beginning of their texts,
clusters, one month.

Two rules leave things out. Confidential items and internal notes are never read, whoever asks. And what the forge does
not show to everybody (a private project, merge requests for members) is left out, or refused where nothing remains; an
imported tracker has no such levels.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from forgelore.app import App
from forgelore.errors import LoreError, Refused
from forgelore.profiles import profile_of
from forgelore.store.candidates import list_clusters
from forgelore.store.database import Store
from forgelore.store.filters import Filters
from forgelore.store.item_lists import count_by_group, load_items, load_labels_of, load_listed
from forgelore.store.payloads import load_project_payload
from forgelore.store.projects import StoredProject
from forgelore.text.items import StoredItem
from forgelore.text.links import COMMENT
from forgelore.text.markdown import safe_url
from forgelore.text.refs import web_root
from forgelore.text.values import check_whole
from forgelore.viewer import PUBLIC

if TYPE_CHECKING:
    from forgelore.history.report import MonthReport
    from forgelore.words import Kind

MAX_PUBLISHED = 20_000  # items that a browser indexes while somebody waits (bench/results/static_site.md)
_BATCH = 1_000
_CLUSTERED: "tuple[Kind, ...]" = ("issue", "change")
_KINDS: "tuple[Kind, ...]" = (*_CLUSTERED, "discussion")


class PublicCluster(NamedTuple):
    """Items that repeat each other, the one that stays first."""

    kind: str
    members: tuple[StoredItem, ...]


class PublicCopy(NamedTuple):
    """A project as anybody may read it. `items`: newest first, bodies cut; `total`: how many there are. `new_item`: the
    forge's page for a new issue, up to its title; "" where there is none. `report`: None for a project without items.
    """

    project: str
    made_ms: int
    items: tuple[StoredItem, ...]
    total: int
    clusters: tuple[PublicCluster, ...]
    report: "MonthReport | None"
    new_item: str
    warnings: tuple[str, ...]


def load_public_copy(
    app: App, project: str | None, *, month: str | None, limit: int, chars: int, for_members: bool
) -> PublicCopy:
    """Return the newest items with `chars` characters of their bodies. `for_members`: also of a project that not
    everybody may read; what is confidential within it stays left out.
    """
    from forgelore.history.report import load_report

    check_whole("limit", limit, MAX_PUBLISHED)
    found = app.require_project(project)
    store = app.whole_store().seen_by(PUBLIC)
    kinds, warnings = (_KINDS, []) if for_members else _public_kinds(app, store, found)
    filters = Filters(project_ids=(found.id,), types=kinds)
    items = _load_items(store, filters, limit, chars)
    total = sum(count_by_group(store, "items", filters).values())
    if total > limit:
        warnings.append(f"{found.name} has {total:,} items; the {limit:,} that changed last are searched")
    report = None
    if set(_CLUSTERED) <= set(kinds):  # a month counts both
        try:
            report = load_report(store, found, month, now_ms=app.now_ms())
        except LoreError:
            if month:
                raise
    return PublicCopy(
        str(found.name), app.now_ms(), tuple(items), total, tuple(_load_clusters(store, found, filters)), report,
        _new_item(found), tuple(warnings),
    )  # fmt: skip


def _public_kinds(app: App, store: Store, project: StoredProject) -> "tuple[tuple[Kind, ...], list[str]]":
    """Return what everybody may read by the forge's last word, and what to say of the rest."""
    from forgelore.triage.readers import may_index_from, sure_readers, why_not_indexed_from

    raw, reader = load_project_payload(store, project.id), app.payload_reader(project.name)
    if raw is None or reader is None:
        return _KINDS, []
    known = reader.project(raw, project.name)
    kinds = tuple(kind for kind in _CLUSTERED if may_index_from(known, kind))
    if sure_readers(known, "repository") == sure_readers(known, "issues") and "issue" in kinds:
        kinds = (*kinds, "discussion")
    if not kinds:
        raise Refused(
            f"not everybody may read {project.name}",
            hint="run: forgelore site DIR --members; then publish it where nobody else can open it",
        )
    why = why_not_indexed_from(known)
    return kinds, [why.replace(", and of another project only what is public is compared", "")] if why else []


def _load_items(store: Store, filters: Filters, limit: int, chars: int) -> list[StoredItem]:
    rows = [row for _, row in load_listed(store, filters, sort="updated", limit=limit)]
    labels = load_labels_of(store, [row.id for row in rows])
    found = []
    for at in range(0, len(rows), _BATCH):
        batch = rows[at : at + _BATCH]
        bodies: Mapping[int, StoredItem] = load_items(store, [row.id for row in batch])
        found += [
            row._replace(
                body=COMMENT.sub("", bodies[row.id].body or "").strip()[:chars], labels=tuple(labels.get(row.id, ()))
            )
            for row in batch
        ]
    return found


def _load_clusters(store: Store, project: StoredProject, filters: Filters) -> Iterable[PublicCluster]:
    """Yield the clusters, the largest first, with those of their members that everybody may read."""
    for kind in _CLUSTERED:
        if kind not in filters.types:
            continue
        shown = {
            row.id: row for _, row in load_listed(store, filters._replace(types=(kind,)), sort="updated", limit=-1)
        }
        for cluster in list_clusters(store, project.id, kind):
            ordered = sorted(cluster.members, key=lambda one: one != cluster.canonical_id)
            members = tuple(shown[one] for one in ordered if one in shown)
            if len(members) > 1:
                yield PublicCluster(kind, members)


def _new_item(project: StoredProject) -> str:
    """Return the address that opens the forge's form with a title."""
    ending = profile_of(project.name.forge).new_issue
    if not ending:
        return ""
    address = project.url or f"{web_root(project.name.host)}/{project.name.path}"
    return f"{address}{ending}" if safe_url(address) else ""
