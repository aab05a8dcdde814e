"""Promises the project makes about itself: what commands load, what is documented, what the package holds."""

import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAVY = {
    "msgspec",
    "httpx",
    "rich",
    "numpy",
    "click",
    "tomllib",
    "subprocess",
    "shutil",
    "dataclasses",
    "inspect",
    "asyncio",
    "ssl",
}


def modules_after(*words, env=None):
    code = (
        "import sys, io, contextlib\n"
        "from forgelore.surfaces.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    main({list(words)!r})\n"
        "import json; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **(env or {})}, check=True
    )
    return set(json.loads(done.stdout))


def as_installed(**more):
    """The environment of somebody who has set nothing: the default embedder too."""
    return {**{name: value for name, value in os.environ.items() if name != "FORGELORE_EMBEDDER"}, **more}


@pytest.fixture(scope="session")
def demo_db(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("demo") / "demo.db")
    subprocess.run(
        [sys.executable, "-m", "forgelore.surfaces.cli.main", "demo", "--keep", path],
        capture_output=True,
        check=True,
        env=as_installed(),
    )
    return path


def test_help_loads_nothing_but_the_standard_library():
    assert not modules_after("--help") & (HEAVY | {"apsw", "argparse", "sqlite3"})


@pytest.mark.parametrize(
    "words",
    [["list", "issues"], ["count", "issues"], ["show", "#41"], ["search", "deleted files", "--mode", "lexical"]],
)
def test_reading_commands_load_no_heavy_library(demo_db, words):
    """The import budget: a list stays within eight times the price of Python itself, a search by words within nine."""
    assert not modules_after(*words, env={"FORGELORE_DB": demo_db}) & HEAVY


def test_what_a_person_says_of_a_pair_loads_no_heavy_library(demo_db, tmp_path):
    """It writes one row."""
    shutil.copy(demo_db, tmp_path / "demo.db")
    loaded = modules_after("dedupe", "accept", "#41", "#43", env={"FORGELORE_DB": str(tmp_path / "demo.db")})
    assert "forgelore.dedupe.overrides" in loaded
    assert not loaded & HEAVY


def test_generated_documentation_is_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
EXAMPLES = """Text before.

```console
$ forgelore similar '#157'
{similar}
$ forgelore sync-status
{status}
$ make demo
whatever it prints
```
"""
PRINTED = {
    "forgelore similar '#157'": "like #157\n\n 1. #110\n    meaning 0.64 · similarity 0.77\n",
    "forgelore sync-status": "lantern  46 changes\n  import  3 min ago\n  up to\n",
}
TRUE = EXAMPLES.format(similar=PRINTED["forgelore similar '#157'"][:-1], status="lantern  46 changes\n…")


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("examples")


def test_a_true_example_stays_as_it_is(examples):
    assert examples.refresh(TRUE, PRINTED.__getitem__) == TRUE


@pytest.mark.parametrize(
    ("true", "stale"),
    [
        (" · similarity 0.77", ""),  # how README's example was stale: the end of a line
        ("    meaning 0.64 · similarity 0.77\n", ""),
        ("like #157\n", ""),
        ("0.77", "0.91"),
        ("\n 1. #110", " 1. #110"),
        ("46 changes", "45 changes"),
    ],
)
def test_an_example_that_shows_less_or_else_than_is_printed_is_stale(examples, true, stale):
    """The documentation's check compares a page with what this makes of it."""
    assert true in TRUE
    assert examples.refresh(TRUE.replace(true, stale), PRINTED.__getitem__) == TRUE


@pytest.mark.parametrize(
    ("printed", "different"),
    [
        ("# Where?\n$ forgelore sync-status\nlantern  46 changes\n\n# Next\n$ forgelore list\n", []),
        ("$ forgelore sync-status\nlantern  45 changes\n\nThat took 1 s", ["forgelore sync-status"]),
        ("$ forgelore similar '#1'\nlike #1\n", ["no command is in both"]),
    ],
)
def test_a_page_that_shows_other_numbers_than_the_demo_is_named(examples, printed, different):
    page = "```console\n$ forgelore sync-status\nlantern  46 changes\n$ forgelore count\n1\n```\n"
    assert examples.differences(page, printed) == different


