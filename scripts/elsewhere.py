"""Run make in a copy of this tree whose path has blanks and letters beyond ASCII, as a user who is not root.

python scripts/elsewhere.py "demo" "suite MEASURED=tests/facts OTHERS=tests/cli"     one `make` each

Beside the copy, at the part of its path before the first blank, lies a folder that nothing may touch: a Makefile that
forgets to quote a path deletes it.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65534


def main(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        clone, beside, home = place / "my wörk" / "forgelore", place / "my" / "precious.txt", place / "home of nobody"
        copy_tree(clone)
        for folder in (beside.parent, home, place / "tmp"):
            folder.mkdir()
        beside.write_text("still here", encoding="utf-8")
        user = hand_over(place) if os.name == "posix" and os.geteuid() == 0 else {}
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("FORGELORE_", "MAKE"))}
        environ |= {"HOME": str(home), "TMPDIR": str(place / "tmp")}
        for line in lines:
            if subprocess.run(["make", *shlex.split(line)], cwd=clone, env=environ, check=False, **user).returncode:
                sys.exit(f"make {line} fails in a path with a blank, as user {user.get('user', os.getuid())}")
        if not beside.exists():
            sys.exit("a folder beside the clone is gone")


def copy_tree(target: Path) -> None:
    """Copy what is part of the repository: not what git ignores."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def hand_over(place: Path) -> dict:
    """Give a folder to nobody; return how to start a process of theirs."""
    for folder, _, files in os.walk(place):
        for path in (folder, *(os.path.join(folder, file) for file in files)):
            os.chown(path, NOBODY, NOBODY)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


if __name__ == "__main__":
    main(sys.argv[1:])
