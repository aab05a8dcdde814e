"""Searching code and commits: what is found, at which line, and that nothing else changes."""

import io
import json

import pytest

from clones.repositories import commit_files, git
from forgelore.errors import InvalidValue
from forgelore.index.update import index_items
from forgelore.sync.archive import import_lines

ITEMS = [
    {"kind": "issue", "number": 1, "title": "Retry is missing", "body": "Please retry on timeout.", "author": "mira",
     "notes": [{"author": "bo", "body": "First.\n\nThe socket\nwaits on timeout too."}]},
    {"kind": "issue", "number": 2, "title": "Other", "body": "Nothing of that."},
    {"kind": "release", "number": 3, "title": "1.0", "tag": "v1.0", "body": "Sockets retry."},
    {"kind": "discussion", "number": 4, "title": "Sockets", "body": "Which sockets retry?"},
]  # fmt: skip


@pytest.fixture
def indexed(lore, repository):
    commit_files(
        repository,
        {"src/net/retry.py": "def retry_on_timeout(call):\n    return call()\n"},
        "Retry on timeout\n\nSockets hang, see #1.",
    )
    lore.index.code(str(repository), project="acme/web")
    return lore


@pytest.fixture
def both(indexed):
    lines = io.BytesIO("".join(json.dumps(item) + "\n" for item in ITEMS).encode())
    import_lines(indexed.app.store(), indexed.app.parse_project("acme/web"), lines, 0)
    index_items(indexed.app.store(), [1])
    return indexed


def test_a_definition_is_found_at_its_line_with_its_page(indexed, repository):
    hit = indexed.search("open_socket", type="code").hits[0]
    commit = git(repository, "rev-parse", "HEAD")
    assert (hit.kind, hit.ref, hit.line, hit.symbol) == ("file", "src/net/conn.py", 6, "open_socket")
    assert hit.url == f"https://github.com/acme/web/blob/{commit}/src/net/conn.py#L6"
    assert "def open_socket(host):" in hit.snippet.text
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.marks] == ["open_socket"]


