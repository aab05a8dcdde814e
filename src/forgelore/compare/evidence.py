"""Evidence of how alike two items are: numbers that a model can weigh, and quotes that a person can check.

`QueryProfile` is the item that asks: taken apart once, its words weighed by how rare they are. `Profile` is any item,
read once. `compare` makes the numbers of a pair. They mean the same on every tracker: shares of what is possible,
cosines, logarithms of days. What a list of candidates is like comes in as `Signals`.

    cosine        how near the vectors are
    cosine_z      ... compared with the others of the list
    words_z       BM25 compared with the others of the list
    cover         of the distinctive words, what both have
    title         rare words of both titles, of all of them
    title_in      of its title's words, what the other has
    in_title      of its telling words, what the other title has
    known_title   of the other title's words, what it has
    jaccard       of the words of either text, what both have
    info          how much all the shared words say
    error, frame, identifier, path, version: marks that both have
    recency       how soon one followed the other
    length        how alike the texts are in length
    refs          other items that both name
    same          1 the same text, 0.5 nearly (compare/sameness)
    cites         one names the other; reported, never weighed: an author who names an item has found it already
    cosine_2      how near the vectors of a second embedder are, where there is one
    cosine_2_z    ... compared with the other candidates

What two changes touch comes beside these, where it is known (compare/evidence).

Shared paths of two changes, weighed by rarity: how much it says that both touch the same files.

    weight of a path   ln((changes + 1) / (changes that touch it + 1)): a list of changes that all of them touch weighs
                       nothing, a file that nobody else touched weighs most
    shared_paths       the weights of the paths that both touch, added up
    path_share         the same as a share of what either touches: over the geometric mean of both sides' weights, so
                       that a change of every file in the project is not near to all others

The trackers that models are fitted on have no paths, so no model knows these numbers: `path_bonus` is a rule, added to
the strength that a model gives. Sharing a further path never lowers it. Where the paths of either side are not known,
there are no numbers, and nothing is added.

Evidence of an item's history: what was known of a candidate when the question was asked, as numbers for a model.

    open          1 it was open, 0 it was closed
    closed_for    logarithm of the days since it was closed; unknown while it was open
    marked        1 somebody had called it a duplicate
    comments      logarithm of how many comments it had
    people        ... of how many people had taken part
    quiet         ... of the days since the last comment
    mentions      ... of how many other items had named it
    duplicates    ... of how many were said to repeat it
    same_author   1 both have the same author
    took_part     1 the author of the one that asks had taken part in the other

Of originals 71 to 84 of 100 were open, of other candidates 29 to 44. What nobody knows is left out, and a model takes
it for unknown: that is not 0.

Item history: what was known of an item at some time, for judging it by what its reader could know.

What nobody recorded is None and never zero: a tracker without comments does not say that nobody commented.

- Nobody records when an item was opened again. One that is open now counts as open all along, one that was closed
  twice as open until the last time. On bitcoin 184 of 185 originals agree with the forge's own list of events.
- A text has the time of its item or note. What was added to it later cannot be separated.
- What a forge or a file says of an item as a whole ("duplicate of 7") has no time. It counts where nothing happened to
  the item since the time that is asked about, and is unknown elsewhere.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from forgelore.compare.differences import SIBLING_DAYS
from forgelore.compare.sameness import Sameness, find_sameness
from forgelore.compare.signatures import Mark, Place, Signature, What, parse_signature
from forgelore.records import ItemHistory
from forgelore.search.fusion import Scale
from forgelore.text.terms import COMMON, LARGEST, RARE, weight_of

READ = 4_000  # characters of a body whose words are compared
TELLING = 40  # words that stand for an item
TITLE_TIMES = 2
_QUOTES = 8
_MAX_MARKS = 6  # of one kind that count
_DAY_MS = 86_400_000
_UNKNOWN = -math.log(RARE)
_COVER_SLOPE, _COVER_OFFSET = 7.0, -0.4  # from the share of words that both have to a position by BM25: three trackers

Stems = Callable[[str], list[str]]

FEATURES = (
    "cosine", "cosine_z", "words_z", "cover", "title", "title_in", "in_title", "known_title", "jaccard", "info",
    "error", "frame", "identifier", "path", "version", "recency", "length", "refs", "same", "cites",
)  # fmt: skip
SECOND = ("cosine_2", "cosine_2_z")
SAME: dict[Sameness, float] = {"same_text": 1.0, "nearly_same_text": 0.5, "similar": 0.0}


class Quote(NamedTuple):
    """Something that both items say."""

    what: What
    text: str  # as the item that asks wrote it
    other: str  # as the other one wrote it
    rarity: float = 0.0  # of a mark: 0 it is in every document, 1 nowhere else

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name == "rarity" else name


class Profile(NamedTuple):
    """One item, read once. `text` is without the lines that every report of the project has; `said` is what its author
    wrote, which is something else where the text is that of a thread.
    """

    title: str
    text: str
    title_stems: frozenset[str]
    stems: frozenset[str]  # of title and text, without the most common ones
    place: Place
    said: str
    number: int = 0
    created_at: int | None = None


class QueryProfile(NamedTuple):
    """The item that asks: what is looked for in the others, and how much it says."""

    profile: Profile
    telling: dict[str, float]  # stem -> weight times how often
    weights: Mapping[str, float]  # stem -> weight, for title and telling words
    signature: Signature
    mark_weights: dict[str, float]  # key -> 0 (in every document) to 1


class Signals(NamedTuple):
    """What retrieval knows of a pair, and how its lists are spread: (own position, how far to trust it).

    A list of three has no spread to speak of. The shorter one is, the more counts what is usual: `usual_cosine_z`, the
    cosine's position in a list as the embedder usually gives them, and for words the share that both have.
    """

    cosine: float | None  # None: there are no vectors
    cosine_z: float = 0.0
    words_z: float = 0.0
    cosine_trust: float = 0.0
    words_trust: float = 0.0
    usual_cosine_z: float | None = None


def build_profile(
    title: str, text: str, stems: Stems, *, said: str | None = None, number: int = 0, created_at: int | None = None
) -> Profile:
    """Read an item. `text` and `said` (None: the same) come without boilerplate (compare/sameness)."""
    title_stems = frozenset(stems(title))
    kept = title_stems.union(stems(text[:READ])) - COMMON
    place, said = Place.of(f"{title}\n{text}"), text if said is None else said
    return Profile(title, text, title_stems, kept, place, said, number, created_at)


def build_query_profile(
    profile: Profile,
    cleaned: str,
    stems: Stems,
    *,
    document_count: Callable[[list[str]], Mapping[str, int]],
    total: int,
) -> QueryProfile:
    """Weigh the words and marks of an item. `cleaned` is its text as it gets a vector (index/cleaning).

    `document_count` says how many of the `total` documents hold each stem; a stem that it leaves out is in none.
    """
    in_title, in_text = Counter(stems(profile.title)), Counter(stems(cleaned[:READ]))
    counts = document_count(list(in_title | in_text))
    weights = {stem: weight_of(stem, counts.get(stem, 0), total) for stem in in_title | in_text}
    times = {stem: math.log1p(in_text[stem] + TITLE_TIMES * in_title[stem]) for stem in weights}
    counted = {stem: weight * times[stem] for stem, weight in weights.items() if len(stem) > 1}
    best = sorted(counted, key=lambda stem: (-counted[stem], stem))[:TELLING]
    signature = parse_signature(f"{profile.title}\n{profile.text}")
    return QueryProfile(
        profile, {stem: counted[stem] for stem in best}, weights, signature,
        _weigh_marks(signature, stems, document_count, total),
    )  # fmt: skip


def _weigh_marks(
    signature: Signature, stems: Stems, document_count: Callable[[list[str]], Mapping[str, int]], total: int
) -> dict[str, float]:
    """Return how much each mark says: a name that stands in every report, such as the program's own, says nothing."""
    parts = {mark.key: stems(mark.key) for mark in signature.marks}
    counts = document_count(list({stem for each in parts.values() for stem in each}))
    weights: dict[str, float] = {}
    for key, each in parts.items():
        # Of several words the rarest decides: it is in no more documents than the whole.
        rarest = max((weight_of(stem, counts.get(stem, 0), total) for stem in each), default=0.0)
        weights[key] = rarest / LARGEST
    return weights


