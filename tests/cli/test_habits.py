"""Habits of people who know `gh search`: served, or told what says it here."""

import json

import pytest

from forgelore.surfaces.cli.main import STEPS_OF_SYNC


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        (("relay repo:lanternsync/lantern",), ("relay", "--project", "lanternsync/lantern")),
        (("relay", "--repo", "lanternsync/lantern"), ("relay", "--project", "lanternsync/lantern")),
        (("relay", "--sort", "created"), ("relay sort:created",)),
        (("relay", "--sort", "updated", "--order", "asc"), ("relay sort:updated-asc",)),
        (("relay sort:comments", "--sort", "created"), ("relay sort:comments",)),
        (("relay AND is:open AND label:bug",), ("relay is:open label:bug",)),
        (("(is:open OR is:merged) relay",), ("relay", "--state", "open", "--state", "merged")),
        (("label:bug,windows relay",), ("relay", "--label", "bug,windows")),
        (("relay created:>'3 years ago'".replace("'", '"'),), ("relay", "--created", ">3 years ago")),
        (("relay created:>3 years ago",), ("relay", "--created", '>"3 years ago"')),
        (("relay created:2024..",), ("relay", "--created", "2024..*")),
        (("relay created:..2024",), ("relay", "--created", "*..2024")),
        (("issue 41",), ("#41",)),
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
        (("search", "relay", "--jq", ".[]"), "to jq"),
        (("search", "relay", "--match", "title"), "in:title"),
        (("search", "relay", "--merged"), "--state merged"),
        (("search", "relay", "--no-assignee"), "--no assignee"),
        (("list", "issues", "--search", "is:open"), "after the kind"),
    ],
)
def test_what_is_said_otherwise_here(demo, arguments, hint):
    done = demo(*arguments)
    assert done.code == 2
    assert hint in (json.loads(done.out)["error"]["hint"] if "--json" in arguments else done.err)


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (("search", "relay author:@me"), "@me is not supported here"),
        (("list", "issues", "--assignee", "@me"), "@me is not supported here"),
        (("search", "author:mira-k,ben"), "one by one"),
        (("search", "label:bug,relayy"), "did you mean 'relay'?"),
        (("search", "issues", "relay stalls"), "is:issue"),
        (("search", "relay", "--order", "asc"), "needs --sort"),
    ],
)
def test_what_cannot_be_known_is_told(demo, arguments, warning):
    assert warning in demo(*arguments).err
    assert warning in " ".join(json.loads(demo(*arguments, "--json").out)["warnings"])


def test_a_qualifier_of_github_that_is_none_here_is_told(demo):
    notes = demo("search", "relay reason:completed -linked:pr reason:x", "--mode", "fts", "--json").data["notes"]
    assert [note.partition(":")[0] for note in notes] == ["reason", "linked"]
    for text in ("TypeError: x", "std::vec", "reason: x", '"reason:x"'):
        assert demo("search", text, "--mode", "fts", "--json").data["notes"] == []


def test_a_comparison_and_a_range_at_once_are_told(demo):
    done = demo("search", "relay updated:>=2024-01-01..2024-02-01")
    assert done.code == 13
    assert "write 2024-01-01..2024-02-01" in done.err


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        (("search", "relay", "--label", "bug", "stalls"), ("search", "relay", "stalls", "--label", "bug")),
        (("search", "--label", "bug", "relay", "--state", "open", "stalls"), ("search", "relay stalls label:bug is:open")),
        (("list", "issues", "--limit", "6", "label:bug"), ("list", "issues", "label:bug", "--limit", "6")),
        (("list", "--limit", "6", "issues", "-label:bug"), ("list", "issues", "-label:bug", "--limit", "6")),
        (("count", "issues", "--state", "open", "label:bug"), ("count", "issues", "label:bug", "--state", "open")),
        (("similar", "--limit", "3", "#41"), ("similar", "#41", "--limit", "3")),
        (("show", "#41", "--system", "#48"), ("show", "#41", "#48", "--system")),
        (("search", "relay", "-L", "3", "-l", "bug", "-s", "open"),
         ("search", "relay", "--limit", "3", "--label", "bug", "--state", "open")),
        (("search", "relay", "-R", "lanternsync/lantern"), ("search", "relay", "--repo", "lanternsync/lantern")),
        (("list", "issues", "-L", "3", "-A", "s-abara", "-s", "closed"),
         ("list", "issues", "--limit", "3", "--author", "s-abara", "--state", "closed")),
        (("list", "issues", "-m", "1.0", "-a", "mira-k"), ("list", "issues", "--milestone", "1.0", "--assignee", "mira-k")),
        (("count", "issues", "-l", "bug", "-R", "lanternsync/lantern"), ("count", "issues", "label:bug")),
        (("similar", "#41", "-L", "3", "-s", "open"), ("similar", "#41", "--limit", "3", "--state", "open")),
        (("show", "-R", "lanternsync/lantern", "41"), ("show", "lanternsync/lantern#41")),
        (("list", "issues", "--state", "all", "--limit", "99"), ("list", "issues", "--limit", "99")),
        (("list", "items", "label:bug", "--limit", "9"), ("list", "items", "--label", "bug", "--limit", "9")),
    ],
)  # fmt: skip
def test_words_and_flags_stand_in_any_order(demo, arguments, same):
    done, meant = (demo(*words, "--json") for words in (arguments, same))
    assert (done.code, meant.code) == (0, 0)
    # How a search was typed is part of its answer.
    assert {**as_dict(done.data), "query": ""} == {**as_dict(meant.data), "query": ""}


