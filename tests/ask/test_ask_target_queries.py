"""The example queries of the specification, end to end: sync from a local forge, index code, ask, check citations.

What a model would say is written by hand (`written.py`); everything else is real. This repository's own source is asked
too, with the transcript of `bench/tokens.py`.
"""

import json
import os
import pathlib
import shutil

import pytest

import forgelore
from ask.conftest import cite
from ask.written import WrittenTranscript
from clones.repositories import commit_files, git, make_repository
from servers.chat import ChatServer, call
from servers.github import GitHubServer, Token

ROOT = pathlib.Path(__file__).parents[2]
TOKEN = "target-query-token"
CODE = {
    "sdk/python/provider.py": '"""Resource providers of the Python SDK."""\n\n\nclass ResourceProvider:\n'
    '    """A provider creates, reads and deletes resources for the engine."""\n\n'
    '    def create(self, inputs):\n        """Return the new resource\'s id and its outputs."""\n'
    "        raise NotImplementedError\n",
    "sdk/nodejs/provider.ts": "export class ResourceProvider {\n  create(inputs) { return null }\n}\n",
    "pkg/auth/session.py": '"""Authentication: who is signed in."""\n\n\ndef sign_in(user, password):\n'
    '    """Check the password, and open a session. Authentication happens here and nowhere else."""\n    return user\n',
}
ARGUMENTS = [
    {"note": "", "get": "#{change}"},
    {"note": "A change with a review.", "read": "#{change}"},
    {
        "answer": "The lock is taken before the state is read [1]. ben fears a deadlock with imports [2]; ana answers"
        " that imports take it too [3].",
        "cite": [
            ["#{change}", "Take the lock before the state is read"],
            ["#{change}", "this can deadlock with an import"],
            ["#{change}", "imports take the same lock"],
        ],
    },
]
DISCUSSIONS = [
    {"note": "", "search": {"keywords": "state locking", "types": ["discussion"]}},
    {"note": "", "read": "#{discussion}"},
    {
        "answer": "There is one: whether state locking should be optional [1]. cleo wants to turn it off for CI [2].",
        "cite": [["#{discussion}", "Should state locking be optional?"], ["#{discussion}", "turn it off for CI"]],
    },
]
PROVIDERS = [
    {"note": "", "search": {"keywords": "resource provider", "types": ["code"], "path": "sdk/python/**.py"}},
    {"note": "", "read": "sdk/python/provider.py"},
    {
        "answer": "A provider creates, reads and deletes resources [1]; create returns id and outputs [2].",
        "cite": [
            ["sdk/python/provider.py", "A provider creates, reads and deletes resources"],
            ["sdk/python/provider.py", "Return the new resource's id and its outputs."],
        ],
    },
]
AUTHENTICATION = [
    {"note": "", "search": {"keywords": "main authentication logic"}},
    {"note": "", "read": "pkg/auth/session.py"},
    {
        "answer": "In pkg/auth/session.py, and nowhere else [1].",
        "cite": [["pkg/auth/session.py", "Authentication happens here and nowhere else."]],
    },
]


