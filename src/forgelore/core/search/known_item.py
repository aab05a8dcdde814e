"""Known items: a query that is the number, ref or address of one, and nothing else.

28601   #28601   !12   owner/repo#28601   gitlab:group/p!3   https://…/issues/12#issuecomment-5   …/releases/tag/v1
github.com/owner/repo/issues/12
"""

import re

from forgelore.core.names import Ref, page_in_url, parse_ref
from forgelore.errors import InvalidValue

# No forge has numbers like this, and no column would hold one; somebody who writes the # asks for an item all the same.
_TOO_LARGE = r"(?P<project>\S*?)(?P<mark>[#!])(?P<number>[0-9]{19,99})"
_HOST = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?/"


def parse_known_item(text: str) -> Ref | None:
    """Return the item that a query names, None when it is something to search for. A bare tag is: `v1.2`, `crash`."""
    word = text.strip()
    if not word or any(map(str.isspace, word)) or not word[-1].isascii():
        return None
    if "/" in word and re.match(_HOST, word) and page_in_url(f"https://{word}"):
        word = f"https://{word}"  # as browsers show it
    if len(word) > 19 and (large := re.fullmatch(_TOO_LARGE, word)):
        return Ref(large["project"], int(large["number"]), "change" if large["mark"] == "!" else None)
    try:
        ref = parse_ref(word)
    except (InvalidValue, ValueError):  # the second for a URL that is none: http://[::1
        return None
    return None if ref.tag and not ref.project else ref
