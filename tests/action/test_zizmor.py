"""zizmor looks for what makes workflows unsafe. Everything it says is either mended or answered in zizmor.yml."""

import json
import os
import re
import subprocess
import sys

import pytest

from action.runner import ROOT

FILES = [
    "action.yml",
    ".github/workflows",
    "docs/triage/triage.yml",
    "docs/triage/split.yml",
    "docs/triage/detect-new.yml",
    "docs/pages/github.yml",
]
BIN = os.path.join(sys.prefix, "bin", "zizmor")


def zizmor(*arguments, cwd=ROOT):
    command = [BIN, "--offline", "--quiet", "--strict-collection", "--persona", "pedantic", "--format", "json"]
    done = subprocess.run([*command, *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return [
        (finding["ident"], [place["symbolic"]["key"] for place in finding["locations"]])
        for finding in json.loads(done.stdout)
    ]


def test_nothing_is_found_that_is_not_answered():
    assert zizmor("--config", str(ROOT / "zizmor.yml"), *FILES) == []


def test_the_answers_are_about_what_is_found():
    """Without our answers there are these two kinds of findings: an answer to anything else would hide something."""
    found = {ident for ident, _ in zizmor("--no-config", *FILES)}
    assert found == {"dangerous-triggers", "unpinned-uses"}
    answered = re.findall(r"^  ([a-z-]+):$", (ROOT / "zizmor.yml").read_text(), re.MULTILINE)
    assert set(answered) == found


@pytest.mark.parametrize(
    ("before", "after", "ident"),
    [
        ("@cdf6c1fa76f9f475f3d7449005a359c84ca0f306", "@v5", "unpinned-uses"),
        ('echo "key=$key"', 'echo "key=${{ github.event.issue.title }}"', "template-injection"),
    ],
)
def test_it_would_find_a_mistake_in_the_action(tmp_path, before, after, ident):
    """A check that cannot fail is none."""
    text = (ROOT / "action.yml").read_text()
    assert before in text
    (tmp_path / "action.yml").write_text(text.replace(before, after))
    found = zizmor("--config", str(ROOT / "zizmor.yml"), "action.yml", cwd=tmp_path)
    assert ident in {name for name, _ in found}
