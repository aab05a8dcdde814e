"""Build the wheel, install it alone into a new environment, and run the first commands a user would. Then add an extra
from the clone, as README says.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        as_released = {**os.environ, "FORGELORE_MINILM": ">=0.1.0"}
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", name, str(ROOT), env=as_released)
        wheel = next(work.glob("*.whl"))
        if "file:" in metadata_of(wheel):
            sys.exit("the wheel names a folder of this machine")
        venv.create(work / "env", with_pip=True)
        python = work / "env" / "bin" / "python"
        pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "runtime.txt"))
        run(*pip, "--no-deps", str(wheel))
        (work / "home").mkdir()
        for command in (["--help"], ["--version"], ["demo"], ["doctor", "--offline"], ["completion", "bash"]):
            try_out(work, *command)
        # Versions as locked; the lock itself cannot be used, since a folder has no hash.
        locked = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
        (work / "versions.txt").write_text(re.sub(r" \\\n +--hash=\S+", "", locked), encoding="utf-8")
        run(*pip, "--constraint", str(work / "versions.txt"), f"{ROOT}[minilm]")
        try_out(work, "demo", "--keep", "demo.db")
        try_out(work, "embed", "--embedder", "minilm", "--db", "demo.db")
        size = wheel.stat().st_size
        print(f"smoke: {wheel.name} ({size / 1e3:.0f} KB) works on its own")


def metadata_of(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as file:
        return file.read(next(one for one in file.namelist() if one.endswith("/METADATA"))).decode()


def try_out(work: Path, *words: str) -> None:
    environ = {"HOME": str(work / "home"), "PATH": os.environ["PATH"]}
    run(str(work / "env" / "bin" / "forgelore"), *words, env=environ, cwd=work)


def run(*command: str, **options) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
