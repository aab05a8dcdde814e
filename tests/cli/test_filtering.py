"""What people give as filters: names with and without @, several values, nothing at all, and what cannot be meant."""

import json

import pytest

import forgelore
from forgelore.errors import InvalidValue, StoreError


def numbers(done):
    return sorted(row["number"] for row in done.data)


def test_a_name_with_an_at_is_the_same_person_everywhere(demo, tmp_path):
    for words in (["list", "issues", "--limit", "200"], ["count", "issues"], ["search", "files", "--limit", "100"],
                  ["similar", "#41", "--limit", "100"], ["count", "notes"], ["count", "threads"]):  # fmt: skip
        plain, at = (demo(*words, "--author", name, "--json").data for name in ("fjorddata", "@FjordData"))
        assert plain == at
        assert plain if isinstance(plain, list) else plain["total"], words
    with forgelore.open(tmp_path / "lore.db") as lore:
        assert lore.search("files", author="@fjorddata").hits == lore.search("files", author="fjorddata").hits != []


@pytest.mark.parametrize("command", [["list", "issues", "--limit", "500"], ["count", "issues"]])
def test_repeated_states_and_authors_are_any_and_labels_are_all(demo, command):
    def total(*words):
        data = demo(*command, *words, "--json").data
        return len(data) if isinstance(data, list) else data["total"]

    assert total("--state", "open", "--state", "closed") == total() == 102
    by_both = total("--author", "fjorddata", "--author", "@nils-hagemann")
    assert by_both == total("--author", "fjorddata") + total("--author", "nils-hagemann") > 2
    assert (
        0 < total("--label", "bug", "--label", "lanternd") < min(total("--label", "bug"), total("--label", "lanternd"))
    )


def test_repeated_filters_mean_the_same_in_search(demo):
    """The hits for a word under several values are the union (authors, states), or the intersection (labels), of each."""

    def found(*words):
        hits = demo("search", "sync", "--type", "issue", "--limit", "100", *words, "--json").data["hits"]
        return {hit["number"] for hit in hits}

    assert found("--author", "fjorddata", "--author", "@yuki-m") == found("--author", "fjorddata") | found(
        "--author", "yuki-m"
    )
    assert found("--state", "open", "--state", "closed") == found()
    assert found("--label", "bug", "--label", "relay") == found("--label", "bug") & found("--label", "relay")


def test_a_filter_with_one_value_is_not_silently_the_last_of_two(demo):
    for name, values in (("--after", ("2024", "2025")), ("--before", ("2024", "2025")), ("--updated-after", ("1y", "2y")),
                         ("--project", ("lanternsync/lantern", "lanternsync/lantern"))):  # fmt: skip
        for command in (["list", "issues"], ["count", "issues"], ["search", "x"], ["similar", "#41"]):
            done = demo(*command, name, values[0], name, values[1])
            assert done.code == 2
            assert f"{name} is given twice" in done.err


def test_an_author_that_is_nothing_but_an_at_is_empty(demo):
    assert demo("list", "issues", "--author", "@").code == 13


def test_contradictory_dates_are_told(demo):
    for command in (["list", "issues"], ["count", "notes"], ["search", "files"], ["similar", "#41"]):
        done = demo(*command, "--after", "2025-01-01", "--before", "2024-01-01")
        assert done.code == 13
        assert "2025-01-01" in done.err
        assert "2024-01-01" in done.err
        assert demo(*command, "--after", "2024-01-01", "--before", "2024-01-01").code == 13
        assert demo(*command, "--after", "2024-01-01", "--before", "2024-01-02").code == 0


def test_list_and_count_refuse_what_search_refuses(demo):
    for command in (["list", "issues"], ["count", "issues"], ["search", "x"]):
        assert demo(*command, "--state", "done").code == 13
        assert demo(*command, "--after", "soon").code == 13
        assert demo(*command, "--state", "Opened").code == 0
        assert demo(*command, "--project", "no/such").code == 5


def test_earlier_does_not_take_back_before(demo):
    """`similar --earlier --before DATE` is limited by both."""
    hits = demo("similar", "#157", "--earlier", "--before", "2024-01-01", "--limit", "100", "--json").data["hits"]
    assert hits
    assert all(hit["created_at"] < "2024" for hit in hits)


def test_what_was_never_updated_counts_from_its_creation(cli, tmp_path):
    """As it is sorted: GitLab's releases have no other time."""
    lines = [
        {"kind": "release", "number": n, "title": f"R{n}", "tag": f"v{n}", "created_at": f"202{n}-01-01T00:00:00Z"}
        for n in (4, 5)
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    cli("import", str(tmp_path / "r.jsonl"), "--project", "p")
    assert numbers(cli("list", "releases", "--updated-after", "2024-06-01", "--json")) == [5]
    hits = cli("search", "r5", "--updated-after", "2024-06-01", "--json").data["hits"]
    assert [hit["number"] for hit in hits] == [5]


@pytest.mark.parametrize(
    "name", ["project", "type", "state", "author", "label", "path", "after", "before", "updated_after"]
)
def test_an_empty_filter_from_python_is_an_error(demo, tmp_path, name):
    with forgelore.open(tmp_path / "lore.db") as lore:
        assert lore.search("files", **{name: None}).hits
        for value in (
            ("", " ") if name in ("project", "after", "before", "updated_after") else ("", " ", [""], ["x", ""])
        ):
            with pytest.raises(InvalidValue, match="is empty") as caught:
                lore.search("files", **{name: value})
            assert name in caught.value.message
            assert caught.value.hint


def test_several_values_from_python(demo, tmp_path):
    with forgelore.open(tmp_path / "lore.db") as lore:
        hits = lore.search("files", author=["@fjorddata", "yuki-m"], limit=100).hits
        assert {hit.row.author for hit in hits} == {"fjorddata", "yuki-m"}


def test_no_path_is_no_database(demo):
    with pytest.raises(InvalidValue, match="empty"):
        forgelore.open("")
    with pytest.raises(StoreError):
        forgelore.open("nowhere.db")


def test_a_query_file_takes_several_authors_and_no_empty_filter(demo, tmp_path):
    lines = [
        {"q": "deleted files come back", "expect": ["#41"], "author": ["@s-abara", "nobody"]},
        {"q": "deleted files come back", "expect": ["#41"], "author": None},
        {"q": "deleted files come back", "expect": ["#41"], "author": ""},
        {"q": "deleted files come back", "expect": ["#41"], "after": ""},
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    data = demo("evaluate", str(tmp_path / "q.jsonl"), "--mode", "lexical", "--json").data
    assert data["golden"]["n"] == 2
    assert data["golden"]["mrr"] > 0
    assert [(bad["line"], bad["reason"]) for bad in data["left_out"]] == [(3, "author is empty"), (4, "after is empty")]


@pytest.mark.parametrize("command", ["list", "count", "search", "similar"])
def test_help_states_the_rule_for_repeated_filters(cli, command):
    text = cli(command, "--help").out
    assert "Repeat one to match any of its values; of labels, all must match." in text
    for option in ("--state", "--author", "--project", "--label", "--path", "--after", "--before", "--updated-after"):
        assert option in text
