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
from forgelore.triage.report import WORDS as WORDS_SEEN

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


def test_a_close_match_may_be_the_same_and_is_never_called_a_duplicate():
    opening = opening_of(report())
    assert "This may be the same as issue 12: Login page hangs (open). Both show TypeError: x is undefined." in opening
    assert "duplicate" not in opening


def opening_of(one) -> str:
    """What is seen above the fold, on one line."""
    return " ".join(render(build_report(one).partition("<details>")[0].partition("<sub>")[0]).text.split())


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
    told = [int(share) for share in re.findall(r"at least (\d+) in 100", text)]
    assert all(1 <= share <= 99 for share in told)
    assert all(1 <= int(share) <= 100 for share in re.findall(r"At most (\d+) in 100", text))
    assert told == [] or (rows[0].sameness == "similar" and is_duplicate)


@pytest.mark.parametrize("sameness", SAMENESS[:2])
def test_the_same_text_is_said_where_it_is_and_nothing_is_weighed(sameness):
    text = said(OPEN._replace(sameness=sameness, similarity=1.0), chance=0.08, explanation=FACTS)
    assert "the same text as issue 12" in text
    assert "in 100" not in text
    assert "What speaks for" not in text


def test_the_lines_of_the_same_text_are_not_listed():
    assert "In both" not in said(OPEN._replace(sameness="same_text"))
    assert "In both" in said(OPEN._replace(sameness="nearly_same_text"))


def test_below_the_threshold_there_is_a_list_and_nothing_to_do():
    assert opening_of(report(is_duplicate=False)) == (
        "Similar issues: issue 12: Login page hangs (open) · issue 89: Slow login (open)"
    )
    assert opening_of(report(OPEN, is_duplicate=False)) == "Similar issue: issue 12: Login page hangs (open)"


FACTS = Explanation(
    -5.0,
    (
        Fact("meaning", "what the texts mean", 2.1), Fact("author", "the same author", -0.4),
        Fact("state", "it was open", 0.3), Fact("length", "how long the texts are", 0.02),
    ),
)  # fmt: skip


def test_the_facts_that_moved_the_first_one_are_named_and_none_that_hardly_did():
    text = said(explanation=FACTS)
    assert "What speaks for issue 12: what the texts mean; it was open. Against it: the same author." in text
    assert "how long" not in text
    assert "What speaks" not in said(explanation=FACTS._replace(facts=FACTS.facts[-1:]))


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        ("open", None, " (open)"), ("open", "reopened", " (open)"), ("closed", None, " (closed)"),
        ("closed", "completed", " (closed)"), ("closed", "not_planned", " (closed as not planned)"),
        ("closed", "duplicate", " (closed as a duplicate)"), ("closed", "odd", " (closed)"), ("merged", None, " (merged)"), (None, None, ""),
    ],
)  # fmt: skip
def test_how_each_item_ended_is_one_clause(state, reason, shown):
    text = opening_of(report(OPEN._replace(state=state, state_reason=reason), is_duplicate=False))
    assert text == f"Similar issue: issue 12: Login page hangs{shown}"


@pytest.mark.parametrize(
    ("milestone", "shown"),
    [
        ("v0.9", ", in v0.9"), ("0.9.1", ", in 0.9.1"), ("Lantern 2.0-rc1", ", in Lantern 2.0-rc1"), ("", ""),
        ("Someday", ""), ("1.0 or @ana says so in a long sentence", ""), ("2026", ""),
    ],
)  # fmt: skip
def test_a_fix_is_in_the_release_that_its_milestone_names(milestone, shown):
    fixed = CLOSED._replace(fixed_by=CHANGE._replace(milestone=milestone))
    text = opening_of(report(fixed, is_duplicate=False))
    assert text == f"Similar issue: issue 12: Login page hangs (fixed by pull request 45{shown})"


def test_what_was_fixed_before_may_be_back():
    text = opening_of(report(CLOSED._replace(is_regression=True, fixed_by=CHANGE)))
    assert text.startswith("This may be issue 12: Login page hangs again, which pull request 45 fixed earlier.")
    assert "Rework login" not in text, "its title may be for fewer eyes"


def test_a_line_of_both_is_shown_once_and_lines_that_differ_side_by_side():
    page = seen().html
    assert "<li>error: <code>TypeError: x is undefined</code></li>" in page
    assert "<li>frame: <code>at login (auth.js:10)</code> here, <code>at login (auth.js:12)</code> there</li>" in page


def test_lines_are_the_same_whatever_their_blanks_and_differ_whatever_their_length():
    blanks = Quote("error", "E:  x\tis undefined\r", "E: x is\u200b undefined")
    cut = Quote("error", "E: " + "x" * 200 + "1", "E: " + "x" * 200 + "2")
    page = seen(quotes=(blanks, cut)).html
    assert page.count("<li>error: <code>E: x is undefined</code></li>") == 1
    assert page.count("x…</code>") == 2


LINE = "LNT-2003 metadata database busy"


def shown(*quotes, **more):
    found = re.search(r"Both show (.*?)\. If it is", opening_of(report(quotes=tuple(quotes), **more)))
    return found[1] if found else ""


