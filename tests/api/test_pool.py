"""A pool of histories answers questions from many threads, each with a history of its own."""

import asyncio
import threading

import pytest

import forgelore
from forgelore.api import HistoryPool, Task
from forgelore.errors import NotFound, Stopped


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "history.db"
    lines = tmp_path / "items.jsonl"
    lines.write_text('{"kind": "issue", "number": 1, "title": "The relay hangs"}\n')
    with forgelore.open(path, create=True) as history:
        history.sync.import_file(str(lines), project="acme/web", index="none")
    return path


@pytest.fixture
def pool(database):
    made = HistoryPool(lambda: forgelore.open(database), threads=2)
    yield made
    made.close()


def test_questions_are_answered_at_the_same_time_by_histories_of_their_own(pool):
    both = threading.Barrier(2, timeout=30)

    def question(history):
        both.wait()
        return id(history), history.count("issues").total

    answers = [one.result(30) for one in [pool.submit(question) for _ in range(2)]]
    assert [total for _, total in answers] == [1, 1]
    assert len({history for history, _ in answers}) == 2


def test_no_more_threads_begin_than_the_pool_may_have(pool):
    histories = {one.result(30) for one in [pool.submit(id) for _ in range(20)]}
    assert 1 <= len(histories) <= 2


def test_an_error_reaches_whoever_asked_and_the_thread_goes_on(pool):
    with pytest.raises(NotFound):
        pool.submit(lambda history: history.show("#99")).result(30)
    assert pool.submit(lambda history: history.show("#1").title).result(30) == "The relay hangs"


def test_work_that_is_cancelled_ends_and_its_thread_answers_the_next_question(pool):
    task, began = Task(), threading.Event()

    def work(_history):
        began.set()
        assert task.stop.wait(30)
        task.check()

    asked = pool.submit(work, task)
    assert began.wait(30)
    task.cancel()
    with pytest.raises(Stopped):
        asked.result(30)
    assert pool.submit(lambda history: history.count("issues").total).result(30) == 1


def test_coroutines_wait_for_an_answer_without_holding_up_others(pool):
    async def ask_twice():
        return await asyncio.gather(*(pool.ask(lambda history: history.count("issues").total) for _ in range(2)))

    assert asyncio.run(ask_twice()) == [1, 1]
