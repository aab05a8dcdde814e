"""Payloads in, people out: what forges say of reviewers in odd shapes."""

import json

from forgelore.forges.forgejo import wire as forgejo
from forgelore.forges.github import wire as github
from forgelore.forges.gitlab import wire as gitlab


def said(people):
    return [(one.login, one.role, one.verdict) for one in people]


def test_github_requests_of_people_bots_teams_and_nobody():
    node = {
        "reviewRequests": {
            "nodes": [
                {"requestedReviewer": {"__typename": "User", "login": "ana"}},
                {"requestedReviewer": {"__typename": "Bot", "login": "copilot"}},
                {"requestedReviewer": {"__typename": "Team"}},
                {"requestedReviewer": None},
                None,
            ]
        },
        "reviews": {
            "nodes": [
                {"state": "APPROVED", "body": "", "author": {"login": "ben"}, "submittedAt": "2026-01-01T00:00:00Z"},
                {"state": "APPROVED", "body": "words make a note", "author": {"login": "cid"}},
                {"state": "PENDING", "body": "", "author": {"login": "dee"}},
                {"state": "APPROVED", "body": "", "author": None},
                {"state": "NEW_STATE", "body": "", "author": {"login": "eve"}},
                None,
            ]
        },
    }
    wanted = [("ana", "requested", None), ("copilot[bot]", "requested", None), ("ben", "reviewed", "approved")]
    assert said(github.parse_graph_people(node)) == wanted
    assert github.parse_graph_people({}) == []


def test_github_requests_in_a_row_of_pulls():
    row = {
        "id": 1, "number": 2, "title": "t", "requested_reviewers": [{"login": "ana"}, {"login": None}],
        "requested_teams": [
            {"slug": "web", "html_url": "https://github.com/orgs/acme/teams/web"}, {"slug": "odd"}, {"slug": None},
        ],
    }  # fmt: skip
    item = github.parse_item(json.dumps(row).encode(), is_change=True)
    assert said(item.people) == [("ana", "requested", None), ("acme/web", "requested", None)]


def test_github_comments_on_files_and_lines():
    def position(**more):
        row = {"id": 1, "pull_request_url": "https://h/repos/a/b/pulls/3", "path": "a.py", **more}
        return github.parse_review_comment(json.dumps(row).encode()).note.position_type

    assert (position(subject_type="line", line=3), position(subject_type="file"), position()) == (
        "text",
        "file",
        "text",
    )


def test_gitlab_does_not_take_the_state_of_an_account_for_a_verdict():
    row = {
        "id": 1, "iid": 2, "created_at": "2026-01-01T00:00:00Z",
        "reviewers": [
            {"username": "ana", "state": "active"}, {"username": "ben", "state": "approved"},
            {"username": "cid", "state": "requested_changes"}, {"username": None}, {"username": "dee"},
        ],
    }  # fmt: skip
    people = gitlab.parse_item(json.dumps(row).encode(), "change").people
    assert [one.login for one in people if one.role == "requested"] == ["ana", "ben", "cid", "dee"]
    assert {one.login: one.verdict for one in people if one.role == "reviewed"} == {
        "ben": "approved",
        "cid": "changes_requested",
    }


def test_gitlab_threads_are_resolved_by_whoever_resolved_last():
    def note(number, **more):
        return json.dumps({"id": number, "type": "DiffNote", "resolvable": True, **more}).encode()

    first = {"resolved": True, "resolved_by": {"username": "ana"}, "resolved_at": "2026-01-01T00:00:00Z"}
    last = {"resolved": True, "resolved_by": {"username": "ben"}, "resolved_at": "2026-01-02T00:00:00Z"}
    whole = gitlab.parse_notes([note(1, **last), note(2, **first)], None, "t")
    assert (whole.is_resolved, whole.resolved_by) == (True, "ben")
    half = gitlab.parse_notes([note(1, **first), note(2, resolved=False)], None, "t")
    assert (half.is_resolved, half.resolved_by, half.resolved_at) == (False, None, None)
    assert [one.is_resolved for one in half.notes] == [True, False]
    image = gitlab.parse_notes([note(1, position={"position_type": "image", "new_path": "a.png"})], None, "t")
    assert image.notes[0].position_type == "image"


def test_forgejo_reviews_without_words():
    def review(**more):
        row = {"id": 1, "user": {"id": 5, "login": "ben"}, "submitted_at": "2026-01-01T00:00:00Z", **more}
        return forgejo.parse_review(json.dumps(row).encode())

    assert said([review(state="APPROVED").silent]) == [("ben", "reviewed", "approved")]
    assert said([review(state="APPROVED", dismissed=True).silent]) == [("ben", "reviewed", "dismissed")]
    for row in ({"state": "REQUEST_REVIEW"}, {"state": "PENDING"}, {"state": "APPROVED", "user": {"id": -1}}):
        assert review(**row).silent is None
    with_words = review(state="REQUEST_CHANGES", body="no")
    assert (with_words.silent, with_words.note.type) == (None, "REQUEST_CHANGES")
