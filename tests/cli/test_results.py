"""What people do with results: count them, page through them, hand them on, open them."""

import csv
import io
import json
import os
import shlex
import webbrowser

import pytest

from forgelore.surfaces.cli.command import build_parser
from forgelore.surfaces.cli.search import MAX_PASTED


def write(tmp_path, *items):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return str(path)


def test_a_line_says_how_many_results_there_are_and_how_they_were_found(demo):
    first = demo("search", "deleted files", "--mode", "lexical", "--limit", "2").out.splitlines()[0]
    assert first.partition(" (")[0].removesuffix(" results").isdecimal()
    assert first.partition(" (")[2] == "lexical)"
    assert " results (lexical)" in demo("similar", "#41", "--mode", "lexical").out


def test_where_meaning_takes_part_there_are_at_least_so_many(demo):
    assert demo("embed", "--embedder", "lore").code == 0
    out = demo("search", "deleted files", FORGELORE_EMBEDDER="lore").out
    assert out.startswith("at least ")
    assert " results (hybrid)" in out


def test_every_hit_has_its_address(demo):
    hits = demo("search", "deleted files", "--json").data["hits"]
    assert all(hit["url"].startswith("https://github.com/lanternsync/lantern/") for hit in hits)
    out = demo("search", "deleted files").out
    assert all(hit["url"] in out for hit in hits)


def test_a_hit_names_its_project_when_the_store_has_several(demo, tmp_path):
    assert demo("search", "deleted files", "--json").data["hits"][0]["ref"] == "#41"
    items = [{"kind": "release", "number": 1, "title": "Deleted files stay deleted", "tag": "v1.0"}]
    assert demo("import", write(tmp_path, *items), "--project", "other/one").code == 0
    refs = [hit["ref"] for hit in demo("search", "deleted files", "--mode", "lexical", "--json").data["hits"]]
    assert {"lanternsync/lantern#41", "other/one v1.0"} <= set(refs)
    assert " lanternsync/lantern#41 " in demo("search", "deleted files", "--project", "lanternsync/lantern").out
    liked = demo("similar", "lanternsync/lantern#41", "--json").data["hits"]
    assert all(hit["ref"].startswith("lanternsync/lantern#") for hit in liked)


def test_pages_go_on_from_each_other(demo):
    first = demo("search", "deleted files", "--limit", "3", "--json").data
    second = demo("search", "deleted files", "--limit", "3", "--offset", first["next"], "--json").data
    assert (first["offset"], second["offset"]) == (0, 3)
    assert not {hit["ref"] for hit in first["hits"]} & {hit["ref"] for hit in second["hits"]}
    assert "more with --offset 3" in demo("search", "deleted files", "--limit", "3").out
    assert "\n 4. " in demo("search", "deleted files", "--limit", "3", "--offset", "3").out
    assert "no such page" in demo("search", "deleted", "--mode", "lexical", "--offset", "9000").out
    assert demo("search", "deleted", "--offset", "many").code == 13
    assert "\n 4. " in demo("search", "--similar-to", "#41", "--offset", "3").out


def test_pages_of_what_an_item_resembles(demo):
    first = demo("similar", "#41", "--limit", "3", "--json").data
    second = demo("similar", "#41", "--limit", "3", "--offset", first["next"], "--json").data
    both = [hit["number"] for hit in (*first["hits"], *second["hits"])]
    assert both == [hit["number"] for hit in demo("similar", "#41", "--limit", "6", "--json").data["hits"]]
    assert (second["offset"], second["chance"], second["total"]) == (3, None, first["total"])
    assert "more with --offset 3" in demo("similar", "#41", "--limit", "3").out
    assert "no such page" in demo("similar", "#41", "--offset", "9000").out


def test_other_names_of_modes(demo):
    assert demo("search", "relay", "--mode", "fts", "--json").data["mode"] == "lexical"
    by_vectors, by_meaning = (demo("search", "relay", "--mode", mode) for mode in ("vector", "semantic"))
    assert (by_vectors.code, by_vectors.err) == (by_meaning.code, by_meaning.err)
    assert by_vectors.code != 2
    assert demo("search", "relay", "--mode", "words").code == 2


def test_standard_input_is_searched_for_as_it_stands(demo):
    trace = b'Traceback:\n  File "aio.py"\nRuntimeError: Event loop is closed is:fun label:nobody -verbose'
    done = demo("search", "-", "--mode", "lexical", "--json", stdin=trace)
    assert done.code == 0
    assert done.data["query"] == trace.decode()
    assert done.data["hits"][0]["number"] == 173
    assert json.loads(done.out)["warnings"] == []


