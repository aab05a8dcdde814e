"""What differs between two items: words of titles and what they mean, lines, twins and siblings."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.differences import compare_lines, compare_titles, find_relation, line_key

DAY = 86_400_000


class Filed(NamedTuple):
    title: str
    author: str
    created_at: int | None = None


TITLES = st.text(max_size=60) | st.lists(
    st.sampled_from(["iOS:", "Android", "v1.2", "1.3", "login", "fails", "`foo`", "test_a.py", "#12", "日本語", "[UI]"])
).map(" ".join)


@pytest.mark.parametrize(
    ("title", "other", "kind"),
    [
        ("iOS: Login fails", "Android: Login fails", "platform"),
        ("Login fails on Mac OS X", "Login fails on Windows 10", "platform"),
        ("Build on x86_64 hangs", "Build on aarch64 hangs", "platform"),
        ("Firefox loses the session", "Safari loses the session", "platform"),
        ("[web] Login fails", "[desktop] Login fails", "platform"),
        ("wallet: Fix a race", "net: Fix a race", "component"),
        ("[Wallet] Fix a race", "[Network] Fix a race", "component"),
        ("feat(ui): Add a tooltip", "feat(api): Add a tooltip", "component"),
        ("src/wallet: Drop old code", "src/net: Drop old code", "component"),
        ("Bump foo to 1.2", "Bump foo to 1.3", "version"),
        ("Crash since v2.1.0-rc1", "Crash since v2.1.0-rc2", "version"),
        ("test_mempool.py fails", "test_wallet.py fails", "identifier"),
        ("Remove sun.misc.Unsafe", "Remove sun.misc.Signal", "identifier"),
        ("Implement `Clone` for arrays", "Implement `Debug` for arrays", "identifier"),
        ("Handle CVE-2024-1234", "Handle CVE-2024-9876", "identifier"),
        ("Weekly report 2024-03-01", "Weekly report 2024-03-08", "number"),
        ("Meeting of Monday", "Meeting of Tuesday", "number"),
        ("Backport of #123", "Backport of #124", "number"),
        ("Allow files of 10MB", "Allow files of 20MB", "number"),
        ("支持 Android 登录", "支持 iOS 登录", "platform"),
    ],
)
def test_titles_that_name_different_things_are_vetoed(title, other, kind):
    found = compare_titles(title, other)
    assert kind in found.vetoes
    assert found.is_twin


@pytest.mark.parametrize(
    ("title", "other"),
    [
        ("Login fails on iPhone", "Login fails on iOS"),
        ("Crash on Mac OS X", "Crash on macOS"),
        ("ICE: illegal move", "error: illegal move"),
        ("[Bug] Login fails", "Login fails [urgent]"),
        ("Login fails", "Sign-in does not work"),
        ("Crash when the wallet opens", "Crash when the wallet closes"),
        ("", "iOS: Login fails"),
    ],
)
def test_other_differences_are_no_veto(title, other):
    assert compare_titles(title, other).vetoes == ()


def test_what_only_one_title_names_is_an_addition():
    found = compare_titles("Login fails", "iOS: Login fails in 12.1")
    assert (found.vetoes, found.additions) == ((), ("platform", "version"))
    assert (found.only_first, found.only_second) == ((), ("iOS", "in", "12.1"))


def test_differing_words_keep_their_spelling_and_run_together_where_nothing_parts_them():
    assert compare_titles("Fix ChunkCache leak", "Fix DataChunk leak")[:2] == (("ChunkCache",), ("DataChunk",))
    assert compare_titles("支持安卓登录", "支持苹果登录")[:2] == (("安卓",), ("苹果",))


@given(TITLES, TITLES)
def test_differences_are_the_same_seen_from_the_other_side(title, other):
    found, back = compare_titles(title, other), compare_titles(other, title)
    assert (back.only_first, back.only_second) == (found.only_second, found.only_first)
    assert (back.vetoes, back.is_twin) == (found.vetoes, found.is_twin)


@given(TITLES)
def test_a_title_does_not_differ_from_itself(title):
    found = compare_titles(title, title)
    assert not (found.only_first or found.only_second or found.vetoes or found.is_twin)


@pytest.mark.parametrize("title", ["a" * 300, "a." * 150, "[" * 300, "`a" * 150, "a/" * 150, "- " * 150, "9." * 150])
def test_hostile_titles_take_no_time(title):
    assert compare_titles(title, f"x {title}").vetoes == compare_titles(f"x {title}", title).vetoes


def test_lines_are_shared_or_stand_in_one_text_and_forms_are_left_out():
    one = "### Steps to reproduce\n<!-- what you did -->\nOpen the **file**.\nIt hangs.\nI use the team fork."
    other = "Describe the bug\n- Open the file\nIt crashes.\nI use the team fork."
    found = compare_lines(one, other, boilerplate={line_key("I use the team fork")})
    assert found == [["Open the **file**."], ["It hangs."], ["It crashes."]]


def test_frames_of_two_crashes_are_the_same_wherever_their_code_lay():
    one = "  7:     0x7f88d5a31c00 - rt::unwind::begin_unwind::h9147230717703493418\n  8: 0x7f88d5a0 - trans::unboxed"
    other = " 3:     0x1060e2a40 - rt::unwind::begin_unwind::h8d47dd75ffb1a0e4\n  8: 0x1060e2a4 - trans::closure"
    shared, only_first, only_second = compare_lines(one, other)
    assert shared == ["7:     0x7f88d5a31c00 - rt::unwind::begin_unwind::h9147230717703493418"]
    assert (only_first, only_second) == (["8: 0x7f88d5a0 - trans::unboxed"], ["8: 0x1060e2a4 - trans::closure"])
    assert compare_lines("7 folders are lost", "8 folders are lost")[0] == []


def test_a_long_text_gives_forty_lines():
    shared, only_first, _ = compare_lines("\n".join(f"line a{number}" for number in range(500)), "")
    assert (len(only_first), shared) == (40, [])


@pytest.mark.parametrize(
    ("title", "other", "days", "author", "relation"),
    [
        ("Weekly report 2024-03-01", "Weekly report 2024-03-08", 7, "bob", "twin"),
        ("Weekly report 2024-03-01", "Weekly report 2024-03-08", 700, "eve", "twin"),
        ("Login fails", "iOS: Login fails", 1, "eve", "twin"),
        ("Add a German translation", "Add a French translation", 1, "Bob", "sibling"),
        ("Add a German translation", "Add a French translation", 1, "eve", ""),
        ("Add a German translation", "Add a French translation", 8, "bob", ""),
        ("Add a German translation", "Wallet loses coins", 1, "bob", ""),
        ("Login fails", "Login fails", 1, "bob", ""),
        ("iOS", "Android", 1, "bob", ""),
    ],
)
def test_twins_and_siblings(title, other, days, author, relation):
    one, two = Filed(title, "bob", 0), Filed(other, author, days * DAY)
    assert find_relation(one, two) == find_relation(two, one) == relation


def test_without_author_or_time_nobody_is_a_sibling():
    titles = "Add a German translation", "Add a French translation"
    assert find_relation(Filed(titles[0], "", 0), Filed(titles[1], "", 0)) == ""
    assert find_relation(Filed(titles[0], "bob"), Filed(titles[1], "bob")) == ""
