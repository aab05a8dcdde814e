"""Sessions of `ask`: transcripts, step by step, as they happened."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.store.database import Store
from forgelore.store.sqlite.connection import json_field

SessionValue = str | int | float | bool | None
_SAW_INTERNAL = f"coalesce({json_field('parameters', 'include_internal')}, 0) <> 0"


def _readable(store: Store) -> str:
    """Whoever is limited to some projects reads no transcripts: what they were shown may be of others."""
    if store.viewer.project_ids is not None:
        return "FALSE"
    return "TRUE" if store.viewer.includes_internal else f"NOT {_SAW_INTERNAL}"


class AskSession(NamedTuple):
    """A session as it is kept; times are milliseconds."""

    id: int
    question: str
    model: str
    parameters: dict[str, SessionValue]
    ended_by: str
    answer: str
    tokens_in: int
    tokens_out: int
    began_at: int
    ended_at: int | None


class StoredStep(NamedTuple):
    """A turn of the model: (name, arguments, id) of its calls, and the text that each was given."""

    number: int
    text: str
    calls: list[tuple[str, str, str]]
    results: list[str]
    tokens_in: int
    tokens_out: int


def begin_session(store: Store, question: str, model: str, parameters: Mapping[str, SessionValue], now_ms: int) -> int:
    """Write a session down before anything is asked. In a transaction."""
    sql = """
        INSERT INTO ask_sessions (question, model, parameters, began_at)
        VALUES (?, ?, ?, ?)
    """
    return store.insert(sql, question, model, json.dumps(dict(parameters)), now_ms)


def save_step(store: Store, session_id: int, step: StoredStep) -> None:
    """Keep a step as soon as it is done: a run that is killed leaves what it had. In a transaction."""
    sql = """
        INSERT INTO ask_steps (session_id, number, reply, results, tokens_in, tokens_out)
        VALUES (?, ?, ?, ?, ?, ?)
    """
    reply = json.dumps({"text": step.text, "calls": step.calls})
    store.run(sql, session_id, step.number, reply, json.dumps(step.results), step.tokens_in, step.tokens_out)


def end_session(
    store: Store, session_id: int, ended_by: str, answer: str, tokens: tuple[int, int], now_ms: int
) -> None:
    """Write down how a session ended. In a transaction."""
    sql = """
        UPDATE ask_sessions
        SET ended_by = ?, answer = ?, tokens_in = ?, tokens_out = ?, ended_at = ?
        WHERE id = ?
    """
    store.run(sql, ended_by, answer, *tokens, now_ms, session_id)


def load_session(store: Store, session_id: int) -> AskSession:
    """Return a session. Raises NotFound;"""
    sql = f"""
        SELECT {", ".join(AskSession._fields)}
        FROM ask_sessions
        WHERE id = ? AND {_readable(store)}
    """
    row = store.row(sql, session_id)
    if row is None:
        raise NotFound(f"session {session_id} not found", hint="list them with: forgelore ask --sessions")
    return _as_session(row)


def list_sessions(store: Store, limit: int = 50) -> list[AskSession]:
    """Return the newest sessions first."""
    sql = f"""
        SELECT {", ".join(AskSession._fields)}
        FROM ask_sessions
        WHERE {_readable(store)}
        ORDER BY id DESC
        LIMIT ?
    """
    return [_as_session(row) for row in store.rows(sql, limit)]


def load_steps(store: Store, session_id: int) -> list[StoredStep]:
    """Return the steps of a session in their order."""
    sql = """
        SELECT number, reply, results, tokens_in, tokens_out
        FROM ask_steps
        WHERE session_id = ?
        ORDER BY number
    """
    found = []
    for number, reply, results, tokens_in, tokens_out in store.rows(sql, session_id):
        said = json.loads(reply)
        calls = [(name, arguments, call_id) for name, arguments, call_id in said["calls"]]
        found.append(StoredStep(number, said["text"], calls, json.loads(results), tokens_in, tokens_out))
    return found


def _as_session(row: Sequence[object]) -> AskSession:
    session = AskSession._make(row)
    return session._replace(parameters=json.loads(str(session.parameters)))
