"""Completion in the shells themselves: what one Tab makes of a line, in bash and zsh through a terminal, in fish asked.

`forgelore` and `lore` are functions there that print their arguments, so a completed line is run and looked at. The
names of projects come from the real program, which is on PATH.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
import time

import pytest

from forgelore.surfaces.cli.completion import load_places
from forgelore.surfaces.cli.main import COMMANDS

PROMPT = "READY> "
# What is typed before one Tab, and what stands there afterwards.
LINES = {
    "forgelore calib": "calibrate",
    "lore calib": "calibrate",
    "forgelore --db tracker.jsonl calib": "--db tracker.jsonl calibrate",
    "forgelore dedu": "dedupe",
    "lore dedupe canon": "dedupe canonicalize",
    "forgelore --db tracker.jsonl dedupe canon": "--db tracker.jsonl dedupe canonicalize",
    "forgelore dedupe runs --st": "dedupe runs --step",
    "lore dedupe runs --project lant": "dedupe runs --project lanternsync/lantern",
    "forgelore dedupe runs --db trac": "dedupe runs --db tracker.jsonl",
    "forgelore list rel": "list releases",
    "lore count thr": "count threads",
    "forgelore list --state me": "list --state merged",
    "lore list --state=me": "list --state=merged",
    "forgelore list issues --sort cr": "list issues --sort created",
    "forgelore search words --type thr": "search words --type thread",
    "forgelore search --state open --state me": "search --state open --state merged",
    "forgelore similar 12 --mode lex": "similar 12 --mode lexical",
    "forgelore search words --fts-mode r": "search words --fts-mode raw",
    "lore embed --embedder mini": "embed --embedder minilm",
    "forgelore ingest --type dis": "ingest --type discussions",
    "forgelore init --kind gitl": "init --kind gitlab",
    "forgelore search words --updated-a": "search words --updated-after",
    "lore show --sys": "show --system",
    "forgelore import trac": "import tracker.jsonl",
    "lore export --output trac": "export --output tracker.jsonl",
    "forgelore --db trac": "--db tracker.jsonl",
    "forgelore show 12 --db trac": "show 12 --db tracker.jsonl",
    "forgelore export --project lant": "export --project lanternsync/lantern",
    "lore sync lant": "sync lanternsync/lantern",
    "forgelore --db other.db list issues --project gitlab:gr": "--db other.db list issues --project gitlab:group/app",
}


@pytest.fixture
def ground(tmp_path, demo, demo_file, monkeypatch):
    """A folder with two databases and a file, and the three scripts."""
    (tmp_path / "tracker.jsonl").touch()
    assert demo("import", demo_file, "--project", "gitlab:group/app", "--no-docs", "--db", "other.db").code == 0
    for shell in ("bash", "zsh", "fish"):
        (tmp_path / f"script.{shell}").write_text(demo("completion", shell).out)
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    monkeypatch.setenv("TERM", "dumb")
    return tmp_path


def need(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed (`make tools` installs it, as root on Debian)")


IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)


class Session:
    """An interactive shell in a terminal of its own."""

    def __init__(self, command, **environ):
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x28\x00\xc8\x00\x00\x00\x00\x00")  # 40 lines of 200 columns
        self._process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **environ},
            start_new_session=True,
        )
        os.close(theirs)
        self._wait(PROMPT)

    def after_tab(self, line):
        """Type a line, Tab once, Enter; return the arguments that the program got."""
        os.write(self._ours, f"{line}\t\n".encode())
        return self._wait(rf"GOT<(.*?)>GOT.*{PROMPT}")[1].strip()

    def _wait(self, pattern):
        shown, until = "", time.monotonic() + 20
        while not (found := re.search(pattern, shown, re.DOTALL)):
            if not select.select([self._ours], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError(f"the shell never showed {pattern!r}, but: {shown}")
            shown += os.read(self._ours, 65536).decode("utf-8", "replace")
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


STUBS = 'forgelore() { echo "GOT<$*>GOT"; }\nlore() { echo "GOT<$*>GOT"; }\n'


def bash_session(ground):
    need("bash")
    (ground / "rc").write_text(f"{STUBS}PS1='{PROMPT}'\nsource script.bash\n")
    return Session(["bash", "--noprofile", "--rcfile", "rc", "-i"])


ZSH_RCS = {
    "eval": 'eval "$(command forgelore completion zsh)"',
    "eval after compinit": 'autoload -Uz compinit; compinit -i -D; eval "$(command forgelore completion zsh)"',
    "fpath": "fpath=($PWD/zfunc $fpath); autoload -Uz compinit; compinit -i -D",
}


def zsh_session(ground, way):
    need("zsh")
    (ground / "zfunc").mkdir()
    shutil.copy(ground / "script.zsh", ground / "zfunc" / "_forgelore")
    (ground / ".zshrc").write_text(f"{STUBS}PS1='{PROMPT}'\nunsetopt PROMPT_SP\n{ZSH_RCS[way]}\n")
    return Session(["zsh", "-i"], ZDOTDIR=str(ground))


def fish_candidates(line):
    """Ask fish for what it would offer, in the form of the completed arguments."""
    done = subprocess.run(
        ["fish", "-c", "complete -C $argv[1]", line], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stderr == ""
    before = line.rpartition(" ")[0].partition(" ")[2]
    return [f"{before} {one.partition(chr(9))[0]}".strip() for one in done.stdout.splitlines()]


def test_bash_completes_every_line_with_one_tab(ground):
    with bash_session(ground) as session:
        assert {line: session.after_tab(line) for line in LINES} == LINES


@pytest.mark.parametrize("way", ZSH_RCS)
@pytest.mark.parametrize("first", ["forgelore list --state me", "lore calib"])
def test_zsh_completes_at_the_first_tab(ground, way, first):
    with zsh_session(ground, way) as session:
        assert session.after_tab(first) == LINES[first]


@pytest.mark.parametrize("way", ["eval", "fpath"])
def test_zsh_completes_every_line_with_one_tab(ground, way):
    with zsh_session(ground, way) as session:
        assert {line: session.after_tab(line) for line in LINES} == LINES


def test_fish_completes_every_line(ground, home):
    need("fish")
    folder = home / ".config" / "fish" / "conf.d"
    folder.mkdir(parents=True)
    shutil.copy(ground / "script.fish", folder / "forgelore.fish")
    assert {line: fish_candidates(line) for line in LINES} == {line: [wanted] for line, wanted in LINES.items()}


def test_a_name_from_the_database_is_never_run(ground, demo, demo_file):
    """A project may be called anything; what a shell could read as more than text is not offered."""
    for name in ("lanterns/$(touch pwned)", "lanterns/`touch pwned`;x"):
        demo("import", demo_file, "--project", name, "--no-docs")
    with bash_session(ground) as session:
        assert session.after_tab("forgelore export --project lant") == "export --project lanternsync/lantern"
    assert not (ground / "pwned").exists()
    assert demo("completion", "projects").out.split() == ["lanternsync/lantern"]


def test_a_missing_database_is_not_made_by_a_tab(cli, tmp_path):
    assert cli("completion", "projects", "forgelore", "--db", "new.db", "list", "--project", "").code == 8
    assert not (tmp_path / "new.db").exists()


ARGUMENTS = {"list": ["issues"], "count": ["issues"], "search": ["files"], "similar": ["#41"]}
ELSEWHERE = ("minilm", "ollama", "openai", "semantic")  # need what a test has not: a model, a server, vectors


@pytest.mark.parametrize("command", ARGUMENTS)
def test_the_program_takes_every_word_that_is_offered(demo, command):
    for place in load_places(command):
        for word in set(place.words) - set(ELSEWHERE):
            given = [*ARGUMENTS[command], place.flags[0], word] if place.flags else [word]
            assert demo(command, *given, FORGELORE_EMBEDDER="lore").code == 0, given


def test_every_option_of_every_command_is_offered_in_every_shell(ground):
    scripts = {shell: (ground / f"script.{shell}").read_text() for shell in ("bash", "zsh", "fish")}
    zsh = dict(re.findall(r"^ +'?([\w -]+?)'?\) _arguments (.*?) ;;$", scripts["zsh"], re.MULTILINE | re.DOTALL))
    for command in COMMANDS:
        for place in load_places(command):
            for flag in place.long_flags:
                assert re.search(rf"^    '?{command}'?\) words='[^']*{flag}\b", scripts["bash"], re.MULTILINE)
                assert re.search(rf"^ +'\*?{flag}[=\[]", zsh[command], re.MULTILINE)
                assert re.search(rf"__forgelore_at '?{command}'?\" [^\n]*-l {flag[2:]} ", scripts["fish"])
