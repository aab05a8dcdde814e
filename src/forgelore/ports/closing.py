"""The port of closings: what is written on a forge to close an item as a duplicate, and to take that back.

Writes are sent by `flows/closing`, which has written each of them down before. All of them are native to the forge;
where it has no such thing (Forgejo knows no duplicates, GitHub none among changes) an item is plainly closed, and the
comment names the other.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from forgelore.model import Item, ItemKey, Project


class ClosingFacts(Struct, frozen=True):
    """What a forge tells of an item that the item itself does not. Times are on the forge's clock."""

    closed_by: str | None = None  # the last time
    closed_at: int | None = None
    reopened_at: int | None = None  # the last time, by anybody
    duplicate_of: tuple[int, ...] = ()  # numbers in the same project that it is marked as a duplicate of, now
    linked_to: tuple[int, ...] = ()  # numbers that it has a link to (GitLab's `/duplicate` makes one)
    head_sha: str | None = None  # of a change, where the item itself does not say it
    is_approved: bool = False  # a change that somebody approved, and has not taken that back
    is_merging: bool = False  # a change that the forge merges by itself as soon as it may


class Suggestion(NamedTuple):
    """A closing that is suggested and nobody has decided; `target_id`: the database's id of the other item."""

    id: int
    target_id: int | None
    rationale: str


@runtime_checkable
class SuggestsClosings(Protocol):
    """A forge on which a closing can wait as a suggestion that a maintainer approves or dismisses with a click. Issues
    alone; each call raises LoreError where the forge does not offer it.
    """

    def list_closing_suggestions(
        self, project: Project, key: ItemKey, *, state: Literal["pending", "dismissed"] = "pending"
    ) -> list[Suggestion]:
        """Return those that nobody has decided, or those that somebody dismissed."""
        ...

    def suggest_closing(self, project: Project, item: Item, target: Item, *, confidence: str, rationale: str) -> None:
        """Suggest to close an issue as a duplicate. `confidence`: LOW, MEDIUM or HIGH; of the rationale 280 characters
        are kept.
        """
        ...

    def dismiss_suggestion(self, project: Project, key: ItemKey, suggestion_id: int) -> None: ...
    def suggest_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None: ...


@runtime_checkable
class TellsAccess(Protocol):
    """A forge that says of one person what they may do, where the whole list of members takes more rights."""

    def may_write(self, project: Project, login: str) -> bool: ...


class ForgeClosings(Protocol):
    """What closes an item natively as a duplicate, and opens it again."""

    def fetch_closing_facts(self, project: Project, item: Item) -> ClosingFacts: ...

    def close_as_duplicate(self, project: Project, item: Item, target: Item) -> None:
        """Close an item in favour of another. LostWrite when nobody can know whether it arrived; AuthError when the
        token may not write; NotFound when it is gone.
        """
        ...

    def reopen(self, project: Project, key: ItemKey) -> None: ...

    def unmark_duplicate(self, project: Project, item: Item, target: Item) -> None:
        """Take a duplicate's mark off; nothing happens where a forge has none."""
        ...

    def remove_link(self, project: Project, item: Item, target: Item) -> None:
        """Take off the link between two items; nothing happens where there is none."""
        ...

    def remove_labels(self, project: Project, key: ItemKey, labels: Sequence[str]) -> None:
        """Take labels off an item; those that it has not are left out."""
        ...

    def react(self, project: Project, key: ItemKey, comment_id: int, *, is_good: bool) -> None:
        """React to a comment: by a thumb up, or by a confused face. A second time nothing happens."""
        ...

    def count_reactions(
        self, project: Project, key: ItemKey, comment_id: int, *, only: Literal["down"] | None = None
    ) -> int:
        """Return how many people have reacted to a comment, with `only` by a thumb down; 0 when it is gone."""
        ...
