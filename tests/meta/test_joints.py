"""A file is a chapter, a folder holds several, and a record exists once: joints need reasons, and their number has a bound.

What breaks a rule has a reason in REASONS, or is known: joints_known.txt lists what was there when the rules came, and
may only shrink. `python tests/meta/test_joints.py` writes it again, after a move for instance, and prints all figures.
"""

import ast
import itertools
import pathlib
from collections import Counter, defaultdict
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "forgelore"
KNOWN = pathlib.Path(__file__).with_name("joints_known.txt")

# What a rule asks for.
MIN_LINES = 80  # of a module that only its neighbour imports
MIN_MODULES = 4  # in a folder
MIN_FIELDS = 4  # of a record that is compared with others
MAX_ALIKE = 0.7  # fields that two records share, of all that they have

# How much there may be. What is removed stays removed: lower these when the figures are lower.
MAX_MODULES = 326
MAX_TOTAL_LINES = 76_600
MAX_HEADER_SHARE = 0.111  # lines of docstrings and imports at the head of modules
MAX_RECORD_TYPES = 611

# Rule -> what breaks it -> why it may, in a sentence. Names are written as in joints_known.txt.
REASONS: dict[str, dict[str, str]] = {
    "small module with one importer, beside it": {
        "store.postgres.vectors": "The nearest documents and full text are two engines' chapters, as in store/sqlite.",
    },
    "small folder": {
        "embedders": "Three chapters say all there is: the built-in one, servers, and what all servers share.",
        "llm": "Language models and embedders stay apart, and two chapters say all there is to the first.",
    },
    "records alike": {
        "model.Link ~ text.items.StoredLink": "What is stored is read without msgspec, which every command would pay for.",
        "model.Link ~ text.jsonl.LinkLine": "What a file may say of a link is checked by its own type on its way in.",
        "text.items.StoredLink ~ text.jsonl.LinkLine": "A file is written by the type that it is read by.",
    },
}
SMALL_MODULE, SMALL_FOLDER, ALIKE = REASONS
RECORD_BASES = {"NamedTuple", "Struct"}
MAX_FILE_LINES, MAX_FUNCTION_LINES = 500, 60
MAX_PARAMETERS = 8  # counted for the table; no rule


class Module(NamedTuple):
    name: str  # without the package's own
    folder: str
    is_package: bool
    lines: int
    tree: ast.Module


class Record(NamedTuple):
    name: str
    fields: frozenset[str]


