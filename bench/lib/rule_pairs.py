"""Every pair of a tracker that a rule of the builtin judge accepts, labelled or not: no ranking, no index.

The product looks at the best candidates of each item. Here all pairs are looked at that could be accepted: near titles
for the rules of equal texts, shared messages for the rule of the same failure. Of each item the surest pair counts, one
whose target was open then before others. For equal texts targets that were closed count too: that somebody files the
same text again does not depend on it. For the same failure they do not: after a fix it is a regression.
"""

import collections
import gzip
import json
import math
import typing

from forgelore.compare.evidence import Signals, build_profile, build_query_profile, compare, find_quotes
from forgelore.compare.sameness import SAME_TITLE, find_sameness, learn, title_likeness, without_boilerplate
from forgelore.compare.signatures import parse_signature
from forgelore.dedupe.gates import RULES
from forgelore.dedupe.verdict import JudgedCandidate
from forgelore.index.cleaning import clean
from forgelore.records import JudgedItem
from forgelore.text.dates import parse_ms
from quality import CORPORA, query_lines

_COMMON = 200  # items with a message, above which it names no failure


class RulePair(typing.NamedTuple):
    corpus: str
    source: int
    target: int
    rule: str
    label: bool | None


class _Item(typing.NamedTuple):
    item: JudgedItem
    author: str | None
    created_at: int
    closed_at: int | None
    body: str  # without boilerplate


def find_rule_pairs(corpus: str, stems: typing.Callable[[str], list[str]]) -> list[RulePair]:
    gold = {(row["kind"], row["query"]): row["gold"] for row in query_lines(corpus)}
    found = []
    for kind in ("issue", "change"):
        items = load_items(corpus, kind)
        candidates = [*_of_texts(items), *(_of_failures(items, stems) if kind == "issue" else ())]
        best: dict[int, tuple[tuple[float, bool], RulePair]] = {}
        for source, other, one in candidates:
            rule = next((rule for rule in RULES[1:] if rule.holds(source.item, one)), None)
            is_open = other.closed_at is None or other.closed_at > source.created_at
            if rule is None or not (is_open or rule.name != "same failure"):
                continue
            known = gold.get((kind, source.item.number))
            label = other.item.number in known if known else None
            key, number = (rule.confidence, is_open), source.item.number
            if number not in best or key > best[number][0]:
                best[number] = key, RulePair(corpus, number, other.item.number, rule.name, label)
        found += [pair for _, pair in best.values()]
    return found


def load_items(corpus: str, kind: str) -> list[_Item]:
    hidden = set(json.loads((CORPORA / f"{corpus}.exclude.json").read_text(encoding="utf-8")))
    with gzip.open(CORPORA / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["kind"] == kind and row["number"] not in hidden]
    rows.sort(key=lambda row: row["created_at"])
    lines = frozenset(learn((row["author"], row["body"] or "") for row in rows)[0])
    return [
        _Item(
            JudgedItem(0, row["number"], kind, row["title"], row["body"] or "", "open"), row["author"],
            parse_ms(row["created_at"]), row["closed_at"] and parse_ms(row["closed_at"]),
            without_boilerplate(row["body"] or "", lines),
        )
        for row in rows
    ]  # fmt: skip


def _of_texts(items: list[_Item]) -> typing.Iterator[tuple[_Item, _Item, JudgedCandidate]]:
    """Yield pairs of the same or nearly the same text. Near titles share one of their rarest words."""
    words = [one.item.title.casefold().split() for one in items]
    often = collections.Counter(word for each in words for word in set(each))
    holders: dict[str, list[int]] = collections.defaultdict(list)
    for at, (one, mine) in enumerate(zip(items, words, strict=True)):
        rare = sorted(set(mine), key=lambda word: (often[word], word))
        rare = rare[: len(rare) - math.ceil(0.6 * len(rare)) + 1]
        near = {other for word in rare for other in holders[word]}
        for word in rare:
            holders[word].append(at)
        for other in sorted(near):
            theirs = items[other]
            if title_likeness(one.item.title, theirs.item.title) >= SAME_TITLE:
                same = find_sameness(one.item.title, one.body, theirs.item.title, theirs.body)
                if same != "similar":
                    yield one, theirs, _candidate(one, theirs, same, {})


def _of_failures(
    items: list[_Item], stems: typing.Callable[[str], list[str]]
) -> typing.Iterator[tuple[_Item, _Item, JudgedCandidate]]:
    """Yield pairs that share a message of three words and more, with the numbers that the rule reads."""
    often: collections.Counter[str] = collections.Counter()
    for one in items:
        often.update(set(stems(f"{one.item.title}\n{one.body}"[:8_000])))
    holders: dict[str, list[int]] = collections.defaultdict(list)
    for at, one in enumerate(items):
        marks = parse_signature(f"{one.item.title}\n{one.body}").marks
        keys = [mark.key for mark in marks if mark.what == "error" and " " in mark.key]
        near = {other for key in keys if len(holders[key]) < _COMMON for other in holders[key]}
        for key in keys:
            holders[key].append(at)
        if not near:
            continue
        profile = _profile(one, stems)
        asked = build_query_profile(
            profile, clean(profile.text), stems, document_count=lambda _: often, total=len(items)
        )
        for other in sorted(near):
            theirs = _profile(items[other], stems)
            features = compare(asked, theirs, Signals(None))
            quotes = [one.rarity for one in find_quotes(asked, theirs) if one.what == "error" and " " in one.text]
            features["rare_error"] = max(quotes, default=0.0)
            if not features["cites"]:  # who names it has found it
                yield one, items[other], _candidate(one, items[other], "similar", features)


def _profile(one: _Item, stems: typing.Callable[[str], list[str]]):
    return build_profile(one.item.title, one.body, stems, number=one.item.number, created_at=one.created_at)


def _candidate(one: _Item, other: _Item, sameness, features: dict[str, float]) -> JudgedCandidate:
    days = abs(one.created_at - other.created_at) / 86_400_000
    known = {
        "same_author": float(bool(one.author) and one.author == other.author),
        "recency": 1 - min(1.0, math.log1p(days) / math.log1p(3650)),
    }
    return JudgedCandidate(other.item, 0.0, 1.0, sameness, (), features | known)
