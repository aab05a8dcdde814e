"""Addresses of pages that were stored before their project got another name."""

from urllib.parse import urlsplit


def below(home: str | None, url: str | None, rest: str) -> str | None:
    """Return the page `rest` of the project whose pages are below `home`; the `url` itself when it is another server's.

    `https://host/acme/new`, `https://host/acme/old/issues/1`, `issues/1` -> `https://host/acme/new/issues/1`
    """
    if not home or not url or not rest or url.startswith(f"{home}/") or urlsplit(home)[:2] != urlsplit(url)[:2]:
        return url
    return f"{home}/{rest}"
