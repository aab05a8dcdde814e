"""`close-after`: the writer of split mode tells of a sure duplicate, and a daily run closes it, unless people take part."""

import json

import pytest

from forgelore.dedupe.closing_rules import SeenItem, WaitingNote, parse_note, with_note

TEXT = (
    "Opening the settings twice empties the list of folders",
    "When the settings are opened twice, the list of folders is empty and the log says ERROR: no folder left to sync",
)
HOURS = 72


@pytest.fixture
def waiting(bot, tmp_path):
    """Opens copies through both jobs: the reader decides, the writer tells."""
    bot.set(INPUT_CLOSE_AFTER=str(HOURS))
    bot.decision = tmp_path / "decision.json"
    bot.first = bot.project.add_issue(*TEXT, author="kim")
    bot.run("schedule", {})

    def split(number, **changed):
        bot.happens(number, "opened", "--emit", str(bot.decision))
        decision = json.loads(bot.decision.read_text()) | changed
        bot.decision.write_text(json.dumps(decision))
        bot.happens(number, "opened", "--apply", str(bot.decision))
        return number

    bot.split = split
    bot.copy = lambda **more: bot.project.add_issue(*TEXT, **{"author": "lia", **more})
    bot.notes = lambda number: [body for body in bot.said(number) if parse_note(body)]
    bot.daily = lambda hours: (bot.server.clock.advance(hours * 3600), bot.run("schedule", {}))
    return bot


def state(bot, number):
    item = bot.project.items[number]
    return item.state, sorted(item.labels)


def test_a_sure_duplicate_is_told_labelled_and_closed_when_the_hours_are_over(waiting):
    copy = waiting.split(waiting.copy())
    assert state(waiting, copy) == ("open", ["possible-duplicate"])
    (note,) = waiting.notes(copy)
    assert f"This has the same text as [issue {waiting.first}](" in note
    assert f"(open). It will be closed in {HOURS} hours, unless" in note
    assert waiting.said(copy) == [note], "one comment carries both"
    waiting.daily(HOURS - 1)
    assert state(waiting, copy)[0] == "open"
    waiting.split(copy)
    assert len(waiting.notes(copy)) == 1, "nobody is told twice"
    waiting.daily(2)
    assert state(waiting, copy)[0] == "closed"
    assert waiting.project.items[copy].duplicate_of is waiting.project.items[waiting.first]
    assert any("was closed as a duplicate" in one for one in waiting.data["notes"])
    waiting.daily(24)
    assert state(waiting, waiting.first)[0] == "open"


