"""Runs that write to a forge: one at a time in a project, resumed where an earlier one was stopped or killed."""

import contextlib
from collections.abc import Callable, Iterator

from forgelore.errors import AuthError, LoreError, NotFound
from forgelore.flows.closing.journal import WriteContext
from forgelore.flows.sync.heartbeat import beating
from forgelore.ports import Forge
from forgelore.profiles import profile_of
from forgelore.store.closings import find_run_of
from forgelore.store.db import Store
from forgelore.store.dedupe_runs import RunValue, begin_run, end_run, load_run, resume_run
from forgelore.store.projects import StoredProject
from forgelore.store.sync_state import acquire_lock
from forgelore.store.write_journal import keep_every_write


@contextlib.contextmanager
def writing_run(
    store: Store, forge: Forge, project: StoredProject, step: str, of_run: int, parameters: dict[str, RunValue],
    now_ms: Callable[[], int],
) -> Iterator[WriteContext]:  # fmt: skip
    """Hold the project's lock around the one run that carries out (or takes back) another one.

    What it began before it was killed it goes on with, under the same number and with the same parameters.
    """
    current = forge.fetch_project(project.name)
    own = _own_login(forge)
    lock = acquire_lock(store, f"closings of {project.id}", now_ms(), shown=f"closing in {project.name}")
    keep_every_write(store)
    try:
        with store.transaction():
            run_id = find_run_of(store, of_run, step)
            if run_id is None:
                run_id = begin_run(store, project.id, step, parameters, now_ms(), of_run=of_run)
            else:
                resume_run(store, run_id)
        context = WriteContext(store, forge, current, project.id, run_id, own, lock, now_ms)
        with beating(lock, now_ms), _stopped_on_failure(context):
            yield context
    finally:
        lock.release()


@contextlib.contextmanager
def _stopped_on_failure(context: WriteContext) -> Iterator[None]:
    try:
        yield
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
