"""Every ref that a command prints can be typed into any other: all of them are collected, and typed.

A command that cannot do anything with a commit or a file says that it is one. Nothing answers that it does not
understand, and nothing says that what was just printed is not there.
"""

import json
import re

import pytest

from clones.repositories import commit_files, git, make_repository
from forgelore.api import make_history
from forgelore.errors import LoreError
from forgelore.surfaces.mcp.tools import ServerOptions, list_tools

# Where answers keep what names something. `path` and `paths` are files; `names` those of a history.
KEYS = {"ref", "key", "reading_id", "sha", "url", "superseded_by", "new_path", "path"}
IN_TEXT = re.compile(r"(?<![\w/.-])(?:(?:item|file|commit):\d+|[\w.-]+/[\w.-]+#\d+|#\d+|[0-9a-f]{12})(?![\w/.-])")
WITHIN_A_KIND = re.compile(
    r"is a commit|is a file|is not an item|s can only repeat \w+s, not \w+s$|cannot repeat itself|belong to different projects"
)
REFUSALS = {"compared": WITHIN_A_KIND, "read": re.compile(r"is a file")}
READS = {"show", "read", "find_page"}


@pytest.fixture(params=[False, True], ids=["one project", "several projects"])
def full(cli, demo_file, tmp_path, request):
    """A store with items of all kinds, conversations, code and commits, of one project or of two."""
    assert cli("import", demo_file, "--project", "lanternsync/lantern", "--no-embed").code == 0
    if request.param:
        assert cli("import", demo_file, "--project", "acme/other", "--no-embed").code == 0
    repository = make_repository(tmp_path / "lantern", {"crates/lanternd/src/tombstone.rs": "fn purge() {}\n"}, "Begin")
    commit_files(repository, {"crates/lanternd/src/tombstone.rs": "fn purge(days: u64) {}\n"}, "Keep tombstones (#142)")
    record = "# Keep tombstones\n\n## Decision\n\nWe keep crates/lanternd/src/tombstone.rs as it is.\n"
    commit_files(repository, {"docs/decisions/0001-keep.md": record}, "Write it down because people ask (#146)")
    git(repository, "checkout", "--quiet", "-b", "fix")
    commit_files(repository, {"src/a b.rs": "fn a() {}\n"}, "Work")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--no-ff", "--no-gpg-sign", "-m", "Merge pull request #45 from x/fix", "fix")
    assert cli("index-code", str(repository), "--project", "lanternsync/lantern").code == 0
    return cli


COMMANDS = [
    ("search", "deleted files", "--limit", "5"), ("search", "type:commit"), ("search", "type:code tombstone"),
    ("search", "tombstones", "--type", "all"), ("search", "type:thread offline", "--limit", "3"),
    ("list", "issues", "--limit", "3"), ("list", "changes", "--limit", "3"), ("list", "releases"),
    ("list", "discussions"), ("similar", "lanternsync/lantern#145", "--limit", "3"),
    ("show", "lanternsync/lantern#45"), ("show", "lanternsync/lantern#142"),
    ("history", "crates/lanternd/src/tombstone.rs", "--project", "lanternsync/lantern"),
    ("history", "docs/", "--project", "lanternsync/lantern"),
    ("who", "mira-k", "--limit", "3"), ("who", "crates/", "--project", "lanternsync/lantern"),
    ("me", "--as", "mira-k", "--limit", "3"), ("ask", "--no-model", "why are tombstones kept?"),
    ("triage", "lanternsync/lantern#145"), ("dedupe", "detect-new", "lanternsync/lantern#145"),
    *(("dedupe", *words, "--project", "lanternsync/lantern") for words in (
        ("accept", "#157", "#110"), ("reject", "#157", "#101"), ("run",), ("candidates",), ("judge",), ("canonicalize",),
        ("plan",), ("maintainers",), ("runs",),
    )),
    ("export", "--project", "lanternsync/lantern"),
]  # fmt: skip


def collect(data):
    """Yield every value in an answer that names something."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name in KEYS:
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
            yield from collect(value)
    elif isinstance(data, str) and IN_TEXT.fullmatch(data):
        yield data
    elif isinstance(data, list):
        for one in data:
            yield from collect(one)


def printed(cli):
    found = set()
    for words in COMMANDS:
        done = cli(*words, *([] if words[0] == "export" else ["--json"]))
        assert done.code == 0, (words, done.out, done.err)
        if words[0] == "export":
            for line in done.out.splitlines():
                found.update(one for one in collect(json.loads(line)) if one)
            continue
        found.update(one for one in collect(done.data) if one)
        found.update(IN_TEXT.findall(re.sub(r"https?://\S+|\"[^\"]*\"", "", cli(*words).out)))
    return found


def is_typable(ref):
    """What is shown of a thread has a key of its own on its forge, and a folder is no ref."""
    return not ref.endswith("/") and not re.fullmatch(r"(?:n|t|c)?\d+", ref)


def test_every_ref_that_is_printed_is_understood_everywhere(full, tmp_path):
    refs = sorted(filter(is_typable, printed(full)))
    kinds = {
        "item": r".*#\d+", "commit": r"[0-9a-f]{12}", "key": r"(?:item|file|commit):\d+", "path": r".+\.rs",
        "page": r"https://.*/issues/\d+", "commit page": r"https://.*/commit/[0-9a-f]{40}", "tag": r".*v\d.*",
        "file page": r"https://.*/blob/.*",
    }  # fmt: skip
    assert [name for name, pattern in kinds.items() if not any(re.fullmatch(pattern, ref) for ref in refs)] == []
    environ = {"FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin"}
    failed = []
    with make_history(environ, cwd=str(tmp_path), db=str(tmp_path / "lore.db")) as history:
        tools = {tool.name: tool.call for tool in list_tools(ServerOptions())}
        project = "lanternsync/lantern"  # as agents and people say it where there are several
        asks = {
            "show": lambda ref: history.show(ref, project=project),
            "read": lambda ref: history.read(ref, project=project),
            "find_page": lambda ref: history.find_page(ref, project=project),
            "similar": lambda ref: history.similar(ref, project=project, limit=1),
            "triage": lambda ref: history.triage.run(ref, project=project),
            "detect_new": lambda ref: history.dedupe.detect(ref, project=project),
            "reject": lambda ref: history.dedupe.override("reject", ref, "#101", project=project),
            "reject target": lambda ref: history.dedupe.override("reject", "#101", ref, project=project),
            "mcp read": lambda ref: tools["read"](history, {"ref": ref, "project": project}),
            "mcp show": lambda ref: tools["show"](history, {"ref": ref, "project": project}),
            "mcp similar": lambda ref: tools["similar"](history, {"ref": ref, "project": project, "limit": 1}),
        }
        for ref in refs:
            for name, ask in asks.items():
                try:
                    ask(ref)
                except LoreError as error:
                    refusals = REFUSALS["read" if name.split()[-1] in READS else "compared"]
                    if not refusals.search(error.message):
                        failed.append((name, ref, error.message))
            answer = history.search(ref, project=project, limit=3)
            if not answer.hits or any("does not exist" in note for note in answer.notes):
                failed.append(("search", ref, json.dumps(answer.notes)))
    assert failed == []
