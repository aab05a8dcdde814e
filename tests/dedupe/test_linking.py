"""What people call related is posted as one comment on the newer item, once, and taken back: on each local forge."""

import pytest

from forgelore.dedupe.linking import find_links, post_links
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.review import answer_pair


def answer(closing, newer, older, word, *, by="ana"):
    ids, now = (closing.id_of(newer), closing.id_of(older)), closing.time.now_ms()
    answer_pair(closing.store, closing.stored, ids, word, said_by=by, now_ms=now)


@pytest.fixture
def related(closing):
    """Four issues; the last one is related to the first two, and people disagree about the third."""
    for at in range(4):
        closing.add(f"Crash {at}", f"{'It stops. ' * at} EACCES", author=f"user{at}")
    closing.lab.sync()
    for older in (1, 2, 3):
        answer(closing, 4, older, "related")
    answer(closing, 4, 3, "same", by="ben")
    answer(closing, 3, 2, "not")
    return closing


def listed(closing):
    return [(line.number, line.targets) for line in find_links(closing.store, closing.stored)]


def post(closing):
    done = post_links(closing.job, closing.forge)
    return done, [(line.number, line.action, line.reason) for line in done.lines]


def comments(closing, number):
    return closing.portrait([number])[number][4]


def test_one_comment_names_the_related_items_once(related):
    assert listed(related) == [(4, (1, 2))]
    done, lines = post(related)
    assert lines == [(4, "linked", "")]
    assert [text.splitlines()[1] for text in comments(related, 4)] == ["Related to #1 and #2."]
    assert listed(related) == []
    assert post(related)[1] == []
    related.lab.sync()
    assert listed(related) == []
    related.roll_back(done.run)
    assert comments(related, 4) == []
    assert listed(related) == []  # what was taken back is not posted again


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda lab: lab.on_issue("comment", 4, "See #1 and #2", author="zoe"), ReasonCode.ALREADY_LINKED),
        (lambda lab: lab.on_issue("close", 4, by="zoe"), ReasonCode.NOT_OPEN),
        (lambda lab: setattr(*lock_of(lab)), ReasonCode.CONVERSATION_LOCKED),
    ],
    ids=["named", "closed", "locked"],
)
def test_what_people_did_since_the_last_sync_counts(related, act, reason):
    act(related)
    since = len(related.server.requests)
    assert post(related)[1] == [(4, "skip", reason)]
    assert related.writes(since) == []


def lock_of(lab):
    item = lab.item(4)
    if lab.has_shared_numbers:
        return item, "locked", True
    return item, "extra", {**item.extra, "discussion_locked": True}


@pytest.mark.parametrize("is_done", [True, False], ids=["it arrived", "it never arrived"])
def test_a_comment_whose_answer_was_lost_is_posted_once(related, is_done):
    path = r"/issues/4/(comments|notes)$"
    how = {"drop_after": True} if is_done else {"drop": True}
    fault = related.server.fail(method="POST", path=path, **how)
    _, lines = post(related)
    related.server.faults.remove(fault)
    assert lines == [(4, "linked", "") if is_done else (4, "wait", ReasonCode.WRITE_UNANSWERED)]
    post(related)
    assert len(comments(related, 4)) == 1


def test_an_answer_about_another_text_is_not_posted(related):
    related.time.pass_by(60)
    related.on_issue("edit", 1, body="Something else")
    related.lab.sync()
    assert listed(related) == [(4, (2,))]
