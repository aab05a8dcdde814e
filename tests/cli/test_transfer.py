"""import and export: nothing lost, bad lines told, equal stores give equal bytes."""

import gzip
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ITEM = {"kind": "issue", "number": 1, "title": "t"}


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items)


def test_a_file_is_read_and_reading_it_again_writes_nothing(cli, demo_file):
    first = cli("import", demo_file, "--project", "lanternsync/lantern", "--json").data
    assert (first["written"], first["notes"]) == (163, 436)
    again = cli("import", demo_file, "--project", "lanternsync/lantern", "--json").data
    assert (again["written"], again["notes"]) == (0, 0)


def test_export_of_an_import_of_an_export_is_the_same_bytes(demo, tmp_path):
    first = demo("export").out
    (tmp_path / "first.jsonl").write_text(first, encoding="utf-8")
    demo("import", str(tmp_path / "first.jsonl"), "--project", "copy/of")
    assert demo("export", "--project", "copy/of").out == first


def test_every_listed_field_of_the_format_survives(cli, tmp_path):
    item = {
        "kind": "change", "number": 7, "title": "T", "body": "B\r\nC", "state": "merged", "state_reason": None, "author": "ana",
        "labels": ["a", "b"], "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00.500Z",
        "closed_at": "2026-01-03T00:00:00Z", "url": "https://x/7",
        "files": ["z.py", {"new_path": "n", "old_path": "o", "status": "renamed"}, {"new_path": "d", "old_path": "d", "status": "deleted"}],
        "notes": [
            {"author": "tom", "body": "one", "created_at": "2026-01-01T10:00:00Z", "path": None, "line": None, "is_system": False},
            {"author": None, "body": "two", "created_at": "2026-01-01T11:00:00Z", "path": "z.py", "line": 3, "is_system": False},
            {"author": "bot", "body": "three", "created_at": "2026-01-01T12:00:00Z", "path": None, "line": None, "is_system": True},
        ],
    }  # fmt: skip
    (tmp_path / "x.jsonl").write_text(lines(item))
    cli("import", str(tmp_path / "x.jsonl"), "--project", "p")
    out = json.loads(cli("export", "--project", "p").out)
    out["files"].sort(key=str)
    assert out == {**item, "files": sorted(item["files"], key=str)}


def test_a_bad_line_is_told_by_number_and_skipped(cli, tmp_path):
    bad = ["not json", '{"kind": "issue"}', '{"kind": "banana", "number": 1}', '{"kind": "issue", "number": 1, "state": "ajar"}', "[1]",
           '{"kind": "issue", "number": 2, "created_at": "yesterday"}', '{"kind": "issue", "number": "7"}', '{"kind": "issue", "number": 99999999999999999999}']  # fmt: skip
    (tmp_path / "x.jsonl").write_text(lines(ITEM) + "\n".join(bad) + "\n\n" + lines({**ITEM, "number": 5}))
    done = cli("import", str(tmp_path / "x.jsonl"), "--project", "p", "--json")
    assert done.code == 0
    assert [entry["line"] for entry in done.data["skipped"]] == list(range(2, 2 + len(bad)))
    assert done.data["written"] == 2
    assert "line 2" in json.loads(done.out)["warnings"][0]


def test_strict_stops_at_the_bad_line(cli, tmp_path):
    (tmp_path / "x.jsonl").write_text(lines(ITEM) + "nonsense\n" + lines({**ITEM, "number": 5}))
    done = cli("import", str(tmp_path / "x.jsonl"), "--project", "p", "--strict")
    assert done.code == 13
    assert "line 2" in done.err


def test_gzip_and_standard_input_are_read(cli, tmp_path):
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(lines(ITEM).encode()))
    assert cli("import", str(tmp_path / "x.jsonl.gz"), "--project", "p", "--json").data["written"] == 1
    assert cli("import", "-", "--project", "q", "--json", stdin=lines(ITEM).encode()).data["written"] == 1


