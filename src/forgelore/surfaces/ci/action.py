"""`forgelore triage` inside CI: one event, one run of the bot, told to people.

What the next run makes good by itself is a warning on the run, a line in its summary and an entry in the bot's own
record; the exit code is 0. Where no run can work before a person acts (the branch takes no push, the token is no good),
the run fails with what to do, after everything else was done: a bot that looks well and forgets everything is worse.
"""

import os
import shutil
from typing import TYPE_CHECKING

from forgelore.errors import AuthError, LoreError, NewerStore, NotFound, StateRefused, in_words
from forgelore.surfaces.ci.runner import CiName, RunLog, read_event, scratch_folder
from forgelore.surfaces.present.run_page import build_summary
from forgelore.surfaces.present.tidy import BotData, present_bot

if TYPE_CHECKING:
    from forgelore.api import BotResult
    from forgelore.surfaces.cli.command import Context


def run_in_ci(
    context: "Context", where: CiName, *, emit: str = "", apply: str = "", keep: str = "", is_dry: bool = False
) -> BotData:
    """Handle the event that started this job; returns what happened, for --json. `keep`: a folder that outlives it."""
    from forgelore.api import BotPlaces, BotResult, parse_inputs, write_judgement

    voice = RunLog(where, os.environ, is_quiet=context.is_data)
    inputs, complaints = parse_inputs(os.environ)
    for complaint in complaints:
        voice.warn(complaint)
    inputs = inputs._replace(dry_run=inputs.dry_run or is_dry or bool(emit))
    folder = ""
    try:
        folder = scratch_folder(os.environ)
        event = read_event(where, os.environ)
        outcome = context.history.handle_event(
            event, inputs, forge=where, places=BotPlaces(folder, keep, apply), is_reader=bool(emit)
        )
        if emit:
            write_judgement(outcome, emit)
    except (LoreError, OSError) as error:  # a full disk is no bug either
        message = in_words(error) if isinstance(error, LoreError) else f"{error.strerror or error}"
        refusal = error if isinstance(error, AuthError | NotFound | StateRefused | NewerStore) else None
        outcome = BotResult("", problems=[f"triage did not run: {message}"], refusal=refusal)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)  # it may hold the text of a private project
    _tell(voice, outcome, is_dry=inputs.dry_run)
    if outcome.refusal is not None:
        context.fail(outcome.refusal)
    return present_bot(outcome)


def _tell(voice: RunLog, outcome: "BotResult", *, is_dry: bool) -> None:
    """Say what happened, in the log, on the run's page and to the steps that follow."""
    for message in dict.fromkeys([*outcome.problems, *([outcome.complaint] if outcome.complaint else [])]):
        voice.warn(message, is_error=outcome.refusal is not None and in_words(outcome.refusal) in message)
    for message in dict.fromkeys(outcome.warnings):
        voice.say(f"note: {message}")
    for done in outcome.done:
        action = done.posted.action if done.posted else "not posted"
        voice.say(f"{done.triaged.key.kind} {done.triaged.key.number}: {done.triaged.outcome} ({action})")
    voice.summarise(build_summary(outcome, outcome.ended_at, is_dry=is_dry))
    voice.output(index_kept="true" if outcome.is_kept else "false")
    found = outcome.of_event.triaged if outcome.of_event else None
    if found is None:
        return voice.output(matched="false", duplicate_of="", report="")
    if found.body:
        voice.say(found.body)
    return voice.output(
        matched="true" if found.body else "false",
        duplicate_of=str(found.first_number) if found.outcome == "duplicate" else "",
        report=voice.keep("forgelore-report.md", found.body) if found.body else "",
    )