def test_standard_input_is_bounded_and_may_be_anything_but_empty(demo):
    done = demo("search", "-", stdin=b"deleted files " + b"x\xff" * MAX_PASTED)
    assert done.code == 0
    assert "only the beginning is used" in done.err
    assert demo("search", "-", stdin=b" \n").code == 13
    assert "nothing matches" in demo("search", "-", "--mode", "lexical", stdin=b"qqzzy " * 500).out


@pytest.mark.parametrize("words", [["list", "issues"], ["search", "deleted files"], ["similar", "#41"]])
def test_rows_for_other_programs_say_the_same_in_every_format(demo, words):
    tsv = demo(*words, "--format", "tsv").out.splitlines()
    lines = [json.loads(line) for line in demo(*words, "--format", "jsonl").out.splitlines()]
    rows = list(csv.DictReader(io.StringIO(demo(*words, "--format", "csv").out)))
    assert len(rows) == len(lines) == len(tsv) - 1 > 5
    names = tsv[0].split("\t")
    for row, line, fields in zip(rows, lines, tsv[1:], strict=True):
        assert [row["ref"], row["title"], row["url"]] == [line["ref"], line["title"], line["url"]]
        assert dict(zip(names, fields.split("\t"), strict=True)) == {
            name: " ".join(value.split()) for name, value in row.items()
        }
    whole = demo(*words, "--json").data
    assert lines == (whole if isinstance(whole, list) else whole["hits"])


def test_hostile_titles_stay_in_their_field(demo, tmp_path):
    title = '=HYPERLINK("http://x","y")\tand\n"more"\x1b[31m'
    assert (
        demo("import", write(tmp_path, {"kind": "issue", "number": 1, "title": title}), "--project", "bad/one").code
        == 0
    )
    (line,) = demo("list", "issues", "--project", "bad/one", "--format", "tsv").out.splitlines()[1:]
    assert len(line.split("\t")) == 10
    (row,) = csv.DictReader(io.StringIO(demo("list", "issues", "--project", "bad/one", "--format", "csv").out))
    assert row["title"].startswith("'=HYPERLINK")
    assert "\x1b" not in line + row["title"]


def test_two_formats_are_refused(demo):
    done = demo("list", "issues", "--format", "tsv", "--json")
    assert (done.code, done.error["code"]) == (2, "usage")
    assert demo("list", "issues", "--format", "xml").code == 2


@pytest.fixture
def no_browser(monkeypatch):
    """Python's module looks for browsers once in a process."""
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})


@pytest.fixture
def browser(no_browser, tmp_path):
    """A browser that writes down what it is to open."""
    path, seen = tmp_path / "browser", tmp_path / "seen"
    path.write_text(f'#!/bin/sh\necho "$1" >> {shlex.quote(str(seen))}\n')
    os.chmod(path, 0o755)
    return {"BROWSER": f"{shlex.quote(str(path))} %s"}, lambda: seen.read_text().split() if seen.exists() else []


def test_web_opens_the_item(demo, browser):
    environ, seen = browser
    assert demo("search", "#41", "--web", **environ).code == 0
    assert demo("show", "#48", "#41", "--web", **environ).code == 0
    assert seen() == [f"https://github.com/lanternsync/lantern/issues/{number}" for number in (41, 48, 41)]
    assert demo("search", "qqzzy", "--mode", "lexical", "--web", **environ).code == 5


@pytest.mark.parametrize(
    "url", ["https://evil.example/issues/1", "file:///etc/passwd", "javascript:alert(1)", "https://github.com@evil.example/", None,
            "https://github.com.evil.example/x", "--help"]
)  # fmt: skip
def test_web_opens_nothing_but_a_page_of_the_project_s_own_host(demo, browser, tmp_path, url):
    environ, seen = browser
    item = {"kind": "issue", "number": 1, "title": "Quokka", "url": url}
    assert demo("import", write(tmp_path, item), "--project", "acme/evil").code == 0
    for words in (["search", "quokka", "--project", "acme/evil"], ["show", "acme/evil#1"]):
        assert demo(*words, "--web", **environ).code == 13
    assert seen() == []


def test_a_browser_that_cannot_be_started_is_told(demo, no_browser):
    done = demo("show", "#41", "--web", BROWSER="no-such-browser-here", PATH="/nowhere")
    assert done.code == 3
    assert "https://github.com/lanternsync/lantern/issues/41" in done.err


