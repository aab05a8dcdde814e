"""Habits of people who know `gh search`: served, or told what says it here."""

import json

import pytest


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        (("relay repo:lanternsync/lantern",), ("relay", "--project", "lanternsync/lantern")),
        (("relay", "--repo", "lanternsync/lantern"), ("relay", "--project", "lanternsync/lantern")),
        (("relay", "--sort", "created"), ("relay sort:created",)),
        (("relay", "--sort", "updated", "--order", "asc"), ("relay sort:updated-asc",)),
        (("relay sort:comments", "--sort", "created"), ("relay sort:comments",)),
        (("relay", "--order", "desc"), ("relay",)),
        (("title: relay", "--fts-mode", "raw", "--sort", "created"), ("relay in:title sort:created",)),
    ],
)
def test_other_spellings_of_the_same_question(demo, arguments, same):
    def numbers(words):
        return [hit["number"] for hit in demo("search", *words, "--mode", "lexical", "--json").data["hits"]]

    assert numbers(arguments) == numbers(same) != []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("search", "relay", "--json", "number,title"), "pick them with jq"),
        (("search", "relay", "--jq", ".[]"), "into jq"),
        (("search", "relay", "--match", "title"), "in:title"),
        (("search", "relay", "--merged"), "--state merged"),
        (("search", "relay", "--no-assignee"), "--no assignee"),
        (("list", "issues", "--search", "is:open"), "behind the kind"),
    ],
)
def test_what_is_said_otherwise_here(demo, arguments, hint):
    done = demo(*arguments)
    assert done.code == 2
    assert hint in (json.loads(done.out)["error"]["hint"] if "--json" in arguments else done.err)


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (("search", "relay author:@me"), "who @me is"),
        (("list", "issues", "--assignee", "@me"), "who @me is"),
        (("search", "label:bug,relay"), "one by one"),
        (("search", "issues", "relay stalls"), "is:issue"),
        (("search", "relay", "--order", "asc"), "without --sort"),
    ],
)
def test_what_cannot_be_known_is_told(demo, arguments, warning):
    assert warning in demo(*arguments).err
    assert warning in " ".join(json.loads(demo(*arguments, "--json").out)["warnings"])


def test_a_qualifier_of_github_that_is_none_here_is_told(demo):
    notes = demo("search", "relay reason:completed -linked:pr reason:x", "--mode", "fts", "--json").data["notes"]
    assert [note.partition(":")[0] for note in notes] == ["reason", "linked"]
    for text in ("repo:relay", "TypeError: x", "std::vec", "reason: x", '"reason:x"'):
        assert demo("search", text, "--mode", "fts", "--json").data["notes"] == []


def test_a_comparison_and_a_range_at_once_are_told(demo):
    done = demo("search", "relay updated:>=2024-01-01..2024-02-01")
    assert done.code == 13
    assert "write 2024-01-01..2024-02-01" in done.err
