"""Keeping a served history fresh: syncs by the clock, and at once when a forge says that something happened.

A webhook is answered once it is kept in a file (`api/hooks`), before anything is fetched. What it names is synced a
moment later, so that a burst of deliveries is one sync. One whose sync failed, or was cut off with the server, waits in
that file for the next one.
"""

import asyncio
import concurrent.futures
import contextlib
import json
import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from forgelore.errors import ConfigError, LoreError, NotFound, Stopped
from forgelore.surfaces.present.data import present_failure
from forgelore.surfaces.web.guard import BodyTooLarge

if TYPE_CHECKING:
    from forgelore.api import DeliveryLog, History
    from forgelore.surfaces.web.app import Pools

VARIABLE = "FORGELORE_WEBHOOK_SECRET"
_GATHER_S = 2.0
_RETRY_S = 60.0  # after a sync that failed
_MIN_SECRET = 16


def read_secret() -> str:
    """Return the secret that webhooks are made with; "" where there is none."""
    secret = os.environ.get(VARIABLE, "").strip()
    if secret and len(secret) < _MIN_SECRET:
        raise ConfigError(f"{VARIABLE} is too short", hint=f"use at least {_MIN_SECRET} characters")
    return secret


class Syncer:
    """Syncs projects that were synced before: all of them every so often, and those of which a webhook spoke."""

    def __init__(self, pools: "Pools", every_s: float, log: "DeliveryLog | None" = None) -> None:
        self._pools, self._every_s, self._log = pools, every_s, log
        self._retry_at: dict[str, float] = {}  # address -> when a sync that failed is tried again
        self._wake, self._stop = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, name="syncer", daemon=True)

    def wake(self) -> None:
        """Say that a delivery waits."""
        self._wake.set()

    def stop(self) -> None:
        """End after the sync that is running, which the pools cancel."""
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        with contextlib.suppress(Stopped, LoreError, concurrent.futures.CancelledError):  # the pools were closed
            self._sync_on()

    def _sync_on(self) -> None:
        clock_at = time.monotonic() if self._every_s else None  # at once: what happened while the server was away
        while not self._stop.is_set():
            self._sync_delivered()
            if clock_at is not None and time.monotonic() >= clock_at:
                for project in self._pools.reading.submit(list_synced).result():
                    self._sync(project)
                clock_at = time.monotonic() + self._every_s
            ends = [*self._retry_at.values(), *([clock_at] if clock_at is not None else [])]
            if self._wake.wait(max(0.0, min(ends) - time.monotonic()) if ends else None):
                self._wake.clear()
                self._stop.wait(_GATHER_S)

    def _sync_delivered(self) -> None:
        """Sync what deliveries are about, but for what failed a moment ago."""
        for address, line in (self._log.waiting() if self._log else {}).items():
            if self._stop.is_set() or time.monotonic() < self._retry_at.get(address, 0.0):
                continue
            self._retry_at.pop(address, None)
            assert self._log is not None
            try:
                project = self._pools.reading.submit(partial(find_synced, address=address)).result()
            except NotFound:
                self._log.settle(address, line)  # gone since, with its database
                continue
            if self._sync(project):
                self._log.settle(address, line)
            else:
                self._retry_at[address] = time.monotonic() + _RETRY_S

    def _sync(self, project: str) -> bool:
        """Sync a project; returns whether everything was read. A failure is kept with its reason, as pages show."""
        if self._stop.is_set():
            return False
        return self._pools.writing.submit(partial(_sync, project=project)).result()


def list_synced(history: "History") -> list[str]:
    """Return the projects that came from a forge: an imported one may have none."""
    return [one.project for one in history.sync.status() if any(run.command == "sync" for run in one.runs)]


def _sync(history: "History", project: str) -> bool:
    try:
        return history.sync.run(project).result.status != "incomplete"
    except (LoreError, Stopped):
        return False


class Hooks:
    """Takes deliveries: 202 for a project that is synced here, 401 without the secret, 404 for any other project."""

    def __init__(self, secret: str, pools: "Pools", syncer: Syncer, log: "DeliveryLog") -> None:
        self._secret, self._pools, self._syncer, self._log = secret, pools, syncer, log
        self._known: set[str] = set()  # addresses of projects that are synced

    async def receive(self, request: Request) -> Response:
        from forgelore.api import read_delivery

        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            delivery = read_delivery(headers, await request.body(), self._secret)
            if delivery.address not in self._known:
                await self._pools.reading.ask(partial(find_synced, address=delivery.address))
                self._known.add(delivery.address)
            is_new = await asyncio.wrap_future(self._log.add(delivery))
        except BodyTooLarge:
            return Response(status_code=413)
        except LoreError as error:
            statuses = {"auth": 401, "not_found": 404, "store": 503}
            status = statuses.get(error.code, 400)
            return Response(json.dumps(present_failure(error)), status, media_type="application/json")
        if is_new:
            self._syncer.wake()
        return JSONResponse({"ok": True, "repeated": not is_new}, status_code=202)


def find_synced(history: "History", address: str) -> str:
    """Return the project of an address. Raises NotFound where it was never synced."""
    (project,) = history.projects.list([address])
    if project not in list_synced(history):
        raise NotFound(f"{project} was never synced here", hint=f"run: forgelore sync {project}")
    return project
