"""What git said when it failed, as an error that says who must act and how.

git has one exit status for everything, so its words are read: its own (in English, LC_ALL=C) and those of the forge,
which come as `remote:` lines. Both are untrusted text: control characters and secrets are taken out and the length is
bounded before any of it is shown. The first line of the table that matches decides.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from forgelore.core.text import printable
from forgelore.errors import AuthError, ForgeError, LoreError, NotFound, RateLimited, StateMoved, StateRefused
from forgelore.forges.branch.git import Address, GitResult
from forgelore.profiles import ForgeProfile

# There is no setting that makes it smaller: 100 MB are some 45,000 items.
TOO_LARGE = "the project is too large for an index on a branch: leave the input also empty, or remove the workflow"
MOST_SHOWN = 300  # characters of somebody's words in a message
_MOST_READ = 20_000


class Scene(NamedTuple):
    """Where it happened, and what was said there."""

    address: Address
    branch: str
    has_token: bool
    profile: ForgeProfile
    said: str = ""
    token_advice: str = ""


def explain(done: GitResult, scene: Scene, *, secrets: Iterable[str] = ()) -> LoreError:
    """Return the error that a failed fetch or push stands for."""
    text = _read(done)
    build = _find_rule(text, scene)
    for secret in secrets:
        text = text.replace(secret, "***")
    scene = scene._replace(said=_shown(text))
    if build:
        return build(scene)
    hint = "check the network, proxy and certificate settings, and try again"
    return ForgeError(f"git and {scene.address.host} could not agree: {scene.said or 'git failed'}", hint=hint)


def is_passing(done: GitResult, scene: Scene) -> bool:
    """True when it was the network or a server's bad moment: the same may work a second later."""
    text = _read(done)
    return bool(done.code and re.search(_PASSING, text)) and _find_rule(text, scene) is None


def is_missing_branch(done: GitResult) -> bool:
    return "couldn't find remote ref" in done.err


def _too_large(scene: Scene) -> LoreError:
    return StateRefused(f"{scene.address.host} finds the index too large: {scene.said}", hint=TOO_LARGE)


def _archived(scene: Scene) -> LoreError:
    return StateRefused(f"{scene.address.url} is archived and takes no index", hint="switch this workflow off")


def _forbidden_by_rule(scene: Scene) -> LoreError:
    hint = scene.profile.push_hints.rule.format(branch=scene.branch)
    return StateRefused(f"a rule of the repository forbids the push to {scene.branch}: {scene.said}", hint=hint)


def _moved(scene: Scene) -> LoreError:
    hint = "pull the index, apply the change and push again"
    return StateMoved(f"somebody else was faster: {scene.branch} has moved", hint=hint)


def _unknown_token(scene: Scene) -> LoreError:
    if scene.has_token:
        hint = scene.token_advice or "the token is wrong, expired or for another host"
        return AuthError(f"{scene.address.host} does not accept the token", hint=hint, is_rejected=True)
    hint = scene.token_advice or scene.profile.push_hints.token
    return AuthError(f"{scene.address.host} wants a token for the index branch", hint=hint)


def _not_allowed(scene: Scene) -> LoreError:
    hint = scene.profile.push_hints.rights
    return AuthError(f"the token may not use the branch {scene.branch}: {scene.said}", hint=hint)


def _declined(scene: Scene) -> LoreError:
    hint = "the reason is the server's own; whoever runs it can tell what it wants"
    return StateRefused(f"{scene.address.host} declined the push to {scene.branch}: {scene.said}", hint=hint)


def _no_repository(scene: Scene) -> LoreError:
    hint = "check the spelling, or the token's access: without `contents` a private repository looks missing"
    return NotFound(f"there is no repository {scene.address.url}, or it is not shown to this token", hint=hint)


def _redirected(scene: Scene) -> LoreError:
    hint = "use the repository's present name: a token is never sent after a redirect"
    return ForgeError(f"{scene.address.url} has moved to another address", hint=hint)


def _limited(scene: Scene) -> LoreError:
    return RateLimited(f"{scene.address.host} limits git requests", hint="try again in some minutes", wait_s=60)


_RULES: tuple[tuple[str, Callable[[Scene], LoreError]], ...] = (
    (r"\bGH001\b|file size limit|exceeds (?:the )?maximum (?:allowed )?size|HTTP 413\b", _too_large),
    (r"archived so it is read-only|repository is archived", _archived),
    (r"not allowed to (?:push|upload|download) code (?:to|for|from) this project", _not_allowed),
    (r"\bGH006\b|\bGH013\b|protected branch|rule violations|hook declined|force-push|force push", _forbidden_by_rule),
    # A server's setting against all forced pushes: trying again would never help.
    (r"denying non-fast-forward|shallow update not allowed", _forbidden_by_rule),
    (r"non-fast-forward|stale info|fetch first|remote ref updated since checkout|incorrect old value", _moved),
    (r"cannot lock ref|failed to (?:update|lock) ref|reference already exists", _moved),
    (r"(?:error:|HTTP) 401\b|Authentication failed|could not read (?:Username|Password)", _unknown_token),
    (r"(?:error:|HTTP) 403\b|Permission to \S+ denied|Write access to repository not granted", _not_allowed),
    (r"(?:error:|HTTP) 404\b|repository '[^'\n]*' not found|does not appear to be a git repository", _no_repository),
    (r"(?:error:|HTTP) 30[1278]\b", _redirected),
    (r"(?:error:|HTTP) 429\b", _limited),
    (r"\[remote rejected\]", _declined),
)


_PASSING = (
    r"(?:error:|HTTP) 5\d\d\b|hung up|disconnect|early EOF|Connection (?:reset|timed out)|Empty reply"
    r"|Could not resolve host|(?:Failed to|Couldn't) connect|RPC failed; curl \d"
)


def _find_rule(text: str, scene: Scene) -> Callable[[Scene], LoreError] | None:
    # A repository or branch may be called anything, also what a refusal is called.
    words = text.replace(scene.address.url, "URL").replace(f"refs/heads/{scene.branch}", "REF")
    return next((build for pattern, build in _RULES if re.search(pattern, words, re.IGNORECASE)), None)


def _read(done: GitResult) -> str:
    return f"{done.out[:_MOST_READ]}\n{done.err[:_MOST_READ]}"


def _shown(text: str) -> str:
    """Return the forge's words on one line, git's own where the forge said nothing."""
    lines = [printable(line).strip() for line in text.splitlines()]
    remote = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    own = [line for line in lines if line.startswith(("fatal:", "error:", "!"))]
    message = " ".join(" ".join(filter(None, remote) if any(remote) else own).split())
    return message if len(message) <= MOST_SHOWN else message[:MOST_SHOWN] + "…"
