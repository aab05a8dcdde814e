"""Make dist/forgelore-VERSION-PYTHON-PLATFORM.pyz: forgelore and what it needs, one file for one Python and platform.

    python scripts/zipapp.py [FOLDER]

The libraries are those installed in the environment that runs this, and they must be the lock file's; nothing is
downloaded. The same environment gives the same bytes.
"""

import hashlib
import io
import json
import re
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement  # there is no other library in a user's environment
from zipapp_start import built_for

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "forgelore"
LOCK = ROOT / "requirements" / "runtime.txt"
EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip file's oldest time: archives differ by what is in them alone


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    folder.mkdir(parents=True, exist_ok=True)
    files = {**forgelore_files(), **library_files()}
    path = folder / f"forgelore-{version()}-{built_for()}.pyz"
    path.write_bytes(b"#!/usr/bin/env python3\n" + build_archive(files))
    path.chmod(0o755)
    print(f"{path.name}: {len(files)} files, {path.stat().st_size / 1e6:.1f} MB")


def version() -> str:
    return re.search(r'__version__ = "(.+)"', (SOURCE / "version.py").read_text())[1]


def forgelore_files() -> dict[str, Path]:
    found = {f"forgelore/{path.relative_to(SOURCE)}": path for path in SOURCE.rglob("*") if path.is_file()}
    legal = {f"forgelore-{version()}.dist-info/licenses/{name}": ROOT / name for name in ("LICENSE", "NOTICE")}
    return {name: path for name, path in {**found, **legal}.items() if is_wanted(name)}


def library_files() -> dict[str, Path]:
    """The files of every library that the lock file names for this Python, with their licences."""
    found: dict[str, Path] = {}
    for line in LOCK.read_text().splitlines():
        if not re.match(r"[a-z]", line):
            continue  # a hash
        wanted = Requirement(line.rstrip("\\ "))
        if wanted.marker is None or wanted.marker.evaluate():
            found |= distribution_files(wanted)
    return found


def distribution_files(wanted: Requirement) -> dict[str, Path]:
    installed = metadata.distribution(wanted.name)
    if not wanted.specifier.contains(installed.version, prereleases=True):
        sys.exit(f"{wanted.name} {installed.version} is installed, and the lock file wants {wanted.specifier}")
    return {str(file): Path(str(file.locate())) for file in installed.files or () if is_wanted(str(file))}


def is_wanted(name: str) -> bool:
    """Scripts outside of site-packages, compiled Python and the libraries' own tests stay out."""
    parts = name.split("/")
    return ".." not in parts and "__pycache__" not in parts and "tests" not in parts


def build_archive(files: dict[str, Path]) -> bytes:
    digest = hashlib.sha256()
    entries = []
    for name in sorted(files):
        content = files[name].read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
        entries.append((f"site/{name}", content))
    told = {"version": version(), "built_for": built_for(), "sum": digest.hexdigest()[:32]}
    entries += [("built.json", json.dumps(told).encode())]
    entries += [("__main__.py", (ROOT / "scripts" / "zipapp_start.py").read_bytes())]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
