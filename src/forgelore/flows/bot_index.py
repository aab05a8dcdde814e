"""Where the bot's index lives between runs: a packed store on a branch, beside a record of how the bot has been doing.

Another runner may push while this one works. Then its index is pulled, what this run learned is put into that, and it
is pushed again. An index that cannot be read is set aside under another name and begun anew; one that a newer program
wrote, or a branch that holds something else, is left as it is.
"""

import contextlib
import os

from forgelore.core.botlog import FILE as HEALTH_FILE
from forgelore.core.botlog import BotLog, Run, build_botlog, parse_botlog
from forgelore.core.events import Event
from forgelore.errors import CorruptStore, StateMoved
from forgelore.flows.bot import Bot, Outcome, Shift, Told
from forgelore.flows.triage import Desk
from forgelore.store.db import Store
from forgelore.store.packing import DamagedPack, Packed, pack, unpack

INDEX_FILE = "index.db.z"
_README_FILE = "README.md"
_ATTEMPTS = 5
_README = """This branch holds the index of forgelore triage: what the issues and changes of this project say, so that
new ones can be compared with them. A program replaces it with every run. It may be deleted at any time; the next run
builds it anew.
"""


def run_bot(bot: Bot, event: Event) -> Outcome:
    """Handle one event. Raises LoreError only when there is no index to work on and none may be made."""
    outcome = Outcome(event.name, bot.project.name.path, event.item.key if event.item else None)
    index = _Index(bot, outcome)
    try:
        shift = Shift(bot, index.pull(), outcome)
        shift.work(event)
        if not bot.is_dry:
            with Told(outcome):
                index.push(shift)
    finally:
        index.close()
    return outcome


class _Index:
    """The index of one run: what was pulled, and the store it became."""

    def __init__(self, bot: Bot, outcome: Outcome) -> None:
        self._bot, self._outcome = bot, outcome
        self._path = os.path.join(bot.folder, "index.db")
        self._commit: str | None = None
        self._desk: Desk | None = None
        self._packed: Packed | None = None

    def close(self) -> None:
        if self._desk is not None:
            self._desk.store.close()
            self._desk = None

    def pull(self) -> Desk:
        """Fetch the index and open it. Raises what the branch raises, NewerStore for one of a newer program."""
        self.close()
        self._wipe()
        pulled = self._bot.branch.pull()
        self._commit = pulled.commit if pulled else None
        if pulled is not None:
            self._outcome.log = _read_log(pulled.files.get(HEALTH_FILE))
            self._outcome.complaint = self._outcome.log.complaint(self._bot.now_ms())
            try:
                self._packed = unpack(pulled.files[INDEX_FILE], self._path)
                self._desk = self._bot.open_desk(self._path)
            except (DamagedPack, CorruptStore, KeyError) as error:
                self._set_aside(pulled.commit, error)
        if self._desk is None:
            self._desk = self._bot.open_desk(self._path)
        return self._desk

    def _wipe(self) -> None:
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._path + end)

    def _set_aside(self, commit: str, error: Exception) -> None:
        """Keep a damaged index under another name, or raise: what cannot be kept must not be replaced."""
        self._wipe()
        self._packed = None
        kept = f"{self._bot.branch.name}-damaged-{commit[:8]}"
        reason = f"{INDEX_FILE} is missing" if isinstance(error, KeyError) else str(error)
        if not self._bot.is_dry:
            self._bot.branch.keep_aside(commit, kept)
        self._outcome.warnings.append(
            f"the index is damaged ({reason}); it is built anew. The old one is kept as {kept}: delete it when nobody"
            " wants to look at it, for it holds text"
        )

    def push(self, shift: Shift) -> None:
        """Push the index; when another runner was faster, put what this run learned into theirs, and push that."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._push_once(shift.desk.store)
            except StateMoved as error:
                if attempt == _ATTEMPTS:
                    raise
                self._outcome.warnings.append(f"{error.message}; trying again")
                shift.replay(self.pull())
            else:
                self._outcome.is_pushed = True
                return

    def _push_once(self, store: Store) -> None:
        store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        packed = os.path.join(self._bot.folder, INDEX_FILE)
        pack(store.path, packed, before=self._packed)
        log = self._log()
        files = {INDEX_FILE: packed}
        for name, text in ((HEALTH_FILE, build_botlog(log)), (_README_FILE, _README)):
            files[name] = os.path.join(self._bot.folder, f"out-{name}")
            with open(files[name], "w", encoding="utf-8") as file:
                file.write(text)
        self._bot.branch.push(files, expected=self._commit, message="Update the triage index [skip ci]")
        self._outcome.log = log

    def _log(self) -> BotLog:
        outcome = self._outcome
        run = Run(self._bot.now_ms(), outcome.event, "; ".join(outcome.problems)[:500])
        coverage = outcome.coverage
        known, total = (coverage.known, coverage.total) if coverage else (outcome.log.known, outcome.log.total)
        return outcome.log.plus(run, known=known, total=total)


def _read_log(path: str | None) -> BotLog:
    if path is None:
        return BotLog()
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse_botlog(file.read(1_000_000))
