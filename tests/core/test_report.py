"""What the triage comment says, read back with an independent Markdown parser."""

import math
import re
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rendering import references, render
from test_markdown import ANY, HOSTILE, PIECES

from forgelore.compare.calibration import Explanation, Fact
from forgelore.compare.evidence import Quote
from forgelore.triage.report import MARKER, Report, ReportRow, RivalRow, build_report, percent

OPEN = ReportRow("#12", "Login page hangs", "https://github.com/acme/web/issues/12", 0.957, "open", None, "issue")
CLOSED = OPEN._replace(state="closed", state_reason="completed")
OTHER = OPEN._replace(ref="#89", title="Slow login", url="https://github.com/acme/web/issues/89", similarity=0.82)
CHANGE = ReportRow("#45", "Rework login", "https://github.com/acme/web/pull/45", 0.93, "merged", None, "change")
QUOTES = (
    Quote("error", "TypeError: x is undefined", "TypeError: x is undefined"),
    Quote("frame", "at login (auth.js:10)", "at login (auth.js:12)"),
)


def report(*rows, **more) -> Report:
    given_ = {
        "rows": rows or (OPEN, OTHER), "is_duplicate": True, "chance": 0.71, "chance_pairs": 412, "quotes": QUOTES, "labels": (),
        "related": (), "forge": "github", "kind": "issue", "max_chars": 65_536,
    }  # fmt: skip
    return Report(**given_ | more)


def seen(*rows, **more):
    return render(build_report(report(*rows, **more)))


def said(*rows, **more) -> str:
    return re.sub(r"\s+", " ", seen(*rows, **more).text)


def test_the_first_line_is_the_marker_and_nobody_sees_it():
    text = build_report(report())
    assert text.splitlines()[0] == MARKER
    assert MARKER not in render(text).text


def test_nothing_worth_saying_is_an_empty_text():
    assert build_report(report()._replace(rows=())) == ""
    assert build_report(report()._replace(rows=(), labels=(("bug", 0.9),))) == ""


def test_the_word_duplicate_needs_a_chance_that_supports_it():
    assert "Possible duplicate: issue 12: Login page hangs (open, 95% similar)." in said()
    assert "At least 71% of matches this close were marked as duplicates (measured on 412 pairs)." in said()


@pytest.mark.parametrize("chance", [0.499, 0.1, 0.009, 0.0, None])
def test_without_such_a_chance_it_is_related_or_a_duplicate(chance):
    text = said(chance=chance)
    assert "Related or duplicate: issue 12: Login page hangs (open, 95% similar)." in text
    assert "Possible duplicate" not in text


def test_a_chance_that_was_measured_on_nothing_is_not_told():
    assert "measured on" not in said(chance_pairs=0)
    assert "measured on one pair" in said(chance_pairs=1)


SAMENESS = ("same_text", "nearly_same_text", "similar")
CHANCES = st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.004, 0.01, 0.5, 1.0, math.nan])
ROWS = st.builds(
    lambda row, similarity, sameness: row._replace(similarity=similarity, sameness=sameness),
    st.sampled_from([OPEN, OTHER, CLOSED, CHANGE]), st.floats(0, 1) | st.just(math.nan), st.sampled_from(SAMENESS),
)  # fmt: skip


@given(st.lists(ROWS, min_size=1, max_size=4), CHANCES, st.integers(0, 900), st.booleans(), st.booleans())
def test_no_chance_is_told_that_says_nothing(rows, chance, pairs, is_duplicate, is_own):
    text = said(*rows, chance=chance, chance_pairs=pairs, is_duplicate=is_duplicate, is_own=is_own)
    told = [int(share) for share in re.findall(r"At least (\d+)%", text)]
    assert all(1 <= share <= 99 for share in told)
    assert f"({len(rows)})" in text
    if rows[0].sameness != "similar":
        assert told == []
        assert "Possible duplicate" not in text


@pytest.mark.parametrize("sameness", SAMENESS[:2])
def test_of_the_same_text_no_percentage_is_told(sameness):
    text = said(OPEN._replace(sameness=sameness, similarity=1.0), chance=0.08)
    assert "the same text as issue 12" in text
    assert "%" not in text


def test_the_lines_of_the_same_text_are_not_listed():
    assert "What both say" not in said(OPEN._replace(sameness="same_text"))
    assert "What both say" in said(OPEN._replace(sameness="nearly_same_text"))


