"""Runs that write to a forge: one at a time in a project, resumed where an earlier one was stopped or killed."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from forgelore.errors import AuthError, Locked, LoreError, NotFound
from forgelore.flows.closing.journal import RunClock, WriteContext
from forgelore.flows.sync.heartbeat import beating
from forgelore.ports import Forge
from forgelore.profiles import profile_of
from forgelore.store.closings import find_run_of
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import RunValue, begin_run, end_run, load_run, resume_run
from forgelore.store.projects import StoredProject
from forgelore.store.sync_state import acquire_lock
from forgelore.store.write_journal import keep_every_write


class WriteOrder(NamedTuple):
    """What a run is to do: its step, the run that it carries out or takes back, its parameters. `is_forced`: take over
    the lock of a run that has gone quiet on another machine.
    """

    step: str
    of_run: int
    parameters: Mapping[str, RunValue]
    is_forced: bool = False


@contextlib.contextmanager
def writing_run(
    store: Store, forge: Forge, project: StoredProject, order: WriteOrder, clock: RunClock
) -> Iterator[WriteContext]:
    """Hold the project's lock around the one run that carries out (or takes back) another one.

    What it began before it was killed it goes on with, under the same number and with the same parameters.
    """
    current = forge.fetch_project(project.name)
    own = _own_login(forge)
    lock = acquire_lock(
        store, f"closings of {project.id}", clock.now_ms(), shown=f"closing in {project.name}", force=order.is_forced
    )
    keep_every_write(store)
    try:
        with store.transaction():
            run_id = find_run_of(store, order.of_run, order.step)
            if run_id is None:
                now_ms = clock.now_ms()
                run_id = begin_run(store, project.id, order.step, order.parameters, now_ms, of_run=order.of_run)
            else:
                resume_run(store, run_id)
        context = WriteContext(store, forge, current, project, run_id, own, lock, clock)
        with beating(lock, clock.now_ms), _stopped_on_failure(context):
            yield context
    finally:
        lock.release()


@contextlib.contextmanager
def _stopped_on_failure(context: WriteContext) -> Iterator[None]:
    try:
        yield
    except Locked:
        raise  # whoever took over says how the run ends
    except (LoreError, KeyboardInterrupt):
        with contextlib.suppress(LoreError), context.store.transaction():
            end_run(context.store, context.run_id, "stopped", context.now_ms())
        raise


def _own_login(forge: Forge) -> str | None:
    """Return who we are. The token of a CI job is told by nobody: its comments have a known author."""
    profile = profile_of(forge.name)
    try:
        identity = forge.fetch_identity()
    except (AuthError, NotFound) as error:
        if isinstance(error, AuthError) and error.is_rejected:
            raise
        return profile.ci_login or None
    if identity is None:
        raise AuthError("closing needs a token", hint=f"set {profile.token_variables[0]}")
    return identity.login


def load_parameters(context: WriteContext) -> dict[str, RunValue]:
    """Return the parameters that the run began with."""
    return load_run(context.store, context.run_id).parameters
