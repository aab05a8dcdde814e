"""The import format: the document, the schema and the reader say the same; what a file says twice, wrongly or in unknown words is told."""

import json
import os
import pathlib
import re
import subprocess
import sys

import jsonschema
import pytest

from forgelore.errors import InvalidValue
from forgelore.sync.archive import IMPORT_BATCH
from forgelore.text.jsonl import FileLine, ItemLine, LinkLine, NoteLine, parse_line
from forgelore.words import KIND_WORDS

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]
SCHEMA = json.loads((DOCS / "import.schema.json").read_text())
PAGE = (DOCS / "import.md").read_text(encoding="utf-8")
EXAMPLES = [line for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
STRUCTS = {"ItemLine": ItemLine, "NoteLine": NoteLine, "FileLine": FileLine, "LinkLine": LinkLine}
ITEM = {"kind": "issue", "number": 1, "title": "t"}

validator = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture
def load(tmp_path):
    """Import a file in a process of its own: what it says to a program, and its exit code."""

    def run(content, *words, project="p"):
        path = tmp_path / "x.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        command = [*FORGELORE, "import", str(path), "--project", project, "--db", str(tmp_path / "lore.db"), *words]
        return subprocess.run(command, env=os.environ, capture_output=True, text=True)

    return run


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items)


# one format, told three times


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert validator.is_valid(ITEM)


@pytest.mark.parametrize("name", STRUCTS)
def test_the_schema_and_the_reader_know_the_same_keys(name):
    assert set(SCHEMA["$defs"][name]["properties"]) == set(STRUCTS[name].__struct_fields__)
    assert SCHEMA["$defs"][name]["additionalProperties"] is False


@pytest.mark.parametrize("name", STRUCTS)
def test_the_page_names_every_key(name):
    assert not [key for key in STRUCTS[name].__struct_fields__ if f"`{key}`" not in PAGE]


def test_the_table_of_the_page_names_no_other_key():
    rows = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(ItemLine.__struct_fields__)


def test_the_examples_of_the_page_use_every_key_and_are_imported(load):
    items = [json.loads(line) for line in EXAMPLES]
    for item in items:
        validator.validate(item)
    used = {key for item in items for key in item} | {
        key
        for item in items
        for part in ("notes", "files", "links")
        for row in item.get(part, ())
        if isinstance(row, dict)
        for key in row
    }
    known = {key for struct in STRUCTS.values() for key in struct.__struct_fields__}
    assert known - used == {"is_withdrawn"}
    done = load("\n".join(EXAMPLES), "--strict", "--json")
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    assert (found["data"]["items"], found["data"]["unknown"], found["warnings"]) == (len(items), [], [])


