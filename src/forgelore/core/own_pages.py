"""An item's own page: the address that may be opened for somebody."""

from urllib.parse import urlsplit

from forgelore.core.triage.markdown import safe_url
from forgelore.errors import InvalidValue


def check_page(url: str | None, host: str) -> str:
    """Return the address of a page on a project's own host. Raises InvalidValue for anything else: who wrote the item,
    or the file it was imported from, must not choose what opens on somebody's machine.
    """
    if not url:
        raise InvalidValue("this item has no address", hint="its forge or its file gave none")
    safe = safe_url(url)
    if safe is None or urlsplit(safe).netloc.lower() != host.lower():
        raise InvalidValue(f"{url[:200]!r} is not a page of {host}", hint="look at it, and open it yourself")
    return safe
