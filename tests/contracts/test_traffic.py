"""Everything the product asked in the whole suite exists in the forges' own descriptions, and our forges answer as they may.

Requests that differ only in numbers and times are judged once. A finding is an error when the real forge would refuse or ignore what
was sent; "server" when our local forge says what the real one never would.
"""

import json
import re
import urllib.parse

import pytest

from contracts.conftest import FORGES

LEAST_ENDPOINTS = {"github": 14, "gitlab": 10, "forgejo": 18}
LEAST_DOCUMENTS = 5
SAMPLES_PER_ANSWER = 3

# (forge, code, text in the message) -> why it is not a mistake.
ALLOWED = {
    ("gitlab", "no_such_endpoint", "GET /api/v4/user is"): (
        "documented at docs.gitlab.com/api/users, missing from the generated description"
    ),
    ("github", "undocumented_status", "answers 304"): (
        "any GET may be conditional: docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api"
    ),
    ("github", "undocumented_status", "answers 301"): (
        "a renamed repository redirects everything below it: same page, 'Follow redirects'"
    ),
    ("github", "undocumented_status", "answers 307"): (
        "the same for writing, and for an issue that was transferred: method and body are to be repeated"
    ),
    ("github", "bad_response", "/line: None is not of type 'integer'"): (
        "an outdated review comment has lost its place: GraphQL's PullRequestReviewComment.line is nullable for that"
    ),
    ("forgejo", "bad_response", ": None is not of type"): (
        "what is not there (closed_at, merged_at, assignees, resolver) is null: Go writes a nil pointer so, and the"
        " generated description does not tell"
    ),
    ("forgejo", "undocumented_status", "answers 307"): "a renamed repository redirects everything below it",
    ("github", "bad_response", "/position: None is not of type 'integer'"): "the same, by its older name",
}

NUMBER = re.compile(r"\d+")
PROJECT = {
    "github": re.compile(r"(?<=/repos/)[^/]+/[^/]+|(?<=/(?:orgs|user)/)[^/]+|(?<=/users/)[^/]+"),
    "gitlab": re.compile(r"(?<=/projects/)[^/]+|(?<=/groups/)[^/]+|(?<=/users/)[^/]+"),
    "forgejo": re.compile(r"(?<=/repos/)[^/]+/[^/]+|(?<=/orgs/)[^/]+|(?<=/users/)[^/]+"),
}


def template(kind: str, path: str) -> str:
    """`/repos/acme/web/issues/12` -> `/repos/*/issues/0`: what is left when names and numbers are taken away."""
    return NUMBER.sub("0", PROJECT[kind].sub("*", path))


def outline(kind: str, line: dict) -> tuple:
    """What makes a request worth judging by itself: the place, each parameter with the shape of its value, the headers' names."""
    split = urllib.parse.urlsplit(line["url"])
    parameters = urllib.parse.parse_qsl(split.query, keep_blank_values=True)
    shapes = sorted((name, value if value in ("", "100") else shape(value)) for name, value in parameters)
    return line["method"], template(kind, split.path), tuple(shapes), tuple(sorted(line["headers"]))


def shape(value: str) -> str:
    """`2026-03-01T12:00:00Z` -> `0-0-0T0:0:0Z`; positions of a walk are as good as any other."""
    return NUMBER.sub("0", value) if len(value) < 40 else "long"


def distinct(lines: list[dict], key, most: int = 1) -> list[dict]:
    """The first lines of each key, at most so many."""
    found: dict = {}
    for line in lines:
        known = found.setdefault(key(line), [])
        if len(known) < most:
            known.append(line)
    return [line for known in found.values() for line in known]


def judge(apicheck, spec, kind: str, lines: list[dict], *, answers: bool) -> list[str]:
    """The findings that count, each with the request it is about."""
    counted = {"server"} if answers else {"error"}
    findings = []
    for line in lines:
        for finding in apicheck.judge(spec, dict(line), responses=answers):
            text = f"{finding['code']}: {finding['msg']}"
            if finding["level"] in counted and not is_allowed(kind, finding):
                findings.append(f"{line['method']} {line['url']} -> {text}")
    return findings


def is_allowed(kind: str, finding: dict) -> bool:
    return any((kind, finding["code"]) == (forge, code) and part in finding["msg"] for forge, code, part in ALLOWED)


def is_graphql(line: dict) -> bool:
    return line["url"].partition("?")[0].endswith("/graphql")


@pytest.mark.parametrize("kind", FORGES)
def test_enough_was_recorded(recorded, kind):
    """An empty or thin recording would pass everything below."""
    places = {(line["method"], template(kind, urllib.parse.urlsplit(line["url"]).path)) for line in recorded[kind]}
    assert len(places) >= LEAST_ENDPOINTS[kind], sorted(places)


