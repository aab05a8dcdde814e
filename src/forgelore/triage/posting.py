"""How a report becomes a comment: one per item, ours alone, and the same thing never twice.

Ours is a comment by our own login whose first line is the marker. Somebody who quotes the marker writes a comment of
their own, and that is never touched. All of it can be repeated: the next run makes good what a killed one left undone.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

from forgelore.dedupe.closing_rules import WaitingNote, parse_note, with_note
from forgelore.errors import AuthError, InvalidValue, LoreError, NotFound, format_error
from forgelore.model import ItemKey, Project
from forgelore.ports.closing import SuggestsClosings
from forgelore.ports.forge import Comment, Forge, ForgeComments, LostWrite, WriteDelayed
from forgelore.profiles import profile_of
from forgelore.store.triage import FoundMatch
from forgelore.text.items import MARKER, is_report
from forgelore.text.markdown import link, quiet_url, titled

WEEK_MS = 7 * 86_400_000
MAX_LISTED = 50  # items in a digest
_DIGEST = re.compile(r"<!-- forgelore:digest (\d{1,15}) -->")
_TITLE_CHARS = 90

CommentAction = Literal["created", "updated", "deleted", "unchanged", "nothing"]
SUGGESTED = "it is a suggestion to maintainers"
ELSEWHERE: dict[str, str] = {"digest": "it is for the weekly digest", "summary": "it is said on this page alone"}
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
    of ours that says so already stays as it is; of any other of ours GitHub knows that it is replaced. So it would
    replace what a person suggests: then nothing is suggested.
    """
    if not isinstance(forge, SuggestsClosings) or key.kind != "issue":
        return f"{profile_of(forge.name).title} has no suggestions for {profile_of(forge.name).nouns[key.kind]}s"
    try:
        item, target = (forge.fetch_item(project, each) for each in (key, ItemKey(key.kind, number)))
        waiting = forge.list_closing_suggestions(project, key)
        is_persons = any(not one.rationale.endswith(_SIGNED) for one in waiting)
        if not is_persons and not any(one.target_id == target.forge_id for one in waiting):
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


def post_digest(
    forge: ForgeComments, project: Project, key: ItemKey, found: Sequence[FoundMatch], *, now_ms: int
) -> bool:
    """Say below an issue what was found since the last digest, and in no comment; False where there is nothing, or that
    one is younger than a week. When a digest was posted stands in it: of runs that lose an answer the next one knows.
    """
    there = _find_marked(_Place(forge, project, key, None))
    last = max((int(said[1]) for one in there if (said := _DIGEST.search(one.body))), default=now_ms - WEEK_MS)
    found = [one for one in found if one.looked_at > last]
    if now_ms - last < WEEK_MS or not found:
        return False
    forge.create_comment(project, key, build_digest(forge.name, found, now_ms))
    return True


def build_digest(forge: str, found: Sequence[FoundMatch], now_ms: int) -> str:
    """Return the digest: close matches, then what is similar, a line each. It notifies nobody and marks nothing."""
    lines = [MARKER, f"<!-- forgelore:digest {now_ms} -->"]
    for is_close, head in ((True, "May be the same, found this week:"), (False, "Similar, found this week:")):
        rows = [one for one in found[:MAX_LISTED] if one.is_close is is_close]
        lines += ["", f"**{head}**", "", *(_digest_line(forge, one) for one in rows)] if rows else []
    left = len(found) - MAX_LISTED
    return "\n".join([*lines, *(["", f"And {left} more, in the summaries of the runs."] if left > 0 else [])]) + "\n"


def _digest_line(forge: str, one: FoundMatch) -> str:
    noun = profile_of(forge).nouns[one.kind]
    named = (
        link(f"{noun} {number}: {titled(title, limit=_TITLE_CHARS) or '(no title)'}", quiet_url(url, forge))
        for number, title, url in ((one.number, one.title, one.url), (one.to_number, one.to_title, one.to_url))
    )
    return f"- {' → '.join(named)}{f' ({one.to_state})' if one.to_state else ''}"


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
    return [one for one in _find_marked(place) if not _DIGEST.search(one.body)]


def _find_marked(place: _Place) -> list[Comment]:
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
