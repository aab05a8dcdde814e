"""Whether two items have the same text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.differences import line_key
from forgelore.compare.sameness import find_sameness, why_not_compare

TITLE = "The desktop client crashes on a network drive"
TEXT = (
    "Since version 2.3.1 the client dies as soon as the sync folder lies on an SMB share.\n\n"
    "    Fatal: cannot lock /mnt/share/.sync.lock: Operation not supported\n\nIt works on a local disk, as it always did."
)
FORM = (
    "**Describe the solution you'd like**\n<!-- clear and concise -->\n\n**Describe alternatives you've considered**\n"
)
BUG = "**Describe the bug**\nA clear and concise description of what the bug is.\n\n**Screenshots**\n- [ ] I have searched\n"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (TITLE, TEXT),
        (TITLE.upper(), TEXT.replace("\n", "\r\n")),
        (f"  {TITLE}\t", f"\n{TEXT}   \n\n"),
        (TITLE, TEXT.replace(" ", " \u00a0")),
        (TITLE, TEXT.replace("client", "cli\u200bent")),
        (TITLE, f"<!-- be brief -->\n{TEXT}\n<!-- thank you -->"),
    ],
)
def test_case_blanks_and_what_cannot_be_seen_make_no_difference(title, text):
    assert find_sameness(TITLE, TEXT, title, text) == "same_text"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (f"{TITLE}!", TEXT),
        (TITLE, TEXT.replace("SMB share.", "**SMB share**")),
        (TITLE, TEXT.replace("always", "allways")),
        (f"{TITLE} again", TEXT),
        (TITLE, f"### Steps to reproduce\n{TEXT}\n- [x] I have searched"),
    ],
)
def test_other_signs_a_word_or_a_form_make_it_nearly_the_same(title, text):
    assert find_sameness(TITLE, TEXT, title, text) == "nearly_same_text"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (TITLE, TEXT.replace("2.3.1", "2.4.0")),
        ("The desktop client is slow when it starts", TEXT),
        (TITLE, "It happens here too, every time that the share is mounted."),
        (TITLE, ""),
    ],
)
def test_another_number_subject_or_story_is_merely_similar(title, text):
    assert find_sameness(TITLE, TEXT, title, text) == "similar"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Bump foo to 1.2 in the lock file", ""), ("Bump foo to 1.3 in the lock file", "")),
        (("The parser loses C++ comments", "in headers"), ("The parser loses PHP comments", "in headers")),
        (("Crash when a file is saved", "It hangs."), ("Crash when a file is loaded", "It hangs.")),
    ],
)
def test_in_a_short_text_one_word_is_another_matter(one, other):
    assert find_sameness(*one, *other) == "similar"


def test_signs_that_mean_something_are_not_the_same_text():
    assert find_sameness("Parser of C++", "loses comments", "Parser of C#", "loses comments") != "same_text"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Feature request for you", FORM),
        ("Bug report", BUG),
        ("Update README.md", ""),
        ("Login hangs", FORM),
        ("Bug", ""),
        (".", ""),
        ("", ""),
    ],
)
def test_an_empty_form_and_a_bare_title_are_no_text(title, text):
    assert find_sameness(title, text, title, text) == "similar"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Feature request", f"{FORM}A dark theme for the settings page, as the editor has it"),
        ("アプリがクラッシュする", "起動時に落ちます。毎回です。"),
    ],
)
def test_what_says_something_is_the_same_as_its_copy(title, text):
    assert find_sameness(title, text, title, text) == "same_text"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Client crashes at start on an SMB share", ""),
        ("Rolling up changes in the queue", "Let's try this again!"),
        ("Update the key of the release manager", "Same key, extended expiration date"),
    ],
)
def test_equal_items_with_hardly_a_text_are_not_called_the_same_text(title, text):
    """They are a habit, week by week."""
    assert find_sameness(title, text, title, text) == "nearly_same_text"


LISTED = "These fail on the nightly runner since the weekend, and nobody knows why:\n- {}\nPlease take a look at them."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((f"iOS: {TITLE}", TEXT), (f"Android: {TITLE}", TEXT)),
        ((TITLE, TEXT), (f"{TITLE} on Linux", TEXT)),
        ((f"wallet: {TITLE}", TEXT), (f"net: {TITLE}", TEXT)),
        (
            ("Tests that are flaky now", LISTED.format("test_mempool")),
            ("Tests that are flaky now", LISTED.format("test_wallet")),
        ),
        (("Weekly report of the core team 2024-03-01", TEXT), ("Weekly report of the core team 2024-03-08", TEXT)),
        (
            ("Add a fuzzing harness for CNode to the tests", TEXT),
            ("Add a fuzzing harness for BanMan to the tests", TEXT),
        ),
    ],
)
def test_what_names_something_else_is_not_nearly_the_same(one, other):
    assert find_sameness(*one, *other) == find_sameness(*other, *one) == "similar"


@pytest.mark.parametrize("text", ["[deleted]", ".", "**removed**", " - ", "*spam*"])
def test_a_blanked_item_is_nothing_to_compare(text):
    assert find_sameness(TITLE, text, TITLE, text) == "similar"
    assert find_sameness(text, TEXT, text, TEXT) == "similar"
    assert why_not_compare(TITLE, text)


@pytest.mark.parametrize(
    ("title", "text"),
    [("Not working", "please fix it"), ("Help!", "It does not work, what is wrong?"), ("Bug", "fix it")],
)
def test_an_item_of_fillers_is_vague(title, text):
    assert why_not_compare(title, text) == "its text is too short to compare"
    assert why_not_compare(f"{title}: login", f"{text} The wallet hangs.") == ""


def test_a_title_that_is_a_line_of_the_form_says_nothing():
    title = "Any report about the GUI belongs elsewhere"
    assert why_not_compare(title, "") == ""
    assert why_not_compare(title, "", {line_key(title)})


TEXTS = st.text(st.sampled_from("ab1.!# \n<->É字"), max_size=60) | st.text(max_size=60)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_it_does_not_matter_which_came_first(title, text, other_title, other_text):
    found = find_sameness(title, text, other_title, other_text)
    assert find_sameness(other_title, other_text, title, text) == found


@given(TEXTS, TEXTS)
def test_a_text_is_the_same_as_itself_or_no_text(title, text):
    alone = find_sameness(title, text, title, text)
    assert alone in ("same_text", "nearly_same_text", "similar")
    assert find_sameness(title, text, f" {title}", f"{text}\r\n") == alone
