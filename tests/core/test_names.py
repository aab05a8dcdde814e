"""Names of projects and items: what people type and what it means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.errors import InvalidValue, LoreError
from forgelore.text.refs import Hosts, Ref, is_loopback, is_pattern, key_in_url, parse_project, parse_ref
from forgelore.words import ItemKey, ProjectName

HOSTS = Hosts(kinds={"git.example.com": "gitlab"})


def parse(text):
    return parse_project(text, HOSTS, probe=lambda host: "github")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme/web", ProjectName("github", "github.com", "acme/web")),
        ("github:acme/web", ProjectName("github", "github.com", "acme/web")),
        ("gitlab:group/sub/app", ProjectName("gitlab", "gitlab.com", "group/sub/app")),
        ("https://github.com/acme/web", ProjectName("github", "github.com", "acme/web")),
        ("https://github.com/acme/web.git", ProjectName("github", "github.com", "acme/web")),
        ("https://github.com/acme/web/issues/12", ProjectName("github", "github.com", "acme/web")),
        ("git@github.com:acme/web.git", ProjectName("github", "github.com", "acme/web")),
        ("ssh://git@git.example.com:2222/group/app.git", ProjectName("gitlab", "git.example.com", "group/app")),
        (
            "https://git.example.com/group/sub/app/-/merge_requests/3",
            ProjectName("gitlab", "git.example.com", "group/sub/app"),
        ),
        ("https://user:secret@github.com/acme/web", ProjectName("github", "github.com", "acme/web")),
        ("http://127.0.0.1:8080/acme/web", ProjectName("github", "127.0.0.1:8080", "acme/web")),
        ("https://github.com:443/acme/web", ProjectName("github", "github.com", "acme/web")),
        ("hadoop", ProjectName("local", "local", "hadoop")),
    ],
)
def test_a_project_is_understood_in_every_spelling(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "a/b/c", "../etc", "acme/", "acme web", "http://example.com/acme/web", "https://[bad", "acme/we?b", "-x/y"],
)
def test_a_name_that_is_none_is_refused_with_a_hint(text):
    with pytest.raises(InvalidValue) as caught:
        parse(text)
    assert caught.value.hint or "URL" in caught.value.message


def test_a_shown_name_parses_back_to_itself():
    for text in ("acme/web", "gitlab:g/a", "https://git.example.com/g/a", "http://127.0.0.1:99/a/b", "tracker"):
        assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#12", Ref("", 12)), ("12", Ref("", 12)), ("!34", Ref("", 34, "change")), ("acme/web#12", Ref("acme/web", 12)),
        ("group/sub/app!34", Ref("group/sub/app", 34, "change")), ("gitlab:g/a#3", Ref("gitlab:g/a", 3)),
        ("https://github.com/acme/web/pull/7", Ref("https://github.com/acme/web", 7, "change")),
        ("https://gitlab.com/g/s/a/-/issues/7#note_5", Ref("https://gitlab.com/g/s/a", 7, "issue")),
        ("https://github.com/acme/web/discussions/9", Ref("https://github.com/acme/web", 9, "discussion")),
        ("https://github.com/acme/web/releases/tag/v1.0", Ref("https://github.com/acme/web", tag="v1.0", kind="release")),
        ("v1.2.0", Ref("", tag="v1.2.0", kind="release")),
        ("acme/web v1.2", Ref("acme/web", tag="v1.2", kind="release")),
        ("https://git.example.com/g/a v1.2", Ref("https://git.example.com/g/a", tag="v1.2", kind="release")),
        ("https://git.example.com/g/a#12", Ref("https://git.example.com/g/a", 12)),
        ("https://git.example.com/g/a!3", Ref("https://git.example.com/g/a", 3, "change")),
    ],
)  # fmt: skip
def test_an_item_is_understood_in_every_spelling(text, expected):
    assert parse_ref(text) == expected


@given(st.text())
def test_any_text_names_an_item_or_is_refused_politely(text):
    try:
        parse_ref(text)
    except LoreError as error:
        assert error.hint
    try:
        parse(text)
    except LoreError as error:
        assert error.message


def test_an_items_page_is_recognised_and_other_pages_are_not():
    assert key_in_url("https://gitlab.com/g/s/a/-/issues/7") == ("gitlab.com/g/s/a", ItemKey("issue", 7))
    assert key_in_url("https://github.com/acme/web/blob/main/issues.md") is None


def test_loopback_is_loopback_only():
    assert is_loopback("127.0.0.1:80")
    assert is_loopback("localhost:9")
    assert not is_loopback("127.0.0.1.evil.example")
    assert not is_loopback("localhost.example.com")


def test_patterns_end_in_a_star():
    assert is_pattern("acme/*")
    assert is_pattern("gitlab:g/**")
    assert not is_pattern("acme/web")
