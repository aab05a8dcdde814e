"""Names of projects and items as people type them, and what they mean.

owner/repo               a project on GitHub (the host that settings or CI variables name)
gitlab:group/project     a project on GitLab; forgejo:owner/repo on Forgejo or Gitea
https://HOST/PATH        a project on any host
name                     an imported tracker
owner/*, gitlab:group/*  every project of an owner, of a group
gitlab:group/**          every project of a group and its subgroups

#12  !34  12             an item of the current project (`!` is a change, `#` anything with that number)
owner/repo#12            an item anywhere; also: group/sub/project!34, gitlab:group/p#3, https://…/issues/12
1a2b3c4d                 a commit by the beginning of its name; also: owner/repo@1a2b3c4d, https://…/commit/1a2b3c4d
item:12  commit:9        what answers call a text that can be read; also: file:7

Pages of code on a forge: a file at a commit with its lines, and a commit.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from forgelore.errors import InvalidValue
from forgelore.profiles import DEFAULT, NAMING, PROFILES, profile_of
from forgelore.text.values import check_ref
from forgelore.words import ItemKey, Kind, ProjectName

_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
_PATH = re.compile(rf"{_SEGMENT}(/{_SEGMENT})*\Z")
_REF = re.compile(r"(?P<project>\S*?)(?P<mark>[#!])(?P<number>\d{1,18})\Z")
# What stands before the number in the address of an item's page.
PAGE_KINDS: dict[str, Kind] = {
    "issues": "issue", "work_items": "issue", "pull": "change", "pulls": "change", "merge_requests": "change",
    "discussions": "discussion",
}  # fmt: skip
_END_OF_PAGE = rf"(?:/-)?/({'|'.join(PAGE_KINDS)})/(\d{{1,18}}+)"
_PAGE = re.compile(rf"/(.+?){_END_OF_PAGE}")
# Nothing to unquote and no query: nearly all of them, in a fifth of the time that taking any URL apart needs.
_PLAIN_PAGE = re.compile(rf"https?://([A-Za-z0-9.\-]+/[A-Za-z0-9_.\-/]+?){_END_OF_PAGE}(?![%\s])")
_USERINFO = re.compile(r"(https?://|ssh://|git://)[^/@\s]*@")
_TAG = re.compile(r"[^\s#!]+\Z")
_TAG_OF = re.compile(r"(?P<project>\S+/\S+) (?P<tag>[^\s#!]+)\Z")
_SHA = re.compile(r"[0-9A-Fa-f]{7,64}")  # fewer letters would be words and numbers
_COMMIT_OF = re.compile(r"(?P<project>\S+/\S+)@(?P<sha>[0-9A-Fa-f]{4,64})\Z")
# GitHub and Forgejo, GitLab, and a commit of a change.
_COMMIT_PAGE = re.compile(
    r"(?P<root>https?://[^/\s]+/[^?#\s]+?)(?:/-)?/(?:pulls?/\d{1,18}/commits|commits?)/(?P<sha>[0-9A-Fa-f]{4,64})"
    r"(?:\.(?:patch|diff))?/?(?:[?#]\S*)?\Z"
)
# A file at a commit, on GitHub, GitLab and Forgejo.
_FILE_PAGE = re.compile(
    r"(?P<root>https?://[^/\s]+/[^?#\s]+?)(?:/-)?/(?:blob|src/commit)/[0-9A-Fa-f]{7,64}/(?P<path>[^?#\s]+)(?:[?#]\S*)?\Z"
)
_KEY = re.compile(r"(?:item|file|commit):\d{1,18}\Z")
_LINE = re.compile(r":\d{1,9}(?:-\d{1,9})?\Z")
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?\Z")


class Hosts(NamedTuple):
    """Which servers the short spellings mean, and what is known of others."""

    named: Mapping[str, str] = MappingProxyType({})  # forge -> its server, where it is not the public one
    kinds: Mapping[str, str] = MappingProxyType({})  # server -> forge

    def of(self, forge: str) -> str:
        return self.named.get(forge) or PROFILES[forge].host


class Ref(NamedTuple):
    """An item as typed. `kind` is None for a bare number; `project` is "" for the current one; `tag` for releases;
    without a kind it is the path of a file. `sha`: the beginning of a commit's name, beside a number or tag that could
    also be one. `key`: of a reading text.
    """

    project: str
    number: int = 0
    kind: Kind | None = None
    tag: str = ""
    sha: str = ""
    key: str = ""

    @property
    def is_of_commit(self) -> bool:
        """Whether it can be nothing but a commit."""
        return bool(self.sha) and not self.tag and not self.number


def shown_ref(forge: str, kind: str, number: int, tag: str | None = None) -> str:
    """Return what people of that forge write: #12, GitLab's !34 for changes, a release's tag. A file has its path for a
    tag, a commit the beginning of its name.
    """
    if kind in ("release", "file", "commit"):
        return tag or str(number)
    return f"{profile_of(forge).sigil(kind)}{number}"


def note_page(forge: str, item_url: str | None, key: str, url: str | None) -> str | None:
    """Return the address of a note: the one its forge gave, or a place on the item's page; None where nobody knows."""
    fragment = profile_of(forge).note_fragment
    return url or (f"{item_url}#{fragment}{key}" if fragment and item_url else None)


