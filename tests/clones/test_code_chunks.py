"""Files of code as chunks: at definitions where they are known, never losing a line, whatever the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.index.definitions import JOINED, LONGEST, cut_code, find_definitions, find_language
from forgelore.index.left_out import decode_text
from growth import assert_grows_slowly

PYTHON = '''"""A module."""

LIMIT = 3


# About it.
@decorated
def first(a):
    """Say."""
    return a


class Box:
    """Holds."""

    size: int = 1

    def open(self):
        def inner():
            pass
        return inner

    async def close(self): ...


if LIMIT:
    def later(): ...
'''


def test_python_is_read_by_its_own_parser():
    found = [(one.line, one.name, one.is_cut) for one in find_definitions(PYTHON, "Python") if not one.is_end]
    assert found == [
        (3, "LIMIT", False), (6, "first", True), (13, "Box", True), (16, "Box.size", False), (18, "Box.open", True),
        (23, "Box.close", True), (27, "later", True),
    ]  # fmt: skip
    assert [one.names for one in cut_code(PYTHON, "Python")] == [
        ("LIMIT", "first"), ("Box", "Box.size", "Box.open", "Box.close", "later"),
    ]  # fmt: skip


def test_a_name_in_a_string_is_no_definition():
    assert [one.name for one in find_definitions('x = """\ndef not_here():\n    pass\n"""\n', "Python")] == ["x"]


def test_a_long_function_is_cut_and_small_ones_are_joined():
    body = "".join(f"    x{n} = {n}\n" + ("\n" if n % 10 == 9 else "") for n in range(200))
    text = f"def long():\n{body}\n\n" + "".join(f"def f{n}(): ...\n\n" for n in range(6))
    chunks = cut_code(text, "Python")
    assert all(one.end_line - one.start_line < LONGEST for one in chunks)
    assert [one.symbol for one in chunks] == ["long", "long", "long", "f0"]
    assert chunks[-1].names == tuple(f"f{n}" for n in range(6))
    assert chunks[-1].end_line - chunks[-1].start_line < JOINED


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("Go", "package a\n\nfunc (s *Server) Serve(a int) error {\n}\n\ntype Conn struct {\n", ["Serve", "Conn"]),
        ("Rust", "pub(crate) fn join(a: u8) {}\nimpl<T> Tree<T> {\n    pub fn new() {}\n", ["join", "Tree", "new"]),
        ("C", "static int\nlist_resize(PyListObject *self, Py_ssize_t n)\n{\n    if (n) {\n", ["list_resize"]),
        ("C", "#define MAX 3\nstruct node {\nPyObject *PyList_New(Py_ssize_t n) {\n", ["MAX", "node", "PyList_New"]),
        ("JavaScript", "export function a() {}\nconst b = (x) => x\nclass C {\n  run(x) {\n", ["a", "b", "C", "run"]),
        ("Java", "public class A {\n    private int add(int b) {\n        return f(b);\n", ["A", "add"]),
        ("Ruby", "module M\n  def empty?\n", ["M", "empty?"]),
        ("Markdown", "# Title\n\ntext\n\n## Part\n", ["Title", "Part"]),
        ("Python", "print 'old'\ndef still(x):\n    pass\n", ["still"]),
        ("", "def nothing():\n", []),
    ],
)
def test_other_languages_are_read_by_the_words_that_definitions_begin_with(language, text, names):
    assert [one.name for one in find_definitions(text, language)] == names


@given(
    st.text(alphabet=st.sampled_from("ab \n\t(){}:;#\r\x0c\u2028é"), max_size=400), st.sampled_from(["Python", "C", ""])
)
def test_every_line_belongs_to_one_chunk_in_order(text, language):
    lines = text.split("\n")
    count = len(lines) - (not lines[-1])
    covered = [line for one in cut_code(text, language) for line in range(one.start_line, one.end_line + 1)]
    assert covered == list(range(1, count + 1))


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "-" * 100_000 + "1", "x" + ".a" * 100_000, "1" + "+1" * 100_000, "if 1:\n" * 500, "a\0b",
             "class A:\n" + "".join(" " * n + "if 1:\n" for n in range(1, 150))]
)  # fmt: skip
def test_source_made_to_break_a_parser_is_text(text):
    chunks = cut_code(text, "Python")
    assert chunks[0].start_line == 1


UNITS = ("a ", "a::", "public ", "const ", "<", "\t", "a*", "static a", "(", "a.", "a,", "$-a")


@pytest.mark.parametrize("language", ["C", "C++", "Java", "TypeScript", "Rust", "SQL", "Shell", "Markdown"])
@pytest.mark.parametrize("unit", UNITS)
def test_no_line_makes_a_pattern_look_for_ever(language, unit):
    """Of the longest lines that are looked at. A pattern that tries every way to split one would end in the timeout."""
    assert_grows_slowly(
        lambda text: find_definitions(text, language), lambda size: f"{(unit * 400)[:399]}\n" * (size // 400), 50_000
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\r\nb\r\n", "a\nb\n"), (b"caf\xc3\xa9", "café"), (b"caf\xe9", "café"), (b"\xef\xbb\xbfa", "a"),
        ("hé\r\n".encode("utf-16"), "hé\n"), (b"a\x00b", None), (b"\xff\xd8\xff" + bytes(range(32)), None), (b"", ""),
        (b"a" * 9000 + b"\x00", "a" * 9000 + "\ufffd"), (b"\xff\xfea", "ÿþa"),
    ],
)  # fmt: skip
def test_bytes_are_text_or_none(data, text):
    assert decode_text(data) == text


@given(st.binary(max_size=300))
def test_any_bytes_can_be_asked(data):
    text = decode_text(data)
    assert text is None or (text.encode() is not None and "\r\n" not in text)


def test_languages_are_told_by_names():
    names = ["a/b.PY", "Makefile", "x/Dockerfile", "lib.rs", ".py", "LICENSE", "a.tsx", "CMakeLists.txt"]
    assert [find_language(name) for name in names] == [
        "Python", "Makefile", "Dockerfile", "Rust", "", "", "TypeScript", "CMake",
    ]  # fmt: skip