def test_below_the_threshold_there_is_a_table_and_no_warning():
    text = build_report(report(is_duplicate=False))
    assert "[!WARNING]" not in text
    assert "Possible" not in text
    assert "Related or duplicate issues (2)" in render(text).text


FACTS = Explanation(
    -5.0,
    (
        Fact("meaning", "what the texts mean", 2.1), Fact("author", "the same author", -0.4),
        Fact("state", "it was open", 0.3), Fact("length", "how long the texts are", 0.02),
    ),
)  # fmt: skip


def test_the_facts_that_moved_the_first_one_are_named_and_none_that_hardly_did():
    text = said(explanation=FACTS)
    assert "What put issue 12 first: what the texts mean, it was open. Against it: the same author." in text
    assert "how long" not in text
    assert "What put" not in said(explanation=FACTS._replace(facts=FACTS.facts[-1:]))


@pytest.mark.parametrize("sameness", SAMENESS[:2])
def test_of_the_same_text_no_facts_are_weighed(sameness):
    assert "What put" not in said(OPEN._replace(sameness=sameness), explanation=FACTS)


@pytest.mark.parametrize(
    ("rows", "heading"),
    [
        ((OPEN,), "Related or duplicate issue (1)"),
        ((OPEN, OTHER), "Related or duplicate issues (2)"),
        ((OPEN._replace(sameness="same_text"), OTHER), "Similar issues (2)"),
        ((CLOSED._replace(is_regression=True, fixed_by=CHANGE), OTHER), "Similar issues (2)"),
    ],
)  # fmt: skip
def test_the_table_is_named_by_what_is_known_of_its_rows(rows, heading):
    assert heading in said(*rows)


def test_what_was_fixed_before_is_a_possible_regression():
    text = said(CLOSED._replace(is_regression=True, fixed_by=CHANGE))
    assert (
        "Possible regression: this issue looks very similar to issue 12: Login page hangs (95% similar), which was fixed"
        " by pull request 45 before this issue was filed." in text
    )
    assert "✅ closed as fixed" in text
    assert "duplicate" not in text


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        ("open", None, "🟢 open"), ("open", "reopened", "🟢 open"), ("closed", None, "⚫ closed"), ("closed", "completed", "⚫ closed"),
        ("closed", "not_planned", "⚪ closed as not planned"), ("closed", "duplicate", "🔁 closed as duplicate"), ("closed", "odd", "⚫ closed"),
        ("merged", None, "🟣 merged"), (None, None, ""),
    ],
)  # fmt: skip
def test_the_table_shows_how_each_item_ended(state, reason, shown):
    table = seen(OPEN._replace(state=state, state_reason=reason)).html
    assert f"<td>95%</td>\n<td>{shown}</td>" in table


def test_the_table_has_the_columns_of_the_specification_and_a_row_for_each_item():
    page = seen().html
    assert re.findall(r"<th>(.*?)</th>", page)[:4] == ["#", "Title", "Similarity", "Status"]
    assert "Login page hangs</td>\n<td>95%</td>" in page
    assert "Slow login</td>\n<td>82%</td>" in page
    assert page.count("<details") == page.count("</details>") == 2


def test_evidence_stands_side_by_side_and_open_below_a_warning():
    page = seen().html
    assert "<details open><summary>🔍 What both say (2)</summary>" in page
    assert "<th>This issue</th>\n<th>Issue 12</th>" in page
    assert "<td><code>at login (auth.js:10)</code></td>\n<td><code>at login (auth.js:12)</code></td>" in page
    assert "<td><code>TypeError: x is undefined</code></td>\n<td>the same</td>" in page
    assert "<details open>" not in seen(is_duplicate=False).html


def test_lines_are_the_same_whatever_their_blanks_and_differ_whatever_their_length():
    blanks = Quote("error", "E:  x\tis undefined\r", "E: x is\u200b undefined")
    cut = Quote("error", "E: " + "x" * 200 + "1", "E: " + "x" * 200 + "2")
    page = seen(quotes=(blanks, cut)).html
    assert page.count("<td>the same</td>") == 1
    assert page.count("x…</code></td>") == 2


def test_the_footer_says_what_the_number_means():
    assert "95% similar: closer than 95% of this project's items are to their nearest earlier neighbour." in said()
    assert "of the items of other projects are" in said(is_own=False)