def test_half_a_gzip_file_keeps_what_came_and_says_so(cli, tmp_path):
    many = lines(*({**ITEM, "number": n, "body": os.urandom(50).hex()} for n in range(5000)))
    whole = gzip.compress(many.encode())
    (tmp_path / "x.gz").write_bytes(whole[: len(whole) // 2])
    done = cli("import", str(tmp_path / "x.gz"), "--project", "p")
    assert done.code == 13
    assert "ends unexpectedly" in done.err
    assert cli("count", "issues", "--json").data["total"] >= 1000


@pytest.mark.parametrize("path", ["/no/such/file.jsonl", "."])
def test_a_file_that_cannot_be_read_is_an_error(cli, path):
    assert cli("import", path, "--project", "p").code in (5, 13)


def test_a_changed_item_replaces_its_notes(cli, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(lines({**ITEM, "notes": [{"body": "a"}, {"body": "b"}]}))
    cli("import", str(path), "--project", "p")
    path.write_text(lines({**ITEM, "body": "new", "notes": [{"body": "b"}]}))
    cli("import", str(path), "--project", "p")
    item = json.loads(cli("export", "--project", "p").out)
    assert [note["body"] for note in item["notes"]] == ["b"]


def test_surrogates_nul_and_long_bodies_are_taken(cli, tmp_path):
    text = '{"kind": "issue", "number": 1, "title": "a\\u0000b", "body": "x\\ud800y\\r\\n' + "z" * 65536 + '"}\n'
    (tmp_path / "x.jsonl").write_text(text)
    assert cli("import", str(tmp_path / "x.jsonl"), "--project", "p", "--strict").code == 0
    item = json.loads(cli("export", "--project", "p").out)
    assert item["title"] == "a\ufffdb"
    assert item["body"].startswith("x\ufffdy\r\nz")
    assert len(item["body"]) == 65541 - 0


def test_internal_and_confidential_stay_behind_unless_asked(cli, tmp_path):
    (tmp_path / "x.jsonl").write_text(
        lines(
            {**ITEM, "notes": [{"body": "secret", "is_internal": True}, {"body": "open"}]},
            {**ITEM, "number": 2, "is_confidential": True},
        )
    )
    cli("import", str(tmp_path / "x.jsonl"), "--project", "p")
    done = cli("export", "--project", "p")
    assert "secret" not in done.out
    assert len(done.out.splitlines()) == 1
    assert "--include-internal" in done.err
    assert len(cli("export", "--project", "p", "--include-internal").out.splitlines()) == 2


def test_an_output_file_is_whole_or_not_there(demo, tmp_path):
    done = demo("export", "--output", str(tmp_path / "out.jsonl"), "--json")
    assert done.data["items"] == 163
    assert (tmp_path / "out.jsonl").read_text() == demo("export").out
    assert demo("export", "--output", str(tmp_path / "no" / "out.jsonl")).code == 13
    assert not list(tmp_path.glob("*.part"))


def test_a_device_or_a_link_is_written_through_and_not_replaced(demo, tmp_path):
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    assert demo("export", "--output", str(link)).code == 0
    assert link.is_symlink()
    assert target.read_text() == demo("export").out
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    import threading

    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    assert demo("export", "--output", str(pipe)).code == 0
    reader.join()
    assert pipe.is_fifo()
    assert got[0].decode() == target.read_text()


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "issue", "number": 2, "notes": [{"line": 9223372036854775808}]}',
        '{"kind": "issue", "number": 2, "links": [{"relation": "closes", "number": 9223372036854775808}]}',
        '{"kind": "issue", "number": 2, "created_at": "0001-01-01T00:00:00+14:00"}',
        '{"kind": "issue", "number": 2, "created_at": "9999-12-31T24:00:00Z"}',
        '{"kind": "issue", "number": 2, "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=["line", "link", "year 0", "year 10000", "depth"],
)
def test_a_value_that_does_not_fit_costs_its_own_line_only(cli, tmp_path, line):
    (tmp_path / "x.jsonl").write_text(lines(ITEM) + line + "\n" + lines({**ITEM, "number": 3}))
    done = cli("import", str(tmp_path / "x.jsonl"), "--project", "p", "--json")
    assert (done.code, done.data["written"], [bad["line"] for bad in done.data["skipped"]]) == (0, 2, [2])
    assert cli("list", "issues").code == cli("export", "--project", "p").code == 0


def test_a_file_signed_by_its_editor_is_read(cli, tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(ITEM).encode())
    assert cli("import", str(tmp_path / "x.jsonl"), "--project", "p", "--strict").code == 0


def test_an_import_does_not_mix_with_a_synced_project(cli, github, github_env, tmp_path):
    github.project.comment(github.project.add_issue("One"), "hello", author="tom")
    cli("sync", "acme/web", **github_env)
    (tmp_path / "x.jsonl").write_text(cli("export").out)
    done = cli("import", str(tmp_path / "x.jsonl"), "--project", "acme/web")
    assert done.code == 20
    assert "another name" in done.err


def test_a_project_that_was_imported_first_can_be_synced_later(cli, github, github_env, tmp_path):
    github.server.populate("acme/web", seed=4, issues=8, changes=4)
    (tmp_path / "x.jsonl").write_text(lines(*github.server.truth("acme/web")))
    cli("import", str(tmp_path / "x.jsonl"), "--project", "acme/web", **github_env)
    assert cli("sync", "acme/web").code == 0
    notes = sum(len(row["notes"]) for row in github.server.truth("acme/web"))
    assert cli("count", "notes", "--json").data["total"] == notes


def test_json_and_export_to_standard_output_do_not_mix(demo):
    assert demo("export", "--json").code == 2


TEXT = st.text(max_size=30)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.fixed_dictionaries({"title": TEXT, "body": st.none() | TEXT, "author": st.none() | TEXT, "labels": st.lists(TEXT, max_size=3), "notes": st.lists(st.fixed_dictionaries({"body": TEXT}), max_size=3)}), max_size=5))  # fmt: skip
def test_any_text_makes_the_round_trip(cli, tmp_path, items):
    for name in os.listdir(tmp_path):
        if name.startswith("lore.db"):
            os.unlink(tmp_path / name)
    path = tmp_path / "x.jsonl"
    path.write_text(lines(*({"kind": "issue", "number": n, **item} for n, item in enumerate(items))), encoding="utf-8")
    assert cli("import", str(path), "--project", "p", "--strict").code == 0
    read_back = [json.loads(line) for line in cli("export", "--project", "p").out.split("\n") if line]
    for n, item in enumerate(items):
        got = read_back[n]
        assert (got["title"], got["body"]) == (
            item["title"].replace("\0", "\ufffd"),
            item["body"] and item["body"].replace("\0", "\ufffd"),
        )
        assert [note["body"] for note in got["notes"]] == [
            note["body"].replace("\0", "\ufffd") for note in item["notes"]
        ]