def without_userinfo(text: str) -> str:
    """Return a URL without name and password: CI clones carry tokens there, and messages repeat what was typed.

    "https://oauth2:token@host/a/b" -> "https://host/a/b"
    """
    return _USERINFO.sub(r"\1", text)


def is_loopback(host: str) -> bool:
    return bool(_LOOPBACK.match(host))


def web_root(host: str) -> str:
    """Return the scheme and host of a server's pages: plain HTTP is for loopback alone."""
    return f"{'http' if is_loopback(host) else 'https'}://{host}"


def parse_project(text: str, hosts: Hosts, probe: Callable[[str], str]) -> ProjectName:
    """Return the project that `text` names. `probe(host)` is asked only for a host nobody described."""
    text = without_userinfo(text.strip())
    if text.startswith(("http://", "https://", "git@", "ssh://", "git://")):
        return _from_url(text, hosts, probe)
    forge, _, path = text.partition(":")
    if forge in PROFILES and path:
        return ProjectName(forge, hosts.of(forge), _checked_path(path, text))
    path = _checked_path(text, text)
    if "/" not in path:
        return ProjectName("local", "local", path)
    if path.count("/") > 1:
        grouping = next(profile for profile in PROFILES.values() if profile.has_groups)
        hint = f"write {grouping.prefix}{path} for a {grouping.title} project, or its URL"
        raise InvalidValue(f"project {text!r} has more than two parts", hint=hint)
    return ProjectName(DEFAULT.name, hosts.of(DEFAULT.name), path)


def is_pattern(text: str) -> bool:
    return text.endswith(("/*", "/**"))


def parse_ref(given: str | int) -> Ref:
    """Return the item that a text or a number names; raises InvalidValue when it names none.

    "acme/web#12" -> Ref("acme/web", 12)      "!34" -> Ref("", 34, "change")
    "acme/web v1.2" -> Ref("acme/web", tag="v1.2")
    """
    if found := match_ref(given):
        return found
    text = without_userinfo(str(given).strip())
    raise InvalidValue(f"not an item: {text!r}", hint="write #12, !34, owner/repo#12 or the page's URL")


def match_ref(given: str | int) -> Ref | None:
    """Return the item that a text or a number names, as `parse_ref`; None for words that look like no name of one."""
    text = without_userinfo(check_ref(given).strip())
    if _KEY.match(text):
        return Ref("", key=text)
    if text.isdecimal() and len(text) < 19:
        return Ref("", int(text), sha=_sha(text))
    if tagged := _TAG_OF.match(text):
        return Ref(tagged["project"], tag=tagged["tag"], kind="release", sha=_sha(tagged["tag"]))
    if text.startswith(("http://", "https://")):
        return _ref_from_url(text)
    if match := _REF.match(text):
        return _ref_of(match)
    return _tag_or_commit(text) if _TAG.match(text) else None


def _tag_or_commit(text: str) -> Ref:
    commit = _COMMIT_OF.match(text)
    return Ref(commit["project"], sha=commit["sha"].lower()) if commit else _tag_ref(text)


def parse_commit_name(text: str) -> str:
    """Return the beginning of a commit's name that a person says is one; four letters are the least git takes."""
    name = check_ref(text).strip().lower()
    if not re.fullmatch(r"[0-9a-f]{4,64}", name):
        raise InvalidValue(f"not a commit: {text[:80]!r}", hint="use 4 or more characters of its hash: 1a2b3c4d")
    return name


def split_line(path: str) -> str:
    """Return a path without the line behind it: "src/x.py:12" -> "src/x.py"."""
    return _LINE.sub("", path)


def is_prose(text: str) -> bool:
    """Whether a text of several words cannot name an item: "acme/web v1.2" does, "sync loses files" does not."""
    return len(text.split()) > 1 and not _TAG_OF.match(text.strip())


def is_key(text: str) -> bool:
    """Whether something is the key of a reading text: `file:7`."""
    return _KEY.match(text) is not None


def _tag_ref(text: str) -> Ref:
    return Ref("", tag=text, kind="release", sha=_sha(text))


def _sha(text: str) -> str:
    return text.lower() if _SHA.fullmatch(text) else ""


