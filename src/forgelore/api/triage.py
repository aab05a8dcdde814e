"""`history.triage`: what one item repeats, as its author would be told, and the bot's answer to an event."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from forgelore.api import renamed, warn_renamed
from forgelore.app import App
from forgelore.browse.refs import find_item
from forgelore.errors import InvalidValue, NotFound
from forgelore.model import Project
from forgelore.search.retriever import Retriever
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import load_number
from forgelore.store.projects import StoredProject
from forgelore.text.refs import parse_ref
from forgelore.text.values import check_filled
from forgelore.triage.events import Inputs
from forgelore.triage.intake import fetch_current
from forgelore.triage.item import TriageContext, TriageResult, save_fetched, triage_item
from forgelore.triage.posting import Posted, post_report
from forgelore.words import ItemKey, Kind

if TYPE_CHECKING:
    from forgelore.api.bot import BotPlaces
    from forgelore.ports.forge import Forge
    from forgelore.ports.progress import Watcher
    from forgelore.triage.bot import BotResult
    from forgelore.triage.events import Event
    from forgelore.triage.health_log import HealthLog
    from forgelore.triage.replay import Replay


class TriageAnswer(NamedTuple):
    """What an item repeats, and what happened to its comment; None where nothing was to be posted."""

    result: TriageResult
    posted: Posted | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.result.warnings


class Triage:
    """Tells people what a new issue or change repeats."""

    def __init__(self, app: App, make_retriever: Callable[[], Retriever]) -> None:
        self._app, self._make_retriever = app, make_retriever

    def __call__(self, *given: str | int, **options: object) -> TriageAnswer:
        warn_renamed("history.triage(…)", "history.triage.run(…)")
        return self.run(*given, **options)  # type: ignore[arg-type]

    @renamed
    def run(
        self, ref: str | int, inputs: Inputs | None = None, *, project: str | None = None, post: bool = False
    ) -> TriageAnswer:
        """Return what an item (`#12`, `!34`, a URL) repeats, as the comment that its author would get; with `post`,
        post that.

        What the store knows is compared; the item itself is read anew from its forge before anything is posted.
        """
        default = self._app.named_project(project)
        context, key = _make_context(
            self._app, self._make_retriever(), ref, inputs or Inputs(), default, has_forge=post
        )
        if not post:
            return TriageAnswer(triage_item(context, key))
        if context.forge is None:
            raise InvalidValue(f"{context.project.name} is an imported tracker: there is no forge to post to")
        fetched = fetch_current(context.forge, context.project, key)
        save_fetched(context, [fetched])
        found = triage_item(context, key)
        found = found._replace(warnings=(*fetched.warnings, *found.warnings))
        return TriageAnswer(found, post_report(context.forge, context.project, key, found.body))

    def replay(
        self, since: str, *, until: str | None = None, project: str | None = None, kind: Kind | None = None,
        inputs: Inputs | None = None, watcher: "Watcher | None" = None,
    ) -> "Replay":  # fmt: skip
        """Return what the bot would have said of the items filed since then (`30d`, `2026-03-01`), each judged as of
        its filing, and what became of them. No forge is asked.
        """
        from forgelore.text.dates import parse_when
        from forgelore.triage.replay import replay

        now_ms = self._app.now_ms()
        start = parse_when(check_filled("since", since), now_ms)
        end = parse_when(check_filled("until", until), now_ms) if until is not None else now_ms
        stored, retriever = self._app.require_project(project), self._make_retriever()
        context = TriageContext(
            self._app.store(), None, Project(stored.name), stored.id, retriever, retriever.embedder, inputs or Inputs(),
            now_ms=self._app.now_ms,
        )  # fmt: skip
        kinds: tuple[Kind, ...] = (kind,) if kind else ("issue", "change")
        return replay(context, start, end, kinds=kinds, watcher=watcher, should_stop=self._app.stop.is_set)

    def report(self, project: str | None = None, *, branch: str | None = None) -> "HealthLog":
        """Return how the bot of a project has been doing: its last runs, and what came of what it said, by version of
        the bot. It is read from the branch that holds the bot's index.
        """
        from forgelore.api.fetch import name_on_forge
        from forgelore.triage.health_log import FILE, parse_botlog

        name = self._app.require_project(None).name if project is None else name_on_forge(self._app, project)
        forge, branch = self._app.forge(name), branch or Inputs().index_branch
        text = forge.fetch_text(forge.fetch_project(name), FILE, branch=branch, max_chars=1_000_000)
        if text is None:
            hint = "the bot's first run writes it (docs/triage/README.md), perhaps on another branch"
            raise NotFound(f"{name} has no {FILE} on the branch {branch}", hint=hint)
        return parse_botlog(text)

    @renamed
    def handle_event(
        self, event: "Event", inputs: Inputs, *, forge: str, places: "BotPlaces", read_only: bool = False
    ) -> "BotResult":
        """Run the bot for one event of a forge's CI: its index is pulled, the item is answered, the index is pushed.
        With `read_only` nothing is written, and the language model of the settings, if there is one, is asked too.
        """
        from forgelore.api.bot import handle_event

        return handle_event(self._app, event, inputs, forge=forge, places=places, read_only=read_only)


def _make_context(
    app: App, retriever: Retriever, text: str | int, inputs: Inputs, project: StoredProject | None, *, has_forge: bool
) -> tuple[TriageContext, ItemKey]:
    store = app.store()
    subject = load_subject(store, find_item(store, parse_ref(text), project, app.hosts))
    number = load_number(store, subject.item_id)
    stored = app.stored_project(subject.project_id)
    forge: Forge | None = app.forge(stored.name) if has_forge and stored.name.forge != "local" else None
    current = forge.fetch_project(stored.name) if forge else Project(stored.name)
    context = TriageContext(store, forge, current, stored.id, retriever, retriever.embedder, inputs, now_ms=app.now_ms)
    return context, ItemKey(subject.kind, number)  # type: ignore[arg-type]