def test_the_script_of_the_page_finds_what_is_wrong(tmp_path):
    (tmp_path / "import.schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "tracker.jsonl").write_text("\n".join([*EXAMPLES, lines({**ITEM, "colour": 1, "state": "ajar"})]))
    script = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert len(told) == 2
    assert all(line.startswith(f"{len(EXAMPLES) + 1} $") for line in told)
    assert "colour" in done.stdout


def test_what_export_writes_is_valid(load, tmp_path, demo_file):
    for project, content in (("demo", pathlib.Path(demo_file).read_bytes()), ("page", "\n".join(EXAMPLES))):
        assert load(content, project=project).returncode == 0
        command = [*FORGELORE, "export", "--project", project, "--include-internal", "--db", str(tmp_path / "lore.db")]
        written = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(written) in (6, 163)
        for line in written:
            validator.validate(json.loads(line))


WHOLE = {
    "kind": "change", "number": 7, "title": "t", "files": [{"new_path": "a", "old_path": "b", "status": "renamed"}], "labels": ["x"],
    "notes": [{"body": "n", "path": "a", "line": 3}], "links": [{"relation": "closes", "number": 1, "kind": "issue"}],
}  # fmt: skip
PARTS = {"notes": NoteLine, "files": FileLine, "links": LinkLine}
PLACES = [(None, key) for key in (*ItemLine.__struct_fields__, "colour")] + [
    (part, key) for part, struct in PARTS.items() for key in (*struct.__struct_fields__, "colour")
]
# Right in some places and wrong in others: the schema and the reader have to agree where.
REMOVED = object()
VALUES = [
    REMOVED, None, True, False, -1, 0, 5, 1.5, (1 << 63) - 1, 1 << 63, -(1 << 70), "", "text", "epic", "ajar", "yesterday", "2026-3-1", "12:00",
    "2026-03-01", "2026-03-01T12:00:00Z", " 2026-03-01 12:00 +02:00 ", "2026-03-01T12:00:00,5", [], ["a"], [1], [None], {}, {"x": 1}, [{}],
    *KIND_WORDS, "open", "opened", "reopened", "closed", "merged", "closes", "duplicate_of", "added", "deleted", "renamed", "modified",
]  # fmt: skip


@pytest.mark.parametrize(("part", "key"), PLACES)
def test_the_schema_takes_exactly_what_the_reader_takes(part, key):
    """A good line, with one thing in it replaced, added or removed."""
    for value in VALUES:
        item = json.loads(json.dumps(WHOLE))
        row = item if part is None else item[part][0]
        row.pop(key, None)
        if value is not REMOVED:
            row[key] = value
        try:
            is_read = not parse_line(json.dumps(item).encode()).unknown
        except InvalidValue:
            is_read = False
        assert validator.is_valid(item) == is_read, (value, [error.message for error in validator.iter_errors(item)])


# files that say little


@pytest.mark.parametrize(
    "content", ["not json\n[1]\n", '{"kind": "epic", "number": 1}\n', '{"number": 1}\n' * 30, b"\xff\xfe\x00"]
)
def test_a_file_of_only_bad_lines_fails_and_nothing_is_written(load, tmp_path, content):
    done = load(content)
    assert done.returncode == 13, done.stderr
    assert "error: no item in " in done.stderr
    assert "docs/import.md" in done.stderr
    assert not list(tmp_path.glob("lore.db*"))
    told = json.loads(load(content, "--json").stdout)
    assert (told["ok"], told["error"]["code"], told["data"]["items"]) == (False, "invalid_value", 0)
    assert len(told["data"]["skipped"]) == told["data"]["read"] > 0
    assert load(content, "--strict").returncode == 13
    assert not list(tmp_path.glob("lore.db*"))


def test_only_bad_lines_leave_a_store_as_it_was(load, tmp_path):
    load(lines(ITEM))
    before = (tmp_path / "lore.db").read_bytes()
    assert load("bad\n").returncode == load("bad\n", project="other").returncode == 13
    assert (tmp_path / "lore.db").read_bytes() == before


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_lines_is_a_warning(load, tmp_path, content):
    """It is what an export of an empty project looks like."""
    done = load(content)
    assert (done.returncode, done.stdout) == (0, "")
    assert "file is empty" in done.stderr
    assert not list(tmp_path.glob("lore.db*"))


def test_unknown_keys_are_named_once_with_their_first_line(load):
    odd = {**ITEM, "colour": "red", "notes": [{"body": "a", "edited": True}, {"body": "b", "edited": True}]}
    content = lines(
        ITEM,
        odd,
        {**odd, "number": 2},
        {"kind": "change", "number": 3, "links": [{"relation": "closes", "number": 1, "why": 1}]},
    )
    done = load(content)
    (told,) = [line for line in done.stderr.splitlines() if "unknown keys" in line]
    assert done.returncode == 0
    assert told.endswith(
        "ignored: colour (first in line 2), notes[].edited (first in line 2), links[].why (first in line 4)"
    )
    found = json.loads(load(content, "--json", "--strict").stdout)
    assert found["data"]["unknown"] == [
        {"key": "colour", "line": 2}, {"key": "notes[].edited", "line": 2}, {"key": "links[].why", "line": 4},
    ]  # fmt: skip
    assert len(found["warnings"]) == 1


def test_keys_without_end_are_not_listed_without_end(load):
    content = lines(*({**ITEM, "number": n, f"\x1b[2Jkey{n}" * 40: 1} for n in range(500)))
    done = load(content)
    assert done.returncode == 0
    assert "and 80 more" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr) < 4000


def test_an_item_that_comes_three_times_is_one_item(load):
    done = load(lines({**ITEM, "title": "first"}, {**ITEM, "title": "second"}, {**ITEM, "title": "third"}))
    assert "1 item in 3 lines, 1 item and 0 notes written, 2 lines for an item that came before" in done.stdout
    again = load(lines(*[{**ITEM, "title": "third"}] * 3), "--json")
    told = json.loads(again.stdout)["data"]
    assert (told["read"], told["items"], told["repeated"], told["written"]) == (3, 1, 2, 0)


def test_an_item_that_comes_again_much_later_is_still_one_item(load):
    """In another transaction than its first line."""
    content = lines(
        ITEM,
        *({**ITEM, "number": n} for n in range(2, IMPORT_BATCH + 1)),
        {**ITEM, "title": "new"},
        {**ITEM, "kind": "change"},
    )
    told = json.loads(load(content, "--json", "--no-docs").stdout)["data"]
    assert (told["read"], told["items"], told["repeated"], told["written"]) == (
        IMPORT_BATCH + 2,
        IMPORT_BATCH + 1,
        1,
        IMPORT_BATCH + 1,
    )
