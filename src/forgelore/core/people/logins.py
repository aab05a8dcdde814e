"""Logins: the account that an e-mail address or a name belongs to, and which accounts are programs."""

import re

# 12345+ana@users.noreply.github.com: the number is the account's, and older addresses have none.
_NOREPLY = re.compile(r"(?:\d+[+-])?(?P<login>[\w.-]+)@users\.noreply\.[\w.-]+\Z")
BOT = "[bot]"  # how the login of a program ends on GitHub


def login_in_address(address: str) -> str | None:
    """Return the login in an address that a forge gives out; None in any other."""
    found = _NOREPLY.match(address)
    return found["login"] if found else None


def possible_logins(name: str, address: str) -> list[str]:
    """Return what somebody's account may be called, by what git knows of them, the surest first."""
    found = [login_in_address(address), name, address.partition("@")[0]]
    return [login for login in dict.fromkeys(found) if login and not re.search(r"\s", login)]
