"""What to do with an answer: the table at the top of `policy.py`, row by row, and a few laws."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.net.policy import (
    ATTEMPTS,
    Wait,
    after_failure,
    decide,
    decide_graphql,
    graphql_wait,
    limit_wait,
)

NOW_S = 1_772_366_400.0  # 2026-03-01T12:00:00Z
SECONDARY = b'{"message": "You have exceeded a secondary rate limit."}'
SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW_S) + 90)}

TABLE = [
    # status, headers, body, attempt -> decision
    (200, {}, b"", 1, "accepted"),
    (204, {}, b"", 1, "accepted"),
    (304, {}, b"", 1, "accepted"),
    (403, SPENT, b"", 1, Wait(91, "rate limit", is_limit=True)),
    (429, SPENT, b"", 1, Wait(91, "rate limit", is_limit=True)),
    (
        403,
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW_S) - 90)},
        b"",
        1,
        Wait(1, "rate limit", is_limit=True),
    ),
    (
        429,
        {"ratelimit-remaining": "0", "ratelimit-reset": str(int(NOW_S) + 30)},
        b"",
        1,
        Wait(31, "rate limit", is_limit=True),
    ),
    (403, {"retry-after": "17"}, SECONDARY, 1, Wait(17, "asked to wait", is_limit=True)),
    (429, {"retry-after": "0"}, b"", 1, Wait(1, "asked to wait", is_limit=True)),
    (429, {"retry-after": "Sun, 01 Mar 2026 12:02:00 GMT"}, b"", 1, Wait(120, "asked to wait", is_limit=True)),
    (429, {"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, b"", 1, Wait(1, "asked to wait", is_limit=True)),
    (403, {}, SECONDARY, 1, Wait(60, "secondary rate limit", is_limit=True)),
    (403, {}, SECONDARY, 3, Wait(240, "secondary rate limit", is_limit=True)),
    (403, {}, SECONDARY, 30, Wait(960, "secondary rate limit", is_limit=True)),
    (429, {}, b"", 1, Wait(2, "too many requests", is_limit=True)),
    (429, {}, b"", 5, Wait(32, "too many requests", is_limit=True)),
    (429, {}, b"", 20, Wait(60, "too many requests", is_limit=True)),
    (429, {"retry-after": "soon"}, b"", 1, Wait(2, "too many requests", is_limit=True)),
    (403, {}, b'{"message": "Resource not accessible by integration"}', 1, "failed"),
    (403, {"x-ratelimit-remaining": "4999"}, b"", 1, "failed"),
    (408, {}, b"", 1, Wait(1, "HTTP 408")),
    (500, {}, b"", 1, Wait(1, "HTTP 500")),
    (502, {}, b"", 2, Wait(2, "HTTP 502")),
    (504, {}, b"", 5, Wait(16, "HTTP 504")),
    (503, {"retry-after": "120"}, b"", 1, Wait(120, "HTTP 503, asked to wait", is_limit=True)),
    (503, {}, b"", ATTEMPTS, "failed"),
    (400, {}, b"", 1, "failed"),
    (401, {}, b"", 1, "failed"),
    (404, {}, b"", 1, "failed"),
    (410, {}, b"", 1, "failed"),
    (422, {}, b"", 1, "failed"),
]


@pytest.mark.parametrize(("status", "headers", "body", "attempt", "decision"), TABLE)
def test_the_table(status, headers, body, attempt, decision):
    assert decide(status, headers, body, attempt=attempt, now_s=NOW_S) == decision


def test_graphql_limits_inside_a_200():
    assert graphql_wait({"NOT_FOUND"}, {}, attempt=1, now_s=NOW_S) is None
    assert graphql_wait({"RATE_LIMITED"}, SPENT, attempt=1, now_s=NOW_S) == Wait(91, "rate limit", is_limit=True)
    assert graphql_wait({"RATE_LIMITED"}, {}, attempt=2, now_s=NOW_S) == Wait(
        120, "secondary rate limit", is_limit=True
    )


BROKEN = "Something went wrong while executing your query. This may be the result of a timeout."
GRAPHQL = [
    ({"data": {"nodes": [1]}}, "accepted"),
    ({"data": {"nodes": [None]}, "errors": [{"message": BROKEN, "path": ["nodes", 0]}]}, "accepted"),
    ({"data": None, "errors": [{"message": BROKEN}]}, Wait(1, "GraphQL without data")),
    ({"errors": [{"message": BROKEN}], "data": None}, Wait(1, "GraphQL without data")),
    ({"errors": [{"message": BROKEN}]}, Wait(1, "GraphQL without data")),
    ({"data": {"repository": None}, "errors": [{"message": BROKEN}]}, Wait(1, "GraphQL without data")),
    ({"data": None}, Wait(1, "GraphQL without data")),
    ({"data": None, "errors": [{"type": "FORBIDDEN", "message": "no"}]}, "accepted"),
    ({"errors": [{"message": "Parse error"}]}, "accepted"),
    ({"errors": [{"message": "no field", "extensions": {"code": "undefinedField"}}], "data": None}, "accepted"),
    ({"errors": [{"type": "RATE_LIMITED", "message": "x"}]}, Wait(60, "secondary rate limit", is_limit=True)),
    ({"errors": "odd", "data": {}}, "accepted"),
]


@pytest.mark.parametrize(("document", "decision"), GRAPHQL)
def test_what_a_200_of_graphql_means(document, decision):
    body = json.dumps(document).encode()
    assert decide_graphql({}, body, limits=0, failures=0, now_s=NOW_S) == decision


def test_a_graphql_that_stays_without_data_is_given_up_like_a_502():
    body = b'{"data":null,"errors":[{"message":"Something went wrong"}]}'
    found = [decide_graphql({}, body, limits=0, failures=tried, now_s=NOW_S) for tried in range(ATTEMPTS)]
    expected = [decide(502, {}, b"", attempt=tried, now_s=NOW_S) for tried in range(1, ATTEMPTS + 1)]
    assert [getattr(one, "seconds", one) for one in found] == [getattr(one, "seconds", one) for one in expected]


@given(st.binary(max_size=200))
def test_any_body_of_graphql_gets_a_decision(body):
    decision = decide_graphql({}, b'{"errors"' + body, limits=0, failures=0, now_s=NOW_S)
    assert decision == "accepted" or isinstance(decision, Wait)


header_text = st.one_of(
    st.text(max_size=12), st.floats().map(str), st.integers().map(str), st.just("Sun, 01 Mar 2026 12:02:00 GMT")
)
names = st.sampled_from(
    ["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-remaining", "ratelimit-reset"]
)


@settings(deadline=None)
@given(
    status=st.integers(100, 599),
    headers=st.dictionaries(names, header_text),
    body=st.binary(max_size=40),
    attempt=st.integers(1, 50),
)
def test_every_wait_is_a_finite_time_that_can_be_slept(status, headers, body, attempt):
    decision = decide(status, headers, body, attempt=attempt, now_s=NOW_S)
    if isinstance(decision, Wait):
        assert math.isfinite(decision.seconds)
        assert decision.seconds >= 1


@settings(deadline=None)
@given(seconds=st.integers(1, 10_000_000), attempt=st.integers(1, 50), status=st.sampled_from([403, 429, 500, 503]))
def test_a_wait_is_never_shorter_than_the_forge_said(seconds, attempt, status):
    decision = decide(status, {"retry-after": str(seconds)}, b"", attempt=attempt, now_s=NOW_S)
    assert isinstance(decision, Wait)
    assert decision.seconds >= seconds


def test_failures_are_given_up_after_a_minute_or_so():
    waits = []
    for attempt in range(1, 100):
        decision = after_failure(attempt, "broken")
        if not isinstance(decision, Wait):
            break
        waits.append(decision.seconds)
    assert len(waits) == ATTEMPTS - 1
    assert waits == sorted(waits)
    assert sum(waits) < 120


def test_a_plain_refusal_is_no_limit():
    assert limit_wait(403, {}, b"forbidden", attempt=1, now_s=NOW_S) is None
