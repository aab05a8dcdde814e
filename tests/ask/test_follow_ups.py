"""Follow-ups: a question that goes on from a kept session, with its sources, its limits its own."""

import pytest

from ask.conftest import QUOTE, READ, answer, cite
from forgelore.errors import InvalidValue, NotFound
from servers.chat import prompt_of

FIRST = [*READ, answer("Tombstones are purged too early [1].", cite("#41", 35, 35, QUOTE))]
SECOND = answer("Nobody measured it [1].", cite("#41", 35, 35, QUOTE))


def ask_twice(history, server, **more):
    server.replies = list(FIRST)
    first = history.ask("why do deleted files come back?")
    asked = len(server.asked)
    server.replies = [SECOND]
    return first, history.ask("who chose the number?", continues=first.session, **more), server.asked[asked:]


def test_a_follow_up_sees_question_answer_and_sources_and_can_cite_them(history, server):
    first, second, (asked,) = ask_twice(history, server)
    roles = [message["role"] for message in asked["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    texts = [message["content"] for message in asked["messages"]]
    assert texts[1] == "why do deleted files come back?"
    assert texts[2] == first.text
    fenced, question = texts[3].rsplit("\n\n", 1)
    assert question == "who chose the number?"
    assert QUOTE in fenced
    assert "<forge-text-" in fenced
    assert "read before: #41" in fenced
    assert [one.status for one in second.citations] == ["found"]
    assert second.session == first.session + 1


def test_a_follow_up_has_a_budget_of_its_own(history, server):
    _, second, _ = ask_twice(history, server, budget=5_000)
    assert (second.tokens_in, second.tokens_out, len(second.steps)) == (120, 30, 1)


def test_a_follow_up_of_a_follow_up_has_the_whole_conversation_and_can_be_played_again(history, server):
    _, second, _ = ask_twice(history, server)
    server.replies = [SECOND]
    third = history.ask("and since when?", continues=second.session)
    said = prompt_of(server.asked[-1])
    assert said.index("why do deleted") < said.index("who chose the number?") < said.index("and since when?")
    again = history.questions.replay(third.session)
    assert (again.text, again.citations, again.changed_results) == (third.text, third.citations, 0)


def test_a_session_that_is_not_there_cannot_be_continued(history, server):
    with pytest.raises(NotFound):
        history.ask("why?", continues=99)
    assert server.asked == []


def test_a_session_that_saw_confidential_items_is_not_continued_without_them(history, server):
    first, _, _ = ask_twice(history, server)
    history.app.store().run(
        "UPDATE ask_sessions SET parameters = json_set(parameters, '$.include_internal', json('true')) WHERE id = ?",
        first.session,
    )
    asked = len(server.asked)
    with pytest.raises(NotFound):
        history.ask("why?", continues=first.session)
    assert len(server.asked) == asked


def test_a_follow_up_needs_a_model(history, server):
    first, _, _ = ask_twice(history, server)
    with pytest.raises(InvalidValue, match="follow-up needs a language model"):
        history.ask("why?", continues=first.session, without_model=True)


def test_a_citation_leads_to_the_comment(history, server):
    (note,) = history.app.store().rows(
        "SELECT n.id, n.body FROM notes n JOIN items i ON i.id = n.item_id WHERE i.number = 41 AND n.body LIKE ?",
        f"%{QUOTE}%",
    )
    history.app.store().run("UPDATE notes SET url = 'https://forge.test/41#issuecomment-7' WHERE id = ?", note[0])
    server.replies = list(FIRST)
    (citation,) = history.ask("why?").citations
    assert citation.url == "https://forge.test/41#issuecomment-7"
