"""How a report becomes a comment: one per item, ours alone, and the same thing never twice.

Ours is a comment by our own login whose first line is the marker. Somebody who quotes the marker writes a comment of
their own, and that is never touched. All of it can be repeated: the next run makes good what a killed one left undone.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from forgelore.dedupe.closing_rules import WaitingNote, parse_note, with_note
from forgelore.errors import AuthError, InvalidValue, LoreError, NotFound, format_error
from forgelore.model import ItemKey, Project
from forgelore.ports.closing import SuggestsClosings
from forgelore.ports.forge import Comment, Forge, ForgeComments, LostWrite, WriteDelayed
from forgelore.profiles import profile_of
from forgelore.text.items import is_report

CommentAction = Literal["created", "updated", "deleted", "unchanged", "nothing"]
SUGGESTED = "it is a suggestion to maintainers"
_SIGNED = " (forgelore)"  # ends the reason of a suggestion of ours
REMOVED = "removed by a person"
WAITS = "the item waits for its closing"
NOTHING_TO_SAY = "nothing to say"
CLOSED = "the item is closed"
_RATIONALE = 280  # characters of a reason that GitHub keeps
_POSTS = 2  # sent again once, and only when the first surely left no comment behind
_TRIES = 6
T = TypeVar("T")


class Posted(NamedTuple):
    """What happened to the comment. `reason` says why nothing did."""

    action: CommentAction
    url: str | None = None
    reason: str = ""


class _Place(NamedTuple):
    forge: ForgeComments
    project: Project
    key: ItemKey
    own: str | None


def post_report(
    forge: ForgeComments, project: Project, key: ItemKey, body: str, *, own: str | None = None,
    posted_before: bool = False, is_new_warning: bool = False, may_create: bool = True,
) -> Posted:  # fmt: skip
    """Make the item's one comment say `body`; an empty one takes it away. `own` is our login, None to ask the forge.

    `posted_before`: an earlier run left a comment here, and has not taken it back since. If it is gone now, a person
    removed it, and a maintainer who removed a comment does not want to remove it again after the next edit. So nothing
    is posted, unless the report warns of something that it did not warn of then (`is_new_warning`): that is news. Keep
    `posted_before` true after such a "nothing"; it becomes false with "deleted", which is our own doing.

    A comment that tells of a closing is left as it is until that has come to its end; how it ended stays known.

    `may_create` False, for an item that is closed: what stands there is kept true, and nothing new is begun.

    Several of ours (two runs raced): the oldest is kept, as the one people may have answered or linked to.
    Raises NotFound for an item that is gone, ConversationLocked, AuthError, and whatever else a forge may say.
    """
    if body and not is_report(body):
        raise InvalidValue("a report must begin with its marker", hint="this is a bug in forgelore; please report it")
    place = _Place(forge, project, key, own)
    mine = _find_own(place)
    for extra in mine[1:]:
        _delete(place, extra)
    note = parse_note(mine[0].body) if mine else None
    if note is not None and not (note.is_ended and body):
        return Posted("unchanged", mine[0].url, WAITS)  # people objected by what they did: that is weighed when it ends
    if note is not None:
        body = with_note(note, body)
    if not body:
        return _take_back(place, mine)
    if not mine and not may_create:
        return Posted("nothing", reason=CLOSED)
    if not mine:
        is_unwanted = posted_before and not is_new_warning
        return Posted("nothing", reason=REMOVED) if is_unwanted else _create(place, body)
    if _is_same(mine[0].body, body):
        return Posted("unchanged", mine[0].url)
    updated = _update(place, mine[0], body)
    # Gone since it was listed, a moment ago: rather another run that raced than a person, and that one may have posted.
    return Posted("updated", updated.url) if updated else _replace(place, body)


def suggest_duplicate(
    forge: Forge, project: Project, key: ItemKey, number: int, *, confidence: str, rationale: str
) -> str:
    """Suggest to maintainers that an issue repeats another; returns why the forge did not take it, "" where it did. One
    of ours that says so already stays as it is; of any other of ours GitHub knows that it is replaced.
    """
    if not isinstance(forge, SuggestsClosings) or key.kind != "issue":
        return f"{profile_of(forge.name).title} has no suggestions for {profile_of(forge.name).nouns[key.kind]}s"
    try:
        item, target = (forge.fetch_item(project, each) for each in (key, ItemKey(key.kind, number)))
        ours = [one for one in forge.list_closing_suggestions(project, key) if one.rationale.endswith(_SIGNED)]
        if not any(one.target_id == target.forge_id for one in ours):
            reason = f"{rationale[: _RATIONALE - len(_SIGNED)]}{_SIGNED}"
            write_patiently(
                lambda: forge.suggest_closing(project, item, target, confidence=confidence, rationale=reason)
            )
    except LoreError as error:
        return format_error(error)
    return ""


def is_dismissed(forge: Forge, project: Project, key: ItemKey) -> bool:
    """Tell whether somebody has dismissed our suggestion for an issue, and no other of ours waits."""
    if not isinstance(forge, SuggestsClosings) or key.kind != "issue":
        return False
    dismissed, waiting = (
        any(one.rationale.endswith(_SIGNED) for one in forge.list_closing_suggestions(project, key, state=state))
        for state in ("dismissed", "pending")
    )
    return dismissed and not waiting


def withdraw_suggestion(forge: Forge, project: Project, key: ItemKey) -> None:
    """Dismiss our own suggestions of an issue, and nobody else's; none is ever approved."""
    if isinstance(forge, SuggestsClosings) and key.kind == "issue":
        for one in forge.list_closing_suggestions(project, key):
            if one.rationale.endswith(_SIGNED):
                forge.dismiss_suggestion(project, key, one.id)


