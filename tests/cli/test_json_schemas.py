"""Every command's JSON has a published schema, and keeps to it. The fixture `cli` holds all output of all tests here
against the schemas; these tests see to it that each command is among them, and that the check can fail."""

import json
import pathlib
from typing import NamedTuple

import jsonschema
import pytest

from clones.repositories import make_repository
from envelopes import check_envelope
from forgelore.surfaces.cli.main import COMMANDS
from forgelore.surfaces.cli.schemas import command_schema, schema_file
from forgelore.surfaces.present.data import MISSING, as_data, build_schema

PUBLISHED = pathlib.Path(__file__).resolve().parents[2] / "docs/json"
OFFLINE = {
    "init": ["init", "--project", "acme/web", "--yes"],
    "doctor": ["doctor", "--offline"],
    "demo": ["demo"],
    "completion": ["completion", "projects"],
    "sync-status": ["sync-status"],
    "generate-docs": ["generate-docs", "--full"],
    "replay": ["replay"],
    "stats": ["stats", "--check", "--repair", "--sample", "0"],
    "calibrate": ["calibrate", "--dry-run"],
    "search": ["search", "deleted files", "--explain"],
    "similar": ["similar", "#157", "--explain"],
    "ask": ["ask", "why do deleted files come back?"],
    "triage": ["triage", "#157"],
    "dedupe canonicalize": ["dedupe", "canonicalize"],
    "dedupe accept": ["dedupe", "accept", "#157", "#110"],
    "dedupe reject": ["dedupe", "reject", "#157", "#110"],
    "dedupe split": ["dedupe", "split", "#157"],
    "dedupe set-canonical": ["dedupe", "set-canonical", "#110"],
    "dedupe maintainers": ["dedupe", "maintainers"],
    "dedupe intent": ["dedupe", "intent"],
    "dedupe run": ["dedupe", "run", "--kind", "issue", "--workers", "1"],
    "dedupe review": ["dedupe", "review", "--kind", "issue"],
    "dedupe candidates": ["dedupe", "candidates", "--kind", "issue", "--workers", "1"],
    "dedupe judge": ["dedupe", "judge", "--kind", "issue"],
    "dedupe detect-new": ["dedupe", "detect-new", "#157"],
    "dedupe audit": ["dedupe", "audit", "--against", "history", "--kind", "issue", "--sample", "5", "--others", "2"],
    "dedupe link": ["dedupe", "link"],
    "dedupe runs": ["dedupe", "runs"],
    "changes overlap": ["changes", "overlap"],
    "list": ["list", "issues"],
    "who": ["who", "mira-k"],
    "waiting": ["waiting", "answer"],
    "me": ["me", "--as", "mira-k"],
    "count": ["count", "notes"],
    "show": ["show", "#41", "--document"],
    "history": ["history", "**"],
    "report": ["report"],
    "mcp": ["mcp", "--install", "cursor"],
}
ONLINE = {
    "sync": ["sync", "acme/web"],
    "ingest": ["ingest", "--type", "issues", "acme/web"],
    "auth-test": ["auth-test", "acme/web"],
}
# These need a file, a clone or an embedder (below), or serve until they are stopped (tests/web).
OWN = {"import", "export", "open", "evaluate", "embed", "index-code", "serve", "site"}
# One needs the other: test_dedupe_commands, test_audit_commands, test_dedupe_chain.
CLOSING = {"dedupe plan", "dedupe apply", "dedupe rollback", "dedupe report", "dedupe refresh"}


def test_every_command_is_tried():
    assert set(COMMANDS) == set(OFFLINE) | set(ONLINE) | OWN | CLOSING


@pytest.mark.parametrize("command", COMMANDS)
def test_the_schema_is_published_and_valid(command):
    published = json.loads((PUBLISHED / schema_file(command)).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(published)
    assert published == command_schema(command)


def test_nothing_is_published_of_commands_that_are_gone():
    assert {path.name for path in PUBLISHED.iterdir()} == set(map(schema_file, COMMANDS))


@pytest.mark.parametrize("command", OFFLINE)
def test_a_command_keeps_to_its_schema(demo, command):
    done = demo("--json", *OFFLINE[command])
    assert json.loads(done.out)["data"] is not None, done.err


@pytest.mark.parametrize("command", ONLINE)
def test_a_command_that_fetches_keeps_to_its_schema(cli, github, github_env, command):
    github.populate(issues=3, changes=2)
    assert cli(*ONLINE[command], "--json", **github_env).code == 0


def test_a_clone_keeps_to_its_schema(demo, tmp_path):
    folder = make_repository(tmp_path / "web", {"a.py": "def f(): ...\n"})
    assert demo("index-code", str(folder), "--project", "lanternsync/lantern", "--json").code == 0


def test_files_in_and_out_keep_to_their_schemas(demo, demo_file, tmp_path):
    assert demo("import", demo_file, "--project", "again", "--json").code == 0
    assert demo("export", "--project", "again", "--output", str(tmp_path / "out.jsonl"), "--json").code == 0
    assert demo("open", str(tmp_path / "lore.db"), "--to", str(tmp_path / "opened.db"), "--json").code == 0
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"q": "deleted files", "expect": ["#41"]}\n{"query": 157, "kind": "issue", "gold": [110]}\n')
    project = ("--project", "lanternsync/lantern")
    assert demo("evaluate", str(queries), *project, "--decide", "--missed", "3", "--json").code == 0
    assert demo("embed", "--embedder", "lore", *project, "--json").code == 0
    assert demo("site", str(tmp_path / "site"), *project, "--json").code == 0
    assert demo("sync", "acme/web", "--plan", "--json", GITHUB_API_URL="http://127.0.0.1:1").code != 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[0].pop("title"),
        lambda data: data[0].update(surprise=1),
        lambda data: data[0].update(number="12"),
        lambda data: data[0].update(labels=None),
        lambda data: data.append({}),
    ],
)
def test_an_output_that_differs_is_noticed(demo, spoil):
    envelope = json.loads(demo("list", "issues", "--json").out)
    check_envelope(["list", "--json"], json.dumps(envelope))
    spoil(envelope["data"])
    with pytest.raises(AssertionError):
        check_envelope(["list", "--json"], json.dumps(envelope))


def test_what_is_no_data_is_refused():
    with pytest.raises(TypeError):
        as_data({"a": object()})
    with pytest.raises(TypeError):
        build_schema(object)
    with pytest.raises(TypeError):
        as_data(MISSING)


class Inner(NamedTuple):
    share: float
    secret: str

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name == "secret" else name

    @staticmethod
    def json_digits() -> int:
        return 2


class Outer(NamedTuple):
    inner: Inner
    number: int

    @staticmethod
    def json_key(name: str) -> str:
        return "*" if name == "inner" else "line"


def test_a_record_says_how_its_fields_are_written():
    assert as_data(Outer(Inner(0.4567, "hidden"), 3)) == {"share": 0.46, "line": 3}
    definition = build_schema(Outer)["$defs"]["Outer"]
    assert definition["properties"] == {"share": {"type": "number"}, "line": {"type": "integer"}}
    assert definition["required"] == ["share", "line"]
