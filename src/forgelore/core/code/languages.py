"""Languages of files, told by their names, as people call them."""

_BY_EXTENSION = {
    "Ada": "adb ads",
    "Assembly": "asm s",
    "Batchfile": "bat cmd",
    "C": "c",
    "C#": "cs",
    "C++": "cc cpp cxx c++ hpp hh hxx ipp tpp",
    "C/C++ header": "h",
    "CMake": "cmake",
    "CSS": "css less sass scss",
    "Clojure": "clj cljc cljs",
    "Crystal": "cr",
    "D": "d",
    "Dart": "dart",
    "Diff": "diff patch",
    "Elixir": "ex exs",
    "Elm": "elm",
    "Erlang": "erl hrl",
    "F#": "fs fsi fsx",
    "Fortran": "f f90 f95 f03",
    "Go": "go",
    "GraphQL": "graphql gql",
    "Groovy": "groovy gradle",
    "HCL": "hcl tf",
    "HTML": "html htm xhtml vue svelte",
    "Haskell": "hs",
    "INI": "ini cfg conf properties",
    "JSON": "json jsonl json5",
    "Java": "java",
    "JavaScript": "js jsx mjs cjs",
    "Julia": "jl",
    "Kotlin": "kt kts",
    "Lisp": "lisp el scm rkt",
    "Lua": "lua",
    "Markdown": "md markdown mdx",
    "Nim": "nim",
    "Nix": "nix",
    "OCaml": "ml mli",
    "Objective-C": "m mm",
    "PHP": "php",
    "Pascal": "pas",
    "Perl": "pl pm",
    "PowerShell": "ps1 psm1",
    "Protocol Buffers": "proto",
    "Python": "py pyi pyw pyx pxd",
    "R": "r",
    "Ruby": "rb rake gemspec",
    "Rust": "rs",
    "SQL": "sql",
    "Scala": "scala sc",
    "Shell": "sh bash zsh fish",
    "Solidity": "sol",
    "Swift": "swift",
    "TOML": "toml",
    "Tcl": "tcl",
    "TeX": "tex bib",
    "Text": "txt",
    "TypeScript": "ts tsx mts cts",
    "Verilog": "v sv",
    "Vim script": "vim",
    "XML": "xml xsd xsl",
    "YAML": "yml yaml",
    "Zig": "zig",
    "reStructuredText": "rst",
}
_BY_NAME = {
    "cmakelists.txt": "CMake",
    "dockerfile": "Dockerfile",
    "gemfile": "Ruby",
    "gnumakefile": "Makefile",
    "jenkinsfile": "Groovy",
    "justfile": "Makefile",
    "makefile": "Makefile",
    "rakefile": "Ruby",
    "sconstruct": "Python",
}
_LANGUAGES = {extension: language for language, each in _BY_EXTENSION.items() for extension in each.split()}


def find_language(path: str) -> str:
    """Return what a file is written in; "" where its name does not say.

    "src/net/conn.cpp" -> "C++"    "Makefile" -> "Makefile"    "LICENSE" -> ""
    """
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, _, extension = name.rpartition(".")
    return _LANGUAGES.get(extension, "") if stem else ""