def test_several_items_are_shown_one_after_the_other(demo):
    done = demo("show", "#41", "issue", "48", "--json")
    assert [item["number"] for item in done.data] == [41, 48]
    out = demo("show", "#41", "#48").out
    assert out.index("Deleted files come back") < out.index("Archive folder we removed")
    assert demo("show", "#41", "#999999").code == 5
    assert isinstance(demo("show", "issue", "41", "--json").data, dict)


@pytest.mark.parametrize("name", ["search", "similar", "list", "count", "show", "history"])
def test_every_option_has_an_example(name):
    parser, command = build_parser(name)
    options = {flag for action in parser.actions() for flag in action.option_strings if flag.startswith("--")}
    words = {word for line in command.examples for word in line.split()}
    assert options - words - {"--help"} == set()


def test_labels_that_are_left_out_are_counted(demo, tmp_path):
    items = [
        {"kind": "issue", "number": number, "title": "Quokka", "labels": list("abcdef")[:count]}
        for number, count in ((1, 4), (2, 6))
    ]
    assert demo("import", write(tmp_path, *items), "--project", "acme/labels").code == 0
    lines = [line for line in demo("search", "quokka", "--project", "acme/labels").out.splitlines() if " · " in line]
    assert sorted(line.rpartition(" · ")[2] for line in lines) == ["a, b, c, d", "a, b, c, d, +2"]


def test_what_nothing_was_asked_of_has_no_relevance(demo):
    for words in (("label:bug",), ("--label", "bug"), ("relay label:bug", "--sort", "created")):
        out = demo("search", *words, "--limit", "3").out
        assert "\n 3. " in out
        assert "  strong\n" not in out
    assert "  strong\n" in demo("search", "relay label:bug", "--limit", "3").out
    assert demo("search", "label:bug", "--limit", "1", "--json").data["hits"][0]["relevance"] == 1


def test_a_list_by_its_updates_shows_when_these_were(demo):
    (hit,) = demo("search", "label:bug", "--limit", "1", "--json").data["hits"]
    assert f" · updated {hit['updated_at'][:10]} · " in demo("search", "label:bug", "--limit", "1").out
    (hit,) = demo("search", "relay", "--sort", "created", "--limit", "1", "--json").data["hits"]
    assert f" · {hit['created_at'][:10]} · " in demo("search", "relay", "--sort", "created", "--limit", "1").out


@pytest.mark.parametrize(
    ("words", "column"),
    [(("sort:created-asc",), "created_at"), (("--sort", "created"), "created_at"), ((), "updated_at"),
     (("--sort", "created", "sort:updated"), "updated_at"), (("sort:comments",), "updated_at")],
)  # fmt: skip
def test_a_list_shows_the_date_that_it_is_sorted_by(demo, words, column):
    items = demo("list", "issues", "--limit", "9", *words, "--json").data
    lines = demo("list", "issues", "--limit", "9", *words).out.splitlines()
    assert all(f"  {item[column][:10]}" in line for item, line in zip(items, lines, strict=False))
    assert any(item["created_at"][:10] != item["updated_at"][:10] for item in items)


def test_filters_that_allow_nothing_say_so(demo):
    assert demo("search", "--label", "bug", "--author", "nobody-here").out.startswith("nothing matches the filters\n")


def test_rows_tell_an_item_from_its_threads(demo):
    rows = [line.split("\t") for line in demo("search", "deleted files", "--format", "tsv").out.splitlines()]
    hits = demo("search", "deleted files", "--json").data["hits"]
    assert rows[0][-1] == "representation"
    assert [row[-1] for row in rows[1:]] == [hit["representation"] for hit in hits]
    assert {row[-1] for row in rows[1:]} == {"item", "thread"}
    assert demo("search", "deleted files", "--mode", "lexical", "--format", "tsv").err == ""
    assert demo("similar", "#41", "--format", "csv").out.splitlines()[0].endswith(",url,representation")
    assert demo("list", "issues", "--format", "tsv").out.splitlines()[0].endswith("\turl")


@pytest.mark.parametrize("chosen", ["tsv", "csv", "jsonl"])
def test_notes_stand_beside_rows(demo, chosen):
    done = demo("search", "#41", "--format", chosen)
    assert "#41 names the item at the top" in done.err
    assert "names the item" not in done.out
    assert "#99999999 does not exist" in demo("search", "#99999999", "--format", chosen).err


