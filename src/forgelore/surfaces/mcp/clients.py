"""Clients of the MCP server: where each keeps its servers, and what has to stand there.

    client          file                                                    key            documented by
    claude-code     .mcp.json of this folder                                mcpServers     Claude Code, project scope
    claude-desktop  Claude/claude_desktop_config.json of its settings       mcpServers     modelcontextprotocol.io
    codex           ~/.codex/config.toml (or CODEX_HOME)                    mcp_servers    Codex, config.md
    cursor          ~/.cursor/mcp.json                                      mcpServers     Cursor
    gemini          ~/.gemini/settings.json                                 mcpServers     Gemini CLI
    vscode          .vscode/mcp.json of this folder                         servers        VS Code, MCP configuration
    windsurf        ~/.codeium/windsurf/mcp_config.json                     mcpServers     Windsurf

What is there stays as it is, but for an entry of the same name. A file that cannot be read for certain (comments in
JSON, another entry in TOML) is left alone; a person then adds the lines. To install, the server is started once, as the
client will; then the file is read, completed, kept as a copy, and replaced in one step.
"""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import NamedTuple

from forgelore.errors import ConfigError
from forgelore.surfaces.present.data import JsonValue

ENTRY = "forgelore"
_BY_HAND = "add the lines yourself: forgelore mcp --install {name} prints them"


class ClientProgram(NamedTuple):
    """A program that starts MCP servers. `parts`: its file below the folder that `base` names."""

    name: str
    title: str
    base: str  # home, here, settings
    parts: tuple[str, ...]
    key: str = "mcpServers"
    is_typed: bool = False  # its entries say that they are "stdio"

    @property
    def is_toml(self) -> bool:
        return self.parts[-1].endswith(".toml")


CLIENTS = {
    client.name: client
    for client in (
        ClientProgram("claude-code", "Claude Code", "here", (".mcp.json",), is_typed=True),
        ClientProgram("claude-desktop", "Claude Desktop", "settings", ("Claude", "claude_desktop_config.json")),
        ClientProgram("codex", "Codex", "home", (".codex", "config.toml"), key="mcp_servers"),
        ClientProgram("cursor", "Cursor", "home", (".cursor", "mcp.json")),
        ClientProgram("gemini", "Gemini CLI", "home", (".gemini", "settings.json")),
        ClientProgram("vscode", "VS Code", "here", (".vscode", "mcp.json"), key="servers", is_typed=True),
        ClientProgram("windsurf", "Windsurf", "home", (".codeium", "windsurf", "mcp_config.json")),
    )
}


