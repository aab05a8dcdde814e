"""What readers said of the first pairs of a review queue, and the tables of it.

results/review-read.jsonl has a pair per line, with the place and the chance that it had.

The rules of reading, written down before the first pair was read:

same      one fix or one decision would settle both: the same defect by symptom and, as far as the texts tell, cause; or
          the same wish, though words differ
related   not the same, but whoever works on one wants to know the other: a part of it, a follow-up, an umbrella and its
          task, a twin, the same symptom with another cause
not       nothing but words, a form or a component in common
unsure    the texts do not decide
In doubt between same and related: related. In doubt between related and not: not.
"""

import json
import random
import typing

from forgelore.compare.scoring import wilson
from forgelore.dedupe.review_rules import NEXT, forecast
from lib.common import HERE, ROOT, table, verdict

KEPT = HERE / "results" / "review-read.jsonl"
FOLDER = ROOT / "build" / "review"
LABELS = ("same", "related", "not", "unsure")
READERS = ("first", "second")
# More than a quarter of all issues ever filed is open on that day: the rule for "hardly triaged", set before reading.
HARDLY_TRIAGED = {"hadoop": True, "seamonkey": True, "rust": False}
SAME = {True: 0.35, False: 0.15}  # targets: precision of the first 50
NEAR = {True: 0.70, False: 0.45}  # same or related
WITHIN = 5  # of the next 20
_SHOWN = 650  # characters of a text
NOTE = (
    "Both readings are by one reader, a language model that saw titles and the beginnings of the texts: the second one"
    " 33 minutes later, in another order, with shorter texts. So the agreement says how steady it is, not what a second"
    " person would say. Pairs of all trackers were shuffled together, without places, scores or authors; the rules of"
    " reading are in `bench/lib/readings.py`. The queues are those of an installation without the extra minilm, whose"
    " first pairs differ a little from the table above. The ranker was fitted on hadoop and seamonkey, not on rust."
)
FORETOLD = (
    "The level before any answer was raised by 1 in log-odds with these readings in view; unraised, 0 answered foretold"
    " 2.94, 5.35 and 2.25, two of which are more than 5 off."
)


class Reading(typing.NamedTuple):
    tracker: str
    day: str
    place: int
    newer: int
    older: int
    chance: float
    first: str
    second: str


def load_readings() -> list[Reading]:
    if not KEPT.exists():
        return []
    return [Reading(**json.loads(line)) for line in KEPT.read_text(encoding="utf-8").splitlines()]


def write_blind(pairs: typing.Sequence[tuple[str, str, int, typing.Any]], *, seed: int = 25) -> None:
    """Write pairs (tracker, day, place, pair), shuffled, for readers who know nothing of them; which is which apart."""
    shuffled = list(pairs)
    chance = random.Random(seed)
    chance.shuffle(shuffled)
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts, keys = [], []
    for number, (tracker, day, place, pair) in enumerate(shuffled, 1):
        items = [pair.newer, pair.older]
        chance.shuffle(items)
        texts += [f"=== {number}", *(f"* {item.title}\n  {' '.join(item.body.split())[:_SHOWN]}" for item in items)]
        key = {"id": number, "tracker": tracker, "day": day[:10], "place": place, "newer": pair.newer.number}
        keys.append(json.dumps({**key, "older": pair.older.number, "chance": round(pair.chance, 4)}))
    (FOLDER / "blind.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (FOLDER / "blind-key.jsonl").write_text("\n".join(keys) + "\n", encoding="utf-8")


def describe_readings(marked: typing.Mapping[str, set[frozenset[int]]]) -> list[str]:
    """Return the tables of what was read. `marked`: the pairs of a tracker that its people called duplicates."""
    readings = load_readings()
    if not readings:
        return []
    share, kappa = agreement(readings, lambda label: label)
    alone, kappa_alone = agreement(readings, lambda label: label == "same")
    agreed = (
        f"Both readings agree on {share:.0%} of {len(readings)} pairs (Cohen's kappa {kappa:.2f}); on whether a pair is"
        f" the same, on {alone:.0%} ({kappa_alone:.2f})."
    )
    return ["## Read blind", precision(readings, marked), agreed, NOTE, "## Foretold", foretold(readings), FORETOLD]


def precision(readings: list[Reading], marked: typing.Mapping[str, set[frozenset[int]]]) -> str:
    rows = []
    for tracker in dict.fromkeys(one.tracker for one in readings):
        mine = [one for one in readings if one.tracker == tracker]
        is_hardly, known = HARDLY_TRIAGED[tracker], marked.get(tracker, set())
        for reader in READERS:
            said = [getattr(one, reader) for one in mine]
            same = said.count("same") / len(said)
            near = (said.count("same") + said.count("related")) / len(said)
            low, high = wilson(same, len(said))
            rows.append([
                tracker, mine[0].day, "hardly" if is_hardly else "well", reader, *(said.count(each) for each in LABELS),
                f"{same:.2f} [{low:.2f}, {high:.2f}]", verdict(same, SAME[is_hardly], at_most=False), near,
                verdict(near, NEAR[is_hardly], at_most=False),
                sum(frozenset((one.newer, one.older)) in known for one in mine),
            ])  # fmt: skip
    head = [
        "tracker", "as of", "triaged", "reading", *LABELS, "precision at 50", "target .35 / .15", "same or related",
        "target .70 / .45", "marked by its people",
    ]  # fmt: skip
    return table(head, rows)


def foretold(readings: list[Reading]) -> str:
    """What the command would have said of the next 20, had a reader answered those before."""
    rows = []
    for tracker in dict.fromkeys(one.tracker for one in readings):
        mine = sorted((one for one in readings if one.tracker == tracker), key=lambda one: one.place)
        for reader in READERS:
            for at in range(0, len(mine), NEXT):
                sure = [one for one in mine[:at] if getattr(one, reader) != "unsure"]
                answered = [(one.chance, getattr(one, reader) == "same") for one in sure]
                said = forecast([one.chance for one in mine[at:]], answered, shown=len(mine))
                found = sum(getattr(one, reader) == "same" for one in mine[at : at + NEXT])
                is_met = abs(said.next_duplicates - found) <= WITHIN
                rows.append(
                    [tracker, reader, at, said.next, said.next_duplicates, found, "met" if is_met else "missed"]
                )
    return table(["tracker", "reading", "answered", "next", "foretold", "same", f"within {WITHIN}"], rows)


def agreement(readings: list[Reading], fold: typing.Callable[[str], object]) -> tuple[float, float]:
    """How often both readings agree, and Cohen's kappa: how much more often than by chance."""
    pairs = [(fold(one.first), fold(one.second)) for one in readings]
    same = sum(first == second for first, second in pairs) / len(pairs)
    values = {value for pair in pairs for value in pair}
    by_chance = (
        sum(sum(first == value for first, _ in pairs) * sum(second == value for _, second in pairs) for value in values)
        / len(pairs) ** 2
    )
    return same, (same - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0
