"""Finding a person by a login, however it is capitalised, with or without an @ or the mark of a bot."""

from forgelore.core.people.logins import BOT
from forgelore.core.suggestions import suggest
from forgelore.core.values import check_filled
from forgelore.errors import NotFound
from forgelore.store.db import Store
from forgelore.store.persons import PersonScope, find_spelling, list_writers


def find_login(store: Store, name: str, *, is_public: bool) -> str | None:
    """Return a login as it is spelled here; None when nobody has it."""
    for login in (name, f"{name}{BOT}"):
        found = find_spelling(store, PersonScope(login, is_public=is_public))
        if found:
            return found
    return None


def resolve_person(store: Store, text: str, *, is_public: bool) -> str:
    """Return the login of the person that is meant. Raises NotFound with the nearest name."""
    name = check_filled("the person's name", text).strip().removeprefix("@")
    found = find_login(store, name, is_public=is_public)
    if found:
        return found
    meant = suggest(name, list_writers(store, is_public=is_public))
    said = f"; did you mean {meant.removeprefix('@')!r}?" if meant else ""
    raise NotFound(f"nobody here is called {text[:100]!r}{said}", hint="write a login as the forge has it: ana or @ana")
