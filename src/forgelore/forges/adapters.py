"""Adapters: the one table of forges, with the code that each is made of. Nothing is imported before it is asked for."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from forgelore.config import AppIdentity
    from forgelore.forges.github.app_token import InstallationToken
    from forgelore.forges.rest import TokenAccess
    from forgelore.net.client import Client
    from forgelore.ports.forge import Forge, Page, PayloadReader


class Connection(NamedTuple):
    """What an adapter is made with."""

    host: str
    graphql_url: str
    access: "TokenAccess"
    client: "Callable[[dict[str, str]], Client]"  # given the headers that the API wants
    window_days: int


class Adapter(NamedTuple):
    """The code of one forge, beside its profile. Payloads are read without what talks to the network."""

    make: "Callable[[Connection], Forge]"
    payloads: "Callable[[], PayloadReader]"


def app_token(
    app: "AppIdentity", path: str, client: "Callable[..., Client]", wall_clock: "Callable[[], float]"
) -> "InstallationToken":
    """Return the token of an app for a project, on the one kind of forge that has apps."""
    from forgelore.forges.github.app_token import InstallationToken
    from forgelore.forges.github.forge import HEADERS

    return InstallationToken(app.id, app.key, path, lambda make: client(HEADERS, secret_headers=make), wall_clock)


class ArchiveReader(NamedTuple):
    """Reads files of a forge's answers that others recorded. `lists` are the resources that these answers come from:
    that of items, and that of comments.
    """

    pages: "Callable[[Iterable[str], str, Callable[[str, int, str], None]], Iterator[Page]]"
    lists: tuple[str, str]
    forge: str


def _github(to: Connection) -> "Forge":
    from forgelore.forges.github.forge import HEADERS, GitHub

    return GitHub(to.client(HEADERS), to.graphql_url, host=to.host, access=to.access, window_days=to.window_days)


def _github_payloads() -> "PayloadReader":
    from forgelore.forges.github.payloads import GitHubPayloads

    return GitHubPayloads()


def _gitlab(to: Connection) -> "Forge":
    from forgelore.forges.gitlab.forge import HEADERS, GitLab

    return GitLab(to.client(HEADERS), to.graphql_url, host=to.host, access=to.access, window_days=to.window_days)


def _gitlab_payloads() -> "PayloadReader":
    from forgelore.forges.gitlab.payloads import GitLabPayloads

    return GitLabPayloads()


def _forgejo(to: Connection) -> "Forge":
    from forgelore.forges.forgejo.forge import HEADERS, Forgejo

    return Forgejo(to.client(HEADERS), host=to.host, access=to.access, window_days=to.window_days)


def _forgejo_payloads() -> "PayloadReader":
    from forgelore.forges.forgejo.payloads import ForgejoPayloads

    return ForgejoPayloads()


def archive_reader(kind: str) -> "ArchiveReader":
    """Return what reads archives of a kind that `ARCHIVES` names."""
    from forgelore.forges.github.archives import COMMENTS, ITEMS, read_backup, read_events

    return ArchiveReader(read_events if kind == ARCHIVES[0] else read_backup, (ITEMS, COMMENTS), "github")


ARCHIVES = ("gharchive", "github-backup")
ADAPTERS = {
    "github": Adapter(_github, _github_payloads),
    "gitlab": Adapter(_gitlab, _gitlab_payloads),
    "forgejo": Adapter(_forgejo, _forgejo_payloads),
}
