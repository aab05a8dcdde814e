"""What events ask for, whatever their payloads hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.model import ItemKey
from forgelore.triage.events import parse_github_event, parse_gitlab_event

ISSUE = {
    "number": 7, "id": 70, "title": "Crash\x00", "body": "It\ud800 hangs", "state": "open", "user": {"login": "ann"},
    "labels": [{"name": "bug"}, None, {"name": 3}], "created_at": "2026-01-02T03:04:05Z",
    "html_url": "https://github.com/acme/web/issues/7",
}  # fmt: skip


def parse(name, payload, project="acme/web"):
    return parse_github_event(name, json.dumps(payload).encode(), project)


@pytest.mark.parametrize(
    ("name", "action", "task"),
    [
        ("issues", "opened", "triage"), ("issues", "edited", "triage"), ("issues", "reopened", "triage"),
        ("issues", "closed", "update"), ("issues", "labeled", "update"), ("issues", "deleted", "remove"),
        ("issues", "transferred", "remove"), ("issues", "pinned", "ignore"),
        ("pull_request_target", "opened", "triage"), ("pull_request_target", "edited", "triage"),
        ("pull_request_target", "synchronize", "triage"), ("pull_request_target", "reopened", "triage"),
        ("pull_request_target", "closed", "update"), ("pull_request", "opened", "triage"),
        ("pull_request_review", "submitted", "ignore"), ("issue_comment", "created", "ignore"),
        ("schedule", "", "catch_up"), ("workflow_dispatch", "", "catch_up"),
    ],
)  # fmt: skip
def test_each_event_has_its_task(name, action, task):
    part = "pull_request" if name.startswith("pull_request") else "issue"
    assert parse(name, {"action": action, part: ISSUE}).task == task


def test_the_item_is_taken_as_the_event_tells_it_and_made_storable():
    event = parse("issues", {"action": "opened", "issue": ISSUE})
    item = event.item
    assert item.key == ItemKey("issue", 7)
    assert (item.title, item.body, item.author, item.labels) == ("Crash\ufffd", "It\ufffd hangs", "ann", ["bug"])
    assert not event.is_automatic


def test_a_merged_change_is_merged_and_a_ghost_has_no_name():
    change = {**ISSUE, "user": None, "state": "closed", "merged_at": "2026-01-03T00:00:00Z", "head": None}
    item = parse("pull_request_target", {"action": "closed", "pull_request": change}).item
    assert (item.key.kind, item.state, item.author) == ("change", "merged", None)


@pytest.mark.parametrize("user", [{"login": "renovate[bot]"}, {"login": "x", "type": "Bot"}])
def test_what_a_program_wrote_is_known_as_such(user):
    assert parse("issues", {"action": "opened", "issue": {**ISSUE, "user": user}}).is_automatic


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"{", b'{"action": "opened"}', b'{"action": "opened", "issue": {"number": "7"}}', b"[" * 9000],
)
def test_a_payload_that_cannot_be_read_asks_to_catch_up(payload):
    assert parse_github_event("issues", payload, "acme/web").task == "catch_up"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["action", "issue", "number", "title", "user", "labels", "created_at", "login", "name"]), x)))  # fmt: skip
def test_no_shape_of_a_payload_breaks_anything(payload):
    parse("issues", payload)
    parse_gitlab_event({}, json.dumps(payload).encode(), "acme/web")


def test_gitlab_hands_a_webhook_on_or_names_the_merge_request():
    hook = {"object_kind": "issue", "object_attributes": {"iid": 5, "action": "open"}}
    event = parse_gitlab_event({}, json.dumps(hook).encode(), "g/p")
    assert (event.task, event.item.key) == ("triage", ItemKey("issue", 5))
    event = parse_gitlab_event({"CI_MERGE_REQUEST_IID": "8"}, None, "g/p")
    assert (event.task, event.item.key) == ("triage", ItemKey("change", 8))
    assert parse_gitlab_event({"CI_PIPELINE_SOURCE": "schedule"}, None, "g/p").task == "catch_up"
    assert parse_gitlab_event({}, b'{"object_kind": "push"}', "g/p").task == "ignore"


def test_the_deliveries_that_github_documents_are_understood(shared):
    folder = shared / "contracts" / "webhooks"
    for event, kinds in (
        ("issues", ("issue", "change")),
        ("pull_request", ("change",)),
    ):  # /issues tells of changes too
        for path in sorted((folder / event).glob("*.json")):
            parsed = parse_github_event(event, path.read_bytes(), "o/r")
            assert parsed.item is not None, path.name
            assert parsed.item.key.kind in kinds
            assert parsed.item.title
            assert parsed.name.endswith(path.name.split(".")[0])
