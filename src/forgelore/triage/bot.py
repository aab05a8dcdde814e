"""One run of the bot: an event in, one honest comment (or none) out, and an index that is true afterwards.

    pull the index → the event's item → read what changed → look → post → those whose events were missed → push

Each step for itself: a problem is reported and does not stop the rest. A comment that cannot be posted must not lose
the index, and an index that cannot be pushed must not lose the comment. Comments are found by their marker, so a
repeated run never posts twice; what a run left undone is seen in the index, and made good by the next.

In split mode a reader without rights looks, may ask a judge, and writes a judgement; the writer believes of it only
what takes a warning away.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from forgelore.dedupe.detect_new import SAID_NOTHING, Detection, detect_new
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import AnyJudge
from forgelore.errors import AuthError, LoreError, NotFound, format_error
from forgelore.model import Item, ItemKey, Project, ProjectName
from forgelore.ports.closing import SuggestsClosings
from forgelore.ports.forge import ConversationLocked, Forge, IndexBranch
from forgelore.ports.progress import Watcher
from forgelore.store.items import load_ids
from forgelore.store.projects import find_project, list_projects
from forgelore.store.triage import (
    StoredReport,
    forget_items,
    forget_project,
    list_uncommented,
    load_first_run,
    load_report,
    load_unseen,
    save_first_run,
    save_report,
)
from forgelore.text.links import is_program
from forgelore.triage.events import Command, Event, Judgement
from forgelore.triage.health_log import HealthLog
from forgelore.triage.intake import (
    FEW_REQUESTS,
    MOST_REQUESTS,
    PATIENCE_MS,
    Budget,
    Coverage,
    Fetched,
    ProblemCollector,
    cover,
    drop_missing,
    fetch_current,
    make_searchable,
    open_project,
    public_kinds,
    public_kinds_from,
    read_files,
    read_lines,
    remove_private,
)
from forgelore.triage.item import TriageContext, TriageResult, is_news, save_fetched, triage_item, without_warning
from forgelore.triage.learning import learn_more, prepare
from forgelore.triage.outcomes import collect_outcomes
from forgelore.triage.posting import (
    ELSEWHERE,
    NOTHING_TO_SAY,
    SUGGESTED,
    WEEK_MS,
    Posted,
    post_digest,
    post_report,
    suggest_duplicate,
    withdraw_suggestion,
    write_patiently,
)
from forgelore.triage.readers import why_not_indexed_from
from forgelore.triage.report import build_rationale
from forgelore.triage.steering import Order, Writers, obey, remember
from forgelore.triage.waiting import WaitingItems
from forgelore.version import __version__


def build_stored(
    now_ms: int, triaged: TriageResult, posted: Posted | None, before: StoredReport | None
) -> StoredReport:
    """Return the report as it is kept. What a person took away stays known, so that it is not posted again; only what
    we took back is forgotten.
    """
    url, shown = (posted.url if posted else None), triaged.shown
    if before is not None and before.comment_url and (posted is None or posted.action == "nothing"):
        url, shown = before.comment_url, before.shown
    return StoredReport(
        now_ms, triaged.content_hash, triaged.outcome, triaged.first_number, triaged.similarity, url, shown, __version__
    )


def ask_judge(context: TriageContext, found: TriageResult, judge: AnyJudge) -> TriageResult:
    """Return what was found, without its warning where the judge does not agree.

    The judge is asked by the rules of `dedupe detect-new`, about open items alone. What says nothing (no answer, prose,
    a number that was not offered) leaves the warning. Nobody who holds a token that writes asks: a model reads
    strangers' words.
    """
    number = found.first_number
    if found.outcome != "duplicate" or number is None:
        return found
    detected = detect_new(context.retriever, found.item_id, judge, now_ms=context.now_ms)
    found = found._replace(warnings=(*found.warnings, *detected.warnings))
    return found if _leaves_it(detected, number) else without_warning(found)


def _leaves_it(detected: Detection, number: int) -> bool:
    offered = {one.number for one in detected.candidates if one.is_offered}
    if number not in offered or (detected.reason and ReasonCode(detected.reason) in SAID_NOTHING):
        return True  # nobody has said anything of that item
    return detected.outcome != "not_duplicate" and detected.target == number


MAX_MISSED = 20  # items of missed events looked at in one run
_SLACK_MS = 300_000  # between an item and the run that its event starts


class BotSetup(NamedTuple):
    """What a run works with. `open_context` opens the index at a path, and makes it when it is not there."""

    forge: Forge
    project: Project
    branch: IndexBranch
    folder: str
    kept: str  # a folder that the runner keeps between runs, for an index that cannot be pushed; empty: there is none
    open_context: Callable[[str], TriageContext]
    now_ms: Callable[[], int]
    is_late: Callable[[], bool]
    is_dry: bool = False  # nothing is written on the forge
    judgement: Judgement | None = None  # what a reader without rights said of the event's item
    judge: AnyJudge | None = None  # whom a reader asks before it says so
    watcher: Watcher | None = None

    def forge_ms(self) -> int:
        """The time on the forge's clock: what is compared with the times of items."""
        return self.forge.server_ms() or self.now_ms()


