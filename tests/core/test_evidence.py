"""How alike two items are, and what shows it."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.evidence import (
    FEATURES,
    Signals,
    build_profile,
    build_query_profile,
    compare,
    find_quotes,
    shared_marks,
)

DAY = 86_400_000
NO_LIST = Signals(None)


def stems(text):
    return re.findall(r"\w+", text.lower())


def item(title, text="", **more):
    return build_profile(title, text, stems, **more)


def ask(title, text="", counts=None, total=1000, **more):
    known = counts or {}
    return build_query_profile(
        item(title, text, **more), text, stems,
        document_count=lambda words: {word: known.get(word, 1) for word in words}, total=total,
    )  # fmt: skip


def pair(mine, other, signals=NO_LIST, **more):
    return compare(ask(*mine, **more), item(*other), signals)


WALLET = (
    "Wallet deadlocks on resize",
    "The keystore hangs in ChunkCache::insert of src/cache.cpp with OSError: disk full",
)


def test_every_feature_has_a_number():
    assert set(pair(WALLET, ("Other", "thing"))) == set(FEATURES)


def test_the_same_words_are_all_there_is():
    features = pair(WALLET, WALLET)
    for name in ("cover", "title", "title_in", "known_title", "jaccard", "same"):
        assert features[name] == pytest.approx(1, abs=0.35)
    assert features["error"] > 0 and features["identifier"] > 0 and features["path"] > 0


def test_a_single_letter_tells_nothing():
    assert set(ask("C crashes", "x = 7 crashes C").telling) == {"crashes"}


def test_of_many_shared_marks_six_of_a_kind_count():
    text = " ".join(f"src/net/part{at}/file{at}.cpp" for at in range(9))
    asked, other = ask("Crash", text), item("Crash", text)
    kinds = Counter(mark.what for mark in shared_marks(asked, other))
    assert (kinds["path"], len(asked.signature.marks) >= 9) == (6, True)


def test_nothing_shared_is_nothing():
    features = pair(WALLET, ("Printer blank", "pages"))
    assert all(features[name] == 0 for name in ("cover", "title", "title_in", "jaccard", "error", "path", "same"))


def test_a_rare_word_says_more_than_a_common_one():
    counts = {"resize": 900, "deadlocks": 2}
    rare = pair(WALLET, ("It deadlocks", ""), counts=counts)
    common = pair(WALLET, ("Please resize", ""), counts=counts)
    assert rare["title_in"] > common["title_in"]


def test_a_name_that_every_report_has_says_nothing():
    text = "SeaMonkey opens"
    everywhere = pair(("Title", text), ("Another", text), counts={"seamonkey": 1000})
    rare = pair(("Title", text), ("Another", text), counts={"seamonkey": 2})
    assert everywhere["identifier"] < 0.1 < rare["identifier"]


def test_in_an_index_of_four_items_the_is_still_a_common_word():
    counts = dict.fromkeys(["the", "wallet", "deadlocks", "on", "resize"], 1)
    shared_rare = pair(("the deadlocks", ""), ("a deadlocks", ""), counts=counts, total=4)
    shared_common = pair(("the deadlocks", ""), ("the printer", ""), counts=counts, total=4)
    assert shared_rare["title"] > 3 * shared_common["title"]


def test_positions_in_a_short_list_are_not_trusted():
    """Three candidates have no spread: what is usual counts instead."""
    near = Signals(0.95, 1.2, 1.2, cosine_trust=0.0, words_trust=0.0, usual_cosine_z=8.0)
    features = pair(WALLET, WALLET, near)
    assert features["cosine_z"] == 8.0
    assert features["words_z"] > 3
    trusted = pair(WALLET, WALLET, near._replace(cosine_trust=1.0, words_trust=1.0))
    assert (trusted["cosine_z"], trusted["words_z"]) == (1.2, 1.2)


def test_without_vectors_nothing_is_said_of_them():
    features = pair(WALLET, WALLET, Signals(None, 3.0, 1.0, 1.0, 1.0))
    assert (features["cosine"], features["cosine_z"]) == (0, 0)


def test_sooner_is_more():
    asked = ask("Title", created_at=1000 * DAY)
    ages = [compare(asked, item("T", created_at=(1000 - days) * DAY), NO_LIST)["recency"] for days in (0, 1, 30, 900)]
    assert ages == sorted(ages, reverse=True) and ages[0] == 1
    assert compare(asked, item("T"), NO_LIST)["recency"] == 0


def test_nearly_the_same_text_is_half_the_same():
    text = "The client dies as soon as its folder lies on a network share that another machine has mounted before it."
    assert pair(("Client dies", text), ("client DIES", f"  {text}\r\n"))["same"] == 1
    assert pair(("Client dies", text), ("Client dies!", text))["same"] == 0.5
    assert pair(("Client dies", text), ("Client hangs", text))["same"] == 0


def test_of_a_change_what_its_author_wrote_is_compared_not_its_paths():
    said = "Keep time zones when a calendar is exported"
    asked = build_query_profile(
        item("Fix the export", f"{said}\n\nsrc/ics.py", said=said), said, stems, document_count=lambda _: {}, total=9
    )
    assert compare(asked, item("Fix the export", said, said=said), NO_LIST)["same"] == 1


def test_who_names_the_other_is_told():
    assert compare(ask("Title", "like #7", number=9), item("T", number=7), NO_LIST)["cites"] == 1
    assert compare(ask("Title", "", number=9), item("T", "see #9", number=7), NO_LIST)["cites"] == 1
    assert compare(ask("Title", "", number=9), item("T", "see #99", number=7), NO_LIST)["cites"] == 0


def test_quotes_are_what_both_wrote_errors_first():
    other = ("Disk is full", "we see oserror: Disk full, in lib/src/cache.cpp")
    quotes = find_quotes(ask(*WALLET), item(*other))
    assert quotes[0].what == "error"
    assert ("path", "src/cache.cpp", "lib/src/cache.cpp") in [quote[:3] for quote in quotes]
    assert len(quotes) <= 8


def test_titles_are_quoted_where_they_are_alike():
    quotes = find_quotes(ask("Wallet deadlocks on resize"), item("Wallet deadlocks"))
    assert ("title", "Wallet deadlocks on resize", "Wallet deadlocks") in [quote[:3] for quote in quotes]
    assert find_quotes(ask("Wallet deadlocks on resize"), item("Printer")) == ()


TEXT = st.text(st.sampled_from("ab.:_/#1 \nE"), max_size=60)


@given(st.tuples(TEXT, TEXT), st.tuples(TEXT, TEXT))
def test_shares_stay_shares_whatever_is_compared(mine, other):
    features = pair(mine, other)
    for name in ("cover", "title", "title_in", "in_title", "known_title", "jaccard", "recency", "length"):
        assert 0 <= features[name] <= 1 + 1e-9