def find_file(client: ClientProgram, environ: Mapping[str, str], *, cwd: str, platform: str) -> str:
    """Return where a client keeps its servers on a platform, as `sys.platform` names it."""
    home = environ.get("USERPROFILE" if platform == "win32" else "HOME") or "~"
    if client.name == "codex" and environ.get("CODEX_HOME"):
        return os.path.join(environ["CODEX_HOME"], client.parts[-1])
    settings = {
        "darwin": os.path.join(home, "Library", "Application Support"),
        "win32": environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming"),
    }.get(platform, environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"))
    base = {"home": home, "here": cwd, "settings": settings}[client.base]
    return os.path.join(base, *client.parts)


def write_lines(client: ClientProgram, command: list[str]) -> str:
    """Return what has to stand in a client's file, for people who write it themselves."""
    if client.is_toml:
        return _toml_table(client, command)
    return json.dumps({client.key: {ENTRY: _entry(client, command)}}, indent=2, ensure_ascii=False)


def add_server(client: ClientProgram, before: str, command: list[str]) -> str:
    """Return the text of a client's file with our server in it. Raises ConfigError for one that is not understood."""
    return _add_to_toml(client, before, command) if client.is_toml else _add_to_json(client, before, command)


def _entry(client: ClientProgram, command: list[str]) -> dict[str, JsonValue]:
    kind: dict[str, JsonValue] = {"type": "stdio"} if client.is_typed else {}
    return {**kind, "command": command[0], "args": list(command[1:])}


def _add_to_json(client: ClientProgram, before: str, command: list[str]) -> str:
    hint = _BY_HAND.format(name=client.name)
    try:
        found: JsonValue = json.loads(before) if before.strip() else {}
    except ValueError as error:
        raise ConfigError(f"the settings of {client.title} are not plain JSON ({error})", hint=hint) from error
    servers = found.get(client.key, {}) if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(servers, dict):
        raise ConfigError(f"the settings of {client.title} have an unexpected structure", hint=hint)
    return (
        json.dumps({**found, client.key: {**servers, ENTRY: _entry(client, command)}}, indent=2, ensure_ascii=False)
        + "\n"
    )


def _add_to_toml(client: ClientProgram, before: str, command: list[str]) -> str:
    import tomllib

    hint = _BY_HAND.format(name=client.name)
    try:
        servers = tomllib.loads(before).get(client.key, {})
        if ENTRY in servers:
            if servers[ENTRY] == _entry(client, command):
                return before
            raise ConfigError(f"{client.title} has a server called {ENTRY} already", hint="edit or remove its table")
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        after = f"{before}{gap}{_toml_table(client, command)}\n"
        tomllib.loads(after)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise ConfigError(f"the settings of {client.title} cannot be read ({error})", hint=hint) from error
    return after


def _toml_table(client: ClientProgram, command: list[str]) -> str:
    first, *rest = (json.dumps(word, ensure_ascii=False) for word in command)
    return f"[{client.key}.{ENTRY}]\ncommand = {first}\nargs = [{', '.join(rest)}]"


class FileChange(NamedTuple):
    """A client's file as it is and as it would be; `before` is None where the file does not exist."""

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


def check_server(command: list[str], *, patience_s: float = 30.0) -> str:
    """Start the server as a client would, and ask it for its tools and for the projects; return what it says is wrong
    with its database, "" where nothing is. Raises ConfigError where it does not run.
    """
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": ENTRY, "version": "install"}}
    requests = (
        {"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"}, {"id": 3, "method": "tools/call", "params": {"name": "sync_status"}},
    )  # fmt: skip
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', **request})}\n" for request in requests)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        try:
            process = subprocess.Popen(  # noqa: S603 - the program that is running now
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True, encoding="utf-8"
            )
        except OSError as error:
            raise _not_running(f"{command[0]}: {error.strerror}") from error
        answers = _hear_answers(process, lines, patience_s)
        complaints.seek(0)
        said = complaints.read().strip()
    listed, status = answers.get(2), answers.get(3)
    if not (isinstance(listed, dict) and listed.get("tools")):
        raise _not_running(said.splitlines()[-1] if said else "it did not list its tools")
    content = status.get("content") if isinstance(status, dict) and status.get("isError") else None
    first = content[0] if isinstance(content, list) and content else None
    return str(first.get("text")) if isinstance(first, dict) else ""


def _hear_answers(process: "subprocess.Popen[str]", lines: str, patience_s: float) -> dict[int, JsonValue]:
    """Return the results by the numbers of their requests, until the last one was answered, the server ended, or
    patience did.
    """
    heard: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(process, heard), daemon=True)
    listener.start()
    answers: dict[int, JsonValue] = {}
    timer = threading.Timer(patience_s, heard.put, [None])
    timer.start()
    assert process.stdin
    try:
        with contextlib.suppress(OSError):  # it has ended already
            process.stdin.write(lines)
            process.stdin.flush()
        while 3 not in answers and (line := heard.get()) is not None:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                answer = json.loads(line)
                answers[answer["id"]] = answer["result"]
    finally:
        timer.cancel()
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()
        listener.join(5)
    return answers


def _listen(process: "subprocess.Popen[str]", heard: "queue.SimpleQueue[str | None]") -> None:
    """A thread of its own, because a server that stays silent may do so for ever."""
    assert process.stdout
    with process.stdout, contextlib.suppress(ValueError, OSError):
        for line in process.stdout:
            heard.put(line)
    heard.put(None)


def _not_running(why: str) -> ConfigError:
    return ConfigError(
        f"the server does not run, so nothing was written: {why}",
        hint="fix that first; FORGELORE_DEBUG=1 forgelore mcp shows more",
    )


def plan_change(client: ClientProgram, path: str, command: list[str]) -> FileChange:
    """Return what would be written. Raises ConfigError for a file that cannot be read or is not understood."""
    path = os.path.realpath(path)  # a link to a file elsewhere stays a link
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
