"""Installing the MCP server in a client: its file is read, completed, kept as a copy, and replaced in one step."""

import contextlib
import os
import shutil
import sys
import tempfile
from typing import NamedTuple

from forgelore.errors import ConfigError
from forgelore.surfaces.mcp.clients import ClientProgram, add_server


class FileChange(NamedTuple):
    """A client's file as it is and as it would be; `before` is None where there is none."""

    path: str
    before: str | None
    after: str


def own_command(arguments: list[str]) -> list[str]:
    """Return the words that start this very program. Clients are started from anywhere, with another PATH."""
    script = os.path.abspath(sys.argv[0])
    is_script = os.path.basename(script) in ("forgelore", "lore", "forgelore.exe", "lore.exe") and os.path.exists(
        script
    )
    return [script, *arguments] if is_script else [sys.executable, "-m", "forgelore", *arguments]


def plan_change(client: ClientProgram, path: str, command: list[str]) -> FileChange:
    """Return what would be written. Raises ConfigError for a file that cannot be read or is not understood."""
    path = os.path.realpath(path)  # a link to a file that is kept elsewhere stays a link
    try:
        with open(path, encoding="utf-8-sig") as file:
            before = file.read()
    except FileNotFoundError:
        return FileChange(path, None, add_server(client, "", command))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read", hint="check what it is and who may read it") from error
    return FileChange(path, before, add_server(client, before, command))


def apply_change(change: FileChange) -> str | None:
    """Write the file whole or not at all; return the copy of what was there before, None where nothing was."""
    folder = os.path.dirname(change.path)
    partial = ""
    try:
        os.makedirs(folder, exist_ok=True)
        copy = _copy(change.path) if change.before is not None else None
        handle, partial = tempfile.mkstemp(dir=folder, prefix=".forgelore-")  # readable by its owner alone
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(change.after)
        if change.before is not None:
            shutil.copymode(change.path, partial)
        os.replace(partial, change.path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        hint = "check the folder's permissions; nothing was changed"
        raise ConfigError(f"cannot write {change.path}: {error.strerror}", hint=hint) from error
    return copy


def _copy(path: str) -> str:
    """Return the name of a copy that took no other copy's place."""
    copy, number = f"{path}.bak", 1
    while os.path.exists(copy):
        copy, number = f"{path}.bak{number}", number + 1
    shutil.copy2(path, copy)
    return copy