def note_closing(
    forge: ForgeComments, project: Project, key: ItemKey, body: str, note: WaitingNote, *, own: str | None = None
) -> bool:
    """Make the item's one comment say that it will be closed; False where there is none: a person took it away."""
    place = _Place(forge, project, key, own)
    mine = _find_own(place)
    return bool(mine) and _update(place, mine[0], with_note(note, body)) is not None


def is_ours(comment: Comment, login: str) -> bool:
    """True for a comment by this login whose first line is the marker: a quoted marker is somebody's own words."""
    return is_report(comment.body) and (comment.author or "").lower() == login.lower()


def ask_login(forge: ForgeComments) -> str:
    """Return whose comments are ours."""
    profile = profile_of(forge.name)
    try:
        identity = forge.fetch_identity()
    except (AuthError, NotFound) as error:
        if not profile.ci_login or (isinstance(error, AuthError) and error.is_rejected):
            raise
        return profile.ci_login
    if identity is None:
        raise AuthError("posting a comment needs a token", hint=f"set {profile.token_variables[0]}")
    return identity.login


def _find_own(place: _Place) -> list[Comment]:
    """Return our comments on the item, oldest first. Who we are matters only where a marker is."""
    marked = [one for one in place.forge.list_comments(place.project, place.key) if is_report(one.body)]
    login = (place.own or ask_login(place.forge)) if marked else ""
    return sorted((one for one in marked if is_ours(one, login)), key=lambda one: one.id)


def list_own(forge: ForgeComments, project: Project, key: ItemKey) -> list[Comment]:
    """Return our reports on an item, oldest first; none where somebody deleted it."""
    return _find_own(_Place(forge, project, key, None))


def _take_back(place: _Place, mine: list[Comment]) -> Posted:
    if not mine:
        return Posted("nothing", reason=NOTHING_TO_SAY)
    _delete(place, mine[0])
    return Posted("deleted")


def _replace(place: _Place, body: str) -> Posted:
    mine = _find_own(place)
    updated = _update(place, mine[0], body) if mine else None
    return Posted("updated", updated.url) if updated else _create(place, body)


def _create(place: _Place, body: str, *, posts: int = _POSTS) -> Posted:
    """Post it. When the answer is lost, the marker tells whether it arrived; after a wait, who posted it."""
    try:
        return Posted("created", place.forge.create_comment(place.project, place.key, body).url)
    except WriteDelayed:
        mine = _find_own(place)
    except LostWrite:
        mine, posts = _find_own(place), posts - 1
        if not mine and not posts:
            raise
    return Posted("created", mine[0].url) if mine else _create(place, body, posts=posts)


def _update(place: _Place, comment: Comment, body: str) -> Comment | None:
    return write_patiently(lambda: place.forge.update_comment(place.project, place.key, comment.id, body))


def _delete(place: _Place, comment: Comment) -> bool:
    return write_patiently(lambda: place.forge.delete_comment(place.project, place.key, comment.id))


def write_patiently(write: Callable[[], T]) -> T:
    """Return what a write returns that means the same twice: it is repeated after each wait, and some times after a
    lost answer. How often a forge may make us wait, the client decides.
    """
    lost = 0
    while True:
        try:
            return write()
        except WriteDelayed:
            continue
        except LostWrite:
            lost += 1
            if lost == _TRIES:
                raise


def _is_same(there: str, body: str) -> bool:
    """Forges may change line ends and what is white at the end; that is no reason to write."""
    return there.replace("\r\n", "\n").strip() == body.strip()
