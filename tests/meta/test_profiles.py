"""A forge is data and a folder: profiles and adapters name it, and nothing else does."""

import ast
import pathlib
import re

from forgelore.profiles import DEFAULT, LOCAL, PROBED, PROFILES, profile_of

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "forgelore"
FORGES = re.compile("|".join(PROFILES), re.IGNORECASE)
ALLOWED = {
    "profiles.py": "what they are",
    "forges/adapters.py": "the table of adapters",
    "triage/events.py": "what their CI says",
    "surfaces/cli/ci.py": "what their CI says",
}
# Text for people and words of the language: examples of commands, help, and names that look like two words.
WRITTEN = {
    "api/setup.py",
    "text/terms.py",
    "surfaces/cli/archive.py",
    "surfaces/cli/items.py",
    "surfaces/cli/main.py",
    "surfaces/cli/setup.py",
    "surfaces/cli/sync.py",
    "surfaces/cli/triage.py",
    "surfaces/present/replay.py",
}


def docstrings(tree: ast.Module) -> set[ast.AST]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, holders) and node.body]
    return {body[0].value for body in bodies if isinstance(body[0], ast.Expr)}


def names_of(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(alias.name for alias in node.names)]
    return [getattr(node, part) for part in ("id", "attr", "arg") if isinstance(getattr(node, part, None), str)]


def literals(tree: ast.Module) -> list[str]:
    skipped = docstrings(tree)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in found if node not in skipped]


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        is_adapter = place.parts[0] == "forges" and place.parts[1] in PROFILES
        if not is_adapter and place.as_posix() not in ALLOWED:
            yield place.as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_no_other_module_says_a_forge_in_its_code():
    """Neither as a text (`== "gitlab"`, a host, a variable of its CI) nor as a name (`hosts.gitlab`)."""
    said = {}
    for place, tree in modules():
        texts = [text for text in literals(tree) if FORGES.search(text) and place not in WRITTEN]
        names = [name for node in ast.walk(tree) for name in names_of(node) if FORGES.search(name)]
        if texts or names:
            said[place] = texts + names
    assert said == {}


def test_text_for_people_is_never_a_forge_that_is_compared():
    own = {value for profile in PROFILES.values() for value in vars_of(profile)}
    assert {(place, text) for place, tree in modules() for text in literals(tree) if text in own} == set()


def vars_of(profile) -> list[str]:
    lists = (profile.web_hosts, profile.token_variables, profile.program[:1], profile.bot_setup)
    words = [profile.name, profile.title, profile.prefix, profile.host, profile.host_variable, profile.git_user]
    words += [profile.ci_server, profile.ci_api, profile.ci_graphql, profile.ci_login, profile.quiet_host]
    return [word for word in [*words, *(word for each in lists for word in each)] if word]


def test_every_exception_is_needed():
    for place in [*ALLOWED, *WRITTEN]:
        tree = ast.parse((SOURCE / place).read_text(encoding="utf-8"))
        names = [name for node in ast.walk(tree) for name in names_of(node)]
        assert any(map(FORGES.search, [*literals(tree), *names])), place


def test_every_profile_is_filled_and_has_its_adapter():
    from forgelore.forges.adapters import ADAPTERS

    assert set(ADAPTERS) == set(PROFILES) == {profile.name for profile in PROBED}
    for name, profile in PROFILES.items():
        assert (SOURCE / "forges" / name / "forge.py").exists()
        assert profile.numbering != "unknown"
        assert all((profile.host, profile.api_path, profile.probe_path, profile.token_variables, profile.git_user))
        assert all(profile.push_hints)
        assert set(profile.nouns) == set(DEFAULT.nouns)
        assert all(len(readers) == 3 and set(readers) <= set("ESMRN") for readers in profile.readers.values())


def test_what_nobody_knows_is_written_like_an_imported_tracker():
    """A file may come from a version that knows more forges: reading it still works."""
    assert profile_of("local") is profile_of("a forge of tomorrow") is LOCAL
    assert "local" not in PROFILES
