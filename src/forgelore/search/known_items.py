"""Known items of a search: which stored items a query names (`#12`, a URL), and what is said when there is none."""

from collections.abc import Sequence
from typing import NamedTuple

from forgelore.errors import InvalidValue, NotFound
from forgelore.profiles import profile_of
from forgelore.search.qualifiers import NamedRef
from forgelore.store.database import Store
from forgelore.store.filters import Allowed
from forgelore.store.hits import load_known, load_permitted
from forgelore.store.projects import resolve_project
from forgelore.text.refs import Hosts, Ref, shown_ref

_LARGEST = 2**63 - 1  # that a column holds
_AND = " and "  # between several that are shown


class KnownItems(NamedTuple):
    """The documents of the items that a query names, best first, and a sentence about them. `shown`: the query, as
    people of that forge write it.
    """

    document_ids: tuple[int, ...] = ()
    note: str = ""
    shown: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.note,) if self.note else ()


def find_named_items(
    store: Store, named: Sequence[NamedRef], hosts: Hosts, project_ids: tuple[int, ...] = (), *, is_public: bool = False
) -> tuple[KnownItems, tuple[str, ...]]:
    """Return the items that a query names, in its order, and a sentence about each ref beside them that has none."""
    each = [_find_named(store, one, hosts, project_ids, is_public=is_public) for one in named]
    found = [one for one in each if one.document_ids]
    if len(each) <= 1 or not found:
        return (each[0] if each else KnownItems()), tuple(note for one in each[1:] for note in one.notes)
    missed = tuple(note for one in each if not one.document_ids for note in one.notes)
    if len(found) == 1:
        return found[0], missed
    documents = tuple(dict.fromkeys(document for one in found for document in one.document_ids))
    shown = _AND.join((", ".join(one.shown for one in found[:-1]), found[-1].shown))
    return KnownItems(documents, f"{shown} name {_items(len(documents))} at the top", shown), missed


def _find_named(
    store: Store, named: NamedRef, hosts: Hosts, project_ids: tuple[int, ...], *, is_public: bool
) -> KnownItems:
    ref, said = named
    found = find_known_items(store, ref, hosts, project_ids, is_public=is_public, said=said)
    if said and ref.kind and not found.document_ids:  # people say issue to a pull request
        loose = ref._replace(kind=None)
        return find_known_items(store, loose, hosts, project_ids, is_public=is_public, said=said)
    return found


def find_known_items(
    store: Store, ref: Ref, hosts: Hosts, project_ids: tuple[int, ...] = (), *, is_public: bool = False, said: str = ""
) -> KnownItems:
    """Return the items that a ref means within these projects (none: all of them). One number may stand for several: in
    several projects, or an issue and a change where a forge numbers them apart. `is_public`: confidential ones are not
    there, in the same words as any others that are not. `said`: how the query calls it, `pr 12`.
    """
    shown = said or _typed(ref)
    where = "here" if project_ids else "in this database"
    if ref.project:
        try:
            project = resolve_project(store, ref.project, hosts)
        except (InvalidValue, NotFound) as error:
            # C#7 and wow!12 have the shape of a ref, and mean no project.
            return KnownItems(note=error.message if "/" in ref.project else "")
        where, shown = f"in {project.name}", said or _shown(ref, project.name.forge)
        if project_ids and project.id not in project_ids:
            return KnownItems(note=f"{shown} {where} is outside the projects that are searched")
        project_ids = (project.id,)
        if ref.number and profile_of(project.name.forge).numbering == "shared":
            ref = ref._replace(kind=None)  # such a forge leads from /issues/7 to /pull/7
    rows = load_known(store, ref, project_ids, is_public=is_public) if ref.number <= _LARGEST else []
    live = [row for row in rows if not row.is_deleted]
    documents = tuple(row.document_id for row in live if row.document_id is not None)
    if documents:
        return KnownItems(documents, f"{shown} names {_items(len(documents))} at the top", shown)
    if live:
        return KnownItems(note=f"{shown} is {where}, but not indexed yet; run: forgelore generate-docs")
    if rows:
        return KnownItems(note=f"{shown} was deleted on its forge")
    return KnownItems(note=f"{shown} does not exist {where}; a sync brings what is new")


def permit_known(store: Store, known: KnownItems, allowed: Allowed | None) -> KnownItems:
    """Return those of the items that filters allow."""
    if not known.document_ids or allowed is None:
        return known
    permitted = load_permitted(store, allowed, known.document_ids)
    kept, gone = tuple(one for one in known.document_ids if one in permitted), len(known.document_ids) - len(permitted)
    if not gone:
        return known
    if not kept:
        return KnownItems(note=f"{known.shown} {'are' if _AND in known.shown else 'is'} left out by the filters")
    named = f"{_items(len(kept))} at the top, and {'one' if gone == 1 else gone} left out by the filters"
    return KnownItems(kept, f"{known.shown} {'name' if _AND in known.shown else 'names'} {named}", known.shown)


def _typed(ref: Ref) -> str:
    return ref.tag or f"{'!' if ref.kind == 'change' else '#'}{ref.number}"


def _shown(ref: Ref, forge: str) -> str:
    """An address says what it is, /pull/41, and only some forges have a sign for that."""
    return ref.tag or shown_ref(forge, ref.kind or "issue", ref.number)


def _items(count: int) -> str:
    return "the item" if count == 1 else f"the {count} items"