def error(text, rarity=0.5, what="error"):
    return Quote(what, text, text, rarity)


def test_what_both_show_is_the_rarest_line_and_an_errors_words_come_before_a_name():
    assert shown(error("ERROR: the disk is full", 0.4), error(f"error: {LINE}", 0.9)) == LINE
    assert shown(error("LockTimeoutPolicy", 1.0, "identifier"), error(LINE, 0.35)) == LINE
    assert shown(error("LockTimeoutPolicy", 1.0, "identifier")) == "LockTimeoutPolicy"
    assert shown(error("getValue", 0.4, "identifier")) == ""
    assert shown(error("a b c d e f g h i j k l")) == "a b c d e f g h…"


@pytest.mark.parametrize(
    "noise",
    [
        "#0 0x00007f81 in clash::boom (this=0x0)", "ERROR at 0x7ffe12 no pages left", "at org.acme.Cache.put(Cache.java:218)",
        'File "/usr/lib/app/cache.py", line 12, in put', "2026-01-02 10:00:01 ERROR: the lock is gone", "ERROR 01/02/2026 the lock is gone",
        "ERROR: cannot reach https://internal.example/x", "ERROR: cannot reach 10.0.0.12 at all", "ERROR: mail of ana@example.org is lost",
        "ERROR: @ana owns the lock", "ERROR: /home/ana/.cache is full up", "ERROR: see #12 for all that", "ERROR: commit 0a1b2c3d4e5f is lost",
        "ERROR: this is a duplicate of all", "panicked at src/main.rs:12", "ERROR <!-- forgelore:triage:v1 -->", "ERROR: ${{ secrets.TOKEN }} here",
    ],
)  # fmt: skip
def test_what_is_of_one_run_one_machine_or_one_person_is_never_what_both_show(noise):
    assert shown(error(noise, 1.0), error(LINE, 0.35)) == LINE
    assert shown(error(noise, 1.0)) == ""


def test_account_names_frames_and_lines_that_differ_are_never_what_both_show():
    assert shown(error("somebody_42", 1.0, "identifier"), people=("somebody_42",)) == ""
    assert shown(error(LINE, 1.0, "frame"), error("v0.9.1-rc1", 1.0, "version")) == ""
    assert shown(Quote("error", f"{LINE} a", f"{LINE} b", 1.0)) == ""


def test_code_holds_what_was_written_and_nothing_that_cannot_be_seen():
    text = build_report(
        report(OPEN._replace(title="Lock `std::fs` @ana #12"), quotes=(error("error: `a|b` owns a\u200db::c <x>"),))
    )
    spans = re.findall(r"<code>(.*?)</code>", render(text).html)
    assert spans[0] == "std::fs"
    assert set(spans[1:]) == {"`a|b` owns ab::c &lt;x&gt;", "error: `a|b` owns ab::c &lt;x&gt;"}


def test_the_figure_says_what_it_means():
    assert "At most 5 in 100 issues of this project have an earlier one this close." in said()
    assert "At most 5 in 100 issues of other projects have" in said(is_own=False)


def test_items_of_other_kinds_and_projects_are_related():
    elsewhere = OPEN._replace(project="acme/api", url="https://github.com/acme/api/issues/12")
    related = "pull request 45: Rework login (merged) · acme/api issue 12: Login page hangs (open)"
    assert f"Related: {related}" in said(related=(CHANGE, elsewhere))
    assert opening_of(report()._replace(rows=(), related=(CHANGE, elsewhere), quotes=())) == f"Related: {related}"


def test_labels_are_in_the_fold_with_how_often_they_were_right():
    text = said(labels=(("bug", 0.849), ("area: ui", 0.6)))
    assert "how often they were right: bug (84 in 100), area: ui (60 in 100)" in text
    assert "bug" not in opening_of(report(labels=(("bug", 0.849),)))


def test_gitlab_gets_its_own_words():
    change = CHANGE._replace(ref="!45", url="https://gitlab.com/g/p/-/merge_requests/45")
    text = opening_of(report(change, forge="gitlab", kind="change", quotes=()))
    assert text == "This may be the same as merge request 45: Rework login (merged). Please say what this one adds."


def test_the_last_line_says_what_this_is_and_how_to_disagree():
    assert said().strip().endswith("A suggestion by forgelore · 👎 if it doesn't help")
    about = "https://example.org/about"
    page = seen(about=about)
    assert page.links[-1] == (about, "What is this?")
    assert all("example.org" not in target for target, _ in seen(about="javascript:alert(1)").links)


def test_what_waits_for_its_closing_says_so_in_the_same_comment():
    text = opening_of(report(OPEN._replace(sameness="same_text"), closes_in=72))
    assert text == (
        "This has the same text as issue 12 (open). It will be closed in 72 hours, unless somebody comments, reacts or takes part."
    )


def test_a_change_that_does_the_same_is_told_once():
    rival = RivalRow(OPEN._replace(kind="change"), "changes the same 3 lines as", ("closes issue 5",))
    row = rival.row._replace(sameness="same_text")
    text = said(row, rivals=(rival,), kind="change").strip()
    assert text.startswith(
        "This changes the same 3 lines as pull request 12: Login page hangs (open), which also closes issue 5. A suggestion"
    )
    assert text.count("pull request 12") == 1