def as_dict(data):
    return data if isinstance(data, dict) else {"rows": data}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("gcc", "-lpthread", "-static", "-O2"), "gcc -lpthread -static -O2"),
        (("java", "-Xmx2g"), "java -Xmx2g"),
        (("rm", "-rf"), "rm -rf"),
        (("grep", "-L"), "grep -L"),
        (("ls", "-a", "-l"), "ls -a -l"),
        (("crash", "-Lfoo", "-L=3"), "crash -Lfoo -L=3"),
        (("--", "crash", "-L", "3", "--limit", "-w"), "crash -L 3 --limit -w"),
        (("crash", "--limit", "3", "--", "-L", "3"), "crash -L 3"),
        (("--limit crashes", "-L", "3"), "--limit crashes"),
    ],
)
def test_what_is_no_flag_for_certain_is_text(demo, words, text):
    assert demo("--json", "search", *words).data["query"] == text


def test_a_word_after_a_flag_can_be_left_out(demo):
    numbers = [
        [hit["number"] for hit in demo("search", *words, "--mode", "lexical", "--json").data["hits"]]
        for words in (("relay", "--label", "bug", "-websocket"), ("relay -websocket label:bug",))
    ]
    assert numbers[0] == numbers[1] != []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("search", "relay", "--limti", "3"), "did you mean --limit?"),
        (("list", "issues", "--lable=bug"), "did you mean --label?"),
        (("search", "relay", "-q", ".[]"), "to jq"),
        (("list", "issues", "-t", "{{.}}"), "--format tsv"),
        (("search", "relay", "--json", "title"), "pick them with jq"),
        (("list", "issues", "--json", "number,title"), "pick them with jq"),
        (("search", "relay", "--sort", "best-match"), "results are sorted by relevance"),
        (("list", "issues", "--sort", "best-match"), "results are sorted by relevance"),
        (("search", "ld", "-L", "lib"), "in a search, -L after -- is text"),
    ],
)
def test_a_flag_that_is_none_gets_the_one_that_is_meant(demo, arguments, hint):
    done = demo(*arguments)
    assert done.code == 2
    assert hint in (json.loads(done.out)["error"]["hint"] if "--json" in arguments else done.err)


def test_a_list_misses_its_kind_and_nothing_else(demo):
    assert "required: KIND\n" in demo("list").err


@pytest.mark.parametrize("command", ["search", "list", "count", "similar", "show"])
def test_short_flags_are_in_the_help(demo, command):
    assert "-R, --repo NAME" in demo(command, "--help").out


@pytest.mark.parametrize(
    ("flags", "typed"),
    [
        (("--author", "s-abara", "--state", "closed"), "author:s-abara is:closed"),
        (("-l", "bug"), "label:bug"),
        (("--repo", "lanternsync/lantern"), "repo:lanternsync/lantern"),
        (("--no", "label", "--sort", "created"), "no:label sort:created"),
    ],
)
def test_filters_without_words_list_what_they_allow(demo, flags, typed):
    by_flags, by_words = demo("search", *flags, "--json").data, demo("search", typed, "--json").data
    assert by_flags["hits"] == by_words["hits"] != []
    assert by_flags["total"] == by_words["total"]


def test_a_search_without_words_and_filters_is_refused(demo):
    for flags in ((), ("--limit", "3"), ("--state", "all"), ("--label", "bug", "--fts-mode", "raw")):
        done = demo("search", *flags)
        assert done.code == 2
        assert "no search words given" in done.err


@pytest.mark.parametrize("name", ["lantern", "lanternsync/lanter"])
def test_a_project_that_is_not_here_is_the_same_error_however_it_is_asked_for(demo, name):
    asked = ["project:{}", "repo:{}", "-repo:{}", "--project={}", "--repo={}"]
    answers = [demo("search", "relay", one.format(name), "--json") for one in asked]
    assert {done.code for done in answers} == {5}
    errors = [json.loads(done.out)["error"] for done in answers]
    assert all(error == errors[0] for error in errors)
    assert errors[0]["hint"].startswith("did you mean lanternsync/lantern?")


def test_the_hint_for_a_moment_can_be_typed(demo):
    done = demo("search", 'relay created:"3 years ago"')
    assert done.code == 13
    assert 'use >"3 years ago" for later' in done.err


def test_a_dash_n_with_a_number_is_the_limit_and_otherwise_text(demo):
    by_number = demo("search", "relay", "-n", "3", "--json").data
    assert (by_number["query"], len(by_number["hits"])) == ("relay", 3)
    assert by_number["hits"] == demo("search", "relay", "--limit", "3", "--json").data["hits"]
    assert demo("search", "relay", "-n", "loud", "--json").data["query"] == "relay -n loud"


def test_steps_of_sync_are_one_line_of_the_help_and_can_be_typed(demo):
    help_text = demo("--help").out
    assert "steps of sync, one by one: ingest, generate-docs, embed, replay" in help_text
    for name in STEPS_OF_SYNC:
        assert f"\n  {name} " not in help_text
        assert demo(name, "--help").out.startswith(f"usage: forgelore {name}")
