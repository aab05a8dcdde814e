"""`forgelore triage` inside GitHub Actions and GitLab CI: one event, one run of the bot, reported to people.

What the next run repairs by itself is a warning on the run, a line in its summary and an entry in the bot's own record;
the exit code is 0. Where no run can work before a person acts (the branch refuses pushes, the token is invalid), the
run fails with what to do, after everything else was done: a bot that looks well and forgets everything is worse.

Whatever is printed here may hold text from strangers. On GitHub a line that begins with `::` is a command to the
runner, so messages are escaped and everything else is printed while commands are switched off.
"""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.errors import AuthError, ConfigError, LoreError, NewerStore, NotFound, StateRefused, format_error
from forgelore.surfaces.present.text import printable
from forgelore.surfaces.present.triage import BotData, build_summary, present_bot

if TYPE_CHECKING:
    from forgelore.api import BotResult, Event
    from forgelore.surfaces.cli.command import Context

CiName = Literal["github", "gitlab"]


def run_in_ci(
    context: "Context", where: CiName, *, emit: str = "", apply: str = "", keep: str = "", is_dry: bool = False
) -> BotData:
    """Handle the event that started this job; returns what happened, for --json. `keep`: a folder that outlives it."""
    from forgelore.api import BotPlaces, BotResult, parse_inputs, write_judgement

    run_log = RunLog(where, os.environ, is_quiet=context.is_data)
    inputs, complaints = parse_inputs(os.environ)
    for complaint in complaints:
        run_log.warn(complaint)
    inputs = inputs._replace(dry_run=inputs.dry_run or is_dry or bool(emit))
    folder = ""
    try:
        folder = scratch_folder(os.environ)
        event = read_event(where, os.environ)
        outcome = context.history.triage.handle_event(
            event, inputs, forge=where, places=BotPlaces(folder, keep, apply), read_only=bool(emit)
        )
        if emit:
            write_judgement(outcome, emit)
    except (LoreError, OSError) as error:  # a full disk is not a bug either
        message = format_error(error) if isinstance(error, LoreError) else f"{error.strerror or error}"
        refusal = error if isinstance(error, AuthError | NotFound | StateRefused | NewerStore) else None
        outcome = BotResult("", problems=[f"triage did not run: {message}"], refusal=refusal)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)  # it may hold the text of a private project
    _report(run_log, outcome, is_dry=inputs.dry_run)
    if outcome.refusal is not None:
        context.fail(outcome.refusal)
    return present_bot(outcome)


def _report(run_log: "RunLog", outcome: "BotResult", *, is_dry: bool) -> None:
    """Say what happened, in the log, on the run's page and to the steps that follow."""
    for message in dict.fromkeys([*outcome.problems, *([outcome.complaint] if outcome.complaint else [])]):
        run_log.warn(message, is_error=outcome.refusal is not None and format_error(outcome.refusal) in message)
    for message in dict.fromkeys(outcome.warnings):
        run_log.say(f"note: {message}")
    for done in outcome.done:
        action = done.posted.action if done.posted else "not posted"
        run_log.say(f"{done.triaged.key.kind} {done.triaged.key.number}: {done.triaged.outcome} ({action})")
    run_log.summarise(build_summary(outcome, outcome.ended_at, is_dry=is_dry))
    run_log.output(index_kept="true" if outcome.is_kept else "false")
    found = outcome.of_event.triaged if outcome.of_event else None
    if found is None:
        return run_log.output(matched="false", duplicate_of="", report="")
    if found.body:
        run_log.say(found.body)
    return run_log.output(
        matched="true" if found.body else "false",
        duplicate_of=str(found.first_number) if found.outcome == "duplicate" else "",
        report=run_log.keep("forgelore-report.md", found.body) if found.body else "",
    )


def find_ci(environ: Mapping[str, str]) -> CiName | None:
    """Return whose CI this is; None outside of any."""
    if environ.get("GITHUB_EVENT_PATH") or environ.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "gitlab" if environ.get("GITLAB_CI") == "true" else None


def read_event(where: CiName, environ: Mapping[str, str]) -> "Event":
    """Return what this run was started for. Raises ConfigError when the runner did not say."""
    from forgelore.api import parse_event

    if where == "github":
        project, _ = _require(environ, "GITHUB_REPOSITORY"), _require(environ, "GITHUB_EVENT_NAME")
        path = _require(environ, "GITHUB_EVENT_PATH")
    else:
        project, path = _require(environ, "CI_PROJECT_PATH"), environ.get("TRIGGER_PAYLOAD", "")
    return parse_event(where, _read_payload(path) if path else None, project, environ)


def _require(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"{name} is not set", hint="forgelore triage without an item runs inside CI; else name one")
    return value


def _read_payload(path: str) -> bytes:
    from forgelore.api import MAX_EVENT_BYTES

    try:
        with open(path, "rb") as file:
            return file.read(MAX_EVENT_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the event cannot be read: {error.strerror}", hint=f"look at {path}") from error


class RunLog(NamedTuple):
    """Speaks to the people who read a run. `quiet` is for --json: nothing but the envelope on standard output."""

    where: CiName
    environ: Mapping[str, str]
    is_quiet: bool = False

    def warn(self, message: str, *, is_error: bool = False) -> None:
        """A warning, or the reason of a failed run, that is seen without opening the log."""
        word = "error" if is_error else "warning"
        if self.where == "github":
            self._print(f"::{word} title=forgelore::{escape_command(printable(message))}")
        else:
            self._print(f"{word.upper()}: {printable(message)}")

    def say(self, text: str) -> None:
        """Show text that may hold anything; on GitHub no line of it is taken for a command."""
        if self.where == "github":
            word = secrets.token_hex(16)
            self._print(f"::stop-commands::{word}\n{printable(text)}\n::{word}::")
        else:
            self._print(printable(text))

    def _print(self, text: str) -> None:
        print(text, file=sys.stderr if self.is_quiet else sys.stdout, flush=True)

    def summarise(self, markdown: str) -> None:
        """Add to the page of the run; GitLab has none, so it goes to the log."""
        path = self.environ.get("GITHUB_STEP_SUMMARY", "")
        if path:
            self._append(path, markdown.rstrip("\n") + "\n")
        elif self.where == "gitlab":
            self.say(markdown)

    def output(self, **values: str) -> None:
        """Hand values to the steps that follow: one line each, nothing of strangers in them."""
        path = self.environ.get("GITHUB_OUTPUT", "")
        if path:
            self._append(path, "".join(f"{name.replace('_', '-')}={value}\n" for name, value in values.items()))

    def keep(self, name: str, text: str) -> str:
        """Write a file that outlives this program, in the runner's folder; returns its path, "" when there is none."""
        folder = self.environ.get("RUNNER_TEMP", "")
        path = os.path.join(folder, name)
        return path if os.path.isdir(folder) and self._append(path, text, mode="w") else ""

    def _append(self, path: str, text: str, *, mode: str = "a") -> bool:
        """Report a failure to write in the log only: reporting must not undo what was done."""
        try:
            with open(path, mode, encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self.warn(f"{os.path.basename(path)} cannot be written: {error.strerror}")
            return False
        return True


def escape_command(text: str) -> str:
    """Return text for the message of a workflow command: one line, no command of its own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def scratch_folder(environ: Mapping[str, str]) -> str:
    """Return a new folder for the files of this run: in the runner's own place, else in the system's."""
    try:
        return tempfile.mkdtemp(prefix="forgelore-", dir=environ.get("RUNNER_TEMP") or None)
    except OSError:
        return tempfile.mkdtemp(prefix="forgelore-")