def test_words_of_a_docstring_are_found_at_their_line(indexed):
    hit = indexed.search("retry after a timeout of sockets", type="code", path="src/net/conn.py").hits[0]
    assert hit.line == 7


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/**/*.py", {"src/net/conn.py", "src/net/retry.py"}), ("src/**.go", {"src/util.go"}), ("src/*.py", set()),
        ("src/", {"src/net/conn.py", "src/net/retry.py", "src/util.go"}), ("README.md", {"README.md"}),
    ],
)  # fmt: skip
def test_paths_are_globs(indexed, path, found):
    assert {hit.ref for hit in indexed.search("", type="code", path=path).hits} == found
    assert {hit.ref for hit in indexed.search(f"type:code path:{path}").hits} == found


def test_commits_are_found_by_message_author_and_path(indexed):
    hit = indexed.search("sockets hang", type="commit").hits[0]
    assert (hit.kind, hit.title, hit.author) == ("commit", "Retry on timeout", "ana")
    assert hit.url == f"https://github.com/acme/web/commit/{indexed.read_text(hit.key).text.split('Commit: ')[1][:40]}"
    assert [one.title for one in indexed.search("", type="commit").hits] == ["Retry on timeout", "Begin"]
    assert [one.title for one in indexed.search("", type="commit", path="src/net/retry.py").hits] == [
        "Retry on timeout"
    ]
    assert len(indexed.search("type:commit author:ana").hits) == 2
    assert indexed.search("type:commit author:nobody").hits == []
    assert indexed.search("type:commit created:>2025").hits == []


def test_a_search_without_a_type_finds_no_code_and_ranks_as_before(both, tmp_path):
    import forgelore

    with forgelore.open(tmp_path / "plain.db", create=True, environ=dict(both.app.environ)) as plain:
        lines = io.BytesIO("".join(json.dumps(item) + "\n" for item in ITEMS).encode())
        import_lines(plain.app.store(), plain.app.parse_project("acme/web"), lines, 0)
        index_items(plain.app.store(), [1])
        for text in ("retry", "timeout", "sockets retry", "open_socket"):
            ours, theirs = both.search(text), plain.search(text)
            assert [(hit.ref, hit.score, hit.relevance, hit.line) for hit in ours.hits] == [
                (hit.ref, hit.score, hit.relevance, hit.line) for hit in theirs.hits
            ]
            assert (ours.total, ours.warnings) == (theirs.total, theirs.warnings)


def test_all_types_take_turns(both):
    answer = both.search("retry timeout", type="all")
    assert [hit.kind for hit in answer.hits[:3]] == ["issue", "file", "commit"]
    assert {hit.kind for hit in both.search("retry", type=["code", "issue"]).hits} == {"issue", "file"}
    pages = [both.search("retry", type="all", limit=2, offset=at) for at in (0, 2, 4)]
    whole = both.search("retry", type="all", limit=6)
    assert [hit.key for page in pages for hit in page.hits] == [hit.key for hit in whole.hits]
    assert pages[0].next_page


def test_releases_and_discussions_are_documents(both):
    assert [hit.ref for hit in both.search("sockets", type="release").hits] == ["v1.0"]
    assert "#4" in [hit.ref for hit in both.search("sockets", type="discussion").hits]


def test_lines_of_items_and_threads_are_those_of_their_reading_text(both):
    hits = {hit.ref: hit for hit in both.search("timeout socket").hits}
    read = both.read_text(hits["#1"].key)
    assert read.lines[hits["#1"].line - 1] in ("waits on timeout too.", "Please retry on timeout.", "The socket")
    thread = both.search("waits", type="thread").hits[0]
    assert both.read_text(thread.key).lines[thread.line - 1] == "waits on timeout too."
    titled = both.search("missing").hits[0]
    assert titled.line is not None


def test_a_file_is_read_as_its_own_lines_and_a_commit_with_its_header(indexed, repository):
    hit = indexed.search("open_socket", type="code").hits[0]
    read = indexed.read_text(hit.key)
    assert "\n".join(read.lines) + "\n" == (repository / "src/net/conn.py").read_text()
    assert read.lines[hit.line - 1] == "def open_socket(host):"
    commit = indexed.read_text(indexed.search("sockets hang", type="commit").hits[0].key)
    assert commit.lines[0].startswith("[[Commit]] ")
    at = commit.lines.index("--- Files ---")
    assert commit.lines[at : at + 5] == ("--- Files ---", "", "src/net/retry.py", "", "--- Diff ---")


def test_phrases_exclusions_and_raw_syntax_hold_for_code(indexed):
    phrase = indexed.search('"retry on timeout"', type="code").hits
    assert {hit.ref for hit in phrase} == {"src/net/conn.py", "src/net/retry.py"}
    assert [hit.ref for hit in indexed.search("retry -socket", type="code").hits] == ["src/net/retry.py"]
    assert [hit.ref for hit in indexed.search("path: retry*", type="code", raw=True).hits] == ["src/net/retry.py"]
    with pytest.raises(InvalidValue):
        indexed.search("names: (", type="code", raw=True)


@pytest.mark.parametrize("text", ["'\"`;--", "日本語", "\0", "(((", "*", "a" * 20_000, "AND OR NOT", "::"])
def test_any_text_can_be_asked(indexed, text):
    indexed.search(text, type="all")


def test_what_files_cannot_have_is_told(indexed):
    answer = indexed.search("retry", type="code", label="bug")
    assert answer.hits == []
    assert "files have no labels" in answer.warnings
    with pytest.raises(InvalidValue, match="in:"):
        indexed.search("retry in:title", type="code")


def test_lists_and_comparisons_are_of_items(both):
    for kind in ("code", "commit", "all"):
        with pytest.raises(InvalidValue, match="unknown kind of item"):
            both.items(f"type:{kind}")
        with pytest.raises(InvalidValue, match="unknown kind of item"):
            both.similar("#1", type=kind)


def test_a_database_without_code_says_how_to_get_it(lore):
    answer = lore.search("retry", type="code")
    assert "index-code" in answer.warnings[0]


def test_meaning_alone_is_no_way_to_code_yet(indexed):
    assert indexed.search("retry", type="code", mode="hybrid").mode == "lexical"


def test_a_store_without_code_says_how_to_index_it_and_nothing_else(lore):
    lines = io.BytesIO("".join(json.dumps(item) + "\n" for item in ITEMS).encode())
    import_lines(lore.app.store(create=True), lore.app.parse_project("acme/web"), lines, 0)
    index_items(lore.app.store(), [1])
    found = lore.search("retry", type="code")
    assert (found.hits, found.is_nothing_indexed) == ([], False)  # a sync would bring no code
    assert found.warnings == ["no code is indexed yet; run: forgelore index-code"]
    assert lore.search("retry", type="all").hits