def test_items_of_other_kinds_and_projects_are_related():
    elsewhere = OPEN._replace(project="acme/api", url="https://github.com/acme/api/issues/12")
    text = said(related=(CHANGE, elsewhere))
    assert "Related (another kind or project): pull request 45: Rework login (🟣 merged, 93% similar)" in text
    assert "acme/api issue 12: Login page hangs (🟢 open, 95% similar)" in text
    assert "nearest earlier neighbour" not in said(related=(CHANGE,)).partition("Related")[0]


def test_related_items_alone_are_worth_a_comment_without_a_warning():
    text = build_report(report()._replace(rows=(), related=(CHANGE,), is_duplicate=False, quotes=()))
    assert text.startswith(MARKER)
    assert "WARNING" not in text


def test_labels_are_suggested_with_how_many_agree():
    assert "Suggested labels: bug (84%), area: ui (60%)" in said(labels=(("bug", 0.849), ("area: ui", 0.6)))


def test_gitlab_gets_a_plain_quote_and_its_own_words():
    change = CHANGE._replace(ref="!45", url="https://gitlab.com/g/p/-/merge_requests/45")
    text = build_report(report(change, forge="gitlab", kind="change"))
    assert "[!WARNING]" not in text
    assert "> ⚠️ **Possible duplicate:** [merge request 45: Rework login](" in text
    assert "It is merged already. If this merge request does the same, please close it" in text


def test_links_lead_to_the_pages_by_a_way_that_leaves_no_trace():
    quiet = "https://redirect.github.com/acme/web/issues/"
    assert [target for target, _ in seen().links] == [f"{quiet}12", f"{quiet}12", f"{quiet}89"]


def test_a_server_without_a_quiet_way_gets_one_link_to_the_best_match():
    rows = [row._replace(url=row.url.replace("github.com", "git.acme.example")) for row in (OPEN, OTHER)]
    found = {target for target, _ in seen(*rows).links}
    assert found == {"https://git.acme.example/acme/web/issues/12"}


def test_an_item_without_an_address_is_named_without_a_link():
    assert seen(OPEN._replace(url="")).links == []
    assert "issue 12: Login page hangs" in said(OPEN._replace(url="javascript:alert(1)"))


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.9999, "99%"),
        (1.0, "100%"),
        (0.92, "92%"),
        (0.29, "29%"),
        (0.57, "57%"),
        (0, "0%"),
        (1.7, "100%"),
        (-1, "0%"),
        (math.nan, "0%"),
    ],
)
def test_percentages_are_rounded_down(share, shown):
    assert percent(share) == shown


@given(st.integers(0, 100))
def test_whole_percentages_stay_what_they_are(number):
    assert percent(number / 100) == f"{number}%"


class Words(NamedTuple):
    """Untrusted text for every place that takes it."""

    title: str
    other: str
    quote: str
    label: str
    project: str


WORDS = st.builds(Words, *[st.one_of(ANY, PIECES)] * 5)


def filled(words: Words, forge: str, **more) -> Report:
    rows = (OPEN._replace(title=words.title), OTHER._replace(title=words.other))
    related = (CHANGE._replace(title=words.other, project=words.project),)
    quotes = (Quote("error", words.quote, words.other), Quote("title", words.title, words.quote))
    return report(*rows, forge=forge, quotes=quotes, labels=((words.label, 0.5),), related=related, **more)


@settings(max_examples=200)
@given(WORDS, st.sampled_from(["github", "gitlab", "forgejo"]), st.booleans())
def test_whatever_people_write_the_comment_has_exactly_what_we_made(words, forge, is_duplicate):
    text = build_report(filled(words, forge, is_duplicate=is_duplicate))
    page = render(text)
    host = "redirect.github.com" if forge == "github" else "github.com"
    wanted = [f"https://{host}/acme/web/{part}" for part in ("issues/12", "issues/89", "pull/45")]
    assert [target for target, _ in page.links] == ([wanted[0]] if is_duplicate else []) + wanted
    assert page.images == []
    assert re.findall(r"<h(\d)>", page.html) == ["3"]
    assert page.html.count("<table>") == 2
    assert page.html.count("<tr>") == 6
    assert references(page) == []


def repeated(words: Words) -> ReportRow:
    """An item that was closed in favour of another."""
    original = OTHER._replace(title=words.other, fixed_by=CHANGE._replace(title=words.quote), state="closed")
    return CLOSED._replace(title=words.title, state_reason="duplicate", original=original)


