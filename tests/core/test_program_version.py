"""Two commits of one version say which they are."""

import subprocess

from forgelore import version


def commit_in(folder, *, pack=False):
    def git(*words):
        return subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b", *words],
            cwd=folder, check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip

    if not (folder / ".git").exists():
        git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    if pack:
        git("pack-refs", "--all")
    return git("rev-parse", "HEAD"), git


def described(folder, monkeypatch):
    monkeypatch.setattr(version, "__file__", str(folder / "src" / "forgelore" / "version.py"))
    return version.describe_version()


def test_a_clone_adds_its_commit(tmp_path, monkeypatch):
    first, _ = commit_in(tmp_path)
    assert described(tmp_path, monkeypatch) == f"{version.__version__}+g{first[:10]}"
    second, git = commit_in(tmp_path, pack=True)
    assert described(tmp_path, monkeypatch) == f"{version.__version__}+g{second[:10]}" != f"{first[:10]}"
    git("checkout", "-q", "--detach")
    assert described(tmp_path, monkeypatch).endswith(second[:10])


def test_a_worktree_adds_its_own(tmp_path, monkeypatch):
    main, beside = tmp_path / "main", tmp_path / "beside"
    main.mkdir()
    _, git = commit_in(main)
    git("worktree", "add", "-q", "-b", "other", str(beside))
    commit, _ = commit_in(beside)
    assert described(beside, monkeypatch) == f"{version.__version__}+g{commit[:10]}"


def test_an_installed_program_has_its_version_alone(tmp_path, monkeypatch):
    assert described(tmp_path, monkeypatch) == version.__version__