def read_modules(root: pathlib.Path = SOURCE) -> dict[str, Module]:
    found = {}
    for path in sorted(root.rglob("*.py")):
        text, parts = path.read_text(encoding="utf-8"), path.relative_to(root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name, folder = ".".join(parts[:-1] if is_package else parts), ".".join(parts[:-1])
        found[name] = Module(name, folder, is_package, text.count("\n"), ast.parse(text))
    return found


def find_importers(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Module -> who imports it or a name from it, anywhere in the file."""
    found = defaultdict(set)
    for importer in modules.values():
        for node in ast.walk(importer.tree):
            names = [alias.name for alias in getattr(node, "names", ())] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                package, _, rest = name.partition(".")
                if package == SOURCE.name:
                    found[rest if rest in modules else rest.rpartition(".")[0]].add(importer.name)
    return found


def single_importers(modules: dict[str, Module]) -> dict[str, str]:
    """Module -> the only one that imports it, where that stands in the same folder."""
    importers = find_importers(modules)
    alone = {name: next(iter(by)) for name, by in importers.items() if len(by) == 1 and name in modules}
    return {
        name: by
        for name, by in alone.items()
        if not modules[name].is_package and modules[name].lines and modules[name].folder == modules[by].folder
    }


def find_small_modules(modules: dict[str, Module]) -> list[str]:
    return [name for name in single_importers(modules) if modules[name].lines < MIN_LINES]


def find_small_folders(modules: dict[str, Module]) -> list[str]:
    """Packages of too few modules; one that holds nothing but packages is a shelf, and may hold few."""
    counts = Counter(one.folder for one in modules.values() if one.lines and not one.is_package)
    parents = {one.folder.rpartition(".")[0] for one in modules.values()}
    packages = [one.folder for one in modules.values() if one.is_package and one.folder]
    return [name for name in packages if counts[name] < MIN_MODULES and (counts[name] or name not in parents)]


def last_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_record(node: ast.ClassDef) -> bool:
    return any(last_name(base) in RECORD_BASES for base in node.bases) or any(
        last_name(one) == "dataclass" for one in node.decorator_list
    )


def find_records(modules: dict[str, Module]) -> list[Record]:
    """Named tuples, structs and dataclasses with the fields they add; a record that extends another adds few."""
    found = []
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and is_record(node):
                fields = [
                    one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                ]
                kept = frozenset(one.target.id for one in fields if last_name(one.annotation) != "ClassVar")
                found.append(Record(f"{module.name}.{node.name}", kept))
    return found


def find_alike(records: list[Record], share: float = MAX_ALIKE) -> list[str]:
    """Pairs that have more than this share of their fields in common."""
    large = [one for one in records if len(one.fields) >= MIN_FIELDS]
    return [
        f"{one.name} ~ {other.name}"
        for one, other in itertools.combinations(large, 2)
        if len(one.fields & other.fields) > share * len(one.fields | other.fields)
    ]


def header_lines(tree: ast.Module) -> int:
    """Where the docstring and the imports at the head of a module end."""
    end = 0
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not (is_text or is_typing or isinstance(node, ast.Import | ast.ImportFrom)):
            break
        end = node.end_lineno or 0
    return end


def find_offenders(modules: dict[str, Module]) -> dict[str, set[str]]:
    found = (find_small_modules(modules), find_small_folders(modules), find_alike(find_records(modules)))
    return {rule: set(names) for rule, names in zip(REASONS, found, strict=True)}


def read_known() -> dict[str, set[str]]:
    found = {rule: set() for rule in REASONS}
    for line in KNOWN.read_text(encoding="utf-8").splitlines():
        rule, _, name = line.partition(": ")
        found[rule].add(name)
    return found


MODULES = read_modules()
OFFENDERS = find_offenders(MODULES)


def assert_known(rule: str) -> None:
    known, excused = read_known()[rule], set(REASONS[rule])
    found = OFFENDERS[rule]
    assert found - known - excused == set(), "new: join it with what it belongs to, or give a reason in REASONS"
    assert known - found == set(), f"no longer so: take it off {KNOWN.name}"
    assert excused - found == set(), "no longer so: REASONS need not excuse it"
    assert known & excused == set(), f"has a reason: take it off {KNOWN.name}"


def test_a_small_module_with_one_importer_beside_it_has_a_reason():
    assert_known(SMALL_MODULE)


def test_a_folder_of_few_modules_has_a_reason():
    assert_known(SMALL_FOLDER)


def test_a_record_that_repeats_another_has_a_reason():
    assert_known(ALIKE)


def test_a_reason_is_a_sentence():
    for reasons in REASONS.values():
        assert all(len(reason.split()) >= 4 and reason.endswith(".") for reason in reasons.values())


def test_the_number_of_joints_has_a_bound():
    total = sum(one.lines for one in MODULES.values())
    assert len(MODULES) <= MAX_MODULES
    assert total <= MAX_TOTAL_LINES
    assert sum(header_lines(one.tree) for one in MODULES.values()) / total <= MAX_HEADER_SHARE
    assert len(find_records(MODULES)) <= MAX_RECORD_TYPES


def function_lengths(modules: dict[str, Module]) -> dict[str, int]:
    """Function -> its lines, docstring and signature included."""
    return {
        f"{module.name}.{node.name}:{node.lineno}": (node.end_lineno or 0) - node.lineno + 1
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_file_is_too_long():
    assert {one.name: one.lines for one in MODULES.values() if one.lines > MAX_FILE_LINES} == {}


def test_no_function_is_too_long():
    assert {name: lines for name, lines in function_lengths(MODULES).items() if lines > MAX_FUNCTION_LINES} == {}


def modules_of(**texts: str) -> dict[str, Module]:
    """Modules that exist in this test alone; a__b is b in the folder a."""
    found = {}
    for key, text in texts.items():
        name = key.replace("__", ".")
        found[name] = Module(name, name.rpartition(".")[0], False, text.count("\n"), ast.parse(text))
    return found


def test_the_count_finds_what_it_looks_for():
    line = "x = 1\n"
    modules = modules_of(
        a__one="from forgelore.a.two import x\nfrom forgelore.a import three\n",
        a__two=line,
        a__three=line * MIN_LINES,
        b__four="def f():\n    from forgelore.a.one import x\n",
    )
    assert single_importers(modules) == {"a.two": "a.one", "a.three": "a.one"}
    assert find_small_modules(modules) == ["a.two"]
    head = "import typing, msgspec, dataclasses\n"
    modules = modules_of(
        c=f"{head}class A(typing.NamedTuple):\n    a: int\n    b: int\n    c: int\n    d: typing.ClassVar[int]\n    e: int\n",
        d=f"{head}@dataclasses.dataclass(frozen=True)\nclass B:\n    a: int\n    b: int\n    c: int\n    e: int\n    f: int\n",
        e=f"{head}class C(msgspec.Struct, frozen=True):\n    a: int\n    b: int\n    x: int\n    y: int\n",
    )
    assert find_alike(find_records(modules)) == ["c.A ~ d.B"]
    assert header_lines(modules["c"].tree) == 1
    assert function_lengths(modules_of(f="class A:\n    async def b(self):\n        x = 1\n")) == {"f.b:2": 2}


def only_passes_on(node: ast.FunctionDef, parameters: list[str]) -> bool:
    """True of a function whose body is one call that gets every parameter as it came."""
    body = [
        one for one in node.body
        if not isinstance(one, ast.Import | ast.ImportFrom)
        and not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]  # fmt: skip
    if not parameters or len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    call = body[0].value
    if not isinstance(call, ast.Call):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = {one.id for one in given if isinstance(one, ast.Name)}
    return all(isinstance(one, ast.Name | ast.Attribute) for one in given) and set(parameters) <= names


def figures(modules: dict[str, Module]) -> dict[str, str]:
    """The table of docs/decisions/0017-fewer-joints.md."""
    records, total = find_records(modules), sum(one.lines for one in modules.values())
    functions = []
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef):
                names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                functions.append((node, [name for name in names if name not in ("self", "cls")]))
    head = sum(header_lines(one.tree) for one in modules.values())
    counts = {
        "modules": len(modules),
        "lines": total,
        "header lines": f"{100 * head / total:.1f} %",
        "modules with one importer, beside it": len(single_importers(modules)),
        f"those of fewer than {MIN_LINES} lines": len(find_small_modules(modules)),
        "longest file": max(one.lines for one in modules.values()),
        "longest function": max(function_lengths(modules).values()),
        "modules of at most 30 lines": sum(0 < one.lines <= 30 for one in modules.values()),
        f"folders of fewer than {MIN_MODULES} modules": len(find_small_folders(modules)),
        "record types": len(records),
        "pairs of records that share more than 70 % of their fields": len(find_alike(records)),
        "pairs of records that share at least half": len(find_alike(records, 0.499)),
        "functions that only pass on what they got": sum(only_passes_on(*one) for one in functions),
        f"functions with more than {MAX_PARAMETERS} parameters": sum(len(one[1]) > MAX_PARAMETERS for one in functions),
    }
    return {name: str(count) for name, count in counts.items()}


def main() -> None:
    lines = [f"{rule}: {name}" for rule, names in OFFENDERS.items() for name in sorted(names - set(REASONS[rule]))]
    KNOWN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, count in figures(MODULES).items():
        print(f"{name:60} {count:>8}")


if __name__ == "__main__":
    main()
