"""What does a text refer to, what would it close, and which quick actions does it carry?

References inside code are not references: GitLab renders first and looks afterwards.
"""

import re

COMMANDS = re.compile(
    r"assign|award|close|confidential|done|draft|due|duplicate|estimate|label|lock|merge|milestone|move|"
    r"ready|relabel|relate|remove_due_date|remove_label|reopen|shrug|spend|subscribe|title|todo|unassign|"
    r"unlabel|unlock|unsubscribe|weight"
)
CODE = re.compile(r"^```.*?^```[^\n]*$|`[^`\n]*`|<code>.*?</code>", re.DOTALL | re.MULTILINE)
REFERENCE = re.compile(r"(?<![\w/&.-])(?P<path>[\w-][\w.-]*(?:/[\w.-]+)*)?(?P<sigil>[#!])(?P<iid>\d+)\b")
ADDRESS = re.compile(r"(?P<base>https?://[^/\s]+)/(?P<path>[\w./-]+?)/-/(?P<list>issues|merge_requests)/(?P<iid>\d+)")
# A link with words of its own refers only when its whole target is an address, with a suffix of these characters
# (link_pattern_anchor in banzai/filter/references/abstract_reference_filter.rb, suffix in models/concerns/referable.rb).
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
WHOLE_ADDRESS = re.compile(
    ADDRESS.pattern + r"(?:/[a-z0-9_=-]+)*/*(?:\?[a-z0-9_=-]+(?:&[a-z0-9_=-]+)*)?(?:#[a-z0-9_-]+)?\Z"
)
CLOSING = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?):?\s+"
    r"(?P<list>#\d+(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)#\d+)*)",
    re.IGNORECASE,
)
COMMAND = re.compile(r"/(?P<name>\w+)(?:[ \t]+(?P<argument>.*))?\Z")
FENCE = re.compile(r"\s*(```|~~~)")


def find_references(text: str | None, base: str) -> list[tuple[str | None, str, int]]:
    """`see !4 and other/app#3` -> [(None, "change", 4), ("other/app", "issue", 3)], in order, each once."""
    if not text or ("#" not in text and "!" not in text and "/-/" not in text):
        return []
    prose = LINK.sub(_kept_link, CODE.sub(" ", text))
    found = [(m["path"], "issue" if m["sigil"] == "#" else "change", int(m["iid"])) for m in REFERENCE.finditer(prose)]
    found += [
        (m["path"], "issue" if m["list"] == "issues" else "change", int(m["iid"]))
        for m in ADDRESS.finditer(prose)
        if m["base"] == base
    ]
    return list(dict.fromkeys(found))


def _kept_link(link: re.Match) -> str:
    return f"] {link['target']} " if WHOLE_ADDRESS.match(link["target"]) else "] "


def find_closing(text: str | None) -> list[int]:
    """`Fixes #3, #4 and see #5` -> [3, 4]."""
    prose = CODE.sub(" ", text or "")
    numbers = [int(n) for m in CLOSING.finditer(prose) for n in re.findall(r"#(\d+)", m["list"])]
    return list(dict.fromkeys(numbers))


def split_commands(body: str) -> tuple[str, list[tuple[str, str]]]:
    """`"Thanks\\n/close"` -> ("Thanks", [("close", "")]); lines of unknown commands and fenced lines stay."""
    kept, commands, fenced = [], [], False
    for line in body.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        match = None if fenced else COMMAND.match(line.rstrip())
        if match and COMMANDS.fullmatch(match["name"]):
            commands.append((match["name"], (match["argument"] or "").strip()))
        else:
            kept.append(line)
    return ("\n".join(kept).strip(), commands) if commands else (body, [])
