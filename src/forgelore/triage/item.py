"""`triage`: one item, looked at as its author would want it looked at: does it repeat something?

    fetch → save, index, embed → rank earlier items of its kind → decide → report

Deciding is by position: at the default thresholds about 8 % of ordinary items get a warning and 25 % any comment,
whatever the project (compare/calibration). Silence is the usual outcome. Items of the other kind are "related", never
"duplicates"; what the author already refers to is not repeated; a text of two words is not compared.

Copies of one text come before what is merely similar. They are one row, which names the oldest that is open, because
that is where the discussion is; of closed ones alone the oldest. What was closed as a duplicate leads to the original
at the end of its chain. What somebody filed again, or in a series, is listed and never warned of.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Literal, NamedTuple

from forgelore.compare.differences import SIBLING_DAYS, compare_titles
from forgelore.compare.overlap import Overlap, find_overlaps, load_change_facts
from forgelore.compare.rank import CompareRequest, Match, Ranking, rank_matches
from forgelore.compare.sameness import find_sameness, why_not_compare
from forgelore.dedupe.gates import TRIAGE, GateCase, Option, object_to
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import NotFound
from forgelore.model import ItemKey, Kind, Project
from forgelore.ports.embedder import Embedder
from forgelore.ports.forge import Forge
from forgelore.profiles import profile_of
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import load_boilerplate
from forgelore.store.change_lines import save_lines
from forgelore.store.database import Store
from forgelore.store.decisions import load_refused_pairs
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.item_lists import load_item, load_public_item
from forgelore.store.items import load_ids, save_files
from forgelore.store.jobs import queue_documents
from forgelore.store.links import load_fix, load_original
from forgelore.store.paths import load_paths_of
from forgelore.store.triage import EVERYTHING, StoredReport, load_labels, load_rejected
from forgelore.sync.pages import ReadPolicy, save_kept
from forgelore.text.dates import format_ms, machine_ms
from forgelore.text.items import StoredItem
from forgelore.text.links import links_in_text
from forgelore.text.markdown import KEEP_OPEN_LABELS
from forgelore.text.refs import shown_ref
from forgelore.triage.events import Inputs, Judgement
from forgelore.triage.intake import INDEX_POLICY, KINDS, Fetched, make_searchable
from forgelore.triage.learning import NEIGHBOURS, suggest_labels
from forgelore.triage.readers import may_name
from forgelore.triage.report import Report, ReportRow, RivalRow, build_report, is_regression

_LONGEST_CHAIN = 10  # of duplicates of duplicates


def order_matches(ranking: Ranking) -> list[Match]:
    """Return copies of the text first, the earliest open one before the others; then the rest as it was ranked."""
    copies = sorted(ranking.copies, key=lambda one: one.hit.row.state != "open")  # they come oldest first
    known = {one.hit.row.item_id for one in copies}
    return [*copies, *(one for one in ranking.matches if one.hit.row.item_id not in known)]


def join_copies(store: Store, matches: list[Match]) -> list[tuple[Match, int]]:
    """Return one match for each text, in the place of its best copy, and how many more have that text."""
    groups: list[list[tuple[Match, Subject]]] = []
    for one in matches:
        text = load_subject(store, one.hit.row.item_id)
        same = next((group for group in groups if _is_copy(group[0][1], text)), None)
        if same is None:
            groups.append([(one, text)])
        else:
            same.append((one, text))
    return [(_oldest(group), len(group) - 1) for group in groups]


def _is_copy(one: Subject, other: Subject) -> bool:
    is_one_place = (one.project_id, one.kind) == (other.project_id, other.kind)
    return is_one_place and find_sameness(one.title, one.body, other.title, other.body) == "same_text"


def _oldest(group: list[tuple[Match, Subject]]) -> Match:
    rows = [one.hit.row for one, _ in group]
    at = min(range(len(rows)), key=lambda at: (rows[at].state != "open", rows[at].created_at or 0, rows[at].number))
    return group[at][0]._replace(similarity=group[0][0].similarity)


def is_by_same_author(subject: Subject, match: Match) -> bool:
    """Tell whether one person filed both; whoever deleted their account is somebody else."""
    mine, theirs = (subject.author or "").lower(), (match.hit.row.author or "").lower()
    return bool(mine) and mine == theirs and mine != "ghost"


def is_of_batch(subject: Subject, match: Match) -> bool:
    """Tell whether one person filed both within a week, and not the same text twice: a series, and no duplicates."""
    times = subject.created_at, match.hit.row.created_at
    is_near = None not in times and abs((times[0] or 0) - (times[1] or 0)) <= SIBLING_DAYS * 86_400_000
    return is_near and match.sameness != "same_text" and is_by_same_author(subject, match)


def may_warn(subject: Subject, match: Match) -> bool:
    """Tell whether a close match may be more than listed: not one's own, nor one whose title names another platform,
    component, version or number and is the same but for that.
    """
    is_twin = match.sameness == "similar" and compare_titles(subject.title, match.hit.row.title).is_twin
    return not is_twin and not is_by_same_author(subject, match)


def is_closed_for(store: Store, item_id: int, match: Match) -> bool:
    """Tell whether a match was closed as a duplicate of this very item: then it repeats the item, not the reverse."""
    at: StoredItem | None = load_public_item(store, match.hit.row.item_id)
    for _ in range(_LONGEST_CHAIN):
        if at is None or at.state != "closed" or at.id == item_id:
            break
        at = load_original(store, at.id, is_marked=at.state_reason == "duplicate")
    return at is not None and at.id == item_id


def build_row(
    store: Store, project: Project, subject: Subject, match: Match, copies: int = 0, *, names_changes: bool = True,
    as_of: int | None = None,
) -> ReportRow:  # fmt: skip
    """Return a match as a report tells it, with what became of it, or had become of it by then (`as_of`). `copies`: how
    many more have its text.

    `names_changes` False: the forge shows issues to people who may not see changes, and none is named below an issue.
    """
    row = match.hit.row
    is_here = row.path == project.name.path and row.host == project.name.host
    ended = load_public_item(store, row.item_id)
    has_ended = ended is not None and not was_open(ended, as_of)
    ending = (
        _Endings(store, row.forge, subject, names_changes=names_changes).row(ended) if ended and has_ended else None
    )
    return ReportRow(
        ref=shown_ref(row.forge, row.kind, row.number), title=row.title, url=row.url or "",
        similarity=match.similarity, state=row.state, state_reason=ending.state_reason if ending else row.state_reason,
        kind=row.kind, is_regression=is_here and ending is not None and ending.is_regression,
        project="" if is_here else row.path, sameness=match.sameness,
        fixed_by=ending.fixed_by if ending else None, has_hidden_fix=ending is not None and ending.has_hidden_fix,
        original=ending.original if ending and is_here else None, copies=copies,
    )  # fmt: skip


def was_open(ended: StoredItem, as_of: int | None) -> bool:
    """Tell whether an item that has ended by now was still open then. Reopened ones may mislead: one in two hundred."""
    return as_of is not None and ended.ended_ms is not None and ended.ended_ms > as_of


class _Endings:
    """What became of items, as far as the store knows."""

    def __init__(self, store: Store, forge: str, subject: Subject, *, names_changes: bool) -> None:
        self._store, self._forge, self._subject, self._names_changes = store, forge, subject, names_changes

    def row(self, ended: StoredItem, seen: Iterable[int] = ()) -> ReportRow:
        fix, original = self._fix(ended), None
        if ended.state == "closed" and not fix and ended.state_reason in (None, "completed", "duplicate"):
            original = load_original(self._store, ended.id, is_marked=ended.state_reason == "duplicate")
        # GitHub keeps `completed` for most of what was marked as a duplicate.
        reason = "duplicate" if original else ended.state_reason
        return self._plain_row(ended)._replace(
            state_reason=reason, is_regression=self._is_regression(ended, fix),
            fixed_by=self._plain_row(fix) if fix and self._names_changes else None,
            has_hidden_fix=fix is not None and not self._names_changes,
            original=self._original(original, {*seen, ended.id}) if original else None,
        )  # fmt: skip

    def _fix(self, ended: StoredItem) -> StoredItem | None:
        """Return the merged change that closed it. What was closed for another reason was not fixed by it."""
        is_done = ended.state == "closed" and ended.state_reason in (None, "completed")
        return load_fix(self._store, ended.id) if is_done and ended.kind == "issue" else None

    def _original(self, original: StoredItem, seen: set[int]) -> ReportRow | None:
        """Return the end of a chain of duplicates; None for one that leads in a circle or whose end nobody knows."""
        if original.id in seen or len(seen) > _LONGEST_CHAIN:
            return None
        row = self.row(original, seen)
        return row.original if row.state == "closed" and row.state_reason == "duplicate" else row

    def _is_regression(self, ended: StoredItem, fix: StoredItem | None) -> bool:
        """True when it was fixed before the item came."""
        came_at = self._subject.created_at
        if fix is None or came_at is None or ended.closed_ms is None or self._subject.kind != ended.kind:
            return False
        return max(ended.closed_ms, fix.merged_ms or 0) < came_at

    def _plain_row(self, ended: StoredItem) -> ReportRow:
        ref = shown_ref(self._forge, ended.kind, ended.number)
        return ReportRow(
            ref, ended.title, ended.url or "", 0.0, ended.state, ended.state_reason, ended.kind,
            milestone=ended.milestone or "",
        )  # fmt: skip


RELATED_ROWS = 3
RIVALS = 3

TriageOutcome = Literal["duplicate", "regression", "similar", "silent"]


class TriageContext(NamedTuple):
    """Everything triage of one project needs. `forge` None: the project is an imported tracker."""

    store: Store
    forge: Forge | None
    project: Project
    project_id: int
    retriever: Retriever
    embedder: Embedder | None
    inputs: Inputs
    siblings: tuple[int, ...] = ()  # projects whose items may be named as related
    is_compact: bool = False  # the store is the bot's index: payloads are not kept
    now_ms: Callable[[], int] = machine_ms
    keep_open: tuple[str, ...] = KEEP_OPEN_LABELS  # labels that speak against closing a duplicate
    as_of: int | None = None  # judge by what was known at that time; None: by what is known now

    def may_name(self, kind: Kind, *, on: Kind) -> bool:
        """True where whoever reads a comment on an item may read items of this kind; without a forge nobody does."""
        return self.forge is None or may_name(self.project, kind, on=on)


class TriageResult(NamedTuple):
    """What was found of an item, and the comment that says it."""

    key: ItemKey
    item_id: int
    title: str
    url: str | None
    content_hash: str
    outcome: TriageOutcome
    reason: str  # why it is silent; empty otherwise
    author: str | None = None
    is_open: bool = True
    report: Report | None = None
    body: str = ""  # the comment; empty: nothing is worth saying
    first_number: int | None = None  # of the closest match that is told, else of the first change of the same lines
    similarity: float | None = None
    labels: tuple[tuple[str, float], ...] = ()  # suggested, with the precision that was measured
    warnings: tuple[str, ...] = ()

    @property
    def is_close(self) -> bool:
        return self.outcome in ("duplicate", "regression")

    @property
    def shown(self) -> tuple[int, ...]:
        """The items of this project that the comment names."""
        rows = (*self.report.rows, *self.report.related) if self.report else ()
        rows += tuple(one.row for one in self.report.rivals) if self.report else ()
        named = [each for row in rows if not row.project for each in (row, row.fixed_by, row.original) if each]
        return tuple(dict.fromkeys(int(row.ref.lstrip("#!")) for row in named))


def save_fetched(context: TriageContext, fetched: Iterable[Fetched]) -> None:
    """Save items and make them searchable. What only some people may see leaves the index instead."""
    store, project_id = context.store, context.project_id
    with store.transaction():
        for item, files, _, lines in fetched:
            policy = INDEX_POLICY if context.is_compact else ReadPolicy(keeps_payloads=bool(item.raw))
            item_id = save_kept(store, project_id, [item], policy).ids.get(item.key)
            if item_id is None:
                continue
            if files is not None:
                save_files(store, project_id, item_id, files, item.head_sha)
                if lines is not None:
                    save_lines(store, project_id, item_id, lines, item.head_sha)
                queue_documents(store, project_id, [item_id])
    make_searchable(store, context.embedder, [project_id], now_ms=context.now_ms)


def triage_item(context: TriageContext, key: ItemKey, *, judgement: Judgement | None = None) -> TriageResult:
    """Return what there is to say about an item that is in the store. Writes nothing."""
    item_id = load_ids(context.store, context.project_id, [key]).get(key)
    if item_id is None:
        raise NotFound(f"{key.kind} {key.number} is not in this database", hint="run: forgelore sync")
    if context.inputs.thresholds:
        paths = load_paths_of(context.store, context.project_id, [item_id]).get(item_id, ())
        context = context._replace(inputs=context.inputs.of_item(load_labels(context.store, item_id), paths))
    subject = load_subject(context.store, item_id)
    head = load_item(context.store, item_id)
    silent = TriageResult(
        key, item_id, subject.title, head.url, head.content_hash, "silent", "", head.author, head.state == "open"
    )
    if head.is_confidential:
        return silent._replace(reason="it is confidential")
    if context.as_of is None and EVERYTHING in load_rejected(context.store, item_id):
        return silent._replace(reason="a maintainer said: ignore")
    known = load_boilerplate(context.store, context.project_id, subject.kind)
    vague = why_not_compare(subject.title, subject.body, known)
    cited = _cited(context, subject) | _rejected(context, item_id)
    refused = set() if context.as_of else load_refused_pairs(context.store, context.project_id)
    rivals = _rivals(context, subject, key, passed_over=cited.union(*(pair for pair in refused if item_id in pair)))
    if object_to(GateCase((), None, is_vague=bool(vague)), TRIAGE) == ReasonCode.SOURCE_TOO_VAGUE:
        nothing = Ranking([], None, "lexical", [])
        return _build(context, silent, subject, nothing, [], [], rivals) if rivals else silent._replace(reason=vague)
    ranking = _rank(
        context, subject, (subject.kind,), (context.project_id,), max(NEIGHBOURS, context.inputs.max_results)
    )
    labels = suggest_labels(context.store, context.project_id, subject.kind, item_id, ranking.matches)
    silent = silent._replace(labels=labels)
    matches = [
        one
        for one in order_matches(ranking)
        if _passes(context, one, is_refused=frozenset((item_id, one.hit.row.item_id)) in refused)
        and one.hit.row.item_id not in cited and _is_earlier(one, subject, key)
        and not is_of_batch(subject, one)
        and (context.as_of or not is_closed_for(context.store, item_id, one))
    ]  # fmt: skip
    if judgement is not None:
        matches = [one for one in matches if one.hit.row.number in judgement.similar]
    related = _related(context, subject, cited)
    if not matches and (not related or related[0].similarity < context.inputs.duplicate_threshold):
        related = []  # by itself it is worth a comment only when it is very close: measured, 0.4 % of ordinary items
    if not matches and not related and not rivals:
        return silent._replace(reason="nothing is close enough", warnings=tuple(ranking.warnings))
    result = _build(context, silent, subject, ranking, matches, related, rivals)
    is_confirmed = judgement is None or judgement.duplicate_of == result.first_number
    return result if is_confirmed else without_warning(result)


def without_warning(result: TriageResult) -> TriageResult:
    """Return what was found as merely similar."""
    if result.report is None or not result.report.is_duplicate:
        return result
    report = result.report._replace(is_duplicate=False)
    return result._replace(outcome="similar", report=report, body=build_report(report))


def _passes(context: TriageContext, match: Match, *, is_refused: bool) -> bool:
    """Ask the gates of deduplication about a match, which without a judge object to little: it is not near enough, or a
    person has said that these two are no duplicates.
    """
    option = Option(match.hit.row.number, match.strength, match.similarity, match.sameness)
    policy = TRIAGE._replace(min_similarity=context.inputs.similarity_threshold)
    return object_to(GateCase((option,), None, is_refused=is_refused), policy) is None


def _build(
    context: TriageContext,
    silent: TriageResult,
    subject: Subject,
    ranking: Ranking,
    matches: list[Match],
    related: list[Match],
    rivals: list[Overlap],
) -> TriageResult:
    tell = partial(
        build_row, context.store, context.project, subject, names_changes=context.may_name("change", on="issue"),
        as_of=context.as_of,
    )  # fmt: skip
    joined = join_copies(context.store, matches)[: context.inputs.max_results]
    rows = tuple(tell(one, copies) for one, copies in joined)
    is_close = bool(rows) and rows[0].similarity >= context.inputs.duplicate_threshold
    is_duplicate = is_close and may_warn(subject, joined[0][0])
    # The chance was measured for the first match; it says nothing about a second one that has taken its place.
    first = joined[0][0] if joined else None
    is_first = first is not None and first.hit.row.item_id == ranking.matches[0].hit.row.item_id
    chance = ranking.chance if is_first else None
    profile = profile_of(context.project.name.forge)
    report = Report(
        rows=rows, is_duplicate=is_duplicate, chance=chance.value if chance else None,
        chance_pairs=chance.pairs if chance else 0, quotes=first.quotes if first else (),
        labels=() if context.inputs.apply_labels or context.inputs.suggest_labels else silent.labels,
        related=tuple(map(tell, related)), rivals=tuple(_rival_row(context, one) for one in rivals),
        forge=profile.name, kind=subject.kind, is_own=ranking.is_own, max_chars=profile.comment_chars,
        explanation=first.explanation if first else None, about=context.inputs.about,
        people=tuple({name.lower() for name in (subject.author, *(one.hit.row.author for one, _ in joined)) if name}),
    )  # fmt: skip
    outcome: TriageOutcome = "regression" if is_duplicate and is_regression(rows[0]) else "duplicate"
    return silent._replace(
        outcome=outcome if is_duplicate else "similar", report=report, body=build_report(report),
        first_number=first.hit.row.number if first else rivals[0].change.number if rivals else None,
        similarity=first.similarity if first else None,
        warnings=tuple(ranking.warnings),
    )  # fmt: skip


def _rank(
    context: TriageContext, subject: Subject, types: tuple[str, ...], projects: tuple[int, ...], limit: int
) -> Ranking:
    before = None if subject.created_at is None else subject.created_at + 1  # two may come within one second
    filters = Filters(types=types, project_ids=projects, before=before, not_items=(subject.item_id,))
    ranking = rank_matches(
        context.retriever.seen_by(context.retriever.store.viewer.without_internal()),
        CompareRequest(subject, filters, limit=limit, as_of=context.as_of),
    )
    if context.as_of is None:
        return ranking
    matches, copies = ([_as_then(context, one) for one in found] for found in (ranking.matches, ranking.copies))
    return ranking._replace(matches=matches, copies=tuple(copies))


def _as_then(context: TriageContext, match: Match) -> Match:
    """Return a match as it was at that time: open, where it ended later."""
    ended = load_public_item(context.store, match.hit.row.item_id)
    if ended is None or not was_open(ended, context.as_of):
        return match
    return match._replace(hit=match.hit._replace(row=match.hit.row._replace(state="open", state_reason=None)))


def _is_earlier(match: Match, subject: Subject, key: ItemKey) -> bool:
    """True for what was there first. Of two that came within one second, the smaller number was."""
    row = match.hit.row
    return (row.created_at or 0, row.number) < (subject.created_at or 0, key.number) or subject.created_at is None


def _cited(context: TriageContext, subject: Subject) -> set[int]:
    """Return the items that the author names already: #12, !34, this project's name before them, or a page's URL."""
    name = context.project.name
    page = (context.project.url or "").partition("://")[2]
    here = ("", name.path.lower(), f"{name.host}/{name.path}".lower(), page.lower())
    default: tuple[Kind, ...] = ("issue",) if profile_of(name.forge).numbering == "apart" else ("issue", "change")
    keys = [
        ItemKey(kind, link.number)
        for link in links_in_text(f"{subject.title}\n{subject.body}")
        if link.project.lower() in here
        for kind in ((link.kind,) if link.kind else default)
    ]
    return set(load_ids(context.store, context.project_id, keys).values())


