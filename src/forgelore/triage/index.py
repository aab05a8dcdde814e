"""The bot's index between runs: a store in parts on a branch, beside a record of how the bot has been doing. Only parts
that changed are pushed. Older versions kept it in one file; that is read, and replaced by parts.

Another runner may push while this one works. Then its index is pulled, what this run learned is put into that, and it
is pushed again. An index that cannot be read is begun anew: all of it can be read from the forge again, and a copy that
is set aside would go on showing what was deleted since. One that a newer program wrote, or a branch that holds
something else, is left as it is.

Where the branch does not take the index, it is kept in a folder that the runner keeps between runs, so that the next
run need not read the whole history again. Of the two the newer one counts. After a push that worked only a note is left
there: a runner that saves the folder under one name (GitLab's) then replaces what it kept before.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from forgelore.errors import (
    CorruptStore,
    ForgeError,
    LoreError,
    NewerStore,
    RateLimited,
    StateMoved,
    StateRefused,
    format_error,
)
from forgelore.ports.forge import PulledIndex
from forgelore.store.packing import DamagedPack, join, pack, split, unpack
from forgelore.store.sqlite.schema import flush_log
from forgelore.store.triage import tally_outcomes
from forgelore.triage.bot import BotResult, BotRun, BotSetup
from forgelore.triage.events import Event
from forgelore.triage.health_log import FILE as HEALTH_FILE
from forgelore.triage.health_log import HealthEntry, HealthLog, build_botlog, parse_botlog
from forgelore.triage.intake import ProblemCollector, public_kinds, remove_private, why_withheld
from forgelore.triage.item import TriageContext

_NOTE = "pushed"
_MAX_FILES = 16
_MAX_HEAD = 1_000


def load_kept(folder: str) -> dict[str, str]:
    """Return name -> path of the plain files in the folder; none where there is no folder."""
    if not folder or not os.path.isdir(folder):
        return {}
    with os.scandir(folder) as found:
        return {one.name: one.path for one, _ in zip(found, range(_MAX_FILES), strict=False) if _is_plain(one)}


def _is_plain(entry: "os.DirEntry[str]") -> bool:
    return entry.is_file(follow_symlinks=False)


def save_kept(folder: str, files: Mapping[str, str]) -> bool:
    """Replace what is in the folder; returns False where there is none to use."""
    if not folder:
        return False
    _empty(folder)
    for name, path in files.items():
        shutil.copyfile(path, os.path.join(folder, name))
    return True


def clear_kept(folder: str) -> None:
    """Leave nothing of an index in the folder."""
    if folder and os.path.isdir(folder):
        _empty(folder)
        with open(os.path.join(folder, _NOTE), "w", encoding="utf-8") as file:
            file.write("the index is on its branch\n")


def _empty(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)


INDEX_FILE = "index.db.z"  # of older versions, and in the runner's cache
HEAD_FILE = "index.head"
INDEX_FILES = (HEAD_FILE, INDEX_FILE)
_README_FILE = "README.md"
_ATTEMPTS = 5
_README = """This branch holds the index of forgelore triage: what the issues and changes of this project say, so that
new ones can be compared with them. A program replaces it with every run. It may be deleted at any time; the next run
builds it anew.
"""


def run_bot(bot: BotSetup, event: Event) -> BotResult:
    """Handle one event. Raises LoreError only when there is no index to work on and none may be made."""
    outcome = BotResult(event.name, bot.project.name.path, event.item.key if event.item else None)
    outcome.warnings += why_withheld(bot.project)
    index = _Index(bot, outcome)
    try:
        run = BotRun(bot, index.pull(), outcome)
        run.work(event)
        if not bot.is_dry:
            index.publish(run)
            index.drop_copies(is_thorough=event.task == "catch_up")
    finally:
        index.close()
    return outcome


def must_act(error: LoreError) -> bool:
    """True when no later run can do better by itself: a rule, a token, a branch that is somebody else's."""
    if isinstance(error, ForgeError):
        return isinstance(error, StateRefused)
    return not isinstance(error, RateLimited)


class _Source(NamedTuple):
    """Where an index can be taken from, with its record."""

    files: Mapping[str, str]
    log: HealthLog
    pulled: PulledIndex | None = None

    @property
    def is_kept(self) -> bool:
        return self.pulled is None

    @property
    def written_at(self) -> int:
        return self.log.runs[-1].at if self.log.runs else 0


