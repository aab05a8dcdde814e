"""Forge profiles: what differs from forge to forge and is not behaviour. Words, addresses, variables, limits.

A new forge is one more profile here, a folder in `forges/`, and one line in the table of `app.py`. Nothing else names
a forge, and a test holds that. Plain tuples and no imports of our own, so that every layer may ask and none pays.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

# "shared": issues, changes and discussions are numbered together. "apart": each by itself, and `#12` is an issue's.
Numbering = Literal["shared", "apart", "unknown"]

_NOUNS = {"issue": "issue", "change": "change", "discussion": "discussion", "release": "release"}


class PushHints(NamedTuple):
    """What to do when the forge takes no push: without a token, without rights, against a rule for the {branch}."""

    token: str = ""
    rights: str = ""
    rule: str = ""


class ForgeProfile(NamedTuple):
    """One kind of forge.

    `host` is its public server, `web_hosts` all names of it, and `api_url` and `graphql_url` are that server's where
    they are not the usual ones below `api_path`. `ci_*` are the variables by which its CI names server and API.
    `readers` says who reads issues, changes and the repository, one letter each, by the project's visibility and the
    feature's level: (E)verybody, people who are (S)igned in, (M)embers, (R)eporters.
    """

    name: str
    title: str
    nouns: Mapping[str, str] = _NOUNS
    sigils: Mapping[str, str] = {}  # by kind; "#" where none is named
    numbering: Numbering = "unknown"

    host: str = ""
    web_hosts: tuple[str, ...] = ()
    api_path: str = ""
    api_url: str = ""
    graphql_url: str = ""
    probe_path: str = ""  # answered in JSON by such servers alone, also with 401
    ci_server: str = ""
    ci_api: str = ""
    ci_graphql: str = ""
    ci_login: str = ""  # who comments with the token of a CI job, where the server tells nobody who it is

    token_variables: tuple[str, ...] = ()
    host_variable: str = ""  # names the server that these belong to
    app_variables: tuple[str, ...] = ()  # of an app instead of a person: its id, its private key, or the key's file
    program: tuple[str, ...] = ()  # prints the token of the host that is added to it
    sign_in: str = ""  # the command that signs a person in on the host that is added to it
    token_form: tuple[str, str] = ("Authorization", "Bearer ")  # a header, and what goes before the token

    git_user: str = ""  # goes before the token when git pushes over https
    push_hints: PushHints = PushHints()

    comment_chars: int = 65_536
    alert: str = "> ⚠️"  # how a warning in a comment begins
    note_fragment: str = (
        ""  # of an item's page, before the number of a note; where answers have the address, it is empty
    )
    code_pages: tuple[str, str] = ("", "")  # below a project: of a file at a commit, and of a commit
    new_issue: str = ""  # below a project: the form for an issue, up to its title
    quiet_host: str = ""  # serves the same pages, and makes no cross references
    quiet_ending: tuple[str, str] = ("", "")  # of path and fragment, where no other host makes a link quiet
    logins: str = ""  # what the names of its people match as a whole; "": whatever looks like one
    has_comment_stream: bool = False  # one list of all comments, which may miss some: counts are compared behind it
    has_groups: bool = False  # paths of more than two parts
    has_discussion_threads: bool = False  # what it calls a discussion is a thread below an item
    bot_setup: tuple[str, str] = ("", "")  # the file that sets up triage, and what stands in it
    readers: Mapping[tuple[str, str], str] = {}
    hook_header: str = (
        ""  # what proves that it sent a webhook: the secret itself, or a signature (SHA-256) made with it
    )
    hook_prefix: str | None = None  # before the signature; None: the header has the secret
    hook_id: str = ""  # the header that is the same when a delivery is sent again

    @property
    def prefix(self) -> str:
        """What people type before a path on this forge."""
        return f"{self.name}:"

    def sigil(self, kind: str) -> str:
        return self.sigils.get(kind, "#")

    def token_headers(self, token: str) -> dict[str, str]:
        return {self.token_form[0]: f"{self.token_form[1]}{token}"}


GITHUB = ForgeProfile(
    "github", "GitHub", _NOUNS | {"change": "pull request"}, numbering="shared",
    # Letters, digits and single hyphens; accounts that a company manages end in _ and its short code.
    # https://docs.github.com/enterprise-cloud@latest/admin/identity-and-access-management/iam-configuration-reference/username-considerations-for-external-authentication
    logins=r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}(?:_[A-Za-z0-9]{1,10})?",
    code_pages=("/blob/{commit}/{path}", "/commit/{commit}"), new_issue="/issues/new?title=",
    host="github.com", web_hosts=("github.com", "www.github.com"),
    api_path="/api/v3", api_url="https://api.github.com", graphql_url="https://api.github.com/graphql",
    probe_path="/api/v3/meta",
    ci_server="GITHUB_SERVER_URL", ci_api="GITHUB_API_URL", ci_graphql="GITHUB_GRAPHQL_URL",
    ci_login="github-actions[bot]",
    token_variables=("GITHUB_TOKEN", "GH_TOKEN"), host_variable="GH_HOST",
    app_variables=("FORGELORE_APP_ID", "FORGELORE_APP_KEY", "FORGELORE_APP_KEY_FILE"),
    program=("gh", "auth", "token", "--hostname"), sign_in="gh auth login --hostname",
    git_user="x-access-token",
    push_hints=PushHints(
        "set GITHUB_TOKEN; in a workflow, leave the input token as it is",
        "give the workflow `permissions: contents: write`",
        "exclude the branch {branch} from the ruleset or the branch protection, or let this app bypass it:"
        " Settings > Rules > Rulesets, Settings > Branches",
    ),
    comment_chars=65_536, alert="> [!WARNING]\n>", quiet_host="redirect.github.com", has_comment_stream=True,
    bot_setup=(".github/workflows/triage.yml", "forgelore/forgelore@"),
    readers={("public", "enabled"): "EEE", ("internal", "enabled"): "SSS", ("private", "enabled"): "MMM"},
    hook_header="x-hub-signature-256", hook_prefix="sha256=", hook_id="x-github-delivery",
)  # fmt: skip
GITLAB = ForgeProfile(
    "gitlab", "GitLab", _NOUNS | {"change": "merge request"}, {"change": "!"}, "apart",
    code_pages=("/-/blob/{commit}/{path}", "/-/commit/{commit}"), new_issue="/-/issues/new?issue%5Btitle%5D=",
    host="gitlab.com", web_hosts=("gitlab.com",), api_path="/api/v4", probe_path="/api/v4/version",
    ci_server="CI_SERVER_URL", ci_api="CI_API_V4_URL", ci_graphql="CI_API_GRAPHQL_URL",
    token_variables=("GITLAB_TOKEN",), host_variable="GITLAB_HOST",
    program=("glab", "config", "get", "token", "--host"), sign_in="glab auth login --hostname",
    token_form=("PRIVATE-TOKEN", ""),
    git_user="oauth2",
    push_hints=PushHints(
        "set GITLAB_TOKEN",
        "give GITLAB_TOKEN the scope write_repository and the role Developer: Settings > Access tokens",
        "let the bot push and force-push to {branch}: Settings > Repository > Protected branches, Push rules",
    ),
    comment_chars=1_000_000,  # alerts came with 17.10: a plain quote looks right on all
    note_fragment="note_",
    quiet_ending=("", "forgelore.triage"),  # the whole address is compared, and no fragment of its own has a dot
    has_groups=True, has_discussion_threads=True, bot_setup=(".gitlab-ci.yml", "forgelore-triage"),
    readers={
        ("public", "enabled"): "EEE", ("public", "private"): "MRM",
        ("internal", "enabled"): "SSS", ("internal", "private"): "MRM",
        ("private", "enabled"): "MRR", ("private", "private"): "MRR",
    },
    hook_header="x-gitlab-token",
    hook_id="idempotency-key",  # from 17.4 on
)  # fmt: skip
# Gitea is the same to us: Forgejo began as its copy, and both answer below the same paths.
FORGEJO = ForgeProfile(
    "forgejo", "Forgejo", _NOUNS | {"change": "pull request"}, numbering="shared",
    code_pages=("/src/commit/{commit}/{path}", "/commit/{commit}"), new_issue="/issues/new?title=",
    host="codeberg.org", web_hosts=("codeberg.org",), api_path="/api/v1", probe_path="/api/v1/version",
    ci_server="FORGEJO_SERVER_URL", ci_api="FORGEJO_API_URL",
    token_variables=("FORGEJO_TOKEN", "GITEA_TOKEN"), host_variable="FORGEJO_HOST",
    token_form=("Authorization", "token "),
    git_user="oauth2",
    push_hints=PushHints(
        "set FORGEJO_TOKEN",
        "give FORGEJO_TOKEN the scope write:repository, and its account write access to the code",
        "let the bot push and force-push to {branch}: Settings > Branches",
    ),
    comment_chars=65_536, alert="> [!WARNING]\n>", has_comment_stream=True,
    quiet_ending=("/", ""),  # a link is a reference when its path has four parts; one that ends with a slash has five
    # A team of a private repository may read its code and not its issues, and nobody tells: it is left out.
    readers={("public", "enabled"): "EEE", ("internal", "enabled"): "SSS"},
    hook_header="x-forgejo-signature", hook_prefix="", hook_id="x-forgejo-delivery",
)  # fmt: skip
# An imported tracker has no server; its comments, which are only shown, look like those of the default forge.
LOCAL = GITHUB._replace(
    name="local", title="an imported tracker", numbering="unknown", has_comment_stream=False, readers={},
    new_issue="", app_variables=(),
)  # fmt: skip

DEFAULT = GITHUB  # what `owner/repo` means
PROFILES: dict[str, ForgeProfile] = {profile.name: profile for profile in (GITHUB, GITLAB, FORGEJO)}
PROBED = (GITLAB, GITHUB, FORGEJO)  # in the order in which an unknown server is asked
TITLES = " or ".join(profile.title for profile in PROFILES.values())
FORGE_NAMES = tuple(PROFILES)
# What people may type, in hints; beside it stands "or a URL".
NAMING = "owner/repo, gitlab:group/project, forgejo:owner/repo"
PATTERNS = "owner/* or gitlab:group/**"


def profile_of(forge: str) -> ForgeProfile:
    """Return the profile of a project's forge; an imported tracker's for what this version does not know."""
    return PROFILES.get(forge, LOCAL)


class ProjectName(NamedTuple):
    """Where a project lives: `github.com` + `acme/web`. `forge` is a profile's name, or "local"."""

    forge: str
    host: str
    path: str

    def __str__(self) -> str:
        profile = PROFILES.get(self.forge)
        if profile is None:
            return self.path
        if self.host == profile.host:
            return self.path if profile is DEFAULT else f"{profile.prefix}{self.path}"
        scheme = "http" if self.host.startswith(("127.", "localhost", "[::1]")) else "https"
        return f"{scheme}://{self.host}/{self.path}"
