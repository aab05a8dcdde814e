"""Keeping a served history fresh: syncs by the clock, and at once when a forge says that something happened.

A webhook is answered before anything is fetched. What it names is synced a moment later, so that a burst of deliveries
is one sync; and since a sync reads whatever has changed, one that was lost with the server is made good by the first
sync after the start.
"""

import concurrent.futures
import contextlib
import json
import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from forgelore.errors import ConfigError, LoreError, NotFound, Stopped
from forgelore.surfaces.present.data import present_failure
from forgelore.surfaces.web.guard import BodyTooLarge

if TYPE_CHECKING:
    from forgelore.api import History
    from forgelore.surfaces.web.app import Pools

VARIABLE = "FORGELORE_WEBHOOK_SECRET"
_GATHER_S = 2.0
_MIN_SECRET = 16


def read_secret() -> str:
    """Return the secret that webhooks are made with; "" where there is none."""
    secret = os.environ.get(VARIABLE, "").strip()
    if secret and len(secret) < _MIN_SECRET:
        raise ConfigError(f"{VARIABLE} is too short", hint=f"use at least {_MIN_SECRET} characters")
    return secret


class Syncer:
    """Syncs projects that were synced before: all of them every so often, and those that are named."""

    def __init__(self, pools: "Pools", every_s: float) -> None:
        self._pools, self._every_s = pools, every_s
        self._named: set[str] = set()
        self._wake, self._stop = threading.Event(), threading.Event()
        self._guard = threading.Lock()
        self.thread = threading.Thread(target=self._run, name="syncer", daemon=True)

    def name(self, project: str) -> None:
        """Have a project synced soon."""
        with self._guard:
            self._named.add(project)
        self._wake.set()

    def stop(self) -> None:
        """End after the sync that is running, which the pools cancel."""
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        with contextlib.suppress(Stopped, LoreError, concurrent.futures.CancelledError):  # the pools were closed
            self._sync_on()

    def _sync_on(self) -> None:
        is_due = True  # what happened while the server was away
        while not self._stop.is_set():
            with self._guard:
                named, self._named = self._named, set()
            if is_due and self._every_s:
                named |= set(self._pools.reading.submit(list_synced).result())
            for project in sorted(named):
                if not self._stop.is_set():
                    self._pools.writing.submit(partial(_sync, project=project)).result()
            is_due = not self._wake.wait(self._every_s or None)
            self._wake.clear()
            if not is_due:
                self._stop.wait(_GATHER_S)


def list_synced(history: "History") -> list[str]:
    """Return the projects that came from a forge: an imported one may have none."""
    return [one.project for one in history.sync.status() if any(run.command == "sync" for run in one.runs)]


def _sync(history: "History", project: str) -> None:
    try:
        history.sync.run(project)
    except (LoreError, Stopped):
        return  # the run is kept with its reason, which the pages show


class Hooks:
    """Takes deliveries: 202 for a project that is synced here, 401 without the secret, 404 for any other project."""

    def __init__(self, secret: str, pools: "Pools", syncer: Syncer) -> None:
        self._secret, self._pools, self._syncer = secret, pools, syncer
        self._known: dict[str, str] = {}  # address -> project

    async def receive(self, request: Request) -> Response:
        from forgelore.api import read_delivery

        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            address = read_delivery(headers, await request.body(), self._secret)
            if address not in self._known:
                synced = await self._pools.reading.ask(lambda history: _find_synced(history, address))
                self._known[address] = synced
        except BodyTooLarge:
            return Response(status_code=413)
        except LoreError as error:
            status = 401 if error.code == "auth" else 404 if isinstance(error, NotFound) else 400
            return Response(json.dumps(present_failure(error)), status, media_type="application/json")
        self._syncer.name(self._known[address])
        return JSONResponse({"ok": True}, status_code=202)


def _find_synced(history: "History", address: str) -> str:
    (project,) = history.projects.list([address])
    if project not in list_synced(history):
        raise NotFound(f"{project} was never synced here", hint=f"run: forgelore sync {project}")
    return project
