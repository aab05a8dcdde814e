"""The journey of docs/tour.md and the commands of the runbook: followed on local forges, word by word."""

import pathlib
import re
import shlex

import pytest

from dedupe.closing_lab import ClosingLab, let_ana_write
from forgelore.surfaces.cli.command import build_parser
from forgelore.surfaces.cli.main import ALIASES, COMMANDS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"
LINE = re.compile(r"^(?: {4,}| *- {3,}|\S.*?\d \* \* \* {2})(forgelore .+)$", re.MULTILINE)


def commands(text):
    """The commands of indented lines; what follows a # or two blanks is explanation."""
    found = []
    for line in LINE.findall(text):
        for part in re.split(r" && ", re.split(r" {2,}|\s#\s", line)[0]):
            words = shlex.split(part.partition(" >")[0])
            found.append(words[1:])
    return found


def journey():
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    return commands(text.partition("<!-- journey -->")[2].partition("<!-- end of journey -->")[0])


@pytest.fixture(params=("github", "gitlab"))
def tracker(request, cli):
    """A project that ana maintains: ordinary items, two copies by strangers, and a duplicate that people know."""
    lab, env = (request.getfixturevalue(name) for name in (request.param, f"{request.param}_env"))
    let_ana_write(lab)
    closing = ClosingLab(lab)
    for at in range(30):
        closing.add(f"Part {at * 7 % 11} waits", f"After {at} seconds thing {at * 13 % 17} is slow", author="u")
    known = closing.add("The relay forgets its certificate", "Every client has to be paired again by hand")
    lab.time.pass_by(3_600)
    again = closing.add("The relay forgets its certificate", "Every client has to be paired again by hand")
    lab.on_issue("close", again)
    lab.on_issue("comment", again, f"Duplicate of #{known}", author="ana")
    closing.numbers = [closing.add("Folders vanish from the settings", TEXT, author=name) for name in ("zoe", "tom")]
    closing.run = lambda *words: cli(*words, stdin=b"", **env)  # a review is left at once
    return closing


def test_the_journey_goes_from_a_sync_to_a_plan_that_is_applied_and_taken_back(tracker, tmp_path):
    first, second = tracker.numbers
    before = tracker.portrait(tracker.numbers)
    steps, plan = journey(), ""
    assert [words[:2] for words in steps if words[0] == "dedupe"] == [
        ["dedupe", name] for name in ("run", "review", "report", "audit", "apply", "apply", "rollback")
    ]
    for words in steps:
        meant = [plan if word == "PLAN" else tracker.name_text if word == "acme/web" else word for word in words]
        done = tracker.run(*meant)
        refused = words[:2] == ["dedupe", "apply"] and "--unproven" not in words
        assert done.code == (20 if refused else 0), (words, done.err, done.out)
        if words[:2] == ["dedupe", "run"]:
            plan = re.search(r"^plan (\d+): 1 would be closed", done.out, re.MULTILINE)[1]
            assert (tmp_path / "plan.md").read_text().startswith(f"# Plan {plan} ")
        if "--unproven" in words:
            states = {number: tracker.item(number).state for number in tracker.numbers}
            assert list(states.values()).count("closed") == 1, states
    assert tracker.portrait(tracker.numbers) == before
    assert f"#{second}" in (tmp_path / "page.html").read_text() or f"#{first}" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("page", ["docs/runbook.md", "docs/dedupe.md", "docs/tour.md", "README.md"])
def test_every_command_of_a_page_is_one(page):
    found = commands((ROOT / page).read_text(encoding="utf-8"))
    assert len(found) >= 4
    for words in found:
        name = " ".join(words[:2]) if words[0] == "dedupe" else words[0]
        name = ALIASES.get(name, name)
        assert name in COMMANDS, words
        rest = words[2:] if words[0] == "dedupe" else words[1:]
        if rest:
            build_parser(name)[0].parse_args(["12" if word in ("PLAN", "RUN") else word for word in rest])


def test_the_runbook_has_every_step_of_an_operator():
    shown = {" ".join(words[:2]) for words in commands((ROOT / "docs/runbook.md").read_text(encoding="utf-8"))}
    steps = ("refresh", "run", "report", "audit", "apply", "rollback", "accept", "reject", "maintainers")
    assert {f"dedupe {name}" for name in steps} <= shown
