"""What the contract of the store is tried with: nouns in one line each. What is equal has equal payloads."""

import json
import pathlib

from forgelore.model import Item, ItemKey, Note, Project, ProjectName, Thread
from forgelore.store.documents import load_sources, save_documents
from forgelore.store.item_lists import list_numbered, load_listed
from forgelore.store.items import save_items
from forgelore.store.notes import save_threads
from forgelore.store.projects import save_project
from forgelore.text.documents import build_documents

NOW = 1_700_000_000_000
HOUR = 3_600_000


def project(store, path="acme/web", *, forge_id=None, **fields):
    """Save a project and return its id."""
    raw = json.dumps([path, forge_id, fields]).encode()
    name = ProjectName("github", "github.com", path)
    return save_project(store, Project(name, forge_id, raw=raw, **fields), NOW).id


def item(number, title="It fails", *, kind="issue", state="open", created_at=NOW, **fields):
    said = {"state": state, "created_at": created_at, **fields}
    raw = json.dumps([kind, number, title, said], default=str).encode()
    return Item(ItemKey(kind, number), title, raw=raw, **said)


def change(number, title="Mend it", **fields):
    return item(number, title, kind="change", **fields)


def note(key, body="I see it too.", author="tom", *, created_at=NOW, **fields):
    said = {"author": author, "created_at": created_at, **fields}
    return Note(key, body=body, raw=json.dumps([key, body, said], default=str).encode(), **said)


def thread(number, *notes, kind="issue", key="comments", **fields):
    return Thread(ItemKey(kind, number), key, list(notes), **fields)


def save(store, project_id, *items):
    """Save items and return number -> id."""
    saved = save_items(store, project_id, list(items))
    return {key.number: item_id for key, item_id in saved.ids.items()}


def talk(store, project_id, *threads, **how):
    return save_threads(store, project_id, list(threads), **how)


def index(store, *item_ids):
    """Write the documents of items; returns what was written, item by item."""
    sources = load_sources(store, item_ids)
    return [save_documents(store, one.id, one.project_id, build_documents(one, card)) for one, card in sources.values()]


def numbers(store, filters, **how):
    """Return the numbers of the items that filters allow, in the order of their list."""
    return [row.number for _, row in load_listed(store, filters, **{"sort": "number", "limit": 99, **how})]


def id_of(store, project_id, number):
    (found,) = list_numbered(store, project_id, [number])
    return found


def written_by(store, act):
    """Return how many rows something writes."""
    before = store.total_changes
    act()
    return store.total_changes - before


HERE = pathlib.Path(__file__).parent