def compare(asked: QueryProfile, other: Profile, signals: Signals) -> dict[str, float]:
    """Return the numbers of a pair, by the names of `FEATURES`."""
    mine, telling = asked.profile, asked.telling
    # Looked up one by one: sets of all words of a text are not copied for each of sixty pairs.
    shared = [stem for stem in telling if stem in other.stems or stem in other.title_stems]
    marks = shared_marks(asked, other)
    both, whole = len(mine.stems & other.stems), sum(telling.values())
    found = dict.fromkeys(FEATURES, 0.0)
    found.update(
        cover=_share(sum(telling[stem] for stem in shared), whole),
        in_title=_share(sum(telling[stem] for stem in shared if stem in other.title_stems), whole),
        jaccard=_share(both, len(mine.stems) + len(other.stems) - both),
        info=math.log1p(sum(asked.weights[stem] for stem in shared)) / 5,
        recency=_recency(mine.created_at, other.created_at),
        length=1 - min(1.0, abs(math.log1p(len(mine.text)) - math.log1p(len(other.text))) / 5),
        refs=float(any(_names(other.place, number) for number in asked.signature.refs)),
        same=SAME[find_sameness(mine.title, mine.said, other.title, other.said)],
        cites=float(other.number in asked.signature.refs or _names(other.place, mine.number)),
    )  # fmt: skip
    found.update(_titles(asked, other))
    found.update(_positions(signals, found["cover"]))
    for mark in marks:
        found[mark.what] += asked.mark_weights[mark.key]
    for what in ("error", "frame", "identifier", "path", "version"):
        found[what] = math.log1p(found[what])
    return found


