"""Setting up, as data: what init, doctor, completion and demo tell programs."""

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from forgelore.api import AddedHost, DoctorCheck, SetupAnswer


class InitData(NamedTuple):
    """The settings that `init` wrote: the clone's file and the user's own, null for what it left alone."""

    projects: tuple[str, ...]
    config: str | None
    user_config: str | None
    db: str


class CheckData(NamedTuple):
    """One check of `doctor`, and what to do about it."""

    check: str
    status: Literal["ok", "warning", "error"]
    message: str
    hint: str


class DoctorData(NamedTuple):
    success: bool
    checks: list[CheckData]


class ScriptData(NamedTuple):
    """A completion script."""

    shell: Literal["bash", "zsh", "fish"]
    script: str


class KnownProjectsData(NamedTuple):
    """The projects that Tab offers."""

    projects: list[str]


class DemoData(NamedTuple):
    """The walk through the example; `db` is null where it was not kept."""

    project: str
    steps: int
    db: str | None


def present_init(answer: "SetupAnswer", added: "AddedHost | None") -> InitData:
    return InitData(answer.projects, answer.config, added.path if added else None, answer.db)


def present_checkup(checks: "list[DoctorCheck]") -> DoctorData:
    found = [CheckData(check.name, check.status, check.message, check.hint) for check in checks]
    return DoctorData(all(check.status != "error" for check in checks), found)
