"""The same commands on a file and on a PostgreSQL server print the same."""

import re

import pytest

import postgres

PROJECT = "lanternsync/lantern"
SAME = [
    ["count", "issues"],
    ["list", "issues", "--state", "open", "--label", "bug", "--sort", "updated"],
    ["list", "changes", "--state", "merged", "--limit", "5"],
    ["list", "discussions", "--json"],
    ["count", "notes"],
    ["show", "#41"],
    ["search", "why do removed files return", "--type", "issue"],
    ["search", "chunk cache", "--mode", "lexical", "--limit", "30"],
    ["search", "cache memory restart crash", "--mode", "semantic"],
    ["search", '"removed files" -cache path:src/ author:mira'],
    ["similar", "#157", "--earlier"],
    ["similar", "#12", "--json"],
    ["export", "--project", PROJECT, "--include-internal"],
]


@pytest.mark.postgres
def test_a_server_answers_as_a_file_does(cli, demo_file):
    address = postgres.empty_database()
    answers = {}
    for engine, words in (("sqlite", ["--db", "lore.db"]), ("postgres", ["--db", address])):
        assert cli("import", demo_file, "--project", PROJECT, *words, FORGELORE_EMBEDDER="lore").code == 0
        answers[engine] = [cli(*command, *words) for command in SAME]
    for command, one, other in zip(SAME, answers["sqlite"], answers["postgres"], strict=True):
        assert (other.code, timeless(other.out), other.err) == (0, timeless(one.out), one.err), command


def timeless(out):
    return re.sub(r'"(?:took_ms|seconds|elapsed_ms|duration_ms)": [\d.]+', "", out)


@pytest.mark.postgres
def test_a_sync_fills_a_server_and_says_nothing_new_the_next_time(cli, github, github_env):
    address = postgres.empty_database()
    github.server.populate("acme/web", seed=3, issues=20, changes=10, discussions=3)
    exported = []
    for db in ("lore.db", address):
        done = cli("sync", "acme/web", "--db", db, **github_env)
        assert (done.code, "20 issues, 10 changes, 3 discussions" in done.out) == (0, True)
        exported.append(cli("export", "--project", "acme/web", "--include-internal", "--db", db).out)
    assert exported[0] == exported[1]
    github.server.clock.advance(3600)
    assert "nothing new" in cli("sync", "acme/web", "--db", address).out


@pytest.mark.postgres
def test_a_password_in_an_address_is_refused_and_not_repeated(cli):
    done = cli("count", "issues", "--db", "postgresql://ann:s3cret@localhost/x")
    assert (done.code, "PGPASSWORD" in done.err, "s3cret" in done.out + done.err) == (3, True, False)


@pytest.mark.postgres
def test_what_is_not_there_yet_is_refused(cli, demo_file):
    address = postgres.empty_database()
    assert cli("import", demo_file, "--project", PROJECT, "--db", address).code == 0
    for command in (["stats", "--check"], ["serve"], ["mcp"]):
        done = cli(*command, "--db", address)
        assert (done.code, "not there on PostgreSQL yet" in done.err) == (20, True), command
