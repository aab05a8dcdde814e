"""Single sign-on of GitHub organisations: what a person must open when a token is not authorised for it.

`X-GitHub-SSO` comes with the refusal:

    required; url=https://github.com/orgs/acme/sso?authorization_request=…      one click away
    partial-results; organizations=21955855,20582480                             these were left out of the answer

https://docs.github.com/rest/authentication/authenticating-to-the-rest-api#authenticating-with-saml-sso
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

MOST_CHARS = 1000
_IDS = re.compile(r"organizations=([\d, ]{1,200})")


def sso_hint(headers: Mapping[str, str], host: str) -> str:
    """Return what to do when single sign-on stands in the way, with the address to open; "" when it does not."""
    said = headers.get("x-github-sso", "")
    if not said:
        return ""
    if said.startswith("required"):
        url = said.partition("url=")[2].strip()
        if _is_of_github(url, host):
            return f"authorise the token for the organisation's single sign-on: {url}"
        return "authorise the token for the organisation's single sign-on, in the token's settings (Configure SSO)"
    found = _IDS.search(said)
    named = f" of the organisations {found[1].strip()}" if found else ""
    return f"authorise the token for the single sign-on{named}, in the token's settings (Configure SSO)"


def _is_of_github(url: str, host: str) -> bool:
    """A person will open it and sign in there: https, and GitHub's own host or the one that was asked."""
    if len(url) > MOST_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        split = urlsplit(url)
    except ValueError:
        return False
    return split.scheme == "https" and split.netloc.lower() in ("github.com", host.lower().removeprefix("api."))
