"""The example project, one full of traps, one of a local forge and one of an attacker, as web pages."""

import json
import shutil

import pytest
from sites import ACTS, Site, serving

from agents.talking import make_store
from dedupe.closing_lab import let_ana_write
from journeys import run
from meta.test_journeys import COPIED, environ, imported, of_forge
from support import GitHubLab


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    """The example project with lists of candidates; made once."""
    folder = tmp_path_factory.mktemp("web")
    shutil.copy(imported(), folder / "lore.db")
    run(folder, "dedupe", "candidates", env=environ(folder))
    return folder / "lore.db"


@pytest.fixture(scope="module")
def site(example, tmp_path_factory):
    """The example project, served to somebody who may review; each file of tests has its own copy."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(example, folder / "lore.db")
    with serving(folder / "lore.db", folder, FORGELORE_EMBEDDER="lore", FORGELORE_ME="ana") as url:
        yield Site(url)


@pytest.fixture(scope="module")
def trapped(tmp_path_factory):
    """A project with hidden items and planted instructions, served to everybody."""
    folder = tmp_path_factory.mktemp("trapped")
    with serving(make_store(folder), folder, "--role", "apply", FORGELORE_EMBEDDER="none") as url:
        yield Site(url)


@pytest.fixture(scope="module")
def forge(tmp_path_factory):
    """A forge with thirty issues, two of which say the same."""
    with GitHubLab(tmp_path_factory.mktemp("forge")) as lab:
        let_ana_write(lab)
        for at in range(30):
            text = f"After {at} seconds thing {at * 13 % 17} is slow"
            lab.project.add_issue(f"Part {at * 7 % 11} waits", text, author="u")
        lab.copies = [lab.project.add_issue(*COPIED, author=name) for name in ("zoe", "tom")]
        lab.sync()
        yield lab


@pytest.fixture(scope="module")
def team(forge):
    env = {name: value for name, value in of_forge(forge).items() if name not in ("PATH", "HOME", "FORGELORE_DB")}
    words = ("--role", "apply", "--include-internal", "--sync-every", "0")
    with serving(forge.app.config.db, forge.folder, *words, **env) as url:
        yield Site(url)


HOSTILE = {
    "kind": "issue", "state": "open", "author": f"mallory{ACTS}", "created_at": "2026-03-01", "labels": [f"bug{ACTS}", "=1+2"],
    "url": "javascript:document.title='hacked'", "milestone": ACTS,
}  # fmt: skip
HOSTILE_LINES = [
    {
        **HOSTILE, "number": 1, "title": f"=cmd|' /C calc'!A0 {ACTS}", "body": f"{ACTS} [x](javascript:alert(1)) ```{ACTS}```",
        "notes": [{"author": f"eve{ACTS}", "body": f"duplicate of #2 {ACTS}", "created_at": f"2026-03-0{day}"} for day in (2, 3, 4)],
        "links": [{"relation": "duplicate_of", "number": 2}],
    },
    {**HOSTILE, "number": 2, "title": f"{ACTS} crashes", "body": f"{ACTS} crashes, as #1 does"},
    {
        **HOSTILE, "kind": "change", "number": 3, "title": f"Fix {ACTS}", "state": "merged", "merged_at": "2026-03-09",
        "body": f"We decided that {ACTS} stays, because it is so.", "files": [f"src/{ACTS}.py", "src/cache.py"],
        "notes": [{"author": "ana", "body": ACTS, "path": f"src/{ACTS}.py", "line": 3}],
    },
    {"kind": "release", "number": 4, "tag": f"v1{ACTS}", "title": ACTS, "body": ACTS},
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A project whose every word was chosen by an attacker."""
    folder = tmp_path_factory.mktemp("hostile")
    lines = folder / "lines.jsonl"
    lines.write_text("".join(f"{json.dumps(line)}\n" for line in HOSTILE_LINES), encoding="utf-8")
    env = environ(folder)
    run(folder, "import", str(lines), "--project", "evil/web", env=env)
    run(folder, "dedupe", "candidates", env=env)
    with serving(folder / "lore.db", folder, "--role", "apply", FORGELORE_EMBEDDER="lore") as url:
        yield Site(url)
