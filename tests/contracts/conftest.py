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

import pytest

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
    files = sorted(pathlib.Path(named).glob("git[hl][ua]b-*.jsonl")) if named else []
    if not files:
        pytest.skip("no traffic to judge: run make test")
    found: dict[str, list[dict]] = {"github": [], "gitlab": []}
    for path in files:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        invented = addresses_in_faults(lines)
        found[path.name.partition("-")[0]] += [line for line in lines if is_ours(line) and line["url"] not in invented]
    return found


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


def load_tool(contracts: pathlib.Path, name: str):
    """Import a module of the read-only folder without leaving a compiled copy there."""
    found = importlib.util.spec_from_file_location(name, contracts / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        found.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@pytest.fixture(scope="session")
def specs(contracts, apicheck, tmp_path_factory):
    """Both descriptions, ready to judge by. apicheck keeps a copy beside each file it reads, hence the folder."""
    folder = tmp_path_factory.mktemp("specs")
    github = folder / "github.json"
    github.write_bytes(gzip.decompress((contracts / "github" / "api.github.com.json.gz").read_bytes()))
    gitlab = shutil.copy(contracts / "gitlab" / "gitlab-openapi_v2.yaml", folder)
    supplement = shutil.copy(contracts / "gitlab" / "supplement.json", folder)
    return {
        "github": apicheck.Spec(str(github), "github"),
        "gitlab": apicheck.Spec(str(gitlab), "gitlab", str(supplement)),
    }


@pytest.fixture(scope="session")
def schema(contracts, gqlcheck):
    return gqlcheck.load(str(contracts / "github" / "schema.docs.graphql"))
