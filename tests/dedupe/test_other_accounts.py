"""Two accounts: one applies a plan, the other goes on with it or takes it back. The journal says whose closing is whose."""

import pytest

from dedupe.closing_lab import actions


@pytest.fixture
def as_ben(closing):
    """Switch the lab to the token of ben, who maintains the project as well."""
    token = closing.lab.token_type("ben", "Ben")
    if closing.lab.has_shared_numbers:
        closing.project.add_collaborator("ben", "admin")
    else:
        token.scopes = ("api",)
        closing.project.add_member("ben", 40)
    closing.server.tokens["t0ken-ben"] = token

    def switch():
        closing.app = closing.lab.same_file("t0ken-ben")

    return switch


def place(closing, number):
    return (number,) if closing.has_shared_numbers else ("issue", number)


def test_another_account_takes_back_what_the_journal_proves(closing, as_ben):
    numbers = closing.prepare(copies=2)
    before = closing.portrait(numbers)
    run = closing.planned()
    closing.apply(run)
    as_ben()
    back = closing.roll_back(run)
    assert [one.problem for one in back.items] == ["", ""]
    assert closing.portrait(numbers) == before
    accounts = closing.store.rows("SELECT DISTINCT step = 'reopen', account FROM write_journal WHERE step LIKE '%e%o%'")
    assert (1, "ben") in accounts
    told = closing.store.rows(
        "SELECT account, json_extract(answer, '$.closed_by') FROM write_journal WHERE step='close'"
    )
    assert set(told) == {("ana", "ana")}
    assert closing.store.value(
        "SELECT count(*) FROM write_journal WHERE step = 'close' AND json_extract(answer, '$.closed_at') IS NULL"
    ) == 0  # fmt: skip


@pytest.mark.parametrize("who", ["ana", "ben", "cem"])
@pytest.mark.parametrize("is_other", [False, True])
def test_what_was_reopened_and_closed_again_stays_closed_with_our_comment(closing, as_ben, who, is_other):
    """Also where the account that applied did it by hand: the time of the closing tells the two apart."""
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run)
    closing.time.pass_by(60)
    closing.project.reopen(*place(closing, copy), by="cem")
    closing.time.pass_by(60)
    closing.project.close(*place(closing, copy), by=who)
    seen = closing.portrait([copy])
    if is_other:
        as_ben()
    sent = len(closing.server.requests)
    (found,) = closing.roll_back(run).items
    assert found.problem == f"{who} closed it in the meantime: it stays closed, and nothing was undone"
    assert found.restored == []
    assert closing.writes(sent) == []
    assert closing.portrait([copy]) == seen


def test_what_an_account_may_not_take_back_is_told_and_the_rest_is_done(closing, as_ben):
    _, copy = closing.prepare()
    run = closing.planned()
    closing.apply(run)
    as_ben()
    closing.server.fail(method="DELETE", path="comments|notes", status=403, body={"message": "not yours"})
    (found,) = closing.roll_back(run).items
    assert found.problem.startswith("our comment is still there: ")
    assert "state" in found.restored
    state, *_, comments = closing.portrait([copy])[copy]
    assert (state, len(comments)) == ("open", 1)


@pytest.mark.parametrize("step", ["apply", "rollback"])
def test_another_account_goes_on_with_a_run_that_was_killed(closing, as_ben, step):
    """As after a kill: the writes have happened, and the journal does not know it."""
    numbers = closing.prepare()
    before = closing.portrait(numbers)
    run = closing.planned()
    closing.apply(run)
    closing.store.run("UPDATE write_journal SET status = 'sent', answer = NULL, answered_at = NULL")
    as_ben()
    sent = len(closing.server.requests)
    if step == "apply":
        assert actions(closing.apply(run)) == {numbers[1]: "closed"}
        assert closing.writes(sent) == []
    assert [one.problem for one in closing.roll_back(run).items] == [""]
    assert closing.portrait(numbers) == before
