"""Events of a forge and inputs of a workflow: what a CI run was started for, and what its owner has set.

    triage    look at the item and tell its author what it repeats
    update    the item changed in a way that its report does not depend on: keep the index true
    remove    the item is gone from this project
    command   a comment on the item begins with /forgelore
    catch_up  no item: look at everything that was missed
    ignore    nothing that concerns us

GitHub: GITHUB_EVENT_NAME and the file at GITHUB_EVENT_PATH. GitLab: the body of a project's webhook, which a pipeline
trigger hands on as a file (TRIGGER_PAYLOAD), or the variables of a merge request's pipeline. Strangers write the
payload: nothing in it is trusted to have a shape.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from forgelore.errors import InvalidValue
from forgelore.model import Item, ItemKey, Kind, State
from forgelore.text.dates import parse_ms
from forgelore.text.fence import storable
from forgelore.text.globs import glob_matches
from forgelore.text.markdown import safe_url, visible_line
from forgelore.text.values import is_branch_name

Channel = Literal["comment", "suggestion", "both", "digest", "summary"]
Task = Literal["triage", "update", "remove", "catch_up", "command", "ignore"]

MAX_EVENT_BYTES = 26_000_000  # GitHub sends at most 25 MB
_GITHUB: dict[tuple[str, str], Task] = {
    **{("issues", action): "triage" for action in ("opened", "edited", "reopened")},
    **{("issues", action): "update" for action in ("closed", "labeled", "unlabeled", "typed", "untyped", "locked")},
    **{("issues", action): "remove" for action in ("deleted", "transferred")},
    **{("pull_request", action): "triage" for action in ("opened", "edited", "synchronize", "reopened")},
    **{("pull_request", action): "update" for action in ("closed", "labeled", "unlabeled", "converted_to_draft")},
    ("pull_request", "ready_for_review"): "triage",
}
_GITLAB: dict[str, Task] = {
    "open": "triage", "reopen": "triage", "update": "update", "close": "update", "merge": "update",
}  # fmt: skip
_GITLAB_TEXT = ("title", "description")
_COMMAND = re.compile(r"\s{0,9}/forgelore\b[ \t]*([^\r\n]*)")
_ALARMS = ("schedule", "workflow_dispatch", "repository_dispatch", "push")


class Command(NamedTuple):
    """A comment that begins with `/forgelore`: what follows on its first line, and who wrote it."""

    words: str
    comment_id: int
    author: str


class Event(NamedTuple):
    """What a CI run was started for: the project, the item if there is one, and what is to be done."""

    task: Task
    name: str  # issues.opened, for messages
    project: str = ""
    item: Item | None = None  # as the event told it: it may be older than what the forge would say now
    is_automatic: bool = False  # somebody's program wrote the item
    command: Command | None = None


def parse_event(forge: str, payload: bytes | None, project: str, variables: Mapping[str, str]) -> Event:
    """Return what an event asks for: by the file that the CI of a forge leaves, if any, and by its variables."""
    if forge == "github":
        return parse_github_event(variables.get("GITHUB_EVENT_NAME", ""), payload or b"", project)
    return parse_gitlab_event(variables, payload, project)


def parse_github_event(name: str, payload: bytes, project: str) -> Event:
    """Return what a GitHub event asks for. A payload that cannot be read asks for catching up: nothing is lost."""
    data = _read(payload)
    if name in _ALARMS:
        return Event("catch_up", name, project)
    if name == "issue_comment":
        return _github_command(data, project)
    subject = "issues" if name == "issues" else "pull_request" if name.startswith("pull_request") else ""
    if not subject or name.startswith("pull_request_review"):
        return Event("ignore", name, project)
    action = _text(data.get("action"))
    event_name = f"{name}.{action}" if action else name
    part = data.get("issue" if subject == "issues" else "pull_request")
    kind: Kind = "issue" if subject == "issues" else "change"
    item = _github_item(part, kind) if isinstance(part, dict) else None
    if item is None or not isinstance(part, dict):
        return Event("catch_up", event_name, project)
    return Event(_GITHUB.get((subject, action), "ignore"), event_name, project, item, _is_bot(part))


def _github_command(data: dict[str, Any], project: str) -> Event:
    """Return the command of a new comment; of one that is edited nobody knows who wrote the words."""
    part, comment, action = data.get("issue"), data.get("comment"), _text(data.get("action"))
    event_name = f"issue_comment.{action}"
    item = _github_item(part, "issue") if isinstance(part, dict) else None
    if action != "created" or item is None or not isinstance(comment, dict) or _is_bot(comment):
        return Event("ignore", event_name, project)
    found = _command(comment.get("body"), comment.get("id"), _login(comment.get("user")))
    return Event("command" if found else "ignore", event_name, project, item if found else None, command=found)


def _command(body: object, comment_id: object, author: str | None) -> Command | None:
    found = _COMMAND.match(_text(body))
    if found is None or not author or not isinstance(comment_id, int) or not _is_number(comment_id):
        return None
    return Command(storable(found[1]).strip()[:200], comment_id, author)


def _github_item(part: dict[str, Any], kind: Kind) -> Item | None:
    if not _is_number(part.get("number")):
        return None
    if isinstance(part.get("pull_request"), dict):  # what `issues` calls a change
        kind = "change"
    is_merged = bool(part.get("merged_at")) or part.get("merged") is True
    state: State = "merged" if is_merged else "closed" if part.get("state") == "closed" else "open"
    head = part.get("head")
    return Item(
        ItemKey(kind, int(part["number"])),
        storable(_text(part.get("title"))), storable(_text(part.get("body"))) or None,
        state, _text(part.get("state_reason")) or None, _login(part.get("user")), labels=_names(part.get("labels")),
        created_at=_ms(part.get("created_at")), updated_at=_ms(part.get("updated_at")),
        closed_at=_ms(part.get("closed_at")), merged_at=_ms(part.get("merged_at")),
        url=_text(part.get("html_url")) or None,
        forge_id=part["id"] if _is_number(part.get("id")) else None,
        head_sha=_text(head.get("sha")) or None if isinstance(head, dict) else None,
        raw=json.dumps(part).encode(),  # tells this state of the item from the one before
    )  # fmt: skip


def parse_gitlab_event(environ: Mapping[str, str], payload: bytes | None, project: str) -> Event:
    """Return what a GitLab pipeline was started for."""
    number = environ.get("CI_MERGE_REQUEST_IID", "")
    if payload is None and number.isascii() and number.isdigit():
        return Event("triage", "merge_request_event", project, Item(ItemKey("change", int(number)), ""))
    data = _read(payload or b"")
    object_kind = _text(data.get("object_kind"))
    attributes = data.get("object_attributes")
    if object_kind == "note" and isinstance(attributes, dict):
        return _gitlab_command(data, attributes, project)
    if object_kind not in ("issue", "work_item", "merge_request") or not isinstance(attributes, dict):
        return Event(
            "catch_up" if not object_kind else "ignore", object_kind or environ.get("CI_PIPELINE_SOURCE", "?"), project
        )
    if not _is_number(attributes.get("iid")):
        return Event("catch_up", object_kind, project)
    kind: Kind = "change" if object_kind == "merge_request" else "issue"
    action = _text(attributes.get("action"))
    # The title is fetched: a webhook leaves out who may see the item.
    item = Item(ItemKey(kind, int(attributes["iid"])), "")
    task: Task = _GITLAB.get(action, "ignore")
    changes = data.get("changes")
    # Labels, assignees and milestones are updates too; only new text or new commits are a reason to look again.
    if action == "update" and (
        attributes.get("oldrev") or (isinstance(changes, dict) and any(name in changes for name in _GITLAB_TEXT))
    ):
        task = "triage"
    return Event(task, f"{object_kind}.{action}", project, item)


def _gitlab_command(data: dict[str, Any], attributes: dict[str, Any], project: str) -> Event:
    kind: Kind = "change" if attributes.get("noteable_type") == "MergeRequest" else "issue"
    part, user = data.get("merge_request" if kind == "change" else "issue"), data.get("user")
    author = _text(user.get("username")) if isinstance(user, dict) else ""
    found = _command(attributes.get("note"), attributes.get("id"), author)
    is_new = _text(attributes.get("action")) in ("", "create") and attributes.get("system") is not True
    number = part.get("iid") if isinstance(part, dict) else None
    if found is None or not is_new or not isinstance(number, int) or not _is_number(number):
        return Event("ignore", "note", project)
    return Event("command", "note", project, Item(ItemKey(kind, number), ""), command=found)


def _read(payload: bytes) -> dict[str, Any]:
    if len(payload) > MAX_EVENT_BYTES:
        return {}
    try:
        data = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ms(value: object) -> int | None:
    try:
        return parse_ms(value) if isinstance(value, str) else None
    except (InvalidValue, ValueError, OverflowError):
        return None


def _login(value: object) -> str | None:
    return _text(value.get("login")) or None if isinstance(value, dict) else None


def _names(value: object) -> list[str]:
    rows = value if isinstance(value, list) else []
    return [name for row in rows if isinstance(row, dict) and (name := storable(_text(row.get("name"))))]


def _is_bot(part: dict[str, Any]) -> bool:
    user = part.get("user")
    return isinstance(user, dict) and (user.get("type") == "Bot" or _text(user.get("login")).endswith("[bot]"))


MAX_ROWS = 20
MAX_HOURS = 8_760  # a year
_PROJECT = re.compile(r"[A-Za-z0-9_.\-]+(?:/[A-Za-z0-9_.\-]+)+")


class Inputs(NamedTuple):
    """What the owner of a project has set for triage, as INPUT_SIMILARITY_THRESHOLD and so on."""

    similarity_threshold: float = 0.75  # an item this close is worth a row
    duplicate_threshold: float = 0.92  # the first one this close is worth a warning
    max_results: int = 3  # rows, 1 to 20
    index_branch: str = "triage-index"  # where the index lives between runs
    apply_labels: bool = False  # set suggested labels instead of naming them
    also: tuple[str, ...] = ()  # sibling projects, separated by commas
    dry_run: bool = False  # say what would be posted, write nothing
    comment_on_maintainers: bool = False  # on items by people with write access too
    close_after: int = 0  # hours until a sure duplicate is closed; 0: never
    report: Channel = "comment"  # where a close match is said; a suggestion is GitHub's alone, and for issues
    suggest_labels: bool = False  # ask maintainers for labels instead of naming them
    about: str = ""  # the address of a page that says what the comment is
    report_similar: Channel | None = None  # where what is merely similar is said; None: as `report` asks for
    label_close: str = ""  # put on what has a close match; empty: none
    digest_issue: int = 0  # the issue below which the weekly digest is posted; 0: none
    thresholds: tuple["Threshold", ...] = ()  # of items with a label or a path, the first that fits

    def channel(self, kind: Kind, *, is_close: bool) -> Channel:
        """Return where a match of an item is said: a suggestion becomes a comment where there is none to make."""
        if is_close:
            return "comment" if self.report in ("suggestion", "both") and kind != "issue" else self.report
        if self.report_similar is not None:
            return self.report_similar
        is_suggested = self.report == "suggestion" and kind == "issue"
        return "summary" if is_suggested else self.report if self.report in ("digest", "summary") else "comment"

    def of_item(self, labels: Collection[str], paths: Collection[str]) -> "Inputs":
        """Return the inputs for an item with these labels and paths."""
        found = next((one for one in self.thresholds if one.fits(labels, paths)), None)
        if found is None:
            return self
        return self._replace(similarity_threshold=found.similarity, duplicate_threshold=found.duplicate)


class Threshold(NamedTuple):
    """Thresholds of items with a label, or of changes of a path (a glob)."""

    label: str
    path: str
    similarity: float
    duplicate: float

    def fits(self, labels: Collection[str], paths: Collection[str]) -> bool:
        if self.label:
            return self.label.lower() in {label.lower() for label in labels}
        return any(glob_matches(self.path, path) for path in paths)


class _Text(NamedTuple):
    """An input as it was written, and where complaints about it go."""

    name: str
    value: str
    warnings: list[str]

    def complain(self, wanted: str, default: object) -> None:
        self.warnings.append(f"{self.name} must be {wanted}, not {self.value[:80]!r}; using {default}")


def parse_inputs(environ: Mapping[str, str]) -> tuple[Inputs, list[str]]:
    """Return the inputs and one warning for each that was not understood: the default is used for it, because a typing
    error in a workflow must not silence the bot, nor make it loud.
    """
    warnings: list[str] = []

    def text(name: str) -> _Text:
        return _Text(name, environ.get(f"INPUT_{name.upper().replace('-', '_')}", "").strip(), warnings)

    default = Inputs()
    inputs = Inputs(
        _share(text("similarity-threshold"), default.similarity_threshold),
        _share(text("duplicate-threshold"), default.duplicate_threshold),
        _count(text("max-results"), default.max_results, least=1, most=MAX_ROWS),
        _branch(text("index-branch"), default.index_branch),
        text("apply-labels").value.lower() != "suggest" and _is_on(text("apply-labels")),
        _projects(text("also")),
        _is_on(text("dry-run")),
        _is_on(text("comment-on-maintainers")),
        _count(text("close-after"), default.close_after, least=0, most=MAX_HOURS),
        _channel(text("report"), _CHANNELS) or default.report,
        text("apply-labels").value.lower() == "suggest",
        _address(text("about")) or _own_page(environ),
        _channel(text("report-similar"), ("comment", "digest", "summary")),
        visible_line(text("label-close").value, limit=50),
        _count(text("digest-issue"), default.digest_issue, least=0, most=999_999_999),
        _thresholds(text("thresholds")),
    )
    if "digest" in (inputs.report, inputs.report_similar) and not inputs.digest_issue:
        warnings.append("a digest needs digest-issue, the number of an issue; comments are written instead")
        inputs = inputs._replace(
            report="comment" if inputs.report == "digest" else inputs.report,
            report_similar="comment" if inputs.report_similar == "digest" else inputs.report_similar,
        )
    if inputs.duplicate_threshold < inputs.similarity_threshold:
        warnings.append(
            f"duplicate-threshold {inputs.duplicate_threshold:g} is below similarity-threshold"
            f" {inputs.similarity_threshold:g}; the larger one is used for both"
        )
        inputs = inputs._replace(duplicate_threshold=inputs.similarity_threshold)
    return inputs, warnings


def _share(text: _Text, default: float) -> float:
    if not text.value:
        return default
    try:
        value = float(text.value)
    except ValueError:
        value = -1.0
    if 0 <= value <= 1:  # also keeps "nan" out
        return value
    text.complain("between 0 and 1", default)
    return default


def _count(text: _Text, default: int, *, least: int, most: int) -> int:
    if not text.value:
        return default
    if text.value.isascii() and text.value.isdigit() and len(text.value) < 10 and least <= int(text.value) <= most:
        return int(text.value)
    text.complain(f"a whole number from {least} to {most}", default)
    return default


def _branch(text: _Text, default: str) -> str:
    if not text.value:
        return default
    if is_branch_name(text.value):
        return text.value
    text.complain("the name of a branch", default)
    return default


def _is_on(text: _Text) -> bool:
    if text.value.lower() in ("", "false", "no", "off", "0"):
        return False
    if text.value.lower() in ("true", "yes", "on", "1"):
        return True
    text.complain("true or false", "false")
    return False


_CHANNELS: tuple[Channel, ...] = ("comment", "suggestion", "both", "digest", "summary")


def _channel(text: _Text, known: tuple[Channel, ...]) -> Channel | None:
    found = next((one for one in known if one == text.value.lower()), None)
    if text.value and found is None:
        text.complain(f"{', '.join(known[:-1])} or {known[-1]}", "the default")
    return found


_THRESHOLD = re.compile(r"(label|path):\s*(\S.*?)\s*=\s*([\d.]+)\s+([\d.]+)")


def _thresholds(text: _Text) -> tuple[Threshold, ...]:
    """`label: crash = 0.6 0.9`, a line each: from where on it is listed, and from where on it is a close match."""
    found = []
    for line in filter(None, map(str.strip, text.value.splitlines())):
        match = _THRESHOLD.fullmatch(line)
        low, high = (_share(text._replace(value=one), -1.0) for one in match.groups()[2:]) if match else (-1.0, -1.0)
        if match is None or not 0 <= low <= high:
            text._replace(value=line).complain("lines like `label: crash = 0.6 0.9`", "the others")
            continue
        name = match[2]
        found.append(Threshold(name if match[1] == "label" else "", name if match[1] == "path" else "", low, high))
    return tuple(found)


def _address(text: _Text) -> str:
    address = safe_url(text.value) or "" if text.value else ""
    if text.value and not address:
        text.complain("the address of a page (https://...)", "none")
    return address


def _own_page(environ: Mapping[str, str]) -> str:
    """Return the page about the comment in the very copy of this program that a workflow names."""
    repository, commit = environ.get("ABOUT_REPOSITORY", ""), environ.get("ABOUT_REF", "")
    if not (_PROJECT.fullmatch(repository) and is_branch_name(commit)):
        return ""
    host = environ.get("GITHUB_SERVER_URL", "https://github.com")
    return safe_url(f"{host}/{repository}/blob/{commit}/docs/triage/comment.md") or ""


def _projects(text: _Text) -> tuple[str, ...]:
    names = [name for name in re.split(r"[\s,]+", text.value) if name]
    for name in names:
        if not _PROJECT.fullmatch(name):
            text._replace(value=name).complain("names of projects (owner/other)", "nothing")
    return tuple(dict.fromkeys(name for name in names if _PROJECT.fullmatch(name)))


MAX_JUDGEMENT_BYTES = 100_000


class Judgement(Struct, frozen=True, forbid_unknown_fields=True):
    """What a reader without any rights said about an item: which of its candidates it repeats or brings back.

    It comes from a job that has read hostile text. So it can take candidates away, or keep a warning from being one;
    titles, links, numbers and words all come from the writer's own index.
    """

    version: Annotated[int, Meta(ge=1, le=1)]
    project: Annotated[str, Meta(max_length=300)]
    kind: Literal["issue", "change"]
    number: Annotated[int, Meta(ge=1, lt=2**53)]
    similar: Annotated[list[Annotated[int, Meta(ge=1, lt=2**53)]], Meta(max_length=20)]
    duplicate_of: Annotated[int, Meta(ge=1, lt=2**53)] | None = None


def parse_judgement(raw: bytes) -> Judgement:
    """Return a judgement of exactly the shape we know. Raises InvalidValue for anything else."""
    if len(raw) > MAX_JUDGEMENT_BYTES:
        raise InvalidValue("the judgement is too large", hint="run the reader job again")
    try:
        return msgspec.json.decode(raw, type=Judgement, strict=True)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidValue(f"the judgement has an unexpected shape: {error}", hint="it is not applied") from error
