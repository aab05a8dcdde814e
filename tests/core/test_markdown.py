"""Untrusted text shows what it says, and does nothing: read back with an independent Markdown parser."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rendering import references, render

from forgelore.text.markdown import BREAK, code, is_quotable, link, plain, quiet_url, safe_url, titled, visible_line

ISOLATES = "\u2068\u2069"
HOSTILE = [
    "@ana please look", "cc @acme/core and @all", "see #12 and acme/web#12, GH-12 or !34", '~bug ~"two words" %v1 %"next one" $3 &5',
    '^alert#1 *iteration:"x" [vulnerability:12] [issue:4] [[wiki]]', "Duplicate of #12", "duplicate  of https://github.com/acme/web/issues/3",
    "[click](https://evil.example)", "![img](https://evil.example/x.png)", "<https://evil.example>", "https://evil.example/x", "www.evil.example",
    "mail me: bob@example.org", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "--> <b>out</b> <!--", "<!-- forgelore:triage:v1 -->",
    "&lt;b&gt; &amp; &#64;ana &#x40;ana &commat;ana", "| a | b |", r"\| \\| \[x](y)", "`code` ``two`` ```three``` `", "**bold** _em_ ~~gone~~ $$x$$ $`x`$",
    "[^1] [x]: http://evil.example", "a" * 300, "\\", "ends with \\", "[", "]", "](https://evil.example)", ":tada: ::set-output name=a::b",
    "::warning::hello", "##[set-env name=x]y", "${{ secrets.TOKEN }}", "/close", "/duplicate #5", "# heading", "> quote", "- list", "1. one", "===", "---",
    "```\nfence\n```", "~~~\nfence", "line\n/close\nline", "a\r\n::error::b", "x\u2028/close\u2029y\x85/close\x0b/close", "\u202egnp.exe\u202c", "a\u200bb\ufeffc\xad",
    "{+ added +} [- gone -]", "%{project_path}", "abc1234 deadbeefdeadbeefdeadbeefdeadbeefdeadbeef abcdef0123456", "acme/web@deadbee",
    "fixes #12, closes #13", "👨‍👩‍👧 family 🇩🇪 1️⃣ #️⃣", "日本語のタイトル #12", "مرحبا بالعالم #12", "\ud800 lone", "\x00\x1b[31mred", "Z̷̧̢̛͓͔̥͖͗̽a̴l̶g̵o̷",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_makes_nothing_but_text(text):
    seen = render(f"before {plain(text, limit=200)} after")
    assert (seen.links, seen.images, seen.tags, references(seen)) == ([], [], ["p"], [])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_a_link_and_in_code_stays_in_its_place(text):
    quoted = code(text, limit=200) if is_quotable(text) else "`x`"
    seen = render(f"- {quoted} and {link(plain(text, limit=200) or 'x', 'https://good.example/')}")
    assert seen.tags == ["ul", "li", *(["code"] if quoted else []), "a"]
    assert [target for target, _ in seen.links] == ["https://good.example/"]
    assert references(seen) == []


@pytest.mark.parametrize(
    "text", [*HOSTILE, "`a` and `@ana` of `b`", "duplicate `of` `#12`", "`x", "``a`` `b`", "a`b`c"]
)
def test_a_title_keeps_its_code_and_does_nothing(text):
    seen = render(f"[{titled(text, limit=120, words=20) or 'x'}](https://good.example/)")
    assert {*seen.tags} <= {"p", "a", "code"}
    assert [target for target, _ in seen.links] == ["https://good.example/"]
    assert references(seen) == []
    assert not re.search("[\u200b-\u200f]", "".join(re.findall("<code>(.*?)</code>", seen.html)))


@given(st.text(max_size=60), st.integers(1, 9))
@example("\u0590 0", 1)  # right to left: what is cut stands between isolates
def test_a_title_is_cut_after_words_and_says_so(text, words):
    shown = render(titled(text, limit=200, words=words)).text.split()
    said = visible_line(text, limit=200).split()
    assert len(shown) <= max(words, 1)
    assert len(said) <= words or not shown or shown[-1].rstrip("\u2069").endswith("…")


def test_what_an_author_wrote_as_code_is_code():
    assert titled("`database is locked` when using `x|y`", limit=99) == "`database is locked` when using `x|y`"
    assert titled("`a", limit=99) == "\\`a"


ANY = st.text(st.characters(codec=None), max_size=120)
PIECES = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=6).map("".join)


@given(st.one_of(ANY, PIECES))
def test_a_reader_sees_the_text_and_nothing_else(text):
    seen = render(f"x{plain(text, limit=100)}x")
    shown = seen.text.strip().replace(BREAK, "")
    for sign in ISOLATES:
        shown = shown.replace(sign, "")
    assert shown == f"x{visible_line(text, limit=100)}x".strip()
    assert seen.tags == ["p"]


@given(st.one_of(ANY, PIECES))
def test_no_text_at_all_becomes_a_reference_or_a_second_line(text):
    made = plain(text, limit=100)
    assert references(render(f"- {made}")) == []
    assert len(f"x{made}x".splitlines()) == 1
    assert "|" not in made
    assert not re.search(r"[#!]\d|@\w|##\[|\$\{\{", made)


@given(st.one_of(ANY, PIECES), st.integers(1, 200))
def test_a_visible_line_is_as_long_as_allowed_and_can_be_seen(text, limit):
    line = visible_line(text, limit=limit)
    assert len(line) <= limit
    assert line == line.strip()
    hidden = {sign for sign in line if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden <= {"\u200c", "\u200d"} | {sign for sign in line if "\u0600" <= sign <= "\u0605"} | set(
        _VISIBLE_FORMATS
    )


# Signs that Unicode files under "format" although they are seen: Arabic, Syriac, Kaithi and Egyptian ones.
_VISIBLE_FORMATS = "\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd" + "".join(map(chr, range(0x13430, 0x13440)))


def test_emoji_and_scripts_that_need_joiners_keep_them():
    family = "👨‍👩‍👧"
    assert visible_line(f"{family} می‌خواهم", limit=50) == f"{family} می‌خواهم"
    assert visible_line("pass\u200dword", limit=50) == "password"


def test_long_text_ends_with_an_ellipsis():
    assert visible_line("word " * 100, limit=20) == "word word word word…"


def test_text_that_runs_from_right_to_left_is_kept_apart():
    made = plain("مرحبا (95%)", limit=50)
    assert (made[0], made[-1]) == tuple(ISOLATES)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "data:text/html,x", "//evil.example", "https://", "https://user@evil.example/", "ftp://x/y", "", "not a url",
        "https://evil.example/\u202e", "http://[::1", "https://a" + "b" * 3000, "https://evil example/", "https:\\\\evil.example",
    ],
)  # fmt: skip
def test_only_addresses_of_the_web_are_linked(url):
    assert safe_url(url) is None
    assert quiet_url(url, "github") is None


@given(st.text(max_size=60))
def test_an_address_cannot_leave_its_parentheses(rest):
    url = safe_url(f"https://good.example/{rest}")
    if url is not None:
        seen = render(f"| x |\n|---|\n| {link('label', url)} |")
        assert [said for _, said in seen.links] == ["label"]
        assert seen.tags[-1] == "a"


@pytest.mark.parametrize(
    ("forge", "url", "quiet"),
    [
        ("github", "https://github.com/acme/web/issues/12", "https://redirect.github.com/acme/web/issues/12"),
        ("github", "https://www.github.com/acme/web/pull/3#x", "https://redirect.github.com/acme/web/pull/3#x"),
        ("github", "https://github.com/acme/web/discussions/3", "https://redirect.github.com/acme/web/discussions/3"),
        ("github", "https://github.com/acme/web/releases/tag/v1", "https://github.com/acme/web/releases/tag/v1"),
        ("github", "https://git.acme.example/acme/web/issues/12", None),
        ("github", "https://gitlab.com/g/p/-/issues/4", "https://gitlab.com/g/p/-/issues/4"),
        ("gitlab", "https://gitlab.com/g/p/-/issues/4", "https://gitlab.com/g/p/-/issues/4#forgelore.triage"),
        ("gitlab", "https://git.acme.example/g/s/p/-/merge_requests/4#note_1", "https://git.acme.example/g/s/p/-/merge_requests/4#forgelore.triage"),
        ("gitlab", "https://github.com/acme/web/issues/12", "https://github.com/acme/web/issues/12"),
        ("github", "https://codeberg.org/acme/web/pulls/12", "https://codeberg.org/acme/web/pulls/12"),
        ("forgejo", "https://codeberg.org/acme/web/pulls/12", "https://codeberg.org/acme/web/pulls/12/"),
        ("forgejo", "https://git.acme.example/acme/web/issues/4#issuecomment-1", "https://git.acme.example/acme/web/issues/4/"),
        ("forgejo", "https://gitlab.com/g/p/-/issues/4", "https://gitlab.com/g/p/-/issues/4"),
    ],
)  # fmt: skip
def test_a_link_opens_the_page_and_leaves_no_trace_on_it(forge, url, quiet):
    assert quiet_url(url, forge) == quiet
