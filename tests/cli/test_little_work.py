"""What commands leave out: a search for people builds no rows for programs, and a small command imports little."""

import os
import subprocess
import sys

import pytest

ROWS = "present_hit"
LINES = "find_item_lines"


@pytest.fixture
def calls():
    """Run something and return the names of all functions of ours that were called meanwhile."""

    def watch(act):
        seen = set()
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, _given: seen.add(frame.f_code.co_name) if event == "call" else None)
        try:
            act()
        finally:
            sys.setprofile(before)
        return seen

    return watch


@pytest.mark.parametrize(
    ("more", "wanted"),
    [((), set()), (("--json",), {ROWS, LINES}), (("--format", "tsv"), {ROWS}), (("--format", "jsonl"), {ROWS, LINES}),
     (("--explain",), set())],
)  # fmt: skip
def test_a_search_builds_rows_and_lines_for_programs_alone(demo, calls, more, wanted):
    assert calls(lambda: demo("search", "relay", *more)) & {ROWS, LINES} == wanted


def test_similar_builds_rows_for_programs_alone(demo, calls):
    assert "_present_like" not in calls(lambda: demo("similar", "#41"))
    assert "_present_like" in calls(lambda: demo("similar", "#41", "--json"))


@pytest.mark.parametrize("words", [("accept", "#41", "#43"), ("reject", "#41", "#43"), ("split", "#41")])
def test_what_a_person_says_of_a_pair_imports_nothing_that_finds_or_judges(demo, words):
    """One row is written: it took 253 of our modules."""
    program = (
        "import sys; from forgelore.surfaces.cli.main import main; code = main(sys.argv[1:]);"
        "ours = [name for name in sys.modules if name.startswith('forgelore')];"
        "print(code, len(ours), sorted({'numpy', 'httpx', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "dedupe", *words],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=True,
    )
    code, count, libraries = done.stdout.splitlines()[-1].split(" ", 2)
    assert (code, libraries) == ("0", "[]")
    assert int(count) <= 85
