"""The part of the facade that tells of people: who they are, what waits for them."""

from typing import TYPE_CHECKING

from forgelore.app import App
from forgelore.words import Moment

if TYPE_CHECKING:
    from forgelore.history.people import MyWork, PathPeople, PersonAnswer


class PeopleHistory:
    """What `History` knows of people."""

    app: App

    def who(self, person: str, *, project: str | None = None, after: Moment = None, limit: int = 10) -> "PersonAnswer":
        """Return what a person wrote, reviewed, resolved and knows best: `who("ana")`, `who("@Ana", after="1y")`.
        Raises NotFound, with the nearest name, for somebody nobody here has heard of.
        """
        from forgelore.api.people import find_who

        return find_who(self.app, person, project=project, after=after, limit=limit)

    def who_knows(
        self, path: str, *, project: str | None = None, after: Moment = None, limit: int = 10
    ) -> "PathPeople":
        """Return who knows a file, a folder (`src/`) or what a glob names, best first: who changed, reviewed and
        committed it, and when last. A file is followed through renames. Raises NotFound, with the nearest path.
        """
        from forgelore.api.people import find_who_knows

        return find_who_knows(self.app, path, project=project, after=after, limit=limit)

    def who_or_path(
        self, text: str, *, project: str | None = None, after: Moment = None, limit: int = 10
    ) -> "PersonAnswer | PathPeople":
        """Return `who` of a login, `who_knows` of a path: what has a slash is one; else a person comes first."""
        from forgelore.api.people import find_who_or_path

        return find_who_or_path(self.app, text, project=project, after=after, limit=limit)

    def me(
        self, login: str | None = None, *, project: str | None = None, after: Moment = None, limit: int = 10
    ) -> "MyWork":
        """Return what waits for you: reviews, questions, threads, what is assigned to you, where you are mentioned.
        Without a login you are whoever the setting `me`, the token or git says; raises ConfigError where none does.
        """
        from forgelore.api.people import find_my_work

        return find_my_work(self.app, login, project=project, after=after, limit=limit)