def open_history(tmp_path, model, **environ):
    kept = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "FORGELORE_EMBEDDER": "none"}
    llm = {"FORGELORE_LLM_BASE_URL": model.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
    return forgelore.open(tmp_path / "lore.db", create=True, environ=kept | llm | environ)


def ask(history, model, question, turns, **filters):
    """Ask with a transcript, and return the answer after everything about it was checked that holds for all of them."""
    model.replies = written = WrittenTranscript(turns)
    found = history.ask(question, strict=True, **filters)
    assert written.problems == []
    assert found.ended_by == "answer", found.problem
    assert all(call.result or call.tool == "answer" for step in found.steps for call in step.calls)
    assert {one.status for one in found.citations} == {"found"}
    assert all(claim.is_checked for claim in found.claims)
    for one in found.citations:
        key = next(call for step in found.steps for call in step.calls if call.id == one.id)
        assert key.first_line <= one.first_line
    assert history.questions.replay(found.session).citations == found.citations
    return found


@pytest.fixture
def model():
    with ChatServer() as server:
        yield server


@pytest.fixture
def synced(tmp_path, model):
    """A project on a local forge, with a reviewed change and a discussion, synced; and its code, from a clone."""
    with GitHubServer() as forge:
        forge.tokens[TOKEN] = Token("ana", "Ana")
        project = forge.add_project("acme/web")
        change = project.add_change("Lock the state", "Take the lock before the state is read.", files=["pkg/state.py"])
        asked = project.review_comment(change, "Careful: this can deadlock with an import.", author="ben")
        project.review_comment(change, "No, imports take the same lock.", author="ana", reply_to=asked)
        topic = project.add_discussion("Should state locking be optional?", "It slows down large stacks.")
        project.discussion_comment(topic, "I want to turn it off for CI.", author="cleo")
        project.add_discussion("Which logo?", "The blue one.")
        repository = make_repository(tmp_path / "clone", CODE)
        git(repository, "remote", "add", "origin", "https://github.com/acme/web.git")
        with open_history(tmp_path, model, GITHUB_TOKEN=TOKEN, GITHUB_API_URL=forge.api_url) as history:
            history.sync.run("acme/web")
            history.index.code(str(repository))
            yield history, {"change": change, "discussion": topic}


@pytest.mark.parametrize(
    ("question", "turns", "cited"),
    [
        ("How do resource providers work in the SDK? Focus on the Python SDK.", PROVIDERS, "sdk/python/provider.py"),
        ("Where is the main authentication logic handled?", AUTHENTICATION, "pkg/auth/session.py"),
        ("Summarize the arguments in PR #{change}.", ARGUMENTS, "Lock the state"),
        ("Find discussions related to 'state locking'.", DISCUSSIONS, "Should state locking be optional?"),
    ],
)
def test_the_target_queries_work_on_a_local_forge(synced, model, question, turns, cited):
    history, numbers = synced
    text = json.dumps(turns)
    for name, number in numbers.items():
        text, question = text.replace(f"{{{name}}}", str(number)), question.replace(f"{{{name}}}", str(number))
    found = ask(history, model, question, json.loads(text))
    assert {one.title for one in found.citations} == {cited}


def test_this_repository_answers_where_its_authentication_is(tmp_path, model):
    """On its own source, as it is now: the lines of the citations are those of the working tree."""
    copy = tmp_path / "clone"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    commit_files(make_repository(copy), {"README.md": (ROOT / "README.md").read_bytes()})
    git(copy, "add", "--all")
    commit_files(copy, {}, "State")
    transcripts = map(json.loads, (ROOT / "bench/ask_transcripts.jsonl").read_text(encoding="utf-8").splitlines())
    (transcript,) = (one for one in transcripts if one["name"] == "authentication")
    with open_history(tmp_path, model) as history:
        history.index.code(str(copy), project="forgelore/forgelore")
        found = ask(history, model, transcript["question"], transcript["turns"], project="forgelore/forgelore")
    for one in found.citations:
        lines = (ROOT / one.title).read_text(encoding="utf-8").splitlines()
        assert one.quote in lines[one.first_line - 1]


def test_a_file_is_read_and_cited_by_its_path(synced, model, tmp_path):
    history, _ = synced
    path, quote = "pkg/auth/session.py", "Authentication happens here and nowhere else."
    model.replies = [
        call("get", ref=path),
        call("read", id=f"./{path}", call_id="call_2"),
        call("answer", text="Here [1].", citations=[cite(path, 5, 5, quote)], call_id="call_3"),
    ]
    found = history.ask("where?")
    assert "type: file" in found.steps[0].calls[0].result
    assert quote in found.steps[1].calls[0].result
    assert (found.citations[0].status, found.citations[0].title) == ("found", path)
    history.index.code(str(tmp_path / "clone"), project="acme/other")
    model.replies = [call("read", id=path), call("answer", text="No.")]
    (refused,) = history.ask("where?").steps[0].calls
    assert "exists in several projects (choose one: file:" in refused.problem
    model.replies = [call("read", id=path), call("answer", text="No.")]
    assert history.ask("where?", project="acme/other").steps[0].calls[0].result
