"""Webhooks: that something happened in a project, as its forge says. What happened is read from the forge itself.

A delivery is believed when it was made with our secret: signed over its raw bytes, or carrying it, as forges differ. It
names a project and nothing else that is used, so that a late or reordered one does no harm.

Deliveries are kept in a file beside the database until a sync has read what they are about, lines of text:

    + ID ADDRESS     taken; it is answered once the line is on the disk
    - N ADDRESS      a sync that began behind the first N lines has read the project

Appending one is a write and an fsync, shared by all that arrive meanwhile: a database would let them wait for a sync's
transactions. A line that a crash cut off was answered to nobody, and the forge sends it again. The file is rewritten
at the start, with what waits and the newest ids.
"""

import concurrent.futures
import contextlib
import hashlib
import hmac
import os
import queue
import threading
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import DecodeError, Struct, ValidationError, json

from forgelore.errors import AuthError, InvalidValue, StoreError
from forgelore.profiles import PROFILES

MIN_SECRET = 16  # characters
_KEPT_IDS = 20_000
_MAX_ID = 200  # characters


class _Place(Struct, frozen=True):
    html_url: str = ""
    web_url: str = ""


class _Delivery(Struct, frozen=True):
    repository: _Place = _Place()
    project: _Place = _Place()


class Delivery(NamedTuple):
    """What is used of a webhook. `id`: the same when the forge sends it again; "" where it says none."""

    id: str
    address: str


def read_delivery(headers: Mapping[str, str], body: bytes, secret: str) -> Delivery:
    """Return which project a webhook is about. `headers`: their names in lower case. Raises AuthError for one that was
    not made with the secret, InvalidValue for one that names no project.
    """
    made_by = [one for one in PROFILES.values()
               if _is_signed(headers.get(one.hook_header, ""), one.hook_prefix, body, secret)]  # fmt: skip
    if not made_by:
        raise AuthError("this delivery was not made with the secret of this server", hint="set the same secret there")
    try:
        found = json.decode(body, type=_Delivery)
    except (DecodeError, ValidationError, RecursionError) as error:
        raise InvalidValue("this delivery is not JSON of a forge", hint="choose application/json there") from error
    address = found.project.web_url or found.repository.html_url
    if not address:
        raise InvalidValue("this delivery names no project")
    return Delivery(headers.get(made_by[0].hook_id, "")[:_MAX_ID], address)


def _is_signed(given: str, prefix: str | None, body: bytes, secret: str) -> bool:
    """Compare in a time that does not tell how near it comes."""
    wanted = secret if prefix is None else prefix + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


class DeliveryLog:
    """The deliveries that wait for a sync, in a file. Any thread may add and settle; one thread writes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting: dict[str, int] = {}  # address -> the line of its newest delivery
        self._ids: dict[str, None] = {}
        self._lines = 0
        self._guard = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[str, concurrent.futures.Future[bool]] | None] = queue.SimpleQueue()
        try:
            self._load()
            self._file = open(path, "ab")  # noqa: SIM115 - open as long as the server is
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}", hint="check who owns the folder") from error
        self._thread = threading.Thread(target=self._write, name="deliveries", daemon=True)
        self._thread.start()

    def add(self, delivery: Delivery) -> "concurrent.futures.Future[bool]":
        """Keep a delivery. The result is there once it is on the disk: False for one that came before."""
        done: concurrent.futures.Future[bool] = concurrent.futures.Future()
        with self._guard:
            if delivery.id and delivery.id in self._ids:
                done.set_result(False)
                return done
            self._note(delivery)
            self._queue.put((f"+ {_word(delivery.id)} {_word(delivery.address)}\n", done))
        return done

    def waiting(self) -> dict[str, int]:
        """Return the addresses that wait for a sync, each with what to settle when one that begins now has ended."""
        with self._guard:
            return dict(self._waiting)

    def settle(self, address: str, line: int) -> None:
        """Say that a sync has read what was delivered up to a line."""
        with self._guard:
            if self._waiting.get(address, line + 1) <= line:
                del self._waiting[address]
            self._lines += 1
            self._queue.put((f"- {line} {_word(address)}\n", concurrent.futures.Future()))

    def close(self) -> None:
        """Write what waits to be written, and end."""
        self._queue.put(None)
        self._thread.join(10)
        self._file.close()

    def _note(self, delivery: Delivery) -> None:
        self._lines += 1
        self._waiting[delivery.address] = self._lines
        if delivery.id:
            self._ids[delivery.id] = None
            if len(self._ids) > _KEPT_IDS:
                del self._ids[next(iter(self._ids))]

    def _load(self) -> None:
        """Read the file, and write it again without what is done."""
        with contextlib.suppress(FileNotFoundError), open(self._path, "rb") as file:
            for line in file:
                sign, first, address = (*line.decode(errors="replace").split(), "", "", "")[:3]
                if not line.endswith(b"\n") or not address:
                    continue
                if sign == "+":
                    self._note(Delivery("" if first == "-" else first, address))
                elif sign == "-" and first.isdecimal():
                    self._lines += 1
                    if self._waiting.get(address, 0) <= int(first):
                        self._waiting.pop(address, None)
        ids, waiting = list(self._ids), list(self._waiting)
        # An id whose project does not wait is kept under a name that none has.
        lines = [f"+ {one} {_SETTLED}\n" for one in ids] + [f"+ - {one}\n" for one in waiting]
        with open(f"{self._path}.part", "w", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{self._path}.part", self._path)
        self._lines = len(lines)
        self._waiting = {one: at for at, one in enumerate(waiting, len(ids) + 1) if one != _SETTLED}

    def _write(self) -> None:
        ended = False
        while not ended:
            batch = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    batch.append(self._queue.get_nowait())
            ended = None in batch
            kept = [one for one in batch if one is not None]
            try:
                self._file.write("".join(line for line, _ in kept).encode())
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                for _, done in kept:
                    done.set_exception(StoreError(f"{self._path} cannot be written: {error.strerror}"))
                continue
            for _, done in kept:
                done.set_result(True)


_SETTLED = "settled"


def _word(text: str) -> str:
    """Return a text as one word of a line."""
    return "".join(text.split()) or "-"