def _ref_of(match: re.Match[str]) -> Ref:
    return Ref(match["project"], int(match["number"]), "change" if match["mark"] == "!" else None)


def full_ref(project: str, kind: str, ref: str) -> str:
    """Return a ref with its project: acme/web#12, or "acme/web v1.2.0" for what has no number."""
    return f"{project} {ref}" if kind in ("release", "file", "commit") else f"{project}{ref}"


def key_in_url(url: str) -> tuple[str, ItemKey] | None:
    """Return (host/path of the project, item) of an item's page; None for any other URL."""
    page = page_in_url(url)
    return (page[0], ItemKey(page[1], page[2])) if page else None


def page_in_url(url: str) -> tuple[str, Kind, int] | None:
    """Return (host/path of the project, kind, number) of an item's page; None for any other URL."""
    plain = _PLAIN_PAGE.match(url)
    if plain:
        return plain[1], PAGE_KINDS[plain[2]], int(plain[3])
    split = urlsplit(url)
    match = _PAGE.match(unquote(split.path))
    if not match or not split.hostname:
        return None
    return f"{split.netloc}/{match[1]}", PAGE_KINDS[match[2]], int(match[3])


def _checked_path(path: str, original: str) -> str:
    path = path.removesuffix(".git")
    if not _PATH.match(path) or ".." in path:
        hint = f"write {NAMING} or the project's URL"
        raise InvalidValue(f"not a project name: {original!r}", hint=hint)
    return path


def _from_url(text: str, hosts: Hosts, probe: Callable[[str], str]) -> ProjectName:
    if text.startswith("git@"):  # git@host:group/project.git
        text = "ssh://" + text.replace(":", "/", 1)
    try:
        split = urlsplit(text)
        host = split.netloc.rpartition("@")[2].lower() if split.scheme.startswith("http") else split.hostname or ""
        if split.port is not None and (split.scheme, split.port) in (("https", 443), ("http", 80)):
            host = split.hostname or ""
    except ValueError as error:
        raise InvalidValue(f"invalid URL: {text!r}: {error}") from error
    if split.scheme == "http" and not is_loopback(host):
        raise InvalidValue(f"refusing plain http:// to {host}", hint="use https://; http:// is for loopback only")
    path = re.split(r"/(?:-|issues|pull|pulls|discussions|releases|tree|blob)(?:/|\Z)", unquote(split.path))[0]
    path = _checked_path(path.strip("/"), text)
    return ProjectName(_forge_of(host, hosts, probe), host, path)


def _on_main_host(url: str) -> str:
    """Return the address under the name that projects are stored with: our own comments link to redirect.github.com,
    which serves the same pages.
    """
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    names = ((profile.host, (profile.quiet_host, *profile.web_hosts)) for profile in PROFILES.values())
    main = next((main for main, others in names if host and host.lower() in others), host)
    return f"{scheme}://{main}{slash}{path}"


def _forge_of(host: str, hosts: Hosts, probe: Callable[[str], str]) -> str:
    if host in hosts.kinds:
        return hosts.kinds[host]
    known = (name for name, profile in PROFILES.items() if host in (profile.host, hosts.of(name)))
    return next(known, None) or probe(host)


def _ref_from_url(text: str) -> Ref:
    text = _on_main_host(text)
    if file := _FILE_PAGE.match(text):
        return Ref(file["root"], tag=unquote(file["path"]))
    if commit := _COMMIT_PAGE.match(text):
        return Ref(commit["root"], sha=commit["sha"].lower())
    found = key_in_url(text)
    if found:
        place, key = found
        return Ref(f"{urlsplit(text).scheme}://{place}", key.number, key.kind)
    root, _, tag = text.partition("/releases/")
    tag = tag.removeprefix("tag/").split("?")[0]
    if tag:
        return Ref(root.removesuffix("/-"), tag=unquote(tag), kind="release")
    if match := _REF.match(text):  # https://git.example/acme/web#12: a project of a server of one's own has that name
        return _ref_of(match)
    raise InvalidValue(f"not an item's page: {text!r}", hint="open the issue or change and copy its address")


def file_page(forge: str, host: str, project: str, commit: str, path: str, line: int | None = None) -> str | None:
    """Return the address of a file as it was at a commit, and of a line in it; None for a project on no forge."""
    profile = PROFILES.get(forge)
    if profile is None or not profile.code_pages[0] or not commit:
        return None
    page = profile.code_pages[0].format(commit=commit, path=quote(path))
    return f"{web_root(host)}/{project}{page}{f'#L{line}' if line else ''}"


def commit_page(forge: str, host: str, project: str, sha: str) -> str | None:
    profile = PROFILES.get(forge)
    if profile is None or not profile.code_pages[1]:
        return None
    return f"{web_root(host)}/{project}{profile.code_pages[1].format(commit=sha)}"
