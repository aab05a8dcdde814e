"""What commands print with `--json`, held against the schemas that are published."""

import functools
import itertools
import json

import jsonschema

from forgelore.surfaces.cli.main import ALIASES, COMMANDS
from forgelore.surfaces.cli.schemas import command_schema


@functools.cache
def validator(command):
    """Strict: a key that the schema does not know is a fault of ours."""
    return jsonschema.Draft202012Validator(command_schema(command, is_strict=True))


def check_envelope(words, out):
    """Fail when a command's JSON is not what its schema says."""
    pairs = [f"{first} {second}" for first, second in itertools.pairwise([word for word in words if word[:1] != "-"])]
    named = [ALIASES.get(one, one) for one in (*pairs, *words)]
    command = next((one for one in named if one in COMMANDS), None)
    if "--json" not in words or command is None or not out.strip():
        return
    if command == "completion" and words[0] != "--json":
        return  # the words behind a shell's name are what somebody types
    envelope = json.loads(out)
    problems = [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:300]}" for one in _leaves(command, envelope)]
    assert not problems, f"forgelore {' '.join(words)}: {problems}"


def _leaves(command, envelope):
    """The complaints of the branch that is meant: an envelope of success, or of failure."""
    for error in validator(command).iter_errors(envelope):
        meant = 0 if envelope.get("ok") else 1
        yield from [one for one in error.context if one.schema_path[0] == meant] or [error]
