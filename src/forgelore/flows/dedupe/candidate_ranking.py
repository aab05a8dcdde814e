"""Candidates of one item: what it could repeat, ranked now, with the numbers of each pair as they are kept.

A batch asks what is a duplicate of what today. So targets may be earlier or later than their source, and are told by
what is stored, not by what was known when the source was filed: of two copies each finds the other, and which of them
stays is chosen later (core/dedupe/canonical). An audit asks about the past: `as_of` a time, by what was known then.

All states are ranked together, because the evidence of a pair compares it with the rest of its list, and then cut:
`k` of the wanted states, and a few closed ones beside them, which are shown and never offered to a judge.
"""

from typing import Literal, NamedTuple

from forgelore.core.compare.history_evidence import was_open
from forgelore.core.compare.sameness import Sameness
from forgelore.core.dedupe.policies import BATCH_K, MIN_SCORE, SHOWN_CLOSED
from forgelore.flows.compare.rank import CANDIDATES, CompareRequest, Match, Ranking, rank_matches
from forgelore.flows.compare.reference import scope_of
from forgelore.flows.dedupe.intent import has_current_card
from forgelore.flows.search.retriever import Retriever
from forgelore.store.candidate_sets import NewSet, SetMember, load_versions
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject

TargetStates = Literal["open", "closed", "all"]
Representation = Literal["raw", "intent"]  # what chooses whom a source is compared with: texts, or intent cards
FALLBACK = "intent_raw"  # kept of a set: cards were to choose, its source has no current one, and texts did
_ORDER: dict[Sameness, int] = {"same_text": 0, "nearly_same_text": 1, "similar": 2}
_DIGITS = 4  # of a kept feature


class CandidateSetting(NamedTuple):
    """Parameters of a set. `states`: of the targets that `k` counts; only open ones are ever offered to a judge.
    `representation`: whether texts or intent cards choose who is compared.
    """

    k: int = BATCH_K
    min_score: float = MIN_SCORE  # of similarity
    states: TargetStates = "open"
    representation: Representation = "raw"


class RankedSource(NamedTuple):
    """A source with its candidates, ready to be saved. `has_vector` False: its text was embedded for the occasion, or
    compared by words alone.
    """

    new: NewSet
    members: tuple[SetMember, ...]
    has_vector: bool


def rank_source(
    retriever: Retriever, item_id: int, setting: CandidateSetting, *, as_of: int | None = None
) -> RankedSource | None:
    """Return the candidates of an item; None when it is gone. `as_of`: among those that were there then, in the states
    that they had.
    """
    store = retriever.store
    # The version first: an edit between the two reads makes the set stale, and the other way round it would not.
    known = load_versions(store, [item_id]).get(item_id)
    if known is None:
        return None
    subject = load_subject(store, item_id)
    by_cards = setting.representation == "intent" and has_current_card(store, item_id)
    ranking = _rank(retriever, subject, setting, as_of, by_cards=by_cards)
    chosen = _choose(ranking, setting)
    versions = load_versions(store, [match.hit.row.item_id for match in chosen])
    members = [
        _as_member(match, versions[match.hit.row.item_id], ranking, as_of)
        for match in chosen
        if match.hit.row.item_id in versions
    ]
    # What is only shown comes last, whatever its strength.
    ordered = sorted(members, key=lambda one: not one.is_offered)
    numbered = tuple(one._replace(rank=rank) for rank, one in enumerate(ordered, start=1))
    new = _as_set(retriever, subject, known[0], setting)
    if setting.representation == "intent" and not by_cards:
        new = new._replace(representation=FALLBACK)
    return RankedSource(new, numbered, _has_vector(retriever, subject))


def _rank(
    retriever: Retriever, subject: Subject, setting: CandidateSetting, as_of: int | None, *, by_cards: bool
) -> Ranking:
    filters = Filters(
        types=(subject.kind,), project_ids=(subject.project_id,), not_items=(subject.item_id,), is_public=True,
        before=as_of,
    )  # fmt: skip
    most = max(setting.k, SHOWN_CLOSED)
    request = CompareRequest(subject, filters, limit=CANDIDATES, per_state=most, by_cards=by_cards, as_of=as_of)
    return rank_matches(retriever, request)


def _choose(ranking: Ranking, setting: CandidateSetting) -> list[Match]:
    """Return the first `k` of the wanted states, and the first closed ones beside them. Copies come first, of them the
    earliest; then the strongest.
    """
    known = {one.hit.row.item_id: one for one in (*ranking.copies, *ranking.matches)}
    ordered = sorted(known.values(), key=lambda one: _ORDER[one.evidence.sameness])
    near = [one for one in ordered if one.similarity >= setting.min_score]
    wanted = [one for one in near if setting.states in ("all", _state(one))][: setting.k]
    closed = [one for one in near if _state(one) == "closed" and one not in wanted][:SHOWN_CLOSED]
    return [*wanted, *closed]


def _state(match: Match) -> TargetStates:
    return "open" if was_open(match.evidence.features) else "closed"


def _as_member(match: Match, version: tuple[int, str], ranking: Ranking, as_of: int | None) -> SetMember:
    features = match.evidence.features
    state = version[1] if as_of is None else _state(match)
    is_first = match.hit.row.item_id == ranking.matches[0].hit.row.item_id
    return SetMember(
        rank=0, item_id=match.hit.row.item_id, content_version=version[0], state=state,
        is_offered=state == "open", cosine=features["cosine"] or None, strength=match.strength,
        similarity=match.similarity, chance=ranking.chance.value if ranking.chance and is_first else None,
        sameness=match.evidence.sameness, marks=tuple(quote.text for quote in match.evidence.quotes),
        features=keep_features(match),
    )  # fmt: skip


def keep_features(match: Match) -> dict[str, float]:
    """Return the numbers of a pair that are not 0, and how rare the rarest error line is that both have.

    A message of three words and more, that is: the name of an exception alone stands in unrelated reports.
    """
    rare = max((one.rarity for one in match.evidence.quotes if one.what == "error" and " " in one.text), default=0.0)
    rounded = {name: round(value, _DIGITS) for name, value in (match.evidence.features | {"rare_error": rare}).items()}
    return {name: value for name, value in rounded.items() if value}


def _as_set(retriever: Retriever, subject: Subject, version: int, setting: CandidateSetting) -> NewSet:
    model = scope_of(retriever, subject.project_id, subject.kind).model
    return NewSet(
        subject.project_id, subject.item_id, version, setting.representation, model, setting.k, setting.min_score,
        setting.states,
    )  # fmt: skip


def _has_vector(retriever: Retriever, subject: Subject) -> bool:
    if retriever.embedder is None or subject.document_id is None:
        return False
    return retriever.document_vector(subject.document_id) is not None
