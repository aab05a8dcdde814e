"""Repositories for tests, made by the real git: files as bytes, odd entries by plumbing."""

import os
import pathlib
import subprocess

WHEN = "2024-03-01T12:00:00+00:00"


def git(folder, *words, feed=None, **more):
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_LITERAL_PATHSPECS": "1",
        "GIT_AUTHOR_NAME": "Ana Lind", "GIT_AUTHOR_EMAIL": "12+ana@users.noreply.github.com",
        "GIT_COMMITTER_NAME": "Ana Lind", "GIT_COMMITTER_EMAIL": "ana@example.org",
        "GIT_AUTHOR_DATE": WHEN, "GIT_COMMITTER_DATE": WHEN, **more,
    }  # fmt: skip
    done = subprocess.run(["git", *words], cwd=folder, env=environ, input=feed, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def make_repository(folder, files=None, message="Begin"):
    """Return the folder of a new repository; with files, they are its first commit."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    if files is not None:
        commit_files(folder, files, message)
    return folder


def commit_files(folder, files, message="Change", gone=(), **environ):
    """Commit files (path -> text or bytes), and return the commit."""
    for path, content in files.items():
        target = pathlib.Path(folder, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    if files:
        git(folder, "add", "--force", "--", *files)
    for path in gone:
        git(folder, "rm", "--quiet", "--", path)
    git(folder, "commit", "--quiet", "--allow-empty", "--no-gpg-sign", "-m", message, **environ)
    return git(folder, "rev-parse", "HEAD")


def commit_entries(folder, entries, message="Odd"):
    """Commit a tree of raw entries (mode, type, id, path): what no checkout would hold. Returns the commit."""
    tree = git(folder, "mktree", "-z", "--missing", feed=b"".join(
        f"{mode} {kind} {blob}\t".encode() + (path if isinstance(path, bytes) else path.encode()) + b"\0"
        for mode, kind, blob, path in entries
    ))  # fmt: skip
    commit = git(folder, "commit-tree", tree, "-m", message)
    git(folder, "update-ref", "refs/heads/main", commit)
    return commit


def write_blob(folder, content):
    return git(folder, "hash-object", "-w", "--stdin", feed=content)