def test_rows_of_a_bad_lot_say_so(demo):
    words = ("search", "pizza basil mozzarella relay", "--mode", "lexical")
    assert demo(*words, "--json").data["is_nothing_fitting"]
    assert "no close match" in demo(*words, "--format", "tsv").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("#99999999",), "#99999999 does not exist"),
        (("99999999",), "#99999999 does not exist"),
        (("#41", "is:open"), "#41 is excluded by the filters"),
        (("pizza basil mozzarella relay", "--mode", "lexical"), "no close match"),
    ],
)
def test_web_opens_nothing_that_was_not_asked_for(demo, browser, words, message):
    environ, seen = browser
    done = demo("search", *words, "--web", **environ)
    assert done.code == 5
    assert message in done.err
    assert "leave out --web" in done.err
    assert seen() == []
    assert demo("search", *words, "--web", "--json", **environ).error["code"] == "not_found"


def test_web_names_the_other_items_of_a_number(demo, browser, tmp_path):
    environ, seen = browser
    item = {"kind": "issue", "number": 41, "title": "Quokka", "url": "https://github.com/acme/web/issues/41"}
    assert demo("import", write(tmp_path, item), "--project", "acme/web").code == 0
    done = demo("search", "41", "-w", **environ)
    (opened,) = seen()
    refs = {"https://github.com/acme/web/issues/41": "lanternsync/lantern#41"}
    other = refs.get(opened, "acme/web#41")
    assert f"the query also names {other}" in done.err
    assert f"the query also names {other}" in " ".join(
        json.loads(demo("search", "41", "-w", "--json", **environ).out)["warnings"]
    )
    assert "also names" not in demo("search", "acme/web#41", "-w", **environ).err
    assert "also names" not in demo("search", "41", "--limit", "1", "--offset", "1", "-w", **environ).err


def test_a_later_page_of_a_number_can_be_opened(demo, browser):
    environ, seen = browser
    assert demo("search", "#41", "--offset", "1", "--web", **environ).code == 0
    assert len(seen()) == 1


@pytest.fixture
def two(demo, tmp_path):
    """A store with two projects whose numbers are the same."""
    items = [
        {"kind": "issue", "number": number, "title": f"Quokka {number} loses deleted files", "updated_at": "2030-01-01"}
        for number in (41, 48)
    ]
    items.append({"kind": "release", "number": 1, "title": "Deleted files stay deleted", "tag": "v1.0"})
    assert demo("import", write(tmp_path, *items), "--project", "other/one").code == 0
    assert demo("import", write(tmp_path, items[-1]), "--project", "https://gitlab.com/third/one").code == 0
    return demo


def test_a_listed_ref_names_its_project_when_the_store_has_several(two):
    refs = [item["ref"] for item in two("list", "issues", "--limit", "3", "--json").data]
    assert refs[:2] == ["other/one#48", "other/one#41"]
    assert refs[2].startswith("lanternsync/lantern#")
    for words in (("--format", "tsv"), ("--format", "csv"), ()):
        lines = two("list", "issues", "--limit", "3", *words).out.splitlines()
        assert [ref for ref in refs if any(line.startswith(ref) for line in lines)] == refs
    assert json.loads(two("list", "issues", "--limit", "1", "--format", "jsonl").out)["ref"] == refs[0]
    assert two("list", "issues", "--project", "other/one", "--json").data[0]["ref"] == "other/one#48"
    # The ref says it: no other column does.
    assert two("list", "issues", "--limit", "3").out.count("other/one") == 2


def test_a_ref_that_was_printed_can_be_typed(two):
    refs = [item["ref"] for item in two("list", "items", "--limit", "9999", "--json").data]
    refs += [hit["ref"] for hit in two("search", "deleted files", "--json").data["hits"]]
    assert {"other/one v1.0", "gitlab:third/one v1.0"} <= set(refs)
    for ref in {ref.rpartition("#")[0] or ref: ref for ref in refs}.values():
        assert two("show", ref).code == 0
    assert two("show", "other/one v1.0").out.startswith("Deleted files stay deleted")


def test_what_is_there_is_shown_before_what_is_missing_is_told(demo, browser):
    done = demo("show", "#41", "#99999", "issue", "48")
    assert done.code == 5
    assert "Deleted files come back" in done.out
    assert "\n─" in done.out
    assert "error: #99999 is not in" in done.err
    data = demo("show", "#41", "#99999", "--json")
    assert ([item["number"] for item in data.data], data.error["code"]) == ([41], "not_found")
    several = demo("show", "#99998", "#41", "#99999")
    assert "#99998 is not in" in several.err
    assert "#99999 is not in" in several.err
    nothing = demo("show", "#99999", "#99998", "--json")
    assert (nothing.code, nothing.error["message"][:6]) == (5, "#99999")
    environ, seen = browser
    assert demo("show", "#41", "#99999", "--web", **environ).code == 5
    assert len(seen()) == 1
