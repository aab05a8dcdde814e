"""What is asked again right before a closing, beside texts and talk: people, confidentiality, commits."""

import pytest

from dedupe.closing_lab import ClosingLab, let_ana_write, reasons
from forgelore.dedupe.reasons import ReasonCode


@pytest.fixture(params=("github", "gitlab"))
def listing(request):
    """The forges that list everybody who may write; on Forgejo the settings name them."""
    lab = request.getfixturevalue(request.param)
    let_ana_write(lab)
    return ClosingLab(lab)


def promote(closing, login):
    if closing.has_shared_numbers:
        closing.project.add_collaborator(login, "push")
    else:
        closing.project.add_member(login, 30)


def test_an_author_who_became_a_maintainer_since_the_plan(listing):
    _, first, second = listing.prepare(copies=2)
    run = listing.planned()
    promote(listing, "user1")
    assert reasons(listing.apply(run)) == {first: ReasonCode.MAINTAINER_AUTHOR, second: None}
    assert listing.portrait([first])[first][0] == "open"


def test_an_assignee_who_became_a_maintainer_since_the_plan(listing):
    original, copy = listing.add(author="kim"), listing.add(author="lia", assignees=["max"])
    listing.lab.sync()
    listing.decide(copy, original)
    listing.say("canonical", original)
    run = listing.planned()
    promote(listing, "max")
    assert reasons(listing.apply(run)) == {copy: ReasonCode.MAINTAINER_ASSIGNEE}


def test_maintainers_are_asked_for_once_in_a_run(listing):
    listing.prepare(copies=3)
    run = listing.planned()
    since = len(listing.server.requests)
    listing.apply(run)
    asked = [
        one for one in listing.server.requests[since:] if "/collaborators" in one["url"] or "/members" in one["url"]
    ]
    assert len(asked) == 1


def test_without_the_list_the_live_association_tells(github):
    """The token lost the right to list people since the plan, and the author became a member of the organisation."""
    let_ana_write(github)
    closing = ClosingLab(github)
    _, copy = closing.prepare()
    run = closing.planned()
    closing.project.add_collaborator("user1", "push")
    closing.server.fail(path="/collaborators", status=403, body={"message": "no"})
    assert reasons(closing.apply(run)) == {copy: ReasonCode.MAINTAINER_AUTHOR}


@pytest.mark.parametrize("which", [0, 1], ids=["target", "item"])
@pytest.mark.parametrize("is_synced", [False, True])
def test_an_item_that_became_confidential(gitlab, which, is_synced):
    let_ana_write(gitlab)
    closing = ClosingLab(gitlab)
    numbers = closing.prepare()
    run = closing.planned()
    closing.time.pass_by(60)
    closing.item(numbers[which]).confidential = True
    closing.on_issue("edit", numbers[which], labels=["secret"])
    since = len(closing.server.requests)
    if is_synced:
        closing.lab.sync()
        assert reasons(closing.plan()) == {numbers[1]: ReasonCode.CONFIDENTIAL}
    assert reasons(closing.apply(run)) == {numbers[1]: ReasonCode.CONFIDENTIAL}
    assert closing.writes(since) == []


@pytest.mark.parametrize("which", [0, 1, None], ids=["target", "item", "neither"])
def test_new_commits_of_a_change_keep_it_open(closing, which):
    numbers = closing.prepare(kind="change")
    run = closing.planned()
    closing.time.pass_by(60)
    if which is not None:
        closing.project.push(numbers[which], [("added", "more.py")])
    assert reasons(closing.apply(run)) == {numbers[1]: None if which is None else ReasonCode.EDITED_SINCE_PLAN}