class _Index:
    """The index of one run: what was pulled, and the store it became."""

    def __init__(self, bot: BotSetup, outcome: BotResult) -> None:
        self._bot, self._outcome = bot, outcome
        self._path = os.path.join(bot.folder, "index.db")
        self._commit: str | None = None
        self._context: TriageContext | None = None
        self._sums: list[bytes] = []  # of the parts that were pulled

    def close(self) -> None:
        if self._context is not None:
            self._context.store.close()
            self._context = None

    def pull(self, *, is_first: bool = True) -> TriageContext:
        """Fetch the index and open it. Raises what the branch raises, NewerStore for one of a newer program."""
        sources = list(self._sources(is_first=is_first))
        self.close()
        for source in sources:
            self._context = self._open(source)
            if self._context is not None:
                break
        if self._context is None:
            self._wipe()
            self._context = self._bot.open_context(self._path)
        self._withhold(self._context)
        return self._context

    def _sources(self, *, is_first: bool) -> Iterator[_Source]:
        """Yield where an index may be, the newest first. What is kept counts only if it is newer than the branch."""
        pulled = self._bot.branch.pull()
        self._commit = pulled.commit if pulled else None
        branch = _Source(pulled.files, _read_log(pulled.files.get(HEALTH_FILE)), pulled) if pulled else None
        files = load_kept(self._bot.kept) if is_first else {}
        kept = _Source(files, _read_log(files.get(HEALTH_FILE)))
        if INDEX_FILE in files and kept.written_at > (branch.written_at if branch else 0):
            yield kept
        if branch is not None:
            yield branch

    def _open(self, source: _Source) -> TriageContext | None:
        """Return the index of a source; None, with a warning, when it is damaged."""
        self._wipe()
        self._sums = []
        where = "the index from the runner's cache" if source.is_kept else "the index"
        try:
            sums = read_index(source.files, source.pulled, self._path)
            context = self._bot.open_context(self._path)
        except (DamagedPack, CorruptStore, NewerStore) as error:
            if isinstance(error, NewerStore) and not source.is_kept:
                raise
            self._outcome.warnings.append(f"{where} is damaged ({error}); it is rebuilt from the forge")
            self._wipe()
            return None
        finally:
            self._outcome.log = source.log
            self._outcome.complaint = source.log.complaint(self._bot.now_ms())
        self._sums = sums
        return context

    def _wipe(self) -> None:
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._path + end)

    def _withhold(self, context: TriageContext) -> None:
        found = remove_private(context.store, context.project_id, public_kinds(self._bot.project))
        self._outcome.withheld += found
        self._outcome.removed += found

    def publish(self, run: BotRun) -> None:
        """Push the index; where the branch does not take it, keep it for the next run, and say what is wrong."""
        try:
            self._push(run)
        except LoreError as error:
            self._outcome.problems.append(format_error(error))
            self._outcome.refusal = error if must_act(error) else None
            if self._outcome.withheld:
                self._outcome.problems.append(
                    f"the branch {self._bot.branch.name} still shows {self._outcome.withheld} items that not all of its"
                    f" readers may read: delete it (git push origin --delete {self._bot.branch.name})"
                )
            self._outcome.is_kept = not isinstance(error, StateMoved) and self._keep(run.context)
        else:
            self._outcome.is_pushed = True
            clear_kept(self._bot.kept)

    def _push(self, run: BotRun) -> None:
        """Push; when another runner was faster, put what this run learned into theirs, and push that."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._push_once(run.context)
            except StateMoved as error:
                if attempt == _ATTEMPTS:
                    raise
                self._outcome.warnings.append(f"{error.message}; trying again")
                run.replay(self.pull(is_first=False))
            else:
                return

    def _push_once(self, context: TriageContext) -> None:
        self._finish(context)
        store = split(context.store.path, os.path.join(self._bot.folder, "parts"), known=self._sums)
        files = self._write({HEAD_FILE: store.head, **self._texts()})
        message = "Update the triage index [skip ci]"
        self._bot.branch.push(files, expected=self._commit, message=message, parts=store.parts)
        self._outcome.log = self._log()

    def _finish(self, context: TriageContext) -> None:
        """Make the store's file complete, without anything that some reader of the branch cannot read."""
        self._withhold(context)
        flush_log(context.store)

    def _texts(self) -> dict[str, bytes]:
        return {HEALTH_FILE: build_botlog(self._log()).encode(), _README_FILE: _README.encode()}

    def _write(self, contents: Mapping[str, bytes]) -> dict[str, str]:
        """Write files of the branch beside the store; returns name -> path."""
        files = {name: os.path.join(self._bot.folder, f"out-{name}") for name in contents}
        for name, content in contents.items():
            with open(files[name], "wb") as file:
                file.write(content)
        return files

    def _keep(self, context: TriageContext) -> bool:
        """Put the index into the runner's folder; returns whether it is there. A full disk is no further problem."""
        try:
            self._finish(context)
            packed = os.path.join(self._bot.folder, INDEX_FILE)
            pack(context.store.path, packed)
            return save_kept(self._bot.kept, {INDEX_FILE: packed, **self._write(self._texts())})
        except (LoreError, OSError):
            return False

    def drop_copies(self, *, is_thorough: bool) -> None:
        """Delete the copies of damaged indexes that older versions made: nothing ever leaves those again."""
        if not is_thorough and not self._outcome.withheld:
            return
        with ProblemCollector(self._outcome):
            for name in self._bot.branch.drop_copies():
                self._outcome.warnings.append(f"the branch {name}, a copy of an older index, is deleted")

    def _log(self) -> HealthLog:
        outcome = self._outcome
        if self._context is not None:
            tallies = tally_outcomes(self._context.store, self._context.project_id)
            outcome.log = outcome.log._replace(outcomes=tallies)
        run = HealthEntry(self._bot.now_ms(), outcome.event, "; ".join(outcome.problems)[:500])
        coverage = outcome.coverage
        if coverage is None:
            return outcome.log.plus(run, known=outcome.log.known, total=outcome.log.total)
        # The forge's total counts confidential items too: beside a complete index it would tell how many there are.
        return outcome.log.plus(run, known=coverage.known, total=None if coverage.is_complete else coverage.total)


def read_index(files: Mapping[str, str], pulled: PulledIndex | None, path_out: str) -> list[bytes]:
    """Write the store that the files of a branch or a folder hold to a path; returns the sums of its parts, none of one
    that is packed as one file. Raises DamagedPack, NewerStore.
    """
    if HEAD_FILE in files and pulled is not None:
        with open(files[HEAD_FILE], "rb") as file:
            return join(file.read(_MAX_HEAD), pulled.each_part(), path_out)
    if INDEX_FILE not in files:
        raise DamagedPack(f"{HEAD_FILE} is missing")
    unpack(files[INDEX_FILE], path_out)
    return []


def _read_log(path: str | None) -> HealthLog:
    if path is None:
        return HealthLog()
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse_botlog(file.read(1_000_000))