def _positions(signals: Signals, cover: float) -> dict[str, float]:
    """Return where the pair stands in both lists, in deviations from their means."""
    usual = _COVER_SLOPE * cover + _COVER_OFFSET
    found = {"words_z": signals.words_trust * signals.words_z + (1 - signals.words_trust) * usual}
    if signals.cosine is not None:
        usual_cosine = usual if signals.usual_cosine_z is None else signals.usual_cosine_z
        trust = signals.cosine_trust
        found |= {"cosine": signals.cosine, "cosine_z": trust * signals.cosine_z + (1 - trust) * usual_cosine}
    return found


def compare_second(cosines: Sequence[float]) -> list[dict[str, float]]:
    """Return the numbers of each candidate by a second embedder's cosines, by the names of `SECOND`."""
    scale = Scale.of(cosines)
    return [{"cosine_2": cosine, "cosine_2_z": scale.standardise(cosine)} for cosine in cosines]


def _titles(asked: QueryProfile, other: Profile) -> dict[str, float]:
    mine, theirs = asked.profile.title_stems, other.title_stems
    weight = asked.weights
    both = sum(weight[stem] for stem in mine & theirs)
    ours = sum(weight[stem] for stem in mine)
    others = sum(weight.get(stem, 0.3 if stem in COMMON else _UNKNOWN) for stem in theirs)
    within = sum(weight[stem] for stem in mine if stem in theirs or stem in other.stems)
    known = sum(weight.get(stem, 0.0) for stem in theirs if stem in mine or stem in asked.profile.stems)
    return {
        "title": _share(both, ours + others - both), "title_in": _share(within, ours),
        "known_title": _share(known, others),
    }  # fmt: skip


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _recency(mine: int | None, other: int | None) -> float:
    """Return 1 for the same day, 0 for ten years or an unknown time; the logarithm of days between."""
    if mine is None or other is None:
        return 0.0
    days = abs(mine - other) / _DAY_MS
    return 1 - min(1.0, math.log1p(days) / math.log1p(3650))


def _names(place: Place, number: int) -> bool:
    """Tell whether a text names an item by its number."""
    return number > 0 and any(place.find(f"{mark}{number}") >= 0 for mark in "#!/")


def shared_marks(asked: QueryProfile, other: Profile) -> list[Mark]:
    """Return the marks that both have, a few of each kind, best first."""
    counts: Counter[str] = Counter()
    found = []
    for mark in asked.signature.marks:
        if counts[mark.what] < _MAX_MARKS and other.place.has(mark):
            counts[mark.what] += 1
            found.append(mark)
    return found


def find_quotes(asked: QueryProfile, other: Profile) -> tuple[Quote, ...]:
    """Return what both wrote, most telling first: what a person would point at."""
    order = {"error": 0, "frame": 1, "identifier": 2, "path": 3, "version": 4}
    marks = [mark for mark in shared_marks(asked, other) if asked.mark_weights[mark.key] > 0.3]
    marks.sort(key=lambda mark: (order[mark.what], -asked.mark_weights[mark.key], mark.key))
    theirs = parse_signature(other.place.text).written if marks else {}
    found = [
        _quote(mark, asked.signature.written, theirs, other.place)._replace(rarity=asked.mark_weights[mark.key])
        for mark in marks[:_QUOTES]
    ]
    if len(found) < _QUOTES and _titles(asked, other)["title"] >= 0.25:
        found.append(Quote("title", asked.profile.title, other.title))
    return tuple(found)


