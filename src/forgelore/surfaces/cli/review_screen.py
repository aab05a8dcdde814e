"""The screen of `dedupe review`: one pair as lines, in colours where a terminal shows them, in brackets elsewhere."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from forgelore.surfaces.present.dedupe import describe_distance, describe_ending
from forgelore.surfaces.present.text import Style, clean, counted_noun, day, fit, wrap, wrap_words

if TYPE_CHECKING:
    from forgelore.api import ReviewItem, ReviewPair

_LINES = 5  # of those that both have, or only one
_FOLDED, _UNFOLDED = 6, 400  # lines of a text
_REF = 6  # columns of a number
HELP = """\
  s  same       they report the same thing; the newer one becomes a duplicate of the older one
  r  related    close, and worth a link; neither is a duplicate
  t  twin       the same thing for another platform, version or part; both stay
  n  not        nothing to do with each other
  u  unsure     nobody can tell from this; somebody else is asked
  m  more of the texts, or less      o  open both in the browser
  z  take the last answer back       q  quit; answers are kept, and the next review goes on here"""


def show_pair(pair: "ReviewPair", style: Style, columns: int, *, is_unfolded: bool) -> list[str]:
    """Return a pair: titles with the words that differ, facts, lines, then the texts."""
    differences = pair.differences
    lines = [
        *_show_head(pair.newer, differences.title_newer, style, columns),
        *_show_head(pair.older, differences.title_older, style, columns), "",
        *(f"  {line}" for line in wrap_words(" · ".join(_list_facts(pair)), columns - 2)),
    ]  # fmt: skip
    parts = (
        ("both say", differences.shared_lines, style.green),
        (f"only {pair.newer.ref} says", differences.newer_lines, style.yellow),
        (f"only {pair.older.ref} says", differences.older_lines, style.cyan),
    )
    for head, found, paint in parts:
        lines += _show_lines(head, found, style, paint, columns)
    for item in (pair.newer, pair.older):
        lines += _show_text(item, style, columns, is_unfolded=is_unfolded)
    return lines


def _show_head(item: "ReviewItem", words: Sequence[str], style: Style, columns: int) -> list[str]:
    ref = item.ref.ljust(_REF)
    title = wrap_words(mark_words(clean(item.title), words, style), columns - len(ref) - 1)
    facts = [style.state(item.state), *([f"@{clean(item.author)}"] if item.author else []), day(item.created_at)]
    if item.ended:
        facts.append(describe_ending(item))
    if item.versions:
        facts.append(f"version {', '.join(map(clean, item.versions))}")
    indent = " " * (len(ref) + 1)
    return [f"{style.bold(ref)} {title[0]}", *(indent + line for line in title[1:]), indent + " · ".join(facts)]


def _list_facts(pair: "ReviewPair") -> list[str]:
    facts = []
    if pair.relation == "twin":
        facts.append("twins: only names, numbers or platforms differ in the titles")
    elif pair.relation == "sibling":
        facts.append("siblings: near titles by one author within a week")
    if pair.differences.kinds:
        facts.append(f"the titles differ in: {', '.join(pair.differences.kinds)}")
    if pair.sameness != "similar":
        facts.append(pair.sameness.replace("_", " "))
    facts += describe_distance(pair)
    if pair.differences.both_name:
        facts.append(f"both mention {', '.join(f'#{number}' for number in pair.differences.both_name[:4])}")
    facts += [f"{clean(who)} says {answer}" for who, answer in pair.answers.items()]
    return facts


def _show_lines(head: str, found: Sequence[str], style: Style, paint: Callable[[str], str], columns: int) -> list[str]:
    found = [line for line in found if not line.startswith(("```", "~~~"))]
    if not found:
        return []
    rest = [style.dim(f"    … {len(found) - _LINES} more")] if len(found) > _LINES else []
    return [
        "",
        style.dim(f"  {head}"),
        *(f"    {paint(fit(clean(line), columns - 4))}" for line in found[:_LINES]),
        *rest,
    ]


def _show_text(item: "ReviewItem", style: Style, columns: int, *, is_unfolded: bool) -> list[str]:
    body = wrap(item.body, columns, "  ") if item.body.strip() else ["  (no text)"]
    room = _UNFOLDED if is_unfolded else _FOLDED
    left = len(body) - room
    rest = [style.dim(f"  … {counted_noun(left, 'more line')}{'' if is_unfolded else ': m'}")] if left > 0 else []
    shown = body[:room] if is_unfolded else [fit(line, columns) for line in body[:room]]  # code is not wrapped
    return ["", style.dim(f"{item.ref} {'─' * (columns - len(item.ref) - 1)}"), *shown, *rest]


def mark_words(title: str, words: Sequence[str], style: Style) -> str:
    """Return a title with these words marked, in their order; neighbours are marked together.

    ("Finder icons are gone", ["icons", "are"]) -> "Finder [icons are] gone" without colours
    """
    spans: list[list[int]] = []
    at = 0
    for word in words:
        found = re.compile(rf"(?<!\w){re.escape(clean(word))}(?!\w)").search(title, at)
        if found is None:
            continue
        at = found.end()
        if spans and not title[spans[-1][1] : found.start()].strip():
            spans[-1][1] = at
        else:
            spans.append([found.start(), at])
    parts, at = [], 0
    for start, end in spans:
        # Word by word: a line may break between them.
        marked = title[start:end].split(" ") if style.on else [title[start:end]]
        parts += [title[at:start], " ".join(style.mark(word) for word in marked)]
        at = end
    return "".join([*parts, title[at:]])
