"""`--web`: the page of an item, in the browser (BROWSER names another one)."""

import sys
from typing import TYPE_CHECKING

from forgelore.errors import ConfigError
from forgelore.surfaces.present.text import printable

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context


def open_page(context: "Context", url: str) -> None:
    """Open an address that was checked. Raises ConfigError where nothing opens it."""
    import webbrowser

    if not webbrowser.open(url):
        raise ConfigError("no browser could be started", hint=f"set BROWSER, or open it yourself: {url}")
    if not context.is_data:
        print(printable(f"opened {url}"), file=sys.stderr)
