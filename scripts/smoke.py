"""Build the wheel, install it alone into a new environment, and run the first commands a user would."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(work), str(ROOT))
        wheel = next(work.glob("*.whl"))
        venv.create(work / "env", with_pip=True)
        python = work / "env" / "bin" / "python"
        pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "runtime.txt"))
        run(*pip, "--no-deps", str(wheel))
        (work / "home").mkdir()
        for command in (["--help"], ["--version"], ["demo"], ["doctor", "--offline"], ["completion", "bash"]):
            run(
                str(python.parent / "forgelore"),
                *command,
                env={"HOME": str(work / "home"), "PATH": os.environ["PATH"]},
                cwd=work,
            )
        size = wheel.stat().st_size
        print(f"smoke: {wheel.name} ({size / 1e3:.0f} KB) works on its own")


def run(*command: str, **options) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