@pytest.mark.parametrize("kind", FORGES)
def test_every_request_exists(recorded, specs, apicheck, kind):
    lines = distinct(recorded[kind], lambda line: outline(kind, line))
    assert judge(apicheck, specs[kind], kind, lines, answers=False) == []


@pytest.mark.parametrize("kind", FORGES)
def test_every_request_says_who_asks_and_carries_no_token_in_its_address(recorded, kind):
    for line in recorded[kind]:
        assert re.fullmatch(r"forgelore/\d+\.\d+\S*", line["headers"]["user-agent"])
        assert not re.search(r"(private_token|access_token|job_token|client_secret)=", line["url"])


def test_github_is_told_the_version_of_its_api(recorded):
    for line in recorded["github"]:
        if not is_graphql(line):
            assert line["headers"].get("x-github-api-version"), line["url"]


def is_raw(line: dict) -> bool:
    """A file or a diff as it is: what it holds is nobody's contract."""
    accepted = line["headers"].get("accept", "")
    return ".raw" in accepted or accepted == "text/plain"


@pytest.mark.parametrize("kind", ["github", "forgejo"])
def test_our_forge_answers_as_the_real_one_may(recorded, specs, apicheck, kind):
    """GitLab's description is of no use here: its response types are wrong."""
    whole = [line for line in recorded[kind] if not line["fault"] and not is_graphql(line) and not is_raw(line)]
    lines = distinct(whole, lambda line: (outline(kind, line)[:2], line["status"]), most=SAMPLES_PER_ANSWER)
    assert judge(apicheck, specs[kind], kind, lines, answers=True) == []


def test_every_graphql_document_is_valid_and_within_the_limits(recorded, gqlcheck, schema):
    asked = [json.loads(line["body"]) for line in recorded["github"] if is_graphql(line) and line["body"]]
    documents = distinct(asked, lambda body: (body["query"], tuple(sorted(body.get("variables") or ()))))
    assert len({body["query"] for body in documents}) >= LEAST_DOCUMENTS
    for body in documents:
        errors, _deprecated, _cost = gqlcheck.check(schema, body["query"], body.get("variables") or {})
        assert errors == [], body["query"]


def test_every_graphql_document_for_gitlab_is_valid_and_cheap_enough(recorded, gitlab_arithmetic):
    asked = [json.loads(line["body"]) for line in recorded["gitlab"] if is_graphql(line) and line["body"]]
    documents = distinct(asked, lambda body: body["query"])
    assert len(documents) >= 3
    for body in documents:
        errors, cost = gitlab_arithmetic(body["query"], body["variables"])
        # Before 15.5 the flag had another name, which the newest schema lacks.
        assert [error for error in errors if "'confidential'" not in error] == [], body["query"]
        assert cost is None or cost <= 200, "what GitLab allows without a token"


BAD_REQUESTS = {
    "unknown_query": ("github", "/repos/acme/web/issues?updated_after=2026-01-01T00:00:00Z"),
    "no_such_endpoint": ("github", "/repos/acme/web/discussions/1/comments/2/replies"),
    "per_page_range": ("github", "/repos/acme/web/issues?per_page=500"),
    "bad_datetime": ("github", "/repos/acme/web/issues?since=2026-01-01"),
    "bad_query": ("gitlab", "/api/v4/projects/1/issues?scope=everything"),
    "unknown_query ": ("forgejo", "/repos/acme/web/issues?sort=recentupdate"),
}


@pytest.mark.parametrize("code", BAD_REQUESTS)
def test_the_judge_finds_a_made_up_mistake(specs, apicheck, code):
    kind, url = BAD_REQUESTS[code]
    line = {"method": "GET", "url": url, "headers": {"user-agent": "forgelore/0"}, "status": 200, "fault": None}
    found = judge(apicheck, specs[kind], kind, [line], answers=False)
    assert any(f"-> {code.strip()}:" in finding for finding in found), found


def test_the_judge_finds_a_request_without_a_name(specs, apicheck):
    line = {"method": "GET", "url": "/repos/acme/web", "headers": {"accept": "*/*"}, "fault": None}
    assert any(
        "no_user_agent" in finding for finding in judge(apicheck, specs["github"], "github", [line], answers=False)
    )


def test_the_judge_finds_a_wrong_answer(specs, apicheck):
    line = {"method": "GET", "url": "/repos/acme/web/issues/1", "headers": {"user-agent": "forgelore/0"}, "status": 200}
    line |= {"fault": None, "response_body": json.dumps({"number": "one"})}
    assert any(
        "bad_response" in finding for finding in judge(apicheck, specs["github"], "github", [line], answers=True)
    )


def test_the_judge_finds_an_invalid_query(gqlcheck, schema):
    errors, _, _ = gqlcheck.check(schema, '{ repository(owner: "a", name: "b") { issues { nodes { nonsense } } } }', {})
    assert any("nonsense" in error for error in errors)
    assert any("first/last" in error for error in errors)
