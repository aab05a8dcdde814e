"""A small GitHub runner: it executes the steps of a composite action, and the jobs of a workflow, as GitHub documents it.

Each job gets a machine of its own: a bare HOME, an empty environment, python3 and git on the PATH and nothing else, and a
workspace full of modules that no step may ever import. `uses:` is played for the few actions our files name. A cache is
shown to runs of the ref that saved it, and what the default branch saved to all; a key is written once.

    result = run_action(machine, inputs={"dry-run": "true"})     result.outputs, .summary, .warnings, .log, .ran
    results = deliver(folder, workflow, "issues", payload, new_machine)     by job; {} when the workflow does not listen
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

from action.expressions import asks_for_status, evaluate, fill

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = "forgelore/forgelore@"
DEFAULT_REF = "refs/heads/main"
TRAPS = ("forgelore/__init__.py", "hashlib.py", "pip.py", "sitecustomize.py", "usercustomize.py", "venv.py")
TRAP = "import pathlib\npathlib.Path(__file__).with_name('sprung').touch()\nraise SystemExit('a trap')\n"


@dataclasses.dataclass
class Result:
    outputs: dict[str, str] = dataclasses.field(default_factory=dict)  # of the action; of a job: of the action it ran
    steps: dict[str, dict] = dataclasses.field(default_factory=dict)  # the context of that name
    ran: list[str] = dataclasses.field(default_factory=list)  # the steps, by name or by what they use
    log: str = ""
    summary: str = ""
    is_failed: bool = False

    @property
    def warnings(self) -> list[str]:
        return re.findall(r"^::warning[^:]*::(.*)$", self.log, re.MULTILINE)

    @property
    def errors(self) -> list[str]:
        return re.findall(r"^::error[^:]*::(.*)$", self.log, re.MULTILINE)


class Machine:
    """One runner for one job. `more` are environment variables; `cache` is a folder that outlives machines, or None."""

    def __init__(
        self, folder: pathlib.Path, *, token: str = "", cache: pathlib.Path | None = None, ref: str = DEFAULT_REF,
        run: int = 1, **more: str,
    ):  # fmt: skip
        self.folder, self.token, self.cache, self.ref, self.run = folder, token, cache, ref, run
        for name in ("bin", "home", "temp", "workspace"):
            (folder / name).mkdir(parents=True)
        for name, target in (("python3", os.path.realpath(sys.executable)), ("git", shutil.which("git"))):
            (folder / "bin" / name).symlink_to(target)
        for name in TRAPS:
            trap = folder / "workspace" / name
            trap.parent.mkdir(exist_ok=True)
            trap.write_text(TRAP)
        self.environ = {
            "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/web", "GITHUB_RUN_ID": "1",
            "GITHUB_SERVER_URL": "https://github.com", "GITHUB_API_URL": "https://api.github.com",
            "GITHUB_WORKSPACE": str(folder / "workspace"), "HOME": str(folder / "home"),
            "PATH": str(folder / "bin"), "RUNNER_ARCH": "X64", "RUNNER_OS": "Linux", "RUNNER_TEMP": str(folder / "temp"),
            **more,
        }  # fmt: skip

    @property
    def temp(self) -> pathlib.Path:
        return self.folder / "temp"

    def traps_sprung(self) -> list[str]:
        return [str(path.relative_to(self.folder)) for path in self.folder.rglob("sprung")]

    def contexts(self) -> dict:
        github = {"token": self.token, "run_id": str(self.run), "run_attempt": "1"}
        return {"runner": {"temp": str(self.temp)}, "github": github, "job": {"failed": False}}

    def caches(self) -> list[pathlib.Path]:
        """The folders of caches that this run is shown, its own ref's first."""
        refs = dict.fromkeys([self.ref, DEFAULT_REF])
        return [self.cache / ref.replace("/", "-") for ref in refs] if self.cache else []


