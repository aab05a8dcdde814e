"""What of a text gets a vector."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.index.cleaning import clean, clean_line, is_form_line, kept_lines
from growth import assert_grows_slowly

# Everything that opens, closes or marks something, so that generated texts are full of half-open blocks.
MARKUP = st.lists(
    st.sampled_from(
        ["<!--", "-->", "```", "~~~", "{code}", "{noformat}", "\n", "\r\n", "> ", "- [x] ", "](", "[", "http://a/b", " ",
         "| ", "**", "__", "at a.b(C.java:1)", "Error", "2024-01-02 03:04:05", "word", "é", "日本", "0x7f", "\u2028", "x" * 40]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Steps to reproduce\n<!-- be brief -->\n**Crash** on `sync`", "Crash on sync"),
        ("- [x] I have searched the existing issues\nIt hangs", "It hangs"),
        ("hangs <!-- one\ntwo\n--> forever", "hangs\nforever"),
        ("<!-- its end was deleted\nIt hangs", "its end was deleted\nIt hangs"),
        ("File --> Open hangs", "File > Open hangs"),
        ("> **Expected behavior**:\n> it works", "it works"),
        ("User Agent: Mozilla/5.0 (X11)\nTabs vanish", "Tabs vanish"),
        ("| --- | --- |\n| disk | slow |", "disk slow"),
        ("_No response_\nh2. Menus vanish\n{{net.timeout}} is ignored", "Menus vanish\nnet.timeout is ignored"),
        ("<details><summary>Why</summary>too slow</details>", "Why too slow"),
        ("![shot](https://x.example/a.png)\nsee [the plan](https://x.example/p)", "see the plan"),
    ],
)
def test_templates_and_decoration_leave_no_trace(text, expected):
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("in https://github.com/a/b/blob/main/src/net.cpp#L3 and", "in net.cpp and"),
        ("see https://www.example.org/", "see example.org"),
        ("since 4dcf58bdb23446ec at 0x7ffe12ab", "since at"),
        ("key MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA== leaked", "key leaked"),
        ("2024-05-06T07:08:09Z ERROR cannot bind", "ERROR cannot bind"),
        ("defaced facade", "defaced facade"),
        ("std::vector<int> grows", "std::vector<int> grows"),
    ],
)
def test_a_line_keeps_its_words_and_loses_its_noise(line, expected):
    assert clean_line(line) == expected


def test_a_heading_of_a_form_has_at_most_sixteen_words():
    heading = "## " + "steps to reproduce " * 5 + "the"
    assert (clean(f"{heading}\nIt hangs"), is_form_line(heading)) == ("It hangs", True)
    assert is_form_line(f"{heading} bug") is False
    assert clean(f"{heading} bug\nIt hangs").endswith("the bug\nIt hangs")


CALLS = "\n".join(f"call number {word}" for word in ("one", "two", "three", "four", "five", "six", "seven"))


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("{code}", "{code}"), ("{code:java}", "{code}"), ("{noformat}", "{noformat}"), ("Log: {code}", "{code} as seen"),
        ("{code}x{code} and {code}", "{code}"),
    ],
)  # fmt: skip
def test_a_block_of_jira_is_shortened_until_its_end(opening, closing):
    kept = clean(f"Fails:\n{opening}\n{CALLS}\n{closing}\nIt always does.\nSince when?")
    assert "call number one" in kept
    assert "call number seven" not in kept
    assert kept.endswith("It always does.\nSince when?")


@pytest.mark.parametrize("line", ["Use {code}x{code} here.", "See {x} here.", "> no {code block}"])
def test_a_line_that_opens_no_block_hides_nothing_behind_it(line):
    assert "call number seven" in clean(f"{line}\n{CALLS}")


def test_a_mark_of_jira_within_a_fence_neither_opens_nor_ends_a_block():
    assert "call number seven" in clean(f"Fails:\n```\n{{code}}\n```\n{CALLS}")
    assert "call number seven" not in clean(f"Fails:\n```\nmake\n{{code}}\n{CALLS}\n```\nAlways.")


def test_a_block_keeps_its_first_lines_and_its_errors():
    code = "\n".join(f"call number {word}" for word in ("one", "two", "three", "four", "five"))
    text = f"Fails:\n```\n{code}\nE: cannot open socket\nE: cannot open socket\n```\nAlways."
    assert clean(text).splitlines() == [
        "Fails:", "call number one", "call number two", "call number three", "E: cannot open socket", "Always.",
    ]  # fmt: skip


def test_logs_keep_the_lines_that_name_an_error_once():
    text = "2024-01-01 10:00:00 started\n2024-01-01 10:00:01 Error: disk 1 full\n2024-01-01 10:00:02 Error: disk 2 full"
    assert clean(f"It stops.\n{text}") == "It stops.\nError: disk 1 full"


@pytest.mark.parametrize(
    "frame",
    [
        "\tat org.apache.hadoop.fs.Path.<init>(Path.java:12)",
        "    at Object.run (/app/index.js:3:5)",
        '  File "/usr/lib/python3/run.py", line 3, in main\n    self.run_test()',
        "#3  0x00007fe28be3be82 in lock (mutex=0x5611) at lock.c:115",
        "#0  __lll_lock_wait () at lowlevellock.S:135",
        "... 23 more",
    ],
)
def test_stack_frames_go_and_the_exception_stays(frame):
    assert clean(f"Caused by: java.io.IOException: no space\n{frame}") == "Caused by: java.io.IOException: no space"


def test_a_text_of_nothing_but_template_falls_back_to_its_beginning():
    assert clean("<!-- Describe the issue -->") == "<!-- Describe the issue -->"
    assert clean("- [x] I agree") == "[x] I agree"


@given(st.one_of(st.text(max_size=300), MARKUP))
def test_a_text_with_letters_is_never_cleaned_away(text):
    assert bool(clean(text)) >= any(character.isalpha() for character in text)


@given(st.one_of(st.text(max_size=300), MARKUP))
def test_kept_lines_are_spans_in_order_and_clean_is_what_they_say(text):
    spans = kept_lines(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert "\n".join(clean_line(text[start:end]) for start, end in spans) == clean(text)


@given(MARKUP)
def test_a_cleaned_line_is_one_line(text):
    for start, end in kept_lines(text):
        assert len(clean_line(text[start:end]).splitlines()) <= 1


@pytest.mark.parametrize(
    "piece",
    ["<!--", "-->", "[a](", "![", "<a ", "{code", "*", "_ ", "1a", "A+/", "0x", "http://a", "<!--\n", "{code}\n"],
)
def test_many_marks_are_cleaned_without_quadratic_cost(piece):
    assert_grows_slowly(clean, lambda size: piece * (size // len(piece)))
