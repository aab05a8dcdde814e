"""The version of the program, in one place; between two releases with the commit, as two commits have the same."""

__version__ = "0.1.0"


def describe_version() -> str:
    """Return the version, and the commit where the program runs from a clone: 0.1.0+g1a2b3c4d5e."""
    import os

    package = os.path.dirname(os.path.abspath(__file__))
    commit = _read_head(os.path.join(os.path.dirname(os.path.dirname(package)), ".git"))
    return f"{__version__}+g{commit[:10]}" if commit else __version__


def _read_head(place: str) -> str:
    """Return the commit that a clone stands at, read without git; "" where nothing says so."""
    import os
    from contextlib import suppress

    with suppress(OSError, UnicodeDecodeError):
        if os.path.isfile(place):  # a worktree names its folder
            place = os.path.join(os.path.dirname(place), _read(place).removeprefix("gitdir:").strip())
        head = _read(os.path.join(place, "HEAD"))
        if not head.startswith("ref:"):
            return head
        ref, shared = head.removeprefix("ref:").strip(), place
        if os.path.isfile(common := os.path.join(place, "commondir")):
            shared = os.path.join(place, _read(common))
        if os.path.isfile(os.path.join(shared, ref)):
            return _read(os.path.join(shared, ref))
        packed = _read(os.path.join(shared, "packed-refs"))
        return next((line.partition(" ")[0] for line in packed.splitlines() if line.endswith(f" {ref}")), "")
    return ""


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read().strip()
