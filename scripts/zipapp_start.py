"""What a forgelore-*.pyz does first: unpack itself once into the user's cache, then run the command line from there.

It becomes the archive's __main__.py. Compiled modules cannot be loaded out of a zip file, hence the unpacking; and they
fit one Python and one platform, hence the check. Older Pythons must be able to read this file to be told so.
"""

import json
import os
import sys
import tempfile
import zipfile


def built_for():
    """What compiled modules have to fit: cpython-311-x86_64-linux-gnu, cpython-313-darwin-arm64."""
    place = getattr(sys.implementation, "_multiarch", "") or sys.platform
    machine = os.uname().machine if hasattr(os, "uname") else ""
    return "-".join((sys.implementation.cache_tag, place) + (() if machine in place else (machine,)))


def main():
    archive = os.path.dirname(os.path.abspath(__file__))
    with zipfile.ZipFile(archive) as opened:
        told = json.loads(opened.read("built.json").decode())
        if told["built_for"] != built_for():
            sys.exit(
                f"{os.path.basename(archive)} was built for {told['built_for']}, and this is {built_for()}:"
                " take the file for it, or pip install forgelore"
            )
        sys.path.insert(0, unpack(opened, told["sum"]))
    from forgelore.surfaces.cli.main import main as run

    sys.exit(run())


def unpack(archive, name):
    """Return the folder with the archive's modules. The name is their sum, and a folder appears whole or not at all."""
    root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "forgelore", "pyz")
    folder = os.path.join(root, name)
    if not os.path.isdir(folder):
        os.makedirs(root, mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root) as part:
            archive.extractall(part, [entry for entry in archive.namelist() if entry.startswith("site/")])
            try:
                os.rename(os.path.join(part, "site"), folder)
            except OSError:  # another process was faster
                if not os.path.isdir(folder):
                    raise
    return folder


if __name__ == "__main__":
    main()