class TriagedItem(NamedTuple):
    """An item that was looked at, and what happened to its comment."""

    triaged: TriageResult
    posted: Posted | None


class BotResult(Struct):
    """What a run did. `problems` made it fail in part, `warnings` did not."""

    event: str
    project: str = ""
    key: ItemKey | None = None  # of the event's item
    done: list[TriagedItem] = []
    coverage: Coverage | None = None
    problems: list[str] = []
    warnings: list[str] = []
    log: HealthLog = HealthLog()
    complaint: str = ""
    is_pushed: bool = False
    is_kept: bool = False  # for the next run, where the branch could not take it
    refusal: LoreError | None = None  # why the branch does not take the index, where a person must act
    removed: int = 0
    withheld: int = 0  # of the removed: what not every reader of the branch may read
    ended_at: int = 0  # in milliseconds; 0: it never began

    @property
    def of_event(self) -> TriagedItem | None:
        """What became of the event's own item; others may have been caught up on."""
        return next((one for one in self.done if one.triaged.key == self.key), None)


def _silenced(triaged: TriageResult, reason: str) -> TriageResult:
    return triaged._replace(outcome="silent", reason=reason, body="", report=None, labels=())


class BotRun:
    """One run on one index. What it learned is remembered, to be put into another index when that was pushed first."""

    def __init__(self, bot: BotSetup, context: TriageContext, outcome: BotResult) -> None:
        self.bot, self.context, self.outcome = bot, context._replace(now_ms=bot.now_ms), outcome
        self.fetched: dict[ItemKey, Item | None] = {}  # items that were fetched, and the event's own word of them
        self._with_files: set[ItemKey] = set()  # changes whose files were fetched with them
        self.removed: list[ItemKey] = []
        self.reports: dict[ItemKey, StoredReport] = {}
        self._kinds = public_kinds(bot.project)
        self._budget = Budget(bot.forge, bot.is_late)
        self._writers = Writers(bot.forge, bot.project, context, bot.forge_ms())
        self._items: dict[ItemKey, Item] = {}  # as the forge has them now
        self._orders: list[tuple[ItemKey, Order]] = []

    def work(self, event: Event) -> None:
        first_run = load_first_run(self.context.store, self.context.project_id)
        save_first_run(self.context.store, self.context.project_id, self.bot.forge_ms())
        key = event.item.key if event.item else None
        with ProblemCollector(self.outcome):
            self._take_event(event)
        with ProblemCollector(self.outcome):
            self._cover(is_thorough=event.task == "catch_up")
        with ProblemCollector(self.outcome):
            prepare(
                self.context.retriever, self.context.project_id, now_ms=self.bot.now_ms, is_late=self.bot.is_late,
                watcher=self.bot.watcher,
            )  # fmt: skip
        if event.task == "triage" and key is not None and self._is_known(key):
            with ProblemCollector(self.outcome):
                self._triage(key, is_programs=event.is_automatic)
        if event.command is not None and key is not None and self._is_known(key) and not self.bot.is_dry:
            with ProblemCollector(self.outcome):
                self._steer(key, event.command)
        if first_run is not None:  # what is there when the bot begins is left in peace
            self._catch_up(first_run - _SLACK_MS)
        with ProblemCollector(self.outcome):
            self._let_wait(event)
        if event.task == "catch_up" and not self.bot.is_dry:
            with ProblemCollector(self.outcome):
                collect_outcomes(self.context, self.bot.forge, budget=self._budget, now_ms=self.bot.forge_ms())
            with ProblemCollector(self.outcome):
                self._post_digest()
        if event.task == "catch_up" and self.outcome.coverage is not None and self.outcome.coverage.is_complete:
            with ProblemCollector(self.outcome):
                self._drop_missing()
        with ProblemCollector(self.outcome):
            self.outcome.warnings += learn_more(
                self.context.retriever, self.context.project_id, now_ms=self.bot.now_ms,
                is_thorough=event.task == "catch_up", is_late=self.bot.is_late, watcher=self.bot.watcher,
            )  # fmt: skip

    def _is_known(self, key: ItemKey) -> bool:
        return bool(load_ids(self.context.store, self.context.project_id, [key]))

    def _take_event(self, event: Event) -> None:
        if event.item is None or event.item.key.kind not in self._kinds:
            return
        key = event.item.key
        if event.task == "remove":
            self.removed.append(key)
            self._forget([key])
        elif event.task in ("triage", "update", "command"):
            self._fetch(key, event.item, with_files=event.task == "triage")

    def _steer(self, key: ItemKey, command: Command) -> None:
        if not self._writers.has(command.author):
            return  # and nobody is told
        order = obey(self.bot.forge, self.bot.project, self.context, key, command)
        if order is not None:
            self._orders.append((key, order))
            self.outcome.warnings.append(
                f"{command.author} said of {key.kind} {key.number}: {' '.join(map(str, filter(None, order)))}"
            )
        if order is not None and order.verb != "duplicate":
            self._triage(key, is_programs=False, is_wanted=order.verb == "look again")

    def _forget(self, keys: list[ItemKey]) -> None:
        with self.context.store.transaction():
            self.outcome.removed += forget_items(self.context.store, self.context.project_id, keys)

    def _fetch(self, key: ItemKey, event_item: Item | None, *, with_files: bool = True) -> None:
        """Take an item in as it is now. One that is not shown leaves the index; the list that is read next may know
        better, for a page that was made a second ago is sometimes not found.
        """
        try:
            fetched: Fetched = fetch_current(self.bot.forge, self.bot.project, key, event_item, with_files=with_files)
        except NotFound:
            self._forget([key])
            return
        self.fetched[key] = event_item
        self._items[key] = fetched.item
        self.outcome.warnings += fetched.warnings
        if fetched.files is not None:
            self._with_files.add(key)
        save_fetched(self.context, [fetched])

    def replay(self, context: TriageContext) -> None:
        """Put what this run learned into another index. Items are fetched anew: they may have changed or gone since."""
        self.context = context._replace(now_ms=self.bot.now_ms)
        self._forget(self.removed)
        for key, event_item in self.fetched.items():
            with ProblemCollector(self.outcome):
                self._fetch(key, event_item)
        for key, report in self.reports.items():
            self._save_report(key, report)
        for key, order in self._orders:
            remember(self.context, key, order)

    def _cover(self, *, is_thorough: bool) -> None:
        bot, context = self.bot, self.context
        found = cover(
            context.store, bot.forge, bot.project, context.project_id, budget=self._budget, now_ms=bot.now_ms,
            kinds=self._kinds, queues_files=True, watcher=bot.watcher,
        )  # fmt: skip
        self.outcome.coverage = found
        self.outcome.warnings += found.warnings
        self.outcome.problems += found.refused
        self.context = context._replace(siblings=self._cover_siblings(is_read=is_thorough and found.is_complete))
        self.outcome.warnings += read_files(
            context.store, bot.forge, bot.project, context.project_id, budget=self._budget, now_ms=bot.now_ms,
            most=MOST_REQUESTS if is_thorough else FEW_REQUESTS, patience_ms=None if is_thorough else PATIENCE_MS,
            known=self._with_files, watcher=bot.watcher,
        )  # fmt: skip
        if is_thorough and "change" in self._kinds:
            with ProblemCollector(self.outcome):
                read_lines(context.store, bot.forge, bot.project, context.project_id, budget=self._budget)
        projects = [context.project_id, *self.context.siblings]
        make_searchable(context.store, context.embedder, projects, now_ms=bot.now_ms, watcher=bot.watcher)

    def _cover_siblings(self, *, is_read: bool) -> tuple[int, ...]:
        """Return the projects beside this one that may be named here. Who may read them is asked each time; what is no
        longer named, or not for everybody any more, leaves the index. One that only fails to answer stays, unused.
        """
        usable, silent = [], set()
        for path in self.context.inputs.also:
            try:
                usable += self._cover_sibling(path, is_read=is_read)
            except LoreError as error:
                silent.add(path.lower())
                self.outcome.warnings.append(f"also: {path}: {format_error(error)}")
        for project in list_projects(self.context.store):
            if project.id not in (self.context.project_id, *usable) and project.name.path.lower() not in silent:
                with self.context.store.transaction():
                    forget_project(self.context.store, project.id)
        return tuple(usable)

    def _cover_sibling(self, path: str, *, is_read: bool) -> list[int]:
        bot, store = self.bot, self.context.store
        name = ProjectName(bot.project.name.forge, bot.project.name.host, path)
        try:
            sibling = bot.forge.fetch_project(name)
        except (NotFound, AuthError) as error:
            self.outcome.warnings.append(f"also: {path} is left out: {error.message}")
            return []
        kinds = public_kinds_from(sibling)
        if reason := why_not_indexed_from(sibling):
            self.outcome.warnings.append(f"also: {path}: {reason}")
        if not kinds:
            return []
        is_new = find_project(store, sibling.name, sibling.forge_id) is None
        sibling_id = open_project(store, sibling, bot.now_ms())
        withheld = remove_private(store, sibling_id, kinds)
        self.outcome.withheld += withheld
        if is_read or is_new or withheld:
            found = cover(store, bot.forge, sibling, sibling_id, budget=self._budget, now_ms=bot.now_ms, kinds=kinds)
            self.outcome.warnings += [f"also: {path}: {warning}" for warning in (*found.warnings, *found.refused)]
        return [sibling_id]

    def _triage(self, key: ItemKey, *, is_programs: bool, is_wanted: bool = False) -> None:
        """Look at an item, and make its comment say what was found. `is_wanted`: a maintainer asked for it."""
        judged = self.bot.judgement if key == self.outcome.key else None
        triaged = triage_item(self.context, key, judgement=judged)
        if self.bot.judge is not None and key == self.outcome.key:
            triaged = ask_judge(self.context, triaged, self.bot.judge)
        if is_programs or is_program(triaged.author):
            # What a program files by the dozen is compared with, not commented on.
            triaged = _silenced(triaged, "a program wrote it")
        elif triaged.body and not is_wanted and self._is_writers(key):
            triaged = _silenced(triaged, "a maintainer wrote it")
        before = None if is_wanted else load_report(self.context.store, triaged.item_id)
        posted = None
        self.outcome.warnings += triaged.warnings
        try:
            posted = None if self.bot.is_dry else self._post(triaged, before)
        except ConversationLocked as error:
            self.outcome.warnings.append(format_error(error))
            posted = Posted("nothing", reason="the conversation is locked")
        except LoreError:
            self.outcome.done.append(TriagedItem(triaged, None))
            raise  # and no report is kept: the next run looks again
        self.outcome.done.append(TriagedItem(triaged, posted))
        self.reports[key] = build_stored(self.bot.forge_ms(), triaged, posted, before)
        self._save_report(key, self.reports[key])

    def _is_writers(self, key: ItemKey) -> bool:
        item = self._items.get(key)
        return not self.context.inputs.comment_on_maintainers and item is not None and self._writers.wrote(item)

    def _post(self, triaged: TriageResult, before: StoredReport | None) -> Posted:
        """Make the item's comment say what was found. Labels are set once: who takes one away has decided."""
        bot = self.bot
        if before is None and self.context.inputs.apply_labels and triaged.labels:
            names = [name for name, _ in triaged.labels]
            write_patiently(lambda: bot.forge.add_labels(bot.project, triaged.key, names))
        if before is None and self.context.inputs.suggest_labels and triaged.labels:
            self._suggest_labels(triaged)
        self._label_close(triaged, before)
        was_there = before is not None and before.comment_url is not None
        is_suggested = self._suggest(triaged, before)
        channel = self.context.inputs.channel(triaged.key.kind, is_close=triaged.is_close)
        is_elsewhere = channel in ELSEWHERE or (is_suggested and channel == "suggestion")
        body = "" if is_elsewhere else triaged.body
        reason = ELSEWHERE.get(channel, SUGGESTED) if triaged.body else NOTHING_TO_SAY
        if before is not None and not was_there and not body:
            return Posted("nothing", reason=reason)
        posted = post_report(
            bot.forge, bot.project, triaged.key, body, posted_before=was_there,
            is_new_warning=is_news(triaged, before), may_create=triaged.is_open,
        )  # fmt: skip
        return posted._replace(reason=reason) if posted.reason == NOTHING_TO_SAY else posted

    def _label_close(self, triaged: TriageResult, before: StoredReport | None) -> None:
        """Label what has a close match, once: who takes the label off has decided. It goes when the match has gone."""
        forge, name = self.bot.forge, self.context.inputs.label_close
        was_close = before is not None and before.outcome in ("duplicate", "regression")
        if name and triaged.is_open and was_close is not triaged.is_close:
            change = forge.remove_labels if was_close else forge.add_labels
            with ProblemCollector(self.outcome):
                write_patiently(lambda: change(self.bot.project, triaged.key, [name]))

    def _suggest_labels(self, triaged: TriageResult) -> None:
        forge, names = self.bot.forge, [name for name, _ in triaged.labels]
        if isinstance(forge, SuggestsClosings) and triaged.key.kind == "issue":
            with ProblemCollector(self.outcome):
                write_patiently(lambda: forge.suggest_labels(self.bot.project, triaged.key, names))

    def _suggest(self, triaged: TriageResult, before: StoredReport | None) -> bool:
        """Make the suggestion to maintainers say what was found; tells whether there is one now."""
        bot = self.bot
        if self.context.inputs.report not in ("suggestion", "both") or triaged.key.kind != "issue":
            return False
        if triaged.outcome != "duplicate" or triaged.report is None or triaged.first_number is None:
            if before is None or before.outcome == "duplicate":  # None: after "look again", or a run that was lost
                with ProblemCollector(self.outcome):
                    withdraw_suggestion(bot.forge, bot.project, triaged.key)
            return False
        is_same = triaged.report.rows[0].sameness != "similar"
        refusal = suggest_duplicate(
            bot.forge, bot.project, triaged.key, triaged.first_number, confidence="HIGH" if is_same else "LOW",
            rationale=build_rationale(triaged.report),
        )  # fmt: skip
        if refusal:
            self.outcome.warnings.append(f"a comment says what no suggestion could: {refusal}")
        return not refusal

    def _let_wait(self, event: Event) -> None:
        """Tell of what will be closed, where a decision is applied; close what has waited, in a daily run."""
        bot, hours = self.bot, self.context.inputs.close_after
        if not hours or bot.is_dry:
            return
        waiting = WaitingItems(bot.forge, bot.project, self.context, bot.forge_ms())
        found = self.outcome.of_event.triaged if self.outcome.of_event else None
        target = bot.judgement.duplicate_of if bot.judgement else None
        if event.task == "catch_up":
            self.outcome.warnings += waiting.close_due(bot.is_late)
        elif target and found and (found.outcome, found.first_number) == ("duplicate", target):
            self.outcome.warnings += waiting.begin(found, target, hours)
        elif found and not bot.judgement:
            self.outcome.warnings.append("close-after needs split mode (docs/triage/split.yml): nothing is closed")

    def _post_digest(self) -> None:
        """Once a week, say below one issue what the inputs keep from the items themselves."""
        inputs, now_ms = self.context.inputs, self.bot.forge_ms()
        if not inputs.digest_issue:
            return
        found = [
            one
            for one in list_uncommented(self.context.store, self.context.project_id, now_ms - 2 * WEEK_MS)
            if inputs.channel(one.kind, is_close=one.is_close) == "digest"
            and self.context.may_name(one.kind, on="issue")
        ]
        key = ItemKey("issue", inputs.digest_issue)
        if found and post_digest(self.bot.forge, self.bot.project, key, found, now_ms=now_ms):
            self.outcome.warnings.append(f"the weekly digest was posted below issue {key.number}")

    def _save_report(self, key: ItemKey, report: StoredReport) -> None:
        item_id = load_ids(self.context.store, self.context.project_id, [key]).get(key)
        if item_id is not None:
            with self.context.store.transaction():
                save_report(self.context.store, self.context.project_id, item_id, report)

    def _catch_up(self, since_ms: int) -> None:
        """Look at open items that no run has looked at as they are now."""
        for key in load_unseen(self.context.store, self.context.project_id, since_ms, MAX_MISSED):
            if self._budget.spent():
                return
            if key in self.reports or key == self.outcome.key:
                continue  # this run has tried
            with ProblemCollector(self.outcome):
                self._fetch(key, None)
                if self._is_known(key):
                    self._triage(key, is_programs=False)

    def _drop_missing(self) -> None:
        context, bot = self.context, self.bot
        forgotten, warnings = drop_missing(
            context.store, bot.forge, bot.project, context.project_id, budget=self._budget, kinds=self._kinds
        )
        self.outcome.removed += forgotten
        self.outcome.warnings += warnings


def build_judgement(project: str, triaged: TriageResult) -> bytes:
    """Return what the reader found, as the writer takes it."""
    numbers = [int(row.ref.lstrip("#!")) for row in triaged.report.rows] if triaged.report else []
    is_warned = triaged.outcome in ("duplicate", "regression")  # which of the two, the writer sees for itself
    duplicate_of = triaged.first_number if is_warned else None
    judgement = Judgement(1, project, triaged.key.kind, triaged.key.number, numbers, duplicate_of)  # type: ignore[arg-type]
    return msgspec.json.encode(judgement) + b"\n"
