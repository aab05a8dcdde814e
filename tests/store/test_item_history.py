"""Item history: later facts are planted and not seen; what nobody recorded is None, and never zero."""

import io
import json

import pytest

from forgelore.app import App
from forgelore.store.item_history import load_histories
from forgelore.sync.archive import import_lines
from forgelore.text.dates import parse_ms
from forgelore.viewer import EVERYTHING

MARCH, MAY = "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z"
APRIL_MS = parse_ms("2026-04-01T00:00:00Z")


@pytest.fixture
def tracker(tmp_path):
    """Import items and return (store, number -> id)."""
    app = App({}, cwd=str(tmp_path), db=str(tmp_path / "t.db"), viewer=EVERYTHING)

    def load(*items):
        rows = [{"kind": "issue", "title": f"item {item['number']}", "created_at": MARCH, **item} for item in items]
        source = io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
        store = app.store(create=True)
        import_lines(store, app.parse_project("p"), source, 0)
        return store, dict(store.rows("SELECT number, id FROM items"))

    yield load
    app.close()


@pytest.fixture
def at(tracker):
    """What was known of item 1 before a time, in a tracker of these items."""

    def history(*items, before=APRIL_MS, not_from=0):
        store, ids = tracker(*items)
        asked_by = ids[not_from] if not_from else 0
        return load_histories(store, list(ids.values()), before=before, not_from=asked_by)[ids[1]]

    return history


def note(created_at, body="I see it too.", author="tom", **more):
    return {"author": author, "body": body, "created_at": created_at, **more}


@pytest.mark.parametrize(
    ("item", "is_open", "ended"),
    [
        ({"state": "open"}, True, None),
        ({"state": "closed", "closed_at": MAY}, True, None),
        ({"state": "closed", "closed_at": MARCH}, False, MARCH),
        ({"state": "closed"}, None, None),
        ({"kind": "change", "state": "merged", "merged_at": MAY}, True, None),
        ({"kind": "change", "state": "merged", "merged_at": MARCH}, False, MARCH),
    ],
)
def test_an_item_is_open_until_it_was_closed(at, item, is_open, ended):
    known = at({"number": 1, **item})
    assert (known.is_open, known.ended_at) == (is_open, ended and parse_ms(ended))


def test_without_a_time_the_stored_state_counts(at):
    assert at({"number": 1, "state": "closed"}, before=None).is_open is False


def test_later_comments_are_not_counted_nor_is_who_wrote_them(at):
    known = at({"number": 1, "author": "ana", "notes": [note("2026-03-10T00:00:00Z"), note(MAY, author="eve")]})
    assert (known.comments, known.participants) == (1, {"ana", "tom"})
    assert known.active_at == parse_ms("2026-03-10T00:00:00Z")


def test_what_only_members_see_and_what_the_forge_notes_by_itself_is_no_comment(at):
    hidden = [note(MARCH, author="mem", is_internal=True), note(MARCH, "closed this", author="bot", is_system=True)]
    known = at({"number": 1, "author": "ana", "notes": hidden})
    assert (known.comments, known.participants) == (0, {"ana"})


def test_later_mentions_and_duplicates_are_not_counted(at):
    known = at(
        {"number": 1, "notes": [note(MARCH)]},
        {"number": 2, "body": "like #1", "created_at": "2026-03-02T00:00:00Z"},
        {"number": 3, "notes": [note("2026-03-03T00:00:00Z", "Duplicate of #1"), note("2026-03-04T00:00:00Z", "#1")]},
        {"number": 4, "body": "like #1", "created_at": MAY},
        {"number": 5, "notes": [note(MAY, "Duplicate of #1")]},
    )
    assert (known.mentions, known.duplicates) == (2, 1)


def test_what_the_asking_item_says_is_not_counted(at):
    known = at(
        {"number": 1, "notes": [note(MARCH)]},
        {"number": 2, "body": "like #1, duplicate of #1"},
        before=None,
        not_from=2,
    )
    assert (known.mentions, known.duplicates) == (0, 0)


@pytest.mark.parametrize(
    ("item", "is_marked"),
    [
        ({"notes": [note(MARCH, "Duplicate of #7")]}, True),
        ({"notes": [note(MAY, "Duplicate of #7")]}, False),
        ({"notes": [note(MARCH)]}, False),
        ({"state": "closed", "state_reason": "duplicate", "closed_at": MARCH, "updated_at": MAY}, True),
        ({"state": "closed", "state_reason": "duplicate", "closed_at": MAY, "notes": [note(MARCH)]}, False),
        # A file does not say when: known only where nothing happened to the item since.
        ({"links": [{"relation": "duplicate_of", "number": 7}], "updated_at": MAY}, None),
        ({"links": [{"relation": "duplicate_of", "number": 7}], "updated_at": MARCH}, True),
    ],
)
def test_a_mark_counts_from_when_it_was_made(at, item, is_marked):
    assert at({"number": 1, **item}).is_marked is is_marked


def test_a_mark_without_a_time_adds_no_duplicate_to_the_other_before_now(at):
    items = {"number": 1, "notes": [note(MARCH)]}, {"number": 2, "links": [{"relation": "duplicate_of", "number": 1}]}
    assert at(*items).duplicates == 0
    assert at(*items, before=None).duplicates == 1


def test_a_tracker_without_comments_and_authors_says_nothing_of_them(at):
    known = at({"number": 1, "state": "closed", "closed_at": MAY}, {"number": 2, "body": "like #1"})
    assert known._replace(item_id=0) == (0, None, True, *[None] * 7)


def test_an_item_without_comments_has_none_where_others_of_its_kind_have(at):
    others = {"number": 2, "notes": [note(MAY)]}, {"kind": "change", "number": 3}
    assert at({"number": 1}, *others).comments == 0


def test_changes_of_a_tracker_that_has_comments_of_issues_alone_are_unknown(tracker):
    store, ids = tracker({"number": 1, "notes": [note(MARCH)]}, {"kind": "change", "number": 2})
    found = load_histories(store, list(ids.values()), before=APRIL_MS)
    assert (found[ids[1]].comments, found[ids[2]].comments) == (1, None)


def test_a_store_without_conversations_knows_as_little_of_today_as_of_the_past(tracker):
    """The bot's index has the forge's own count alone; positions among past items must mean the same today."""
    store, ids = tracker({"number": 1, "author": "ana", "updated_at": MARCH})
    store.run("UPDATE items SET comment_count = 5")
    then, now = (load_histories(store, list(ids.values()), before=before)[ids[1]] for before in (APRIL_MS, None))
    assert then == now == (ids[1], "ana", True, *[None] * 7)


def test_a_conversation_that_was_fetched_and_is_empty_is_known(tracker):
    store, ids = tracker({"number": 1})
    store.run("UPDATE items SET threads_fetched_at = 1")
    assert load_histories(store, list(ids.values()))[ids[1]].comments == 0


def test_nothing_asked_is_nothing_found(tracker):
    store, _ = tracker({"number": 1})
    assert load_histories(store, []) == {}