def _rejected(context: TriageContext, item_id: int) -> set[int]:
    """Return the items that people did not want to see named here: a pair that was rejected is never named again."""
    if context.as_of is not None:
        return set()
    numbers = load_rejected(context.store, item_id)
    keys = [ItemKey(kind, number) for kind in KINDS for number in numbers]
    return set(load_ids(context.store, context.project_id, keys).values())


def _rivals(context: TriageContext, subject: Subject, key: ItemKey, *, passed_over: Collection[int]) -> list[Overlap]:
    """Return the earlier changes by others that do the same as a change, but for those that its author names."""
    if subject.kind != "change":
        return []
    store = context.store.seen_by(context.store.viewer.without_internal())
    mine = load_change_facts(store, context.project_id, [subject.item_id]).get(subject.item_id)
    if mine is None:
        return []
    as_of = subject.created_at or context.now_ms()
    found = find_overlaps(store, context.project_id, mine, as_of=as_of)
    return [
        one
        for one in found
        if one.is_rival and one.change.id not in passed_over
        and (one.change.created_ms or 0, one.change.number) < (as_of, key.number)
    ][:RIVALS]  # fmt: skip


def _rival_row(context: TriageContext, one: Overlap) -> RivalRow:
    change = one.change
    if was_open(change, context.as_of):
        change = change._replace(state="open", closed_ms=None, merged_ms=None)
    ref = shown_ref(context.project.name.forge, "change", change.number)
    row = ReportRow(ref, change.title, change.url or "", 0.0, change.state, None, "change")
    ended = change.ended_ms
    state = (
        "open" if change.state == "open" else f"{change.state} {(format_ms(ended) or '')[:10]}" if ended else "closed"
    )
    return RivalRow(row, one.facts[0].lead, tuple(fact.says for fact in one.facts[1:]), state)


def _related(context: TriageContext, subject: Subject, cited: set[int]) -> list[Match]:
    """Return what is close in the other kind, and in sibling projects: worth knowing, nothing to close."""
    here: Kind = "change" if subject.kind == "change" else "issue"
    other: Kind = "issue" if here == "change" else "change"
    found: list[Match] = []
    if context.may_name(other, on=here):
        found += _rank(context, subject, (other,), (context.project_id,), RELATED_ROWS).matches
    if context.siblings:
        found += _rank(context, subject, (subject.kind,), context.siblings, RELATED_ROWS).matches
    close = [
        one
        for one in found
        if one.similarity >= context.inputs.similarity_threshold and one.hit.row.item_id not in cited
    ]
    return sorted(close, key=lambda one: -one.similarity)[:RELATED_ROWS]


def is_news(triaged: TriageResult, before: StoredReport | None) -> bool:
    """True for a warning of something that no comment here has named."""
    is_warning = triaged.outcome in ("duplicate", "regression")
    return is_warning and (before is None or triaged.first_number not in before.shown)