@settings(max_examples=200)
@given(WORDS, st.sampled_from(["github", "gitlab", "forgejo"]), st.sampled_from(SAMENESS), st.booleans())
@example(
    words=Words("", "@", "", "", ""), forge="github", sameness="same_text", is_regression=False
)  # our full stop: "@."
def test_whatever_the_original_is_called_its_name_does_nothing(words, forge, sameness, is_regression):
    row = repeated(words)
    original = row.original._replace(is_regression=is_regression)
    page = render(build_report(report(row._replace(sameness=sameness, original=original), forge=forge, quotes=())))
    host = "redirect.github.com" if forge == "github" else "github.com"
    wanted = [f"https://{host}/acme/web/{part}" for part in ("issues/12", "issues/89", "pull/45", "issues/12")]
    assert [target for target, _ in page.links] == wanted
    assert references(page) == []


@settings(max_examples=200)
@given(WORDS, st.sampled_from(["github", "gitlab", "forgejo"]), st.booleans())
def test_no_line_of_it_is_a_command_to_anybody(words, forge, is_repeated):
    """Quick actions, workflow commands, expressions, a second marker, a mark of duplicates."""
    told = filled(words, forge)
    text = build_report(told._replace(rows=(repeated(words),)) if is_repeated else told)
    for line in text.splitlines():
        bare = line.lstrip("> \t")
        assert not bare.startswith(("/", "::", "##["))
    assert text.count("<!--") == text.count("-->") == 1
    assert "${{" not in text
    assert not re.search(r"duplicate\s+of", text, re.IGNORECASE)
    assert not re.search(r"[#!]\d|(?<!\w)@\w", text)


@given(WORDS)
def test_equal_reports_are_equal_bytes(words):
    assert build_report(filled(words, "github")) == build_report(filled(words, "github"))
    build_report(filled(words, "gitlab")).encode()  # no lone surrogate leaves


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_project_name_breaks_no_list(text):
    page = render(build_report(report(related=(CHANGE._replace(project=text),))))
    assert page.html.count("<li>") == 1


def test_too_long_a_report_loses_quotes_first_then_rows():
    rows = tuple(OPEN._replace(ref=f"#{number}", title="字" * 120) for number in range(40))
    quotes = tuple(Quote("error", f"E{number} " + "x" * 150, "y" * 150) for number in range(8))
    whole = report(*rows, quotes=quotes)
    size = len(build_report(whole).encode())
    without_quotes = len(build_report(whole._replace(quotes=())).encode())
    for limit in range(size, 2_000, -500):
        text = build_report(whole._replace(max_chars=limit))
        assert len(text.encode()) <= limit
        left = text.count("| 95% |")
        assert left == 40 if limit >= without_quotes else "What both say" not in text
        assert text.startswith(MARKER) and left >= 1
    assert build_report(whole._replace(max_chars=100)) == ""


def test_the_longest_report_there_can_be_fits_github():
    rows = tuple(OPEN._replace(title="字😀" * 128) for _ in range(20))
    text = build_report(report(*rows, quotes=tuple(Quote("error", "𝔈" * 500, "字" * 500) for _ in range(8))))
    assert len(text.encode()) <= 65_536
    assert text.count("| 95% |") == 20


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
@given(title=st.one_of(ANY, PIECES))
@settings(max_examples=30)
def test_a_rival_change_is_named_without_a_reference_whatever_its_title_says(forge, title):
    rival = RivalRow(CHANGE._replace(title=title, state="open"), "changes the same 2 lines as", ("closes issue 5",))
    text = build_report(report(is_duplicate=False, rivals=(rival, rival), forge=forge, kind="change"))
    found = render(text)
    assert references(found) == []
    assert "Changes the same 2 lines as" in found.text
    assert ", which also closes issue 5." in found.text


def test_a_fact_alone_is_a_comment_and_is_cut_last():
    rival = RivalRow(CHANGE, "changes the same line as")
    alone = report()._replace(rows=(), quotes=(), is_duplicate=False, rivals=(rival,), kind="change")
    text = build_report(alone)
    assert "**Changes the same line as** [pull request 45: Rework login](" in text.replace("\u200b", "")
    assert "similar" not in text
    assert "Changes the same line as" in build_report(alone._replace(max_chars=len(text.encode())))
