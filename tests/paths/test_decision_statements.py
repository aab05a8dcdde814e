"""Sentences that decide: which do, which do not, and where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.ask.claims import find_quote
from forgelore.history import statements
from forgelore.history.extraction import DecisionNode, find_superseded
from forgelore.history.statements import (
    DecisionEdge,
    find_choice,
    find_reason,
    find_statements,
    is_record,
    read_record,
    read_target,
    split_sentences,
)
from growth import assert_grows_slowly


def rules(text):
    lines = text.split("\n")
    return [one.rule for one in find_statements(lines, 1, len(lines))]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("We decided to keep the old format.", "decided"),
        ("we've agreed on a window of 90 days, it is not worth more.", "decided"),
        ("Let's go with option B.", "decided"),
        ("We\u2019ll stick with files as locks.", "decided"),
        ("Decision: no third state.", "decided"),
        ("Won't fix: this is what the flag is for.", "declined"),
        ("Closing this as out of scope.", "declined"),
        ("Concept NACK, this breaks every pinned client.", "declined"),
        ("I'm going to close this, the API is used as it is defined.", "declined"),
        ("We won't add options for every trivial choice.", "declined"),
        ("Superseded by #12.", "superseded"),
        ("This replaces !34, which was too slow.", "superseded"),
        ("This reverts commit 1a2b3c4d5e6f.", "reverted"),
        ('Revert "Keep locks in memory"', "reverted"),
    ],
)
def test_a_sentence_that_decides(text, rule):
    assert rules(text) == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "Should we go with option B?",
        "If we decided this today, it would break.",
        "We haven't decided yet.",
        "Have you decided anything?",
        "I propose that we will keep it.",
        "Maybe let's use files.",
        "> We decided to keep the old format.",
        "    we decided x",
        "```\nwe decided x\n```",
        "<!-- Tell us what\nwe decided -->",
        "| we decided | x |",
        "The files were replaced by the new ones.",
        "But we will not overflow the buffer.",
        "I won't fight either way.",
        "I chose the most common systems.",
        "Closing this, it has been fixed.",
        "Closing due to inactivity.",
        "Closing as duplicate of #4.",
        "I'm not going to close this yet, let's wait.",
        "We decided on these:",
        "(jo asked, and we agreed.)",
        "",
    ],
)
def test_a_sentence_that_decides_nothing(text):
    assert rules(text) == []


@pytest.mark.parametrize(
    ("title", "body", "chosen"),
    [
        ("Drop Qt 4", "Hi.\n\nThis removes Qt 4 from the build, because nobody uses it.", 3),
        (
            "Drop Qt 4",
            "- Moves the button to the left side.\n\nThis removes all of Qt 4 from the build.",
            3,
        ),  # no detail
        ("Drop Qt 4", "Currently we use Qt 4 instead of Qt 5 there.", None),  # the state before
        ("Drop Qt 4", "~~This removes Qt 4 from the whole build.~~", None),
        ("Drop Qt 4", "This removes Qt 4 from the build, and adds:", None),
        ("Remove Qt 4 from the whole build now", "Remove Qt 4 from the whole build now.", None),  # the title
        ("Drop Qt 4", "Should this remove Qt 4 instead of Qt 5 from it?", None),
    ],
)
def test_the_sentence_that_says_what_a_change_chooses(title, body, chosen):
    lines = body.split("\n")
    found = find_choice(lines, 1, len(lines), title)
    assert (found[0].first if found else None) == chosen


def test_a_sentence_over_two_lines_is_cited_with_both():
    lines = ["Thanks!", "", "After some thought we decided to", "keep the old format. And more.", "Bye."]
    (found,) = find_statements(lines, 1, len(lines))
    assert found.sentence == ("After some thought we decided to keep the old format.", 3, 4)


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("#12.", "#12"), ("!34", "!34"), ("acme/Web#5,", "acme/web#5"), ("1a2b3c4d", "1a2b3c4d"),
        ("https://github.com/acme/web/pull/7).", "github.com/acme/web!7"), ("[0009](0009-Leases.md)", "0009-leases.md"),
        ("http://[broken", ""), ("something", ""), ("deadbeefs", ""), ("#" + "9" * 40, ""),
    ],
)  # fmt: skip
def test_what_a_word_names(word, target):
    assert read_target(word) == target


@given(st.text(alphabet=st.sampled_from("ab .!?\n>`<-#*|we decided'\u2019\u0130"), max_size=300))
def test_every_sentence_stands_where_it_says(text):
    lines = text.split("\n")
    for one in split_sentences(lines, 1, len(lines)):
        within = lines[one.first - 1 : one.last]
        assert find_quote(within, one.text) or not any(sign.isalnum() for sign in one.text)


def test_a_long_sentence_shows_that_it_was_cut():
    (one,) = split_sentences(["We decided " + "and again " * 60 + "to stop."], 1, 1)
    assert one.text.endswith("and …")
    assert len(one.text) < 410
    (short,) = split_sentences(["We decided to stop."], 1, 1)
    assert short.text == "We decided to stop."


@pytest.mark.parametrize(
    "unit", ["we decided ", "in favor of ", "a", "[", "<!--", "we decided\n", "This drops ", "has been ", "Use. "]
)
def test_a_hostile_text_is_read_without_quadratic_cost(unit):
    def work(text):
        lines = text.split("\n")
        list(find_statements(lines, 1, 1))
        find_reason(lines, 1, 1)
        find_choice(lines, 1, 1, text[:200])
        read_target(text)

    assert_grows_slowly(work, lambda size: unit * (size // len(unit)) + "x.md")


WORDS = [
    "we",
    "i",
    "decided",
    "agreed",
    "have",
    "now",
    "it",
    "was",
    "is",
    "the",
    "decision",
    ":",
    "let's",
    "go",
    "with",
    "keep",
    "not",
    "we'll",
    "will",
    "we're",
    "going",
    "to",
    "i'm",
    "with",
    "won't",
    "fix",
    "wontfix",
    "do",
    "don't",
    "want",
    "plan",
    "intend",
    "are",
    "closing",
    "this",
    "as",
    "because",
    "out",
    "of",
    "scope",
    "working",
    "intended",
    "by",
    "design",
    "planned",
    "no",
    "plans",
    "superseded",
    "replaced",
    "in",
    "favor",
    "of",
    "supersedes",
    "reverts",
    "revert",
    "#12",
    "1a2b3c4d",
    ".",
    "?",
    "if",
    "maybe",
    "chosen",
    "option",
    "final",
    "our",
    "closed",
    "team",
    "voted",
    "chose",
    "opted",
    "settled",
    "on",
    "concluded",
    "resolved",
    "went",
    "stick",
    "use",
    "remove",
]


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_looking_for_key_words_first_loses_nothing(words):
    lines = [" ".join(words)]
    fast = list(find_statements(lines, 1, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statements, "_KEYS", ("",))
        assert list(find_statements(lines, 1, 1)) == fast


def test_a_record_is_known_by_its_place_and_read_by_its_headings():
    assert is_record("docs/adr/0005-locks.md")
    assert is_record("ADR-12-locks.md")
    assert not is_record("docs/adr/README.md")
    assert not is_record("src/adr.py")
    found = read_record(
        [
            "# 5. Locks are files",
            "",
            "Date: 2024-05-01",
            "",
            "## Status",
            "",
            "Superseded by [0009](0009-leases.md)",
            "",
            "## Decision",
            "",
            "We use files as locks,",
            "because processes die. More.",
            "",
        ]
    )
    assert found.title == "5. Locks are files"
    assert found.sentence == ("We use files as locks, because processes die.", 11, 12)
    assert (found.edges, found.day) == ((DecisionEdge("superseded_by", "0009-leases.md"),), "2024-05-01")
    assert read_record(["# Only a title", "", "Text."]).sentence == ("Only a title", 1, 1)
    assert read_record(["", "---"]) is None


def test_a_decision_is_superseded_by_later_ones_alone():
    old = DecisionNode(frozenset({"#1"}), "#1", 100)
    new = DecisionNode(frozenset({"#2", "1a2b3c4d5e"}), "#2", 200, (DecisionEdge("supersedes", "#1"),))
    early = DecisionNode(frozenset({"#3"}), "#3", 50, (DecisionEdge("supersedes", "#1"),))
    says = DecisionNode(
        frozenset({"#4"}), "#4", None, (DecisionEdge("superseded_by", "1a2b3c4"), DecisionEdge("superseded_by", "#99"))
    )
    assert find_superseded([old, new, early, says]) == [("#2",), (), (), ("#2", "#99")]
