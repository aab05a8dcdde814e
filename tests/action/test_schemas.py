"""action.yml, the workflows and the GitLab recipe against the official schemas, and what the schemas cannot say."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from action.expressions import evaluate
from action.runner import ROOT, load
from forgelore.llm_settings import variable_of
from forgelore.triage.events import Inputs

TRIAGE = ROOT / "docs" / "triage"
DETECT_NEW = TRIAGE / "detect-new.yml"
WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    TRIAGE / "triage.yml",
    TRIAGE / "split.yml",
    DETECT_NEW,
    ROOT / "docs" / "pages" / "github.yml",
]
FOR_USERS = [TRIAGE / "triage.yml", TRIAGE / "split.yml"]
WRITES = {"contents": "write", "issues": "write", "pull-requests": "write"}
READS = dict.fromkeys(WRITES, "read")


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-actions", [ROOT / "action.yml"]),
        ("github-workflows", WORKFLOWS),
        ("gitlab-ci", [TRIAGE / "gitlab-ci.yml", ROOT / "docs" / "pages" / "gitlab.yml"]),
    ],
)
def test_the_official_schema_accepts(schema, files):
    how = ["--builtin-schema", f"vendor.{schema}"]
    how += ["--data-transform", "gitlab-ci"] if schema == "gitlab-ci" else []
    command = [sys.executable, "-m", "check_jsonschema", *how, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", FOR_USERS, ids=lambda path: path.name)
def test_no_event_is_dropped_while_another_is_worked_on(path):
    queue = load(path)["concurrency"]
    assert queue == {"group": "forgelore-triage", "queue": "max", "cancel-in-progress": False}


@pytest.mark.parametrize("path", FOR_USERS, ids=lambda path: path.name)
def test_a_workflow_listens_to_all_that_moves_an_item(path):
    on = load(path)[True]
    assert on["issues"]["types"] == ["opened", "edited", "reopened", "closed", "deleted", "transferred", "labeled"]
    assert on["pull_request_target"]["types"] == ["opened", "edited", "synchronize", "reopened", "closed"]
    assert on["issue_comment"]["types"] == ["created"]
    assert set(on) == {"issues", "pull_request_target", "issue_comment", "schedule", "workflow_dispatch"}
    first = next(iter(load(path)["jobs"].values()))
    assert "startsWith(github.event.comment.body, '/forgelore')" in first["if"], "other comments start no job"


def test_the_plain_workflow_asks_for_three_permissions():
    told = load(TRIAGE / "triage.yml")
    assert told["permissions"] == {}
    assert [job["permissions"] for job in told["jobs"].values()] == [WRITES]


def test_in_split_mode_the_reader_cannot_write():
    read, write = load(TRIAGE / "split.yml")["jobs"].values()
    assert (read["permissions"], write["permissions"]) == (READS, WRITES)
    assert write["needs"] == "read"
    given = [[step.get("with", {}) for step in job["steps"] if "forgelore" in step["uses"]] for job in (read, write)]
    assert [[sorted(inputs) for inputs in job] for job in given] == [
        [["cache", "emit"]],
        [["apply", "cache"], ["cache"]],
    ]
    assert {inputs["cache"] for job in given for inputs in job} == {"false"}  # any job may write to it, the reader too
    assert not any("env" in step for step in (*read["steps"], *write["steps"]))  # where a model's key would be


def test_a_model_belongs_to_the_reader_and_nobody_asks_one_unless_told():
    """The files name none. The page shows where one is named: in the job that cannot write."""
    assert "model" not in (TRIAGE / "split.yml").read_text(encoding="utf-8")
    assert not {name for name in Inputs._fields if "model" in name or "judge" in name}, "an input would reach both jobs"
    section = (TRIAGE / "README.md").read_text(encoding="utf-8").partition("## Split mode")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    (job,) = yaml.safe_load(block).items()
    assert job[0] == "read"
    assert {variable_of("default", name) for name in ("base_url", "model", "api_key_env")} < set(job[1]["env"])


def test_the_example_of_detect_new_reads_and_writes_in_two_jobs():
    told = load(DETECT_NEW)
    read, write = told["jobs"].values()
    assert told["permissions"] == {}
    assert (read["permissions"], write["permissions"]) == (READS, {"issues": "write"})
    assert "secrets" not in str(write)
    assert not any(name.startswith("FORGELORE_LLM") for name in write["env"])
    assert f"ref: {PLACEHOLDER}" in DETECT_NEW.read_text(encoding="utf-8")
    scripts = "".join(step.get("run", "") for job in (read, write) for step in job["steps"])
    assert "${{" not in scripts, "what strangers wrote must not become part of a script"


GOOD = {"outcome": "duplicate", "target": 12, "title": "x\noutcome=not_duplicate"}


@pytest.mark.parametrize(
    ("data", "taken"),
    [
        (GOOD, "outcome=duplicate\ntarget=12\n"),
        (GOOD | {"outcome": "not_duplicate", "target": None}, "outcome=not_duplicate\ntarget=\n"),
        (GOOD | {"outcome": "duplicate\ntarget=7"}, ""),
        (GOOD | {"target": "12; rm -rf /"}, ""),
        (GOOD | {"target": -1}, ""),
    ],
)
def test_nothing_but_a_known_word_and_a_number_leaves_the_reader(tmp_path, data, taken):
    (step,) = [one for one in load(DETECT_NEW)["jobs"]["read"]["steps"] if one.get("id") == "outcome"]
    (tmp_path / "found.json").write_text(json.dumps({"ok": True, "data": data}))
    environ = {
        "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(tmp_path / "out"),
    }
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert (done.returncode == 0) == bool(taken), done.stderr
    assert (tmp_path / "out").read_text() == taken


def test_the_example_asks_what_the_program_answers():
    """The keys that it reads are in the schema, and the words are all that it can say."""
    schema = json.loads((ROOT / "docs/json/dedupe-detect-new.schema.json").read_text())
    text = json.dumps(schema)
    assert '"enum": ["duplicate", "maybe_duplicate", "not_duplicate"]' in text
    assert '"target": {' in text


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_what_others_wrote_is_pinned_by_commit(path):
    used = re.findall(r"^ +(?:- )?uses: (\S+)( # .+)?$", path.read_text(), re.MULTILINE)
    others = [(name, comment) for name, comment in used if not name.startswith("forgelore/")]
    pinned = r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert all(re.fullmatch(pinned, name + comment) for name, comment in others), others
    assert len(used) == len(re.findall(r"^ +(?:- )?uses:", path.read_text(), re.MULTILINE))


PLACEHOLDER = 'COMMIT # your copy and its commit: README.md, "From a commit"'


def test_the_files_to_copy_claim_no_release_that_is_not_there():
    """Nobody can use a tag before it exists: the place for a commit is marked as such, and the page says what to do."""
    for path in FOR_USERS:
        assert set(re.findall(r"forgelore/forgelore@(.+)", path.read_text())) == {PLACEHOLDER}
    assert re.findall(r"FORGELORE_COMMIT: (.+)", (TRIAGE / "gitlab-ci.yml").read_text()) == [PLACEHOLDER]
    page = (TRIAGE / "README.md").read_text()
    assert "### From a commit" in page
    assert "git rev-parse HEAD" in page


def test_no_page_names_a_tag_of_ours():
    tags = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for path in [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.*") if path.suffix != ".png")]:
        named = re.findall(r"forgelore(?:\.git)?@(v[\d.]+)", path.read_text(encoding="utf-8"))
        assert set(named) <= set(tags), path.name


def test_action_recipe_and_program_have_the_same_defaults():
    default = Inputs()
    wanted = {
        "similarity-threshold": f"{default.similarity_threshold:g}",
        "duplicate-threshold": f"{default.duplicate_threshold:g}",
        "max-results": str(default.max_results),
        "index-branch": default.index_branch,
        "apply-labels": "true" if default.apply_labels else "false",
        "also": " ".join(default.also),
        "dry-run": "true" if default.dry_run else "false",
    }
    declared = {name: told["default"] for name, told in load(ROOT / "action.yml")["inputs"].items()}
    assert {name: declared[name] for name in wanted} == wanted
    assert set(declared) - set(wanted) == {
        "token",
        "cache",
        "emit",
        "apply",
        "close-after",
        "report",
        "about",
        "comment-on-maintainers",
        "report-similar",
        "digest-issue",
        "label-close",
        "thresholds",
    }
    assert declared["close-after"] == str(default.close_after) == "0"
    given = load(TRIAGE / "gitlab-ci.yml")["forgelore-triage"]["variables"]
    assert {f"INPUT_{name.upper().replace('-', '_')}": value for name, value in wanted.items()}.items() <= given.items()


def test_every_input_reaches_the_program():
    action = load(ROOT / "action.yml")
    [triage] = [step for step in action["runs"]["steps"] if step.get("id") == "triage"]
    passed = triage["env"].values()
    assert all(f"${{{{ inputs.{name} }}}}" in passed for name in action["inputs"])


def test_only_the_step_that_triages_gets_the_token():
    steps = load(ROOT / "action.yml")["runs"]["steps"]
    assert [step["name"] for step in steps if "token" in str(step).lower()] == ["Triage"]


def test_what_is_kept_in_a_cache_is_fetched_under_the_beginning_of_its_key():
    given = [
        step["with"] for step in load(ROOT / "action.yml")["runs"]["steps"] if "actions/cache/" in step.get("uses", "")
    ]
    fetched, saved = given
    assert (fetched["path"], fetched["key"]) == (saved["path"], saved["key"])
    assert saved["key"].startswith(fetched["restore-keys"])
    assert "github.run_id" in saved["key"]  # a key is written once


def test_inputs_and_outputs_are_documented():
    action = load(ROOT / "action.yml")
    text = (TRIAGE / "README.md").read_text()
    for name in [*action["inputs"], *action["outputs"]]:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("path", FOR_USERS, ids=lambda path: path.name)
@pytest.mark.parametrize(
    ("body", "association", "is_run"),
    [
        ("/forgelore ignore", "MEMBER", True), ("/forgelore ignore", "NONE", False), ("thanks", "OWNER", False),
        ("I said /forgelore ignore", "OWNER", False),
    ],
)  # fmt: skip
def test_only_a_command_of_somebody_of_the_project_starts_a_job(path, body, association, is_run):
    event = {"comment": {"body": body, "author_association": association}}
    first = next(iter(load(path)["jobs"].values()))
    assert bool(evaluate(first["if"], {"github": {"event_name": "issue_comment", "event": event}})) is is_run
    assert evaluate(first["if"], {"github": {"event_name": "issues", "event": {}}})
