"""How an item ended, as far as a store knows: what fixed it, and what it was closed in favour of."""

import json

import pytest

from forgelore.model import Item, ItemKey, Link, Project, ProjectName
from forgelore.store.items import load_ids, save_items
from forgelore.store.links import LinkRow, load_fix, load_original, save_links
from forgelore.store.projects import save_project
from forgelore.store.sqlite.schema import open_store


class Tracker:
    def __init__(self, store):
        self.store = store
        with store.transaction():
            self.project_id = save_project(store, Project(ProjectName("github", "github.com", "acme/web")), 0).id

    def add(self, kind, number, state="closed", body="", **more):
        item = Item(ItemKey(kind, number), f"title {number}", body, state, raw=f"{kind}{number}".encode(), **more)
        with self.store.transaction():
            save_items(self.store, self.project_id, [item])
        return self.id(kind, number)

    def id(self, kind, number):
        return load_ids(self.store, self.project_id, [ItemKey(kind, number)])[ItemKey(kind, number)]

    def link(self, item_id, *links):
        key = ItemKey(*self.store.row("SELECT kind, number FROM items WHERE id = ?", item_id))
        with self.store.transaction():
            save_links(self.store, self.project_id, [LinkRow(item_id, key, None, None, list(links))])

    def fix(self, item_id):
        found = load_fix(self.store, item_id)
        return found.number if found else None

    def original(self, item_id, *, is_marked=True):
        found = load_original(self.store, item_id, is_marked=is_marked)
        return found.number if found else None


@pytest.fixture
def tracker(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    yield Tracker(store)
    store.close()


def test_a_merged_change_that_says_so_fixed_it(tracker):
    issue = tracker.add("issue", 1)
    tracker.add("change", 2, "open", "Fixes #1")
    tracker.add("change", 3, "closed", "Fixes #1")
    tracker.add("change", 4, "merged", "See #1")
    assert tracker.fix(issue) is None
    tracker.add("change", 5, "merged", "Fixes #1", merged_at=5)
    tracker.add("change", 6, "merged", "Closes #1", merged_at=9)
    assert tracker.fix(issue) == 6


def test_what_the_forge_says_of_the_issue_counts_too(tracker):
    """closedByPullRequestsReferences names changes whose text says nothing."""
    issue = tracker.add("issue", 1)
    tracker.add("change", 2, "closed")
    tracker.link(issue, Link("relates", 2, "change", "", "detail"))
    assert tracker.fix(issue) is None
    tracker.add("change", 3, "merged")
    tracker.link(issue, Link("relates", 3, "change", "", "detail"))
    assert tracker.fix(issue) == 3


@pytest.mark.parametrize(
    "link",
    [
        Link("relates", 2, "change", "", "event"),  # somebody linked them by hand
        Link("relates", 2, "change", "acme/other", "detail"),
        Link("relates", 2, "change", "", "detail", is_withdrawn=True),
        Link("mentions", 2, "change", "", "text"),
    ],
)
def test_other_relations_fixed_nothing(tracker, link):
    issue = tracker.add("issue", 1)
    tracker.add("change", 2, "merged")
    tracker.link(issue, link)
    assert tracker.fix(issue) is None


def test_a_change_nobody_may_see_is_not_named(tracker):
    issue = tracker.add("issue", 1)
    tracker.add("change", 2, "merged", "Fixes #1", is_confidential=True)
    assert tracker.fix(issue) is None


def test_the_forges_mark_names_the_original_before_what_people_wrote(tracker):
    issue = tracker.add("issue", 9, body="duplicate of #1")
    for number in (1, 2, 3):
        tracker.add("issue", number)
    assert tracker.original(issue) == 1
    assert tracker.original(issue, is_marked=False) is None
    tracker.link(issue, Link("duplicate_of", 2, "issue", "", "detail"))
    assert tracker.original(issue) == tracker.original(issue, is_marked=False) == 2


@pytest.mark.parametrize(
    "link",
    [
        Link("duplicate_of", 9, "issue", "", "detail"),  # GitHub marks the original as its own duplicate
        Link("duplicate_of", 2, "issue", "", "detail", is_withdrawn=True),
        Link("duplicate_of", 2, "change", "", "detail"),
        Link("duplicate_of", 2, "issue", "acme/other", "detail"),
        Link("duplicate_of", 77, "issue", "", "detail"),
        Link("duplicate_of", 5, "issue", "", "detail"),
    ],
)
def test_no_original_where_none_can_be_named(tracker, link):
    issue = tracker.add("issue", 9)
    tracker.add("issue", 2)
    tracker.add("issue", 5, is_confidential=True)
    tracker.link(issue, link)
    assert tracker.original(issue) is None


def issue(number, **more):
    when = f"2026-01-{number:02}T00:00:00Z"
    return {
        "kind": "issue",
        "number": number,
        "title": "Lantern dims at night",
        "created_at": when,
        "closed_at": when,
        **more,
    }


def duplicate(number, of, body):
    links = [{"relation": "duplicate_of", "number": of, "kind": "issue"}]
    return issue(number, body=body, state="closed", state_reason="completed", links=links)


TEXT = "The lantern in the hall becomes dark as soon as the heating starts."


@pytest.mark.parametrize(
    ("rows", "original"),
    [
        ([issue(1, body="Voltage drops"), duplicate(2, 1, "The heating is to blame"), duplicate(3, 2, TEXT)], "#1"),
        ([duplicate(2, 3, "The heating is to blame"), duplicate(3, 2, TEXT)], None),
    ],
)
def test_a_chain_of_duplicates_is_followed_to_its_end_and_a_circle_has_none(cli, tmp_path, rows, original):
    path = tmp_path / "tracker.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, issue(9, body=TEXT)])))
    assert cli("import", str(path), "--project", "p").code == 0
    data = cli("triage", "#9", "--json").data
    first = next(row for row in data["matches"] if row["sameness"] == "same_text")
    assert (first["ref"], first["state_reason"], first["original"]) == ("#3", "duplicate", original)
    assert "the same text as issue 3" in data["report"]
    assert ("in favour of issue 1" in data["report"]) == (original is not None)