ACTS = {
    "commented": lambda bot, copy: bot.project.comment(copy, "It is not", author="zoe"),
    "reacted": lambda bot, copy: bot.project.react(
        next(one.id for one in bot.project.items[copy].comments if parse_note(one.body))
    ),
    "edited": lambda bot, copy: bot.project.edit(copy, body="Something else"),
    "assigned": lambda bot, copy: bot.project.edit(copy, assignees=["max"]),
    "promoted": lambda bot, _: bot.project.add_collaborator("lia", "push"),
    "target closed": lambda bot, _: bot.project.close(bot.first),
    "target edited": lambda bot, _: bot.project.edit(bot.first, title="Something else"),
    "reopened": lambda bot, copy: (bot.project.close(copy), bot.server.clock.advance(60), bot.project.reopen(copy)),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_whatever_people_do_keeps_it_open_and_takes_the_label_off(waiting, act):
    copy = waiting.split(waiting.copy())
    assert waiting.notes(copy)
    waiting.server.clock.advance(3600)
    act(waiting, copy)
    waiting.daily(HOURS + 1)
    assert (state(waiting, copy)[0], "possible-duplicate" in state(waiting, copy)[1]) == ("open", False)
    notes = waiting.notes(copy)
    assert all("It stays open: somebody took part." in one and "will be closed" not in one for one in notes)
    assert [waiting.said(copy)] == [notes]
    waiting.daily(HOURS + 1)
    assert state(waiting, copy)[0] == "open"
    waiting.split(copy)
    assert len(waiting.notes(copy)) == 1, "who objected is not told again"


FAULTS = {
    "429": {"status": 429, "headers": {"Retry-After": "1"}},
    "502, not done": {"status": 502},
    "502, done": {"status_after": 502},
    "no effect": {"status": 200},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("objects", [False, True])
def test_the_bot_looks_again_after_every_wait(waiting, fault, objects):
    copy = waiting.split(waiting.copy())

    def act():
        if objects and fault != "502, done":
            waiting.project.comment(copy, "It is not", author="zoe")

    waiting.server.fail(method="PATCH", path=rf"/issues/{copy}$", times=1, then=act, **FAULTS[fault])
    waiting.daily(HOURS + 1)
    is_closed = fault == "502, done" or (not objects and fault != "no effect")
    assert state(waiting, copy)[0] == ("closed" if is_closed else "open")


def test_what_somebody_reopens_is_not_closed_again(waiting):
    copy = waiting.split(waiting.copy())
    waiting.daily(HOURS + 1)
    assert state(waiting, copy)[0] == "closed"
    waiting.server.clock.advance(60)
    waiting.project.reopen(copy)
    waiting.daily(HOURS + 1)
    assert state(waiting, copy) == ("open", [])


def test_the_reader_can_take_away_and_not_add(waiting):
    """A judgement that names nothing, or another item, begins nothing; nor does one that calls a wish a duplicate."""
    silent = waiting.split(waiting.copy(), duplicate_of=None)
    assert waiting.notes(silent) == []
    other = waiting.project.add_issue("A dark theme for the editor", "It is too bright at night", author="mia")
    waiting.run("schedule", {})
    lured = waiting.split(waiting.copy(author="noa"), duplicate_of=other)
    assert waiting.notes(lured) == []
    wish = waiting.project.add_issue("Please add a list of folders to the settings", "I would like that", author="ole")
    assert waiting.notes(waiting.split(wish, duplicate_of=waiting.first, similar=[waiting.first])) == []


def test_maintainers_are_left_alone(waiting):
    waiting.project.add_collaborator("wes", "push")
    copy = waiting.split(waiting.copy(author="wes"))
    assert waiting.notes(copy) == []
    assert state(waiting, copy) == ("open", [])


@pytest.mark.parametrize("author", ["mallory", "github-actions[bot]"])
def test_a_forged_note_closes_nothing(waiting, author):
    """By a stranger, or by another workflow with the same token that repeats what a stranger wrote."""
    victim = waiting.project.add_issue("The window is too small", "Nobody can read the third column", author="pia")
    seen = SeenItem("", (), 0, None, None)
    forged = with_note(WaitingNote(waiting.first, 1, 0, seen, seen), "hello")
    waiting.project.edit(victim, labels=["possible-duplicate"])
    waiting.project.comment(victim, forged, author=author)
    waiting.daily(HOURS)
    assert state(waiting, victim)[0] == "open"


def test_it_is_off_by_default_and_in_the_plain_workflow(waiting):
    plain = waiting.copy()
    waiting.happens(plain)
    assert waiting.notes(plain) == []
    assert any("split mode" in one for one in waiting.data["notes"])
    waiting.set(INPUT_CLOSE_AFTER="")
    copy = waiting.split(waiting.copy(author="rio"))
    assert (waiting.notes(copy), state(waiting, copy)) == ([], ("open", []))
    waiting.set(INPUT_CLOSE_AFTER=str(HOURS), INPUT_DRY_RUN="true")
    assert waiting.notes(waiting.split(waiting.copy(author="sia"))) == []


def test_a_note_says_what_it_was_told_and_nothing_else_is_one():
    seen = SeenItem("a" * 64, ("x-->y",), 3, None, 5, 9, "c0ffee")
    note = WaitingNote(7, 72, 1_000, seen, seen)
    body = with_note(note, "hello")
    assert parse_note(body) == parse_note(body.replace("\n", "\r\n")) == note
    assert parse_note(body.partition("\n")[2]) == note, "as older versions wrote it"
    assert [line.count("-->") for line in body.splitlines()] == [1, 1, 0]
    for other in (None, "", "> " + body, "hello\n" + body, body.replace('"target":7', '"target":"7"')):
        assert parse_note(other) is None


def test_what_was_objected_to_stays_known_when_the_report_is_written_anew(waiting):
    copy = waiting.split(waiting.copy())
    waiting.project.comment(copy, "It is not", author="zoe")
    waiting.daily(HOURS + 1)
    waiting.project.edit(copy, title=TEXT[0] + " again")
    waiting.happens(copy, "edited")
    (comment,) = waiting.said(copy)
    assert "nearly the same text" in comment
    assert parse_note(comment).is_ended
    waiting.project.edit(copy, title="Something else", body="that has nothing to do with it at all")
    waiting.happens(copy, "edited")
    assert parse_note(waiting.said(copy)[0]).is_ended


def test_where_a_person_took_the_comment_away_nothing_is_closed(waiting):
    copy = waiting.copy()
    waiting.set(INPUT_CLOSE_AFTER="")
    waiting.split(copy)
    waiting.project.delete_comment(waiting.project.items[copy].comments[0].id)
    waiting.set(INPUT_CLOSE_AFTER=str(HOURS))
    waiting.split(copy)
    assert (waiting.said(copy), state(waiting, copy)) == ([], ("open", []))


def test_an_item_that_says_it_was_reopened_is_believed_where_events_are_missing(waiting):
    copy = waiting.copy()
    waiting.project.close(copy)
    waiting.server.clock.advance(60)
    waiting.project.reopen(copy)
    waiting.project.items[copy].events.clear()
    waiting.split(copy)
    assert (waiting.notes(copy), state(waiting, copy)) == ([], ("open", []))
