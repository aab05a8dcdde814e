"""The recorded traffic and the official descriptions, made ready once a session.

FORGELORE_TRAFFIC names the folder that the rest of the suite filled. The descriptions and the judges (apicheck, gqlcheck) live beside
the repository, in ../shared/contracts; what has to be unpacked goes into a folder of ours, the originals stay as they are.
"""

import gzip
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
import warnings

import graphql
import pytest

from forgelore.profiles import PROBED

FORGES = ("github", "gitlab", "forgejo")
CONTRACTS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "contracts"


@pytest.fixture(scope="session")
def contracts():
    if not CONTRACTS.is_dir():
        pytest.skip("the forges' descriptions (../shared/contracts) are not on this machine")
    return CONTRACTS


@pytest.fixture(scope="session")
def recorded():
    """What the product said to the suite's forges and heard from them, by forge. Their other clients are tests, and left out."""
    named = os.environ.get("FORGELORE_TRAFFIC")
    found: dict[str, list[dict]] = {forge: [] for forge in FORGES}
    for path in sorted(pathlib.Path(named).glob("*-*.jsonl")) if named else []:
        forge = path.name.partition("-")[0]
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        left_out = addresses_in_faults(lines) | foreign_probes(forge)
        mine = [line for line in lines if is_ours(line) and line["url"] not in left_out]
        found.get(forge, []).extend(line | {"url": below_base(line["url"])} for line in mine)
    if not any(found.values()):
        pytest.skip("no traffic to judge: run make test")
    return found


def below_base(url: str) -> str:
    """Gitea's description names paths below `/api/v1`."""
    return url.removeprefix("/api/v1")


def foreign_probes(forge: str) -> set[str]:
    """Where a server is asked whether it is another forge than it is: that must not exist."""
    return {profile.probe_path for profile in PROBED if profile.name != forge}


def is_ours(line: dict) -> bool:
    return line["headers"].get("user-agent", "").startswith("forgelore/")


def addresses_in_faults(lines: list[dict]) -> set[str]:
    """Where a fault sent the product on purpose, by Location or Link: following is right, and the address is not its own."""
    headers = [value for line in lines if line["fault"] for value in line["response_headers"].values()]
    return {
        re.sub(r"^https?://[^/]+", "", address)
        for value in headers
        for address in re.split(r"[<>]", value)
        if "/" in address
    }


@pytest.fixture(scope="session")
def apicheck(contracts):
    return load_tool(contracts, "apicheck")


@pytest.fixture(scope="session")
def gqlcheck(contracts):
    return load_tool(contracts, "gqlcheck")


def load_tool(contracts: pathlib.Path, name: str, *, folder: str = "tools"):
    """Import a module of the read-only folder without leaving a compiled copy there."""
    found = importlib.util.spec_from_file_location(name, contracts / folder / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        found.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@pytest.fixture(scope="session")
def specs(contracts, apicheck, tmp_path_factory):
    """The descriptions, ready to judge by. apicheck keeps a copy beside each file it reads, hence the folder."""
    folder = tmp_path_factory.mktemp("specs")
    github = folder / "github.json"
    github.write_bytes(gzip.decompress((contracts / "github" / "api.github.com.json.gz").read_bytes()))
    gitea = folder / "gitea.json"
    gitea.write_bytes(gzip.decompress((contracts / "gitea" / "gitea-openapi3.json.gz").read_bytes()))
    gitlab = shutil.copy(contracts / "gitlab" / "gitlab-openapi_v2.yaml", folder)
    supplement = shutil.copy(contracts / "gitlab" / "supplement.json", folder)
    return {
        "github": apicheck.Spec(str(github), "github"),
        "gitlab": apicheck.Spec(str(gitlab), "gitlab", str(supplement)),
        "forgejo": apicheck.Spec(str(gitea), "gitea"),
    }


@pytest.fixture(scope="session")
def gitlab_arithmetic(contracts):
    """A query's errors against GitLab's schema, and its complexity by GitLab's own arithmetic; None for a bad query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves the schema's file open
        known = load_tool(contracts, "complexity", folder="gitlab/graphql")

    def judge(query: str, variables: dict) -> tuple[list[str], int | None]:
        document = graphql.parse(query)
        errors = [error.message for error in graphql.validate(known.schema, document)]
        if errors:
            return errors, None
        return [], known.cost(document.definitions[0].selection_set, known.schema.query_type, {}, variables)

    return judge


@pytest.fixture(scope="session")
def schema(contracts, gqlcheck):
    return gqlcheck.load(str(contracts / "github" / "schema.docs.graphql"))
