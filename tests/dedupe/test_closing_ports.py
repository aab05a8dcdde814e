"""Closing as a duplicate and taking it back, natively, on each local forge: through the adapters, over real sockets."""

import pytest

from forgelore.model import ItemKey


@pytest.fixture
def forge(lab):
    return lab.app.forge(lab.app.parse_project(lab.name_text))


@pytest.fixture
def project(lab, forge):
    return forge.fetch_project(lab.app.parse_project(lab.name_text))


def pair(lab, kind="issue"):
    add = lab.project.add_issue if kind == "issue" else lab.project.add_change
    first = add("Crash on start", "It says EACCES", author="zoe")
    return first, add("Crashes at start", "EACCES is what it says", author="yan")


def fetch(forge, project, number, kind="issue"):
    item = forge.fetch_item(project, ItemKey(kind, number))
    return item, forge.fetch_closing_facts(project, item)


def test_an_issue_is_closed_natively_and_opened_again(lab, forge, project):
    original, copy = pair(lab)
    item, before = fetch(forge, project, copy)
    target = fetch(forge, project, original)[0]
    assert (item.state, before.closed_by, before.duplicate_of, before.linked_to) == ("open", None, (), ())
    forge.close_as_duplicate(project, item, target)
    item, facts = fetch(forge, project, copy)
    assert (item.state, facts.closed_by) == ("closed", "ana")
    assert facts.closed_at is not None
    if lab.path != "acme/web" or forge.name == "github":
        assert item.state_reason == "duplicate"
        assert facts.duplicate_of == (original,)
    assert facts.linked_to == ((original,) if forge.name == "gitlab" else ())
    forge.reopen(project, item.key)
    if fetch(forge, project, copy)[1].duplicate_of:
        forge.unmark_duplicate(project, item, target)
    forge.remove_link(project, item, target)
    item, facts = fetch(forge, project, copy)
    assert (item.state, facts.duplicate_of, facts.linked_to) == ("open", (), ())
    assert facts.reopened_at is not None


def test_the_original_is_marked_as_nobodys_duplicate(lab, forge, project):
    original, copy = pair(lab)
    forge.close_as_duplicate(project, fetch(forge, project, copy)[0], fetch(forge, project, original)[0])
    item, facts = fetch(forge, project, original)
    assert (item.state, facts.duplicate_of, facts.closed_by) == ("open", (), None)


def test_a_change_is_closed_plainly(lab, forge, project):
    original, copy = pair(lab, "change")
    item, target = fetch(forge, project, copy, "change")[0], fetch(forge, project, original, "change")[0]
    forge.close_as_duplicate(project, item, target)
    item, facts = fetch(forge, project, copy, "change")
    assert (item.state, facts.closed_by, facts.duplicate_of) == ("closed", "ana", ())
    forge.reopen(project, item.key)
    assert fetch(forge, project, copy, "change")[0].state == "open"


def test_labels_are_taken_off_and_others_stay(lab, forge, project):
    number = lab.project.add_issue("Crash", "…", labels=["bug", "Maybe a duplicate?"])
    key = ItemKey("issue", number)
    forge.remove_labels(project, key, ["Maybe a duplicate?"])
    forge.remove_labels(project, key, ["Maybe a duplicate?"])
    assert forge.fetch_item(project, key).labels == ["bug"]


def test_reactions_to_a_comment_are_counted(lab, forge, project):
    key = ItemKey("issue", lab.project.add_issue("Crash", "…"))
    comment = forge.create_comment(project, key, "hello")
    assert forge.count_reactions(project, key, comment.id) == 0
    lab.project.react(comment.id)
    assert forge.count_reactions(project, key, comment.id) == 1
    forge.delete_comment(project, key, comment.id)
    assert forge.count_reactions(project, key, comment.id) == 0
