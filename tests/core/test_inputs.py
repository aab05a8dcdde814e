"""Inputs of a workflow: defaults, ranges, and a warning instead of a failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.triage.events import Inputs, parse_inputs

NAMES = [
    "INPUT_SIMILARITY_THRESHOLD", "INPUT_DUPLICATE_THRESHOLD", "INPUT_MAX_RESULTS", "INPUT_INDEX_BRANCH",
    "INPUT_APPLY_LABELS", "INPUT_ALSO", "INPUT_DRY_RUN", "INPUT_CLOSE_AFTER", "INPUT_COMMENT_ON_MAINTAINERS",
    "INPUT_REPORT",
]  # fmt: skip


def test_nothing_set_means_the_defaults_of_the_documentation():
    assert parse_inputs({}) == (Inputs(0.75, 0.92, 3, "triage-index", False, (), False, close_after=0), [])


def test_every_input_is_read_by_its_name():
    values = ["0.5", "0.9", "20", "bots/index", "true", "acme/api, acme/web", "yes", "72", "on", "both"]
    inputs, warnings = parse_inputs(dict(zip(NAMES, values, strict=True)))
    assert inputs == Inputs(0.5, 0.9, 20, "bots/index", True, ("acme/api", "acme/web"), True, True, 72, "both")
    assert warnings == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("SIMILARITY_THRESHOLD", value) for value in ("-0.1", "1.1", "92", "nan", "inf", "high", "0,75")),
        *(("MAX_RESULTS", value) for value in ("0", "21", "-1", "5.5", "five", "9" * 400, "²")),
        *(("CLOSE_AFTER", value) for value in ("-1", "8761", "1.5", "soon", "9" * 400, "²")),
        *(
            ("INDEX_BRANCH", value)
            for value in ("a b", "-x", "a..b", "a//b", "a.lock", "a/", "x\ny", "refs/heads/main", "a@{1}", "é")
        ),
        ("APPLY_LABELS", "perhaps"), ("DRY_RUN", "2"), ("ALSO", "https://example.com/x"), ("ALSO", "justaname"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_a_warning_and_the_default(name, value):
    inputs, warnings = parse_inputs({f"INPUT_{name}": value})
    assert inputs == Inputs()
    assert len(warnings) == 1
    assert name.lower().replace("_", "-") in warnings[0]


def test_a_duplicate_threshold_below_the_other_is_raised_to_it():
    inputs, warnings = parse_inputs({"INPUT_SIMILARITY_THRESHOLD": "0.95"})
    assert inputs.duplicate_threshold == inputs.similarity_threshold == 0.95
    assert "duplicate-threshold" in warnings[0]


@given(st.lists(st.text(max_size=40), min_size=len(NAMES), max_size=len(NAMES)))
def test_any_text_at_all_gives_usable_inputs(values):
    inputs, _ = parse_inputs(dict(zip(NAMES, values, strict=True)))
    assert 0 <= inputs.similarity_threshold <= inputs.duplicate_threshold <= 1
    assert 1 <= inputs.max_results <= 20
    assert inputs.index_branch.strip("/") == inputs.index_branch
    assert not inputs.index_branch.startswith("-")


def test_the_comment_is_explained_on_the_page_of_the_copy_that_the_workflow_names():
    own = {"ABOUT_REPOSITORY": "acme/forgelore", "ABOUT_REF": "0123abc"}
    page = "https://github.com/acme/forgelore/blob/0123abc/docs/triage/comment.md"
    assert parse_inputs(own)[0].about == page
    assert parse_inputs({**own, "INPUT_ABOUT": "https://acme.example/bot"})[0].about == "https://acme.example/bot"
    for broken in ({"ABOUT_REPOSITORY": "acme"}, {"ABOUT_REF": ""}, {"ABOUT_REF": "a b"}):
        assert parse_inputs({**own, **broken})[0].about == ""
