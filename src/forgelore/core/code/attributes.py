"""Attributes of files in a `.gitattributes`, as far as they say what is generated, vendored or binary.

    *.pb.go       linguist-generated          vendor/**          linguist-vendored
    docs/api.json linguist-generated=true     vendor/ours/**     -linguist-vendored
    *.dat         binary

Patterns are those of gitignore: without a slash the file's name counts, at any depth; with one, the path from the
folder that holds the file of attributes. The last line that matches wins, and a deeper file wins over a higher one.
What cannot be read is passed over, as git does.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

NAMES = ("linguist-generated", "linguist-vendored", "binary")
MAX_RULES = 2_000  # of one project: each is asked of every path
MAX_DEEP = 3  # `**` of one pattern: each may be tried at every folder of a path
_TRUE, _FALSE = ("", "true", "1", "yes", "set"), ("false", "0", "no", "unset")
_SIGN = re.compile(r"\\(.)|(\?)|(\[!?\]?[^\]/]*\])|(.)", re.DOTALL)


class AttributeRule(NamedTuple):
    """What one line says of the paths below a folder ("" for the root, else with a slash at its end)."""

    folder: str
    pattern: re.Pattern[str]
    is_name: bool  # the pattern is one of names, not of paths
    says: tuple[tuple[str, bool], ...]


def parse_attributes(folder: str, text: str) -> list[AttributeRule]:
    """Return what a file of attributes in `folder` says of the NAMES; lines about anything else are left out."""
    found = []
    for line in text.split("\n"):
        words = line.split()
        if not words or words[0].startswith(("#", "!", '"', "[attr]")):
            continue
        says = tuple(_read(word) for word in words[1:])
        known = tuple(one for one in says if one is not None)
        pattern = _compile(words[0]) if known else None
        if pattern is not None:
            found.append(AttributeRule(folder, pattern, "/" not in words[0], known))
    return found


def find_attributes(rules: Iterable[AttributeRule], path: str) -> dict[str, bool]:
    """Return which of the NAMES are set (True) or unset (False) for a path. `rules`: those of higher folders first."""
    found: dict[str, bool] = {}
    for rule in rules:
        if path.startswith(rule.folder):
            below = path[len(rule.folder) :]
            if rule.pattern.fullmatch(below.rpartition("/")[2] if rule.is_name else below):
                found.update(rule.says)
    return found


def _read(word: str) -> tuple[str, bool] | None:
    """Return a name and what is said of it: `-linguist-generated` is ("linguist-generated", False)."""
    name, _, value = word.lstrip("-!").partition("=")
    if name not in NAMES:
        return None
    if word.startswith(("-", "!")) or value.lower() in _FALSE:
        return name, False
    return (name, True) if value.lower() in _TRUE else None


def _compile(glob: str) -> re.Pattern[str] | None:
    r"""Folder by folder. Inside one, a star takes the first place where what follows it fits, and never looks back:
    whoever writes `*a*a*a*a*a*a*b` must not keep us busy.
    """
    folders = glob.removeprefix("/").split("/")
    if not folders[-1] or folders.count("**") > MAX_DEEP:
        return None
    parts = [_translate_folder(folder, is_last=at == len(folders) - 1) for at, folder in enumerate(folders)]
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return None


def _translate_folder(folder: str, *, is_last: bool) -> str:
    if folder == "**":
        return ".*" if is_last else "(?:.*/)?"
    first, *others = re.split(r"(?<!\\)\*+", folder)
    plain = [_translate(part) for part in others]
    inner = "".join(f"(?>[^/]*?{part})" for part in plain[:-1])
    ending = f"[^/]*{plain[-1]}" if plain else ""
    return _translate(first) + inner + ending + ("" if is_last else "/")


def _translate(text: str) -> str:
    return "".join(_translate_sign(match) for match in _SIGN.finditer(text))


def _translate_sign(match: re.Match[str]) -> str:
    escaped, one, letters, plain = match.groups()
    if one:
        return "[^/]"
    if letters:
        inner = letters[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"(?!/)[{'^' + inner[1:] if inner.startswith('!') else inner}]"
    return re.escape(escaped or plain)
