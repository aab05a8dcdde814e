"""Access levels: who may read what of a project, and so what may stand in the index branch or in a comment.

    rule     what we write somewhere is readable, on the forge, by everybody who can read that place
    places   the index branch: its readers are the repository's; a comment: its readers are the page's

Readers of one project form a chain, so the rule is a comparison:

    nobody < reporters < members < people who are signed in < everybody

GitLab has a level for each feature within the project's visibility, and some things are not for guests: merge requests
that are for members, and the code and merge requests of a private project (gitlab: app/models/project_feature.rb,
PRIVATE_FEATURES_MIN_ACCESS_LEVEL). On GitHub who reads a repository reads its issues and pull requests; they can only
be switched off. In doubt (a level that is missing, or that nobody knows) nobody surely reads a thing, and everybody
possibly reads a place: it is left out.

Members of one project are not members of another, and guests from outside may be members of an internal one. So of
another project only what everybody may read is taken.
"""

from enum import IntEnum
from typing import Literal

from forgelore.model import Kind, Project
from forgelore.profiles import profile_of

Feature = Literal["issues", "changes", "repository"]


class Readers(IntEnum):
    NOBODY = 0
    REPORTERS = 1
    MEMBERS = 2
    SIGNED_IN = 3
    EVERYBODY = 4


_N, _R, _M, _S, _E = Readers
_FEATURES: tuple[Feature, ...] = ("issues", "changes", "repository")
_BY_LETTER = {readers.name[0]: readers for readers in Readers}  # as profiles name them
_FEATURE_OF: dict[Kind, Feature] = {"issue": "issues", "change": "changes"}
_WORDS = {_N: "nobody", _R: "reporters", _M: "members", _S: "everybody who is signed in", _E: "everybody"}


def may_index(project: Project, kind: Kind) -> bool:
    """True when everybody who can read the project's branches can read its items of this kind."""
    return possible_readers(project, "repository") <= sure_readers(project, _FEATURE_OF.get(kind))


def may_index_from(sibling: Project, kind: Kind) -> bool:
    """True when another project's items of this kind may be in an index: everybody can read them."""
    return sure_readers(sibling, _FEATURE_OF.get(kind)) is Readers.EVERYBODY


def may_name(project: Project, kind: Kind, *, on: Kind) -> bool:
    """True when everybody who can read a page of the kind `on` can read the project's items of this kind."""
    if kind == on:
        return True
    return possible_readers(project, _FEATURE_OF.get(on)) <= sure_readers(project, _FEATURE_OF.get(kind))


def sure_readers(project: Project, feature: Feature | None) -> Readers:
    """Return who can read a feature in any case: nobody, in doubt."""
    level = _level(project, feature)
    if feature is None or level == "disabled":
        return Readers.NOBODY
    # "public" is meant for pages alone; where it stands elsewhere it gives what "enabled" gives, at least.
    return _look_up(project, feature, "enabled" if level == "public" else level) or Readers.NOBODY


def possible_readers(project: Project, feature: Feature | None) -> Readers:
    """Return who can read a feature at most: everybody, in doubt, and where a switch is off: a branch outlives it."""
    level = _level(project, feature)
    found = _look_up(project, feature, level) if feature is not None else None
    return found or Readers.EVERYBODY


def _level(project: Project, feature: Feature | None) -> str | None:
    return getattr(project.access, feature) if feature else None


def _look_up(project: Project, feature: Feature, level: str | None) -> Readers | None:
    table = profile_of(project.name.forge).readers
    found = table.get((project.access.visibility or "", level or ""))
    return _BY_LETTER[found[_FEATURES.index(feature)]] if found else None


def _title(project: Project, kind: Kind) -> str:
    """Return what the project's forge calls all items of a kind."""
    return f"{profile_of(project.name.forge).nouns[kind]}s"


def why_not_indexed(project: Project, kind: Kind) -> str:
    """Return what to tell about a kind that is left out of the project's own index; empty for one that is off."""
    feature, title = _FEATURE_OF[kind], _title(project, kind)
    if _level(project, feature) == "disabled":
        return ""
    if doubt := _doubt(project, feature) or _doubt(project, "repository"):
        return f"{title} are left out of the index: {doubt}, so perhaps not every reader of the branch may read them"
    return (
        f"{title} are left out of the index: {_WORDS[sure_readers(project, feature)]} may read them, and"
        f" {_WORDS[possible_readers(project, 'repository')]} may read its branch (to change that, give them and the"
        " repository the same level: Settings > General > Visibility, project features, permissions)"
    )


def why_not_indexed_from(sibling: Project) -> str:
    """Return what to tell about another project of which nothing, or not everything, is for everybody."""
    left = [kind for kind in _FEATURE_OF if not may_index_from(sibling, kind)]
    left = [kind for kind in left if _level(sibling, _FEATURE_OF[kind]) != "disabled"]
    if not left:
        return ""
    titles = " and ".join(_title(sibling, kind) for kind in left)
    doubts = [doubt for kind in left if (doubt := _doubt(sibling, _FEATURE_OF[kind]))]
    reason = doubts[0] if doubts else "not everybody may read them"
    return f"{titles} are left out: {reason}, and of another project only what is public is compared"


def _doubt(project: Project, feature: Feature) -> str:
    """Return what the forge did not say, or said in a word that nobody knows."""
    level = _level(project, feature)
    if level == "disabled" or _look_up(project, feature, "enabled" if level == "public" else level) is not None:
        return ""
    name, value = ("visibility", project.access.visibility)
    if value in ("public", "internal", "private"):
        title = _title(project, "change") if feature == "changes" else feature
        name, value = f"the access level of {title}", level
    if value is None:
        return f"{project.name.host} did not say {name}"
    return f"{name} has an unknown value: {value[:40]!r}"
