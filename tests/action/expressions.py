"""The part of GitHub's expression language that our files use; anything else is an error, so that nothing is guessed.

    evaluate("steps.install.outputs.ready == 'true'", contexts)        -> True
    fill("${{ runner.temp }}/wheels", contexts)                        -> "/tmp/x/wheels"

As on GitHub, a name that is not there is an empty string, and strings are compared without regard to case. Functions
are those that tell how the job stands (`contexts["job"]["failed"]`) and three that look into texts and lists.
"""

import json
import re

TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<sign>==|!=|&&|\|\||[!(),])|(?P<name>[A-Za-z_][\w.-]*))")
STATUS = {
    "always": lambda job: True, "cancelled": lambda job: False, "failure": lambda job: job["failed"],
    "success": lambda job: not job["failed"],
}  # fmt: skip
FUNCTIONS = {
    "startsWith": lambda text, start: show(text).lower().startswith(show(start).lower()),
    "contains": lambda where, what: show(what).lower() in (
        [show(one).lower() for one in where] if isinstance(where, list) else show(where).lower()
    ),
    "fromJSON": json.loads,
}  # fmt: skip
HOLE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


def fill(text: str, contexts: dict) -> str:
    return HOLE.sub(lambda hole: show(evaluate(hole[1], contexts)), text)


def evaluate(text: str, contexts: dict):
    text = HOLE.fullmatch(text.strip())[1] if text.strip().startswith("${{") else text
    rest = tokens(text)
    value = either(rest, contexts)
    assert not rest, f"not understood in an expression: {text}"
    return value


def tokens(text: str) -> list[tuple[str, str]]:
    found, at, text = [], 0, text.strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"not understood in an expression: {text[at:]}"
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def either(rest: list, contexts: dict):
    value = both(rest, contexts)
    while rest and rest[0] == ("sign", "||"):
        rest.pop(0)
        other = both(rest, contexts)
        value = value or other
    return value


def both(rest: list, contexts: dict):
    value = compared(rest, contexts)
    while rest and rest[0] == ("sign", "&&"):
        rest.pop(0)
        other = compared(rest, contexts)
        value = value and other
    return value


def compared(rest: list, contexts: dict):
    value = single(rest, contexts)
    if rest and rest[0][1] in ("==", "!="):
        is_equal = rest.pop(0)[1] == "=="
        other = single(rest, contexts)
        return (show(value).lower() == show(other).lower()) == is_equal
    return value


def single(rest: list, contexts: dict):
    kind, word = rest.pop(0)
    if kind == "text":
        return word[1:-1].replace("''", "'")
    if word == "!":
        return not single(rest, contexts)
    if word == "(":
        value = either(rest, contexts)
        assert rest.pop(0) == ("sign", ")")
        return value
    assert kind == "name", f"not understood in an expression: {word}"
    if rest[:2] == [("sign", "("), ("sign", ")")]:
        del rest[:2]
        return STATUS[word](contexts["job"])
    if rest[:1] == [("sign", "(")]:
        return FUNCTIONS[word](*arguments(rest, contexts))
    return look_up(word, contexts)


def arguments(rest: list, contexts: dict) -> list:
    found = []
    while rest.pop(0) != ("sign", ")"):
        found.append(either(rest, contexts))
    return found


def asks_for_status(text: str) -> bool:
    """True for a condition that is looked at even where a step before has failed."""
    return any(f"{name}()" in text for name in STATUS)


def look_up(name: str, contexts: dict):
    context, *path = name.split(".")
    assert context in contexts, f"there is no context {context}"
    value = contexts[context]
    for part in path:
        value = value.get(part, "") if isinstance(value, dict) else ""
    return value


def show(value) -> str:
    return {True: "true", False: "false", None: ""}.get(value, value) if not isinstance(value, str) else value