def test_every_session_in_the_documentation_is_checked():
    """`scripts/docs.py` runs what is in a console block; a session in any other place would be checked by nobody."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        checked = "".join(re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
        assert text.count("$ forgelore ") == checked.count("$ forgelore "), page.name


def test_the_tour_shows_what_one_would_try_first():
    shown = re.findall(r"^\$ forgelore (\S+)", (ROOT / "docs" / "tour.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"search", "similar", "list", "show", "triage"} <= set(shown)


def test_the_readme_is_short_and_shows_both_pictures():
    """For people in a hurry; `scripts/docs.py --check` draws the pictures again."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 650
    assert re.findall(r"^!\[.+\]\((\S+)\)$", text, re.MULTILINE) == [
        "docs/pictures/search.svg", "docs/pictures/comment.svg",
    ]  # fmt: skip
    for page in ("README.md", "docs/web.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        shown = re.findall(r'(?:src|srcset)="([^"]+\.png)"', text)
        assert any("dark" in path for path in shown)
        assert all(0 < (ROOT / page).parent.joinpath(path).stat().st_size <= 150_000 for path in shown)


def test_every_figure_of_the_evidence_names_its_result():
    """The last cell of each row links to the file that the figure was copied from."""
    text = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| what")]
    assert len(rows) >= 20
    for row in rows:
        assert re.search(r"\| \[[a-z]+\]\(\.\./bench/results/[a-z]+\.md\) \|$", row), row


def test_the_figures_of_the_readme_are_those_of_the_evidence():
    readme, evidence = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/evidence.md"))
    figures = re.findall(r"[\d.]+ %", readme)
    assert figures
    assert all(figure in evidence for figure in figures)


def test_the_python_line_of_the_tour_finds_something(demo_db):
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    line = re.search(r"^The same \[from Python\]\(python\.md\):\n`(.+)`\.$", text, re.MULTILINE)[1]
    done = subprocess.run(
        [sys.executable, "-c", f"import forgelore; print(len({line}))"],
        capture_output=True,
        text=True,
        env=as_installed(),
        cwd=os.path.dirname(demo_db),
        check=True,
    )
    assert int(done.stdout) > 0


def test_every_link_inside_the_documentation_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_can_be_reached_from_another():
    linked = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if (page.parent / target).resolve() != page.resolve()
    }
    assert {str(page) for page in (ROOT / "docs").rglob("*.md") if page.resolve() not in linked} == set()


@pytest.mark.parametrize("page", ["docs/evidence.md", "docs/triage/README.md"])
def test_a_page_that_tells_our_figures_tells_those_from_outside_too(page):
    """What others measured on trackers that took no part in making the bot."""
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    table = (ROOT / "bench/results/outside.md").read_text(encoding="utf-8").partition("## The same")[0]
    figures = re.findall(r"[\d.]+ % \[\d+, \d+\]", table)
    assert figures == ["8.3 % [5, 13]", "30 % [25, 36]", "21 % [17, 27]", "37 % [31, 43]", "77 % [66, 86]"]
    assert all(figure in text for figure in figures)
    assert all(told in text for told in ("8 %", "18.5 %", "36 %" if "evidence" in page else "35.8 %"))
    ours = (ROOT / "bench/results/comments.md").read_text(encoding="utf-8")
    of_all = re.search(r"^\| all \| \d+ \| \d+ (\|.+)$", ours, re.MULTILINE)[1]
    assert all(figure in text for figure in re.findall(r"[\d.]+ % \[\d+, \d+\]", of_all))


def test_the_changelog_knows_this_version():
    from forgelore import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_lock_files_hold_hashes_and_name_no_registry():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        packages = re.findall(r"^[\w.\-]+==", text, re.MULTILINE)
        assert packages
        assert text.count("--hash=sha256:") >= len(packages)


def test_the_demo_tracker_keeps_its_shape():
    items = [
        json.loads(line) for line in (ROOT / "src/forgelore/data/demo.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    kinds = [item["kind"] for item in items]
    assert len(items) >= 150
    assert set(kinds) == {"issue", "change", "discussion", "release"}
    assert sum(item["state_reason"] == "duplicate" for item in items) >= 20
    assert len({(item["kind"], item["number"]) for item in items}) == len(items)
