"""/api/v1: what its document promises is what it answers, to anything at all; pages, tasks and their events."""

import json
import threading

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from sites import Site, serving

from ask.conftest import QUOTE, READ, answer, cite
from forgelore.surfaces.web.api import OPERATIONS, build_document
from servers.chat import ChatServer

TOKENS = {role: f"{role}-0123456789abcdef" for role in ("read", "review", "apply")}
PROMISES = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
QUIET = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module")
def api(example, tmp_path_factory):
    """The example project, served to three people; syncs find nobody."""
    folder = tmp_path_factory.mktemp("api")
    people = folder / "people.txt"
    people.write_text("".join(f"{token} {role} {role}-er\n" for role, token in TOKENS.items()), encoding="utf-8")
    copy = folder / "lore.db"
    copy.write_bytes(example.read_bytes())
    away = {"GITHUB_API_URL": "http://127.0.0.1:1", "FORGELORE_EMBEDDER": "lore"}
    with serving(copy, folder, "--tokens", str(people), "--sync-every", "0", **away) as url:
        yield url


def person(api, role):
    return Site(api, authorization=f"Bearer {TOKENS[role]}")


def test_the_document_is_served_and_valid(api):
    served = person(api, "read").get("/api/v1/openapi.json").json()
    assert served == json.loads(json.dumps(build_document()))
    assert len(served["paths"]) == len(OPERATIONS)
    for schema in served["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", [one.path for one in OPERATIONS if one.path != "tasks/sync"])
def test_whatever_is_asked_is_answered_as_promised(api, path):
    """Schemathesis asks; a sync is left out, which would ask real forges for what it makes up."""
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(build_document())))
    schema.config.update(base_url=api)
    full = f"/api/v1/{path.replace(':path', '')}"
    (method,) = schema[full].keys()
    operation = schema[full][method]
    headers = {"Authorization": f"Bearer {TOKENS['review']}"}

    @QUIET
    @given(case=operation.as_strategy())
    def ask(case):
        case.call_and_validate(headers=headers, checks=PROMISES, timeout=60)

    ask()


def test_an_answer_that_breaks_its_promise_is_found(api):
    document = json.loads(json.dumps(build_document()))
    answered = document["paths"]["/api/v1/projects"]["get"]["responses"]["200"]["content"]["application/json"]
    answered["schema"]["properties"]["data"] = {"type": "string"}
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=api)
    case = schema["/api/v1/projects"]["get"].Case()
    with pytest.raises((Failure, FailureGroup)):
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKENS['read']}"}, checks=PROMISES)


@pytest.mark.parametrize("path", ["items?q=is:issue&limit=40", "search?q=relay&limit=7", "similar/%2341?limit=4"])
def test_pages_lead_from_one_to_the_next_and_end(api, path):
    site, seen, address = person(api, "read"), [], f"/api/v1/{path}"
    while address:
        found = site.get(address)
        data = found.json()["data"]
        rows = data if isinstance(data, list) else data["hits"]
        assert rows
        seen += [one["ref"] for one in rows]
        address = found.links["next"]["url"] if "next" in found.links else ""
        assert len(seen) < 2_000
    assert len(seen) == len(set(seen)) > 7
    if path.startswith("items"):
        assert len(seen) == site.data("/api/v1/count/issues")["total"]


@pytest.mark.parametrize("cursor", ["x", "-1", "9999999", "²", ""])
def test_a_cursor_that_nobody_gave_is_refused(api, cursor):
    assert person(api, "read").get("/api/v1/items", params={"cursor": cursor}).status_code == 400


def events(site, address):
    with site.client.stream("GET", f"{address}/events") as found:
        assert found.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in found.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def test_a_question_is_a_task_whose_answer_comes_as_events(example, tmp_path):
    (tmp_path / "lore.db").write_bytes(example.read_bytes())
    replies = [*READ, answer("Tombstones are purged too early [1].", cite("#41", 35, 35, QUOTE))]
    with ChatServer(replies) as server:
        model = {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        with serving(tmp_path / "lore.db", tmp_path, FORGELORE_EMBEDDER="lore", **model) as url:
            site = Site(url)
            site.client.headers["x-token"] = site.token()
            asked = site.client.post("/api/v1/tasks/ask", json={"question": "why do deleted files come back?"})
            assert asked.status_code == 202
            said = list(events(site, asked.headers["location"]))
            name, task = said[-1]
            assert (name, task["state"]) == ("end", "done")
            assert "purged too early" in json.dumps(task["answer"])
            assert [name for name, _ in said].count("line") == len(task["lines"]) == len(replies)
            again = site.get(asked.headers["location"]).json()["data"]
            assert again == task
            assert list(events(site, asked.headers["location"]))[-1] == ("end", task)  # for whoever comes late


def test_a_task_that_fails_says_why(api):
    site = person(api, "review")
    started = site.client.post("/api/v1/tasks/sync", json={"project": "lanternsync/lantern"})
    task = list(events(site, started.headers["location"]))[-1][1]
    assert (task["state"], task["error"]["code"]) == ("failed", task["error"]["code"])
    assert task["error"]["message"]
    assert site.client.post("/api/v1/tasks/sync", json={}).status_code == 400


def test_a_task_is_its_owner_s_and_those_who_review(api):
    mine = person(api, "read").client.post("/api/v1/tasks/ask", json={"question": "why do deleted files come back?"})
    assert mine.status_code == 202
    address = mine.headers["location"]
    assert person(api, "read").get(address).status_code == 200
    assert person(api, "apply").get(address).status_code == 200
    theirs = person(api, "review").client.post("/api/v1/tasks/ask", json={"question": "relay"})
    assert person(api, "read").get(theirs.headers["location"]).status_code == 403
    assert person(api, "read").client.post("/api/v1/tasks/sync", json={"project": "a/b"}).status_code == 403


def test_a_task_can_be_cancelled(example, tmp_path):
    """A model that never answers would hold it for ten minutes."""
    (tmp_path / "lore.db").write_bytes(example.read_bytes())
    with ChatServer(READ[:1]) as server:
        server.gate = threading.Event()
        model = {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
        with serving(tmp_path / "lore.db", tmp_path, FORGELORE_EMBEDDER="lore", **model) as url:
            site = Site(url)
            site.client.headers["x-token"] = site.token()
            address = site.client.post("/api/v1/tasks/ask", json={"question": "why?"}).headers["location"]
            assert site.client.post(f"{address}/cancel").status_code == 200
            assert list(events(site, address))[-1][1]["state"] == "cancelled"
            server.gate.set()
