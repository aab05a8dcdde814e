"""list and count take the qualifiers of search, with the same meaning and the same suggestions."""

import json

import pytest


def numbers(done):
    assert done.code == 0, done.out + done.err
    return [row["number"] for row in done.data]


@pytest.mark.parametrize(
    ("query", "flags"),
    [
        ("label:bug is:open", ["--label", "bug", "--state", "open"]),
        ("author:mira-k created:2024", ["--author", "@mira-k", "--created", "2024"]),
        ("comments:>3 updated:>2024-06", ["--comments", ">3", "--updated", ">2024-06"]),
        ("no:label", ["--no", "label"]),
        ("no:assignee no:milestone label:windows", ["--no", "assignee", "--no", "milestone", "--label", "windows"]),
        ("project:lanternsync/lantern is:issue", []),
    ],
)
def test_a_qualifier_means_what_the_flag_means(demo, query, flags):
    more = ["--limit", "500", "--json"]
    listed = numbers(demo("list", "issues", query, *more))
    assert listed == numbers(demo("list", "issues", *flags, *more))
    assert demo("count", "issues", query, "--json").data["total"] == len(listed)


def test_exclusions_hold(demo):
    every = demo("count", "issues", "--json").data["total"]
    bugs = demo("count", "issues", "label:bug", "--json").data["total"]
    assert demo("count", "issues", "-label:bug", "--json").data["total"] == every - bugs > 0
    unlabelled = demo("count", "issues", "no:label", "--json").data["total"]
    assert demo("count", "issues", "-no:label", "--json").data["total"] == every - unlabelled


def test_an_order_may_be_typed(demo):
    oldest = demo("list", "issues", "sort:created-asc", "--limit", "5", "--json").data
    assert [row["created_at"] for row in oldest] == sorted(row["created_at"] for row in oldest)
    talked = demo("list", "issues", "sort:comments", "--limit", "5", "--json").data
    assert talked == demo("list", "issues", "--sort", "comments", "--limit", "5", "--json").data
    assert talked[0]["number"] != oldest[0]["number"]


def test_words_are_for_search(demo):
    for words in (["crash"], ["label:bug", "crash"], ["-crash", "label:bug"], ["in:title"]):
        done = demo("list", "issues", *words)
        assert done.code == 13
        assert "not a filter" in done.err
    assert demo("list", "issues", "is:pr").code == 13
    assert demo("list", "issues", "no:sense").code == 13
    assert demo("list", "issues", "is:pr", "is:issue").code == 0


@pytest.mark.parametrize("command", ["list", "count"])
def test_a_value_nobody_has_is_told_with_a_suggestion(demo, command):
    for words in (["--label", "lantrnd"], ["label:lantrnd"]):
        assert "did you mean 'lanternd'?" in demo(command, "issues", *words).err
        assert "did you mean 'lanternd'?" in json.loads(demo(command, "issues", *words, "--json").out)["warnings"][0]
    assert "did you mean 'mira-k'?" in demo(command, "issues", "author:mira-kk").err
    assert demo(command, "issues", "label:lanternd").err == ""
    done = demo(command, "issues", "project:lanternsync/lantrn")
    assert (done.code, "did you mean lanternsync/lantern?" in done.err) == (5, True)


def test_typed_qualifiers_count_as_filters_when_nothing_is_found(demo):
    typed = demo("search", "qqzzy label:bug", "--mode", "lexical").out
    assert "try fewer filters" in typed
    assert typed.splitlines()[1] == demo("search", "qqzzy", "--label", "bug", "--mode", "lexical").out.splitlines()[1]
    assert "try fewer filters" not in demo("search", "qqzzy", "--mode", "lexical").out