def _quote(
    mark: Mark, mine: Mapping[tuple[What, str], list[str]], theirs: Mapping[tuple[What, str], list[str]], place: Place
) -> Quote:
    """Return a mark as both wrote it: where one line of each is equal, that one. Both are cut by the same rules."""
    key = (mark.what, mark.key)
    known = {" ".join(way.split()): way for way in theirs.get(key, ())}
    for way in mine[key]:
        if (equal := " ".join(way.split())) in known:
            return Quote(mark.what, way, known[equal])
    return Quote(mark.what, mark.written, theirs[key][0] if key in theirs else place.quote(mark))


MAX = 1.0  # of a strength: from position 0.75 to about 0.87, from 0.92 to about 0.96
_MUCH = 4.0  # shared weight that counts for two thirds: a file of two changes among 160


def weigh_paths(counts: Mapping[str, int], changes: int) -> dict[str, float]:
    """Return path -> weight, given how many of the project's changes touch each."""
    return {path: max(0.0, math.log((changes + 1) / (count + 1))) for path, count in counts.items()}


def compare_paths(mine: Collection[str], theirs: Collection[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of a pair by their names; empty when the paths of either are not known.

    ({"a.py", "lock"}, {"a.py"}, {"a.py": 5.0, "lock": 0.0})  ->  {"shared_paths": 5.0, "path_share": 1.0}
    """
    if not mine or not theirs:
        return {}
    shared, ours, others = (math.fsum(weights[path] for path in each) for each in (_both(mine, theirs), mine, theirs))
    # A root, not a product: of two weights near nothing the product is nothing.
    whole = math.sqrt(ours) * math.sqrt(others)
    return {"shared_paths": shared, "path_share": min(1.0, shared / whole) if whole > 0 else 0.0}


def path_bonus(features: Mapping[str, float]) -> float:
    """Return what shared paths add to the strength of a pair: 0 to `MOST`."""
    shared = features.get("shared_paths", 0.0)
    return MAX * features.get("path_share", 0.0) * (1 - math.exp(-shared / _MUCH))


def distinctive_paths(mine: Collection[str], theirs: Collection[str], weights: Mapping[str, float]) -> list[str]:
    """Return the paths that both touch and that say something, the rarest first."""
    found = [path for path in _both(mine, theirs) if weights[path] > 0]
    return sorted(found, key=lambda path: (-weights[path], path))


def _both(mine: Collection[str], theirs: Collection[str]) -> Iterable[str]:
    return set(mine) & set(theirs)


HISTORY = (
    "open", "closed_for", "marked", "comments", "people", "quiet", "mentions", "duplicates", "same_author", "took_part",
)  # fmt: skip


def compare_history(history: ItemHistory, *, author: str | None, asked_at: int | None) -> dict[str, float]:
    """Return the numbers of a candidate, by the names of `HISTORY`, as far as they are known. `author` and `asked_at`
    are of the item that asks.
    """
    people = history.participants
    found = {
        "open": _number(history.is_open), "closed_for": _days(history.ended_at, asked_at),
        "marked": _number(history.is_marked), "comments": _count(history.comments),
        "people": _count(None if people is None else len(people)), "quiet": _days(history.active_at, asked_at),
        "mentions": _count(history.mentions), "duplicates": _count(history.duplicates),
        "same_author": None if not author or not history.author else float(author == history.author),
        "took_part": None if not author or people is None else float(author in people),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def are_siblings(features: Mapping[str, float]) -> bool:
    """Tell whether one author filed both within a week: a series ("Weekly report", one for each platform) is."""
    within = _recency(0, SIBLING_DAYS * _DAY_MS) - 1e-4  # features are kept with four digits
    return features.get("same_author") == 1 and features.get("recency", 0.0) >= within


def was_open(features: Mapping[str, float]) -> bool | None:
    """Tell whether a candidate was open, None where nobody knows."""
    known = features.get("open")
    return None if known is None else bool(known)


def _number(fact: bool | None) -> float | None:  # noqa: FBT001 - a fact, not a switch
    return None if fact is None else float(fact)


def _count(number: int | None) -> float | None:
    return None if number is None else math.log1p(number)


def _days(then: int | None, now: int | None) -> float | None:
    """Return 0 for what came later: a reader of an old item sees what is known today."""
    return None if then is None or now is None else math.log1p(max(0, now - then) / _DAY_MS)