@pytest.mark.parametrize("command", ["export", "calibrate"])
def test_the_project_may_be_named_as_sync_takes_it(demo, command):
    assert demo(command, "lanternsync/lantern").out == demo(command, "--project", "lanternsync/lantern").out
    assert demo(command, "no/such").code == 5
    twice = demo(command, "lanternsync/lantern", "--project", "acme/web")
    assert twice.code == 2
    assert "two projects: lanternsync/lantern and acme/web" in twice.err


def test_a_word_too_many_is_named_as_it_was_typed(demo):
    refused = demo("sync-status", "lanternsync/lantern", "--no-such")
    assert refused.code == 2
    assert "unrecognized arguments: --no-such" in refused.err
    refused = demo("demo", "acme/web")
    assert "unrecognized arguments: acme/web" in refused.err
    assert "did you mean" not in refused.err
    assert "to search for it: forgelore search -- --blocksonly" in demo("search", "--blocksonly").err
    assert demo("search", "--", "--blocksonly").code == 0


def test_stats_of_projects_add_up_to_those_of_the_file(demo, tmp_path):
    path = tmp_path / "web.jsonl"
    path.write_text(lines(ITEM, {**ITEM, "number": 2, "notes": [{"author": "ana", "body": "me too"}]}), "utf-8")
    demo("import", str(path), "--project", "acme/web")
    demo("embed", FORGELORE_EMBEDDER="lore")
    web, lantern, both = (demo("stats", *name, "--json").data for name in (["acme/web"], ["lanternsync/lantern"], []))
    assert (web["documents"]["total"], web["full_text"]["indexed"], web["vectors"]["embedded"]) == (3, 3, 3)
    for part, name in (
        ("documents", "total"),
        ("full_text", "indexed"),
        ("vectors", "embedded"),
        ("vectors", "chunks"),
    ):
        assert web[part][name] + lantern[part][name] == both[part][name] > 300
    assert demo("stats", "no/such").code == 5
    assert demo("stats", "acme/web", "--check").code == 2
