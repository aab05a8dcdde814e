"""Names that a branch of ours may have: valid in git, and harmless in an argument or a message."""

import re

_NAME = re.compile(r"[A-Za-z0-9_][\w.\-]*(?:/[A-Za-z0-9_][\w.\-]*)*\Z", re.ASCII)
_MAX_CHARS = 200


def is_branch_name(name: str) -> bool:
    """True for a name like "triage-index" or "bots/index"."""
    parts = name.split("/")
    return (
        len(name) <= _MAX_CHARS
        and _NAME.match(name) is not None
        and ".." not in name
        and parts[0] != "refs"
        and not any(part.endswith((".lock", ".")) for part in parts)
    )