def test_links_lead_to_the_pages_by_a_way_that_leaves_no_trace():
    quiet = "https://redirect.github.com/acme/web/issues/"
    assert [target for target, _ in seen().links] == [f"{quiet}12", f"{quiet}89"]


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


def before_a_click(text):
    seen = render(re.sub(r"(?s)</summary>.*?</details>", "</summary></details>", text)).text
    return [line for line in seen.splitlines() if line.strip()]


@settings(max_examples=200)
@given(WORDS, st.sampled_from(["github", "gitlab", "forgejo"]), st.booleans(), st.sampled_from([0, 72]))
def test_whatever_people_write_the_comment_has_exactly_what_we_made(words, forge, is_duplicate, closes_in):
    text = build_report(filled(words, forge, is_duplicate=is_duplicate, closes_in=closes_in))
    page = render(text)
    host = "redirect.github.com" if forge == "github" else "github.com"
    wanted = [f"https://{host}/acme/web/{part}" for part in ("issues/12", "issues/89", "pull/45")]
    assert [target for target, _ in page.links] == wanted
    assert page.images == []
    assert not re.search(r"<(?:h\d|table|blockquote|hr|pre)", page.html)
    assert page.html.count("<details>") == page.html.count("</details>") == 1
    assert references(page) == []
    lines = before_a_click(text)
    assert len(lines) == 3
    assert sum(len(line.split()) for line in lines) <= WORDS_SEEN == 45
    assert not any(
        re.search("[\u200b-\u200f\u2060]", span) for span in re.findall(r"(?s)<code>(.*?)</code>", page.html)
    )


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
    pages = {"match": "issues/12", "original": "issues/89", "fix": "pull/45"}
    wanted = [f"https://{host}/acme/web/{pages[part]}" for part in ("match", "original", "fix")]
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
def test_a_hostile_project_name_breaks_no_line(text):
    page = render(build_report(report(related=(CHANGE._replace(project=text),))))
    assert [target for target, _ in page.links][-1] == "https://redirect.github.com/acme/web/pull/45"
    assert references(page) == []


def test_too_long_a_report_loses_quotes_first_then_rows():
    rows = tuple(OPEN._replace(ref=f"#{number}", title="字" * 120) for number in range(40))
    quotes = tuple(Quote("error", f"E{number} " + "x" * 150, "y" * 150) for number in range(8))
    whole = report(*rows, quotes=quotes)
    size = len(build_report(whole).encode())
    without_quotes = len(build_report(whole._replace(quotes=())).encode())
    for limit in range(size, 2_000, -500):
        text = build_report(whole._replace(max_chars=limit))
        assert len(text.encode()) <= limit
        left = len(re.findall(r"\[issue \d+: ", text))
        assert left == 40 if limit >= without_quotes else "In both" not in text
        assert text.startswith(MARKER) and left >= 1
    assert build_report(whole._replace(max_chars=100)) == ""


def test_the_longest_report_there_can_be_fits_github():
    rows = tuple(OPEN._replace(ref=f"#{number}", title="字😀" * 128) for number in range(20))
    text = build_report(report(*rows, quotes=tuple(Quote("error", "𝔈" * 500, "字" * 500) for _ in range(8))))
    assert len(text.encode()) <= 65_536
    assert len(re.findall(r"\[issue \d+: ", text)) == 20


@pytest.mark.parametrize("forge", ["github", "gitlab", "forgejo"])
@given(title=st.one_of(ANY, PIECES))
@settings(max_examples=30)
def test_a_rival_change_is_named_without_a_reference_whatever_its_title_says(forge, title):
    rival = RivalRow(CHANGE._replace(title=title, state="open"), "changes the same 2 lines as", ("closes issue 5",))
    text = build_report(report(is_duplicate=False, rivals=(rival,), forge=forge, kind="change"))
    found = render(text)
    assert references(found) == []
    assert re.search("This changes the same 2 lines as (?:pull|merge) request 45: ", found.text)


def test_a_fact_alone_is_a_comment_and_is_cut_last():
    rival = RivalRow(CHANGE, "changes the same line as")
    alone = report()._replace(rows=(), quotes=(), is_duplicate=False, rivals=(rival,), kind="change")
    text = build_report(alone)
    assert "This changes the same line as [pull request 45: Rework login](" in text
    assert "imilar" not in text
    assert "This changes the same line as" in build_report(alone._replace(max_chars=len(text.encode())))


def test_a_quote_that_is_a_part_of_another_is_not_shown_beside_it():
    quotes = [error("internal compiler error: unexpected panic"), error("error: unexpected panic"), error("panic)")]
    text = build_report(report(quotes=(*quotes, error("no RPC connection"))))
    folded = text.partition("<summary>Why</summary>")[2]
    assert [line for line in folded.splitlines() if line.startswith("- ")] == [
        "- error: `internal compiler error: unexpected panic`", "- error: `no RPC connection`"
    ]  # fmt: skip
