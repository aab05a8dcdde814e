"""What building and testing may do to the machine of whoever clones this: delete nothing of theirs, tell nobody."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHELL_FILES = [
    ROOT / "Makefile",
    *sorted(path for path in (ROOT / ".ci").iterdir() if path.is_file()),
    *sorted((ROOT / ".github").rglob("*.yml")),
    *sorted((ROOT / "docs").rglob("*.yml")),
    ROOT / "action.yml",
]
PYTHON_FOLDERS = ("src", "packages", "scripts", "bench", "training", "tests")
REMOVAL = re.compile(r"\brm\s+(.*?)(?:&&|\|\||;|\||$)")
VARIABLE = re.compile(r"\$[({]?\w+")


def dangerous_removals(text):
    """Return the arguments of each `rm` that a blank in a path, or an empty variable, would turn against somebody."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        for arguments in REMOVAL.findall(line.split("#")[0]):
            is_recursive = re.search(r"(^|\s)-\w*[rR]", arguments)
            unquoted = re.sub(r'"[^"]*"', '""', arguments)
            if VARIABLE.search(unquoted) or (
                is_recursive and (VARIABLE.search(arguments) or re.search(r'[\s"]/', arguments))
            ):
                found.append(arguments.strip())
    return found


@pytest.mark.parametrize("path", SHELL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_rm_is_given_an_unquoted_variable_or_a_computed_folder(path):
    assert dangerous_removals(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("line", "is_dangerous"),
    [
        ("\trm -rf $(TRAFFIC) && mkdir -p $(TRAFFIC)", True),  # what deleted ~/my of a clone in ~/my work
        ('\trm -rf "$(TRAFFIC)"', True),
        ("\trm -r ${place}", True),
        ("\trm -f $$file", True),
        ("\trm -rf /var/cache/forgelore", True),
        ("\trm -rf build \\\n\t\t$(VENV)", True),
        ('\trm -f -- "$$file"', False),
        ("\trm -rf -- build/traffic && mkdir -p $(TRAFFIC)", False),
    ],
)
def test_a_removal_that_could_hit_another_folder_is_found(line, is_dangerous):
    assert bool(dangerous_removals(line)) == is_dangerous


def imports_of_onnxruntime():
    for folder in PYTHON_FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if any(name.split(".")[0] == "onnxruntime" for name in names):
                    yield f"{path.relative_to(ROOT)}:{type(node).__name__}"


def test_onnxruntime_is_imported_in_one_place_which_silences_it_first():
    """The other import is for the type checker alone. tests/cli/test_offline.py shows that the silence works."""
    place = "packages/minilm/src/forgelore_minilm/model.py"
    assert sorted(imports_of_onnxruntime()) == [f"{place}:Import", f"{place}:ImportFrom"]


@pytest.fixture
def environment(tmp_path):
    """Run scripts/environment.py of a tree whose lock files are empty; the interpreter may be replaced."""
    clone = tmp_path / "my wörk" / "clone"
    for name in ("scripts/environment.py", "pyproject.toml", "packages/minilm/pyproject.toml"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    text = (clone / "scripts" / "environment.py").read_text(encoding="utf-8")
    # Without our own packages, which pip would build: what is tried here is when an environment is made.
    text = re.sub(
        r"(?s)^PARTS = \{.*?^\}$", 'PARTS = {"demo": [], "dev": [], "training": []}', text, flags=re.MULTILINE
    )
    (clone / "scripts" / "environment.py").write_text(text, encoding="utf-8")

    def run(*, before="pass", part="demo"):
        code = f"import runpy, sys; {before}; sys.argv = ['environment.py', '.venv', {part!r}];"
        code += " runpy.run_path('scripts/environment.py', run_name='__main__')"
        return subprocess.run([sys.executable, "-c", code], cwd=clone, capture_output=True, text=True)

    run.venv = clone / ".venv"
    return run


def test_an_old_python_is_told_what_is_needed_before_anything_is_made(environment):
    done = environment(before="sys.version_info = (3, 10, 12, 'final', 0)")
    assert done.returncode == 1
    assert "forgelore needs Python 3.11 or newer" in done.stderr
    assert "is Python 3.10" in done.stderr
    assert not environment.venv.exists()


def test_an_environment_is_kept_for_its_interpreter_and_made_again_for_another(environment):
    assert environment().returncode == 0
    mark = environment.venv / "mark"
    mark.touch()
    assert environment(part="dev").returncode == 0
    assert mark.exists()
    python = environment.venv / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\necho Python 3.10.12 in /opt\n")
    python.chmod(0o755)
    done = environment()
    assert (done.returncode, done.stdout.strip()) == (0, ".venv was made by Python 3.10.12 in /opt; making it again")
    assert not mark.exists()


def test_a_folder_that_is_not_an_environment_is_left_alone(environment):
    environment.venv.mkdir()
    (environment.venv / "thesis.txt").touch()
    done = environment()
    assert done.returncode == 1
    assert "is not a virtual environment" in done.stderr
    assert (environment.venv / "thesis.txt").exists()


def test_the_check_of_the_version_can_be_read_by_old_pythons():
    """A syntax error would be all that they say."""
    ast.parse((ROOT / "scripts" / "environment.py").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_no_page_or_hint_names_a_package_that_is_not_published_yet():
    """Until a release, extras are installed from a clone: pip install '.[mcp]'. The changelog is of its time."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
    pages += [*(ROOT / "src").rglob("*.py"), *(ROOT / "packages").rglob("*.py")]
    naming = [path.name for path in pages if re.search(r"forgelore\[\w+\](?! @ )", path.read_text(encoding="utf-8"))]
    assert set(naming) <= {"CHANGELOG.md"}