def load(path: pathlib.Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def run_action(machine: Machine, inputs: dict[str, str] | None = None, *, until: str = "") -> Result:
    """Execute action.yml's steps; `until` names the id of the last one."""
    action = load(ROOT / "action.yml")
    assert action["runs"]["using"] == "composite"
    contexts = machine.contexts()
    defaults = {name: fill(told.get("default", ""), contexts) for name, told in action["inputs"].items()}
    assert not set(inputs or {}) - set(defaults), "an input that the action does not declare"
    contexts["inputs"] = {**defaults, **(inputs or {})}
    more = {"GITHUB_ACTION_PATH": str(ROOT)}
    result = run_steps(machine, action["runs"]["steps"], contexts, more, until=until)
    result.outputs = {name: fill(told["value"], contexts) for name, told in action["outputs"].items()}
    return result


def run_steps(machine: Machine, steps: list[dict], contexts: dict, more: dict, *, until: str = "") -> Result:
    result = Result()
    contexts["steps"] = result.steps
    for number, step in enumerate(steps):
        condition = step.get("if", "'true'")
        contexts["job"] = {"failed": result.is_failed}
        if (result.is_failed and not asks_for_status(condition)) or not evaluate(condition, contexts):
            continue
        result.ran.append(step.get("name") or step.get("uses", "").partition("@")[0])
        outputs = run_script(machine, step, contexts, more, result) if "run" in step else use(machine, step, contexts)
        if isinstance(outputs, Result):
            absorb(result, outputs)
            outputs = outputs.outputs
        result.steps[step.get("id", f"_{number}")] = {"outputs": outputs}
        if until and step.get("id") == until:
            break
    return result


def absorb(result: Result, inner: Result) -> None:
    result.log += inner.log
    result.summary += inner.summary
    result.ran += inner.ran
    result.outputs |= inner.outputs
    result.is_failed |= inner.is_failed


def run_script(machine: Machine, step: dict, contexts: dict, more: dict, result: Result) -> dict[str, str]:
    """A `run` step in a shell of its own, with the files that a runner hands to each step."""
    assert step["shell"] == "bash", "a composite step names its shell"
    assert "${{" not in step["run"], "an expression inside a script"
    place = machine.folder / "commands" / f"{len(result.ran)}-{contexts['github'].get('job', '')}"
    place.mkdir(parents=True)
    files = {f"GITHUB_{name}": place / name.lower() for name in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH", "STATE")}
    for path in files.values():
        path.touch()
    (place / "script.sh").write_text(step["run"], encoding="utf-8")
    environ = {**machine.environ, **more, **{name: str(path) for name, path in files.items()}}
    environ |= {name: fill(str(value), contexts) for name, value in step.get("env", {}).items()}
    done = subprocess.run(
        [shutil.which("bash"), "--noprofile", "--norc", "-eo", "pipefail", str(place / "script.sh")],
        env=environ, cwd=machine.folder / "workspace", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip
    result.log += done.stdout
    result.summary += files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
    result.is_failed |= done.returncode != 0
    assert not files["GITHUB_ENV"].read_text(), "our steps leave nothing in the environment of the user's"
    return parse_outputs(files["GITHUB_OUTPUT"].read_text(encoding="utf-8"))


def parse_outputs(text: str) -> dict[str, str]:
    """`name=value` lines, and `name<<MARK` … `MARK` for values of several lines."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        head, mark, end = line.partition("<<")
        if mark and "=" not in head:
            kept = []
            for inner in lines:
                if inner == end:
                    break
                kept.append(inner)
            found[head] = "\n".join(kept)
        else:
            name, equals, value = line.partition("=")
            assert equals, f"not an output: {line}"
            found[name] = value
    return found


def use(machine: Machine, step: dict, contexts: dict) -> dict | Result:
    name = step["uses"].partition("@")[0]
    given = {key: fill(str(value), contexts) for key, value in step.get("with", {}).items()}
    if step["uses"].startswith(OURS):
        return run_action(machine, given)
    return {
        "actions/cache": restore,
        "actions/cache/restore": restore,
        "actions/cache/save": save,
        "actions/upload-artifact": upload,
        "actions/download-artifact": download,
    }[name](machine, given)


def restore(machine: Machine, given: dict) -> dict:
    """The cache of that key, else the newest whose key begins with one of `restore-keys`."""
    for folder in machine.caches():
        kept = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime_ns, reverse=True) if folder.is_dir() else []
        starts = given.get("restore-keys", "").split()
        found = [one for one in kept if one.name == given["key"]]
        found += [one for start in starts for one in kept if one.name.startswith(start)]
        if found:
            shutil.copytree(found[0], given["path"])
            return {"cache-hit": "true" if found[0].name == given["key"] else "false"}
    return {"cache-hit": ""}


def save(machine: Machine, given: dict) -> dict:
    """A key that is there already is not written again."""
    if machine.cache and not (machine.caches()[0] / given["key"]).exists():
        shutil.copytree(given["path"], machine.caches()[0] / given["key"])
    return {}


def upload(machine: Machine, given: dict) -> dict:
    path = pathlib.Path(given["path"])
    if not path.exists():
        assert given["if-no-files-found"] == "ignore", f"nothing to upload: {path}"
        return {}
    target = machine.folder.parent / "artifacts" / given["name"]
    target.mkdir(parents=True)
    shutil.copy(path, target)
    return {"artifact-id": "7"}


def download(machine: Machine, given: dict) -> dict:
    shutil.copytree(machine.folder.parent / "artifacts" / given["name"], given["path"])
    return {"download-path": given["path"]}


def deliver(folder: pathlib.Path, workflow: pathlib.Path, event: str, payload: dict, new_machine) -> dict[str, Result]:
    """Run the jobs that an event starts, each on a machine of its own: `new_machine(folder, permissions, environ)`."""
    told = load(workflow)
    if not listens(told[True], event, payload):  # YAML 1.1 reads the key `on` as a boolean
        return {}
    folder.mkdir(parents=True)
    (folder / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    environ = {"GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(folder / "event.json")}
    results, needed, seen = {}, {}, set()
    github = {"event_name": event, "event": payload}
    for name, job in told["jobs"].items():
        wanted = {job["needs"]} if isinstance(job.get("needs"), str) else set(job.get("needs", ()))
        assert wanted <= seen, "jobs are written in the order in which they run"
        seen.add(name)
        is_held_up = any(one not in results or results[one].is_failed for one in wanted)  # failed, or left out
        if is_held_up or not evaluate(job.get("if", "'true'"), {"needs": needed, "github": github}):
            continue
        machine = new_machine(folder / name, job["permissions"], environ)
        contexts = {**machine.contexts(), "needs": needed}
        contexts["github"]["job"] = name
        results[name] = run_steps(machine, job["steps"], contexts, {})
        needed[name] = {"outputs": {key: fill(value, contexts) for key, value in job.get("outputs", {}).items()}}
        assert machine.traps_sprung() == []
    return results


def listens(on: dict, event: str, payload: dict) -> bool:
    if event not in on:
        return False
    types = (on[event] or {}).get("types") if isinstance(on[event], dict) else None
    return types is None or payload.get("action") in types
