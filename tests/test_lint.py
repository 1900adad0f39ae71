"""The checks of `make lint` find faults: each runs on a small repository with one planted fault."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environment import HANGS_S, ROOT

pytestmark = pytest.mark.fast

PAGE = """
| folder | concept | may include |
|---|---|---|
| `include/tailrace/` | public headers | nothing of `src/` |
| `src/environment/` | names | - |
| `src/base/` | errors | - |
| `src/layout/` | plans. Pure: no MPI, no I/O | base |
| `src/part/` | one file | base, layout |
| `bindings/python/` | extension | the C contract only |
| `python/tailrace/launch/` | starting programs | - |
| `python/tailrace/study/` | runs | launch |
| `python/tailrace/cli/` | the command line | launch, study |
| `bench/` | | |
"""
CMAKE = (
    "tailrace_layer(environment)\ntailrace_layer(base)\ntailrace_layer(layout DEPENDS base)\n"
    "tailrace_layer(part DEPENDS base layout LINK x)\n"
)
CLEAN = {
    "docs/architecture.md": PAGE,
    "CMakeLists.txt": CMAKE,
    "include/tailrace/tailrace.h": "#ifndef T\n#define T\nint tailrace_f(void);\n#endif\n",
    "src/environment/variables.def": 'TAILRACE_VARIABLE(TRACE, "tracer", "the folder", "none")\n',
    "src/base/error.hpp": "#pragma once\n",
    "src/layout/plan.hpp": '#pragma once\n#include "base/error.hpp"\n',
    "src/part/part.cpp": '#include <hdf5.h>\n#include "base/error.hpp"\n#include "layout/plan.hpp"\n',
    "bindings/fortran/tailrace.f90.in": "character(*), parameter :: TAILRACE_GLOBAL = ''\n",
    "bench/raw.cpp": '#include "part/part.hpp"\n',
    "python/tailrace/__init__.py": "from tailrace import process\nfrom tailrace._core import TYPES\n",
    "python/tailrace/__main__.py": "from tailrace.study import plan\n",
    "python/tailrace/process.py": "from tailrace import _core\n",
    "python/tailrace/cli/__init__.py": "",
    "python/tailrace/cli/commands.py": 'COMMANDS = {"drain": "Carries files."}\n',
    "python/tailrace/launch/__init__.py": "",
    "python/tailrace/launch/mpi.py": "from tailrace import process\n",
    "python/tailrace/study/__init__.py": "",
    "python/tailrace/study/plan.py": "from . import run\nfrom tailrace.launch.mpi import MPIS\n",
    "python/tailrace/study/run.py": "import tailrace\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".gitignore", tmp_path)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    # What the repository itself does not pass yet is nothing to these tests.
    (tmp_path / "scripts" / "not_yet.toml").unlink(missing_ok=True)
    for path, text in CLEAN.items():
        write(tmp_path, path, text)
    return tmp_path


def write(repository: Path, path: str, text: str) -> None:
    (repository / path).parent.mkdir(parents=True, exist_ok=True)
    (repository / path).write_text(text)


def run(repository: Path, script: str) -> tuple[int, str]:
    command = [sys.executable, f"scripts/{script}.py"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=HANGS_S, check=False)
    return done.returncode, done.stdout + done.stderr


SCRIPTS = [
    "check_direction",
    "check_headers",
    "check_files",
    "check_links",
    "check_language",
    "check_classes",
    "check_variables",
    "check_remedies",
]
LONG = " ".join(["word"] * 36)
MEMBERS = "".join(f"    int member{number}_;\n" for number in range(16))
LINES = "    //\n" * 301


@pytest.mark.parametrize("script", SCRIPTS)
def test_clean_repository_passes(repository: Path, script: str) -> None:
    assert run(repository, script) == (0, "")


@pytest.mark.parametrize(
    ("script", "path", "text", "said"),
    [
        (
            "check_direction",
            "src/base/a.cpp",
            '\n#include "layout/plan.hpp"\n',
            "src/base/a.cpp:2: src/base/ may not include layout/",
        ),
        ("check_direction", "src/layout/a.cpp", "#include <mpi.h>\n", "src/layout/ is pure"),
        ("check_direction", "src/layout/a.cpp", "#include <fstream>\n", "src/layout/ is pure"),
        ("check_direction", "src/extra/a.cpp", "", "src/extra/a.cpp: its folder has no row"),
        ("check_direction", "bindings/python/a.cpp", '#include "base/error.hpp"\n', "bindings/python/ may not include base/"),
        ("check_direction", "include/tailrace/b.h", '#include "base/error.hpp"\n', "include/tailrace/ may not include base/"),
        ("check_direction", "python/tailrace/a.py", "import bench.write\n", "may not import bench.write"),
        (
            "check_direction",
            "python/tailrace/launch/mpi.py",
            "import os\nfrom tailrace.study import plan\n",
            "python/tailrace/launch/mpi.py:2: python/tailrace/launch/ may not import tailrace.study.plan",
        ),
        (
            "check_direction",
            "python/tailrace/launch/mpi.py",
            "def f() -> None:\n    from ..study.run import x\n",
            "python/tailrace/launch/ may not import tailrace.study.run",
        ),
        (
            "check_direction",
            "python/tailrace/process.py",
            "import tailrace.launch.mpi\n",
            "a flat module of python/tailrace/ may not import tailrace.launch.mpi",
        ),
        (
            "check_direction",
            "python/tailrace/study/run.py",
            "if TYPE_CHECKING:\n    from tailrace.study.plan import Plan\n",
            "in a circle: tailrace.study.plan -> tailrace.study.run -> tailrace.study.plan",
        ),
        (
            "check_direction",
            "python/tailrace/process.py",
            "from tailrace import x\n",
            "circle: tailrace -> tailrace.process -> tailrace",
        ),
        ("check_direction", "python/tailrace/extra/__init__.py", "", "python/tailrace/extra/ has no row"),
        (
            "check_direction",
            "docs/architecture.md",
            PAGE.replace("| starting programs | - |", "| starting programs | study |"),
            "docs/architecture.md: packages may import each other in a circle: launch -> study -> launch",
        ),
        (
            "check_direction",
            "CMakeLists.txt",
            CMAKE.replace("DEPENDS base layout", "DEPENDS base"),
            "layer part depends on ['base']",
        ),
        ("check_direction", "CMakeLists.txt", CMAKE.replace("tailrace_layer(base)", ""), "layer base is missing"),
        ("check_direction", "docs/architecture.md", "no table\n", "no table of folders found"),
        ("check_headers", "include/tailrace/b.h", "size_t tailrace_g(void);\n", "b.h does not compile alone as C"),
        ("check_headers", "include/tailrace/b.h", "enum { A };\n", "b.h does not compile alone as C"),
        ("check_headers", "include/tailrace/b.h", "int tailrace_g(int class);\n", "b.h does not compile alone as C++"),
        ("check_headers", "include/tailrace/b.hpp", "#pragma once\nstd::string f();\n", "b.hpp does not compile alone as C++"),
        ("check_files", "src/base/a.cpp", "\n" * 501, "src/base/a.cpp: 501 lines"),
        ("check_files", "src/base/a.cpp", "/" * 133, "src/base/a.cpp:1: 133 columns"),
        ("check_files", "src/base/file_utils.cpp", "", "rename it"),
        ("check_files", "left.nc", "CDF\1\0", "left.nc: is no text file"),
        ("check_variables", "src/base/a.cpp", '\ngetenv("TAILRACE_TRACE")', "src/base/a.cpp:2: TAILRACE_TRACE as text"),
        ("check_variables", "python/tailrace/a.py", 'KEY = "TAILRACE_TRASE"\n', "a.py:1: TAILRACE_TRASE is not in src/environment"),
        (
            "check_remedies",
            "python/tailrace/a.py",
            'x = f"{a}: run `tailrace drain resume {b.c}` on it"\n',
            "python/tailrace/a.py:1: `tailrace drain resume {b.c}`: write quoted(b.c)",
        ),
        ("check_remedies", "python/tailrace/a.py", 'x = f"run tailrace drain x -s {q(b)}"\n', "write quoted(q(b))"),
        ("check_remedies", "python/tailrace/a.py", 'x = f"`tailrace drain {quoted(a)} {b}`"\n', "write quoted(b)"),
        (
            "check_remedies",
            "python/tailrace/a.py",
            'x = f"remove it (chmod +t {b})"\n',
            "`remove it (chmod +t {b}`: write quoted(b)",
        ),
        ("check_links", "docs/a.md", "[a](b.md)", "docs/a.md:1: b.md: no such file"),
        ("check_links", "docs/a.md", "# One\n[a](#two)", "docs/a.md:2: #two: the page has no such heading"),
        ("check_language", "README.md", f"{LONG}.\n", "README.md:1: page: 36 words in the sentence that begins 'word"),
        ("check_language", "docs/a.md", f"# Head\n\nShort. A; {LONG}: b.\n", "docs/a.md:3: page: 38 words"),
        ("check_language", "docs/a.md", f"- one\n- see e.g. {LONG}\n", "docs/a.md:2: page: 38 words"),
        ("check_language", "docs/a.md", "See a.toml. It tells\nall.", "docs/a.md:1: 'tells' is retired; say: "),
        ("check_language", "src/base/a.cpp", f"int a;\n// {LONG[:80]}\n// {LONG[80:]}\n", "src/base/a.cpp:2: comment: 3"),
        ("check_language", "src/base/a.cpp", f"/* {LONG} */\n", "src/base/a.cpp:1: comment: 36 words"),
        ("check_language", "src/base/a.cpp", f'void f() {{ fail(S, "{LONG[:80]}", x, " {LONG[81:]}"); }}\n', "message: 37 words"),
        ("check_language", "src/base/a.cpp", "int x;  // what nobody has\n", "'nobody' is retired"),
        ("check_language", "src/base/a.cpp", "int settle_first();\n", "name 'settle_first' is retired; say: agree"),
        ("check_language", "src/base/a.cpp", "int errors_told_ = kHere;\n", "name 'errors_told_' is retired"),
        ("check_language", "src/base/a.cpp", "int errors_told_ = kHere;\n", "name 'kHere' is retired; say: AT_FDCWD"),
        ("check_language", "src/base/a.hpp", "class Ballot;\n", "name 'Ballot' is retired"),
        ("check_language", "src/forward/a.hpp", "struct OpenCrate;\n", "name 'OpenCrate' is retired"),
        ("check_language", "src/capi/look.cpp", "", "file name 'look.cpp' is retired"),
        ("check_language", "python/tailrace/a.py", f'def f() -> None:\n    """{LONG}."""\n', "a.py:2: comment: 36 words"),
        ("check_language", "python/tailrace/a.py", f'raise ValueError(f"{{x}} {LONG}")\n', "a.py:1: message: 37 words"),
        ("check_language", "python/tailrace/a.py", "x = later.is_later\n", "name 'is_later' is retired"),
        ("check_language", "python/tailrace/a.py", "# What goes on.\n", "'goes on' is retired"),
        ("check_language", "bindings/fortran/a.f90.in", f"x = 1 ! {LONG}\n", "a.f90.in:1: comment: 36 words"),
        ("check_language", "bindings/fortran/a.f90", "call f('a batch of values')\n", "'batch' is retired"),
        ("check_classes", "src/base/a.hpp", f"class A {{\n{MEMBERS}}};\n", "src/base/a.hpp:1: A has 16 data members; at most 15"),
        ("check_classes", "src/base/a.hpp", f"class A {{\n{LINES}}};\n", "src/base/a.hpp:1: A has 303 lines in all its files"),
        ("check_classes", "src/base/a.cpp", f"struct A {{\n  int f();\n}};\nint A::f() {{\n{LINES}}}\n", "A has 306 lines"),
        (
            "check_classes",
            "src/base/a.hpp",
            "struct A { bool a, b = false; std::atomic<bool> c; };\n",
            "A has 3 booleans (a, b, c)",
        ),
        ("check_classes", "src/base/a.hpp", "struct A { struct B { bool a, b, c; }; };\n", "A::B has 3 booleans"),
        ("check_classes", "python/tailrace/a.py", "class A:\n    a: bool\n    b: bool\n    c: bool = True\n", "A has 3 booleans"),
        (
            "check_classes",
            "python/tailrace/a.py",
            "class A:\n    def __init__(self):\n" + "".join(f"        self.a{number} = 1\n" for number in range(16)),
            "A has 16 data members",
        ),
    ],
)
def test_fault_is_found(repository: Path, script: str, path: str, text: str, said: str) -> None:
    write(repository, path, text)
    status, output = run(repository, script)
    assert status == 1
    assert said in output


@pytest.mark.parametrize(
    "text",
    [
        "[a](architecture.md)",
        "# A heading, too\n[a](#a-heading-too)",
        "[a](https://example.org/b.md)",
        "`[a](b.md)`",
        "```\n[a](b.md)\n```\n",
    ],
)
def test_good_links_pass(repository: Path, text: str) -> None:
    write(repository, "docs/a.md", text)
    assert run(repository, "check_links") == (0, "")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/a.md", f"{LONG[:-5]}.\n"),
        ("docs/a.md", f"# {LONG}\n\n| a |\n|---|\n| {LONG} |\n\n```\n{LONG} told\n```\n`{LONG}`\n"),
        ("docs/a.md", f"{LONG[:90]}. {LONG[90:]}\n\n- {LONG[:90]}\n- {LONG[90:]}\n"),
        ("docs/a.md", "A batch job of `told`; the two cannot be told apart.\n"),
        ("src/base/a.cpp", f"// {LONG[:90]}.\n// {LONG[90:]}\n\nint a;  // {LONG[:90]}\nint b;  // {LONG[90:]}\n"),
        ("src/base/a.cpp", f'const char* sql = "{LONG[:90]}\\n{LONG[90:]}";\nint behindhand, asked_for;\n'),
        ("python/tailrace/a.py", f'"""Of one thing.\n\n    {LONG}\n"""\nSQL = "SELECT {LONG}"\n'),
        ("bindings/fortran/a.f90", f"! {LONG[:90]}\n!\n! {LONG[90:]}\nx = 'it''s ! no comment, {LONG[:90]}'\n"),
    ],
)
def test_plain_english_passes(repository: Path, path: str, text: str) -> None:
    write(repository, path, text)
    assert run(repository, "check_language") == (0, "")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/base/a.hpp", "struct A { bool a, b; static bool c; bool d() const; using E = bool; };\n"),
        ("src/base/a.hpp", f"struct A {{\n  struct B {{\n{LINES[:1400]}}};\n{LINES[:1400]}}};\n"),
        ("src/base/a.hpp", f"{LINES}\nstruct A {{}};\nvoid f() {{\n{LINES}}}\n"),
        ("python/tailrace/a.py", "class A:\n    a: bool\n    b: ClassVar[bool]\n    c: bool\n    def d(self) -> bool: ...\n"),
    ],
)
def test_small_classes_pass(repository: Path, path: str, text: str) -> None:
    write(repository, path, text)
    assert run(repository, "check_classes") == (0, "")


def test_what_does_not_pass_yet_is_listed_until_it_does(repository: Path) -> None:
    write(repository, "src/base/a.hpp", "struct Three { bool a, b, c; };  // told\n")
    write(repository, "scripts/not_yet.toml", 'language = ["src/base"]\nclasses = ["Three"]\n')
    assert run(repository, "check_language") == (0, "")
    assert run(repository, "check_classes") == (0, "")
    write(repository, "src/base/a.hpp", "struct Three { bool a, b; };\n")
    status, output = run(repository, "check_language")
    assert (status, "note: src/base passes now" in output) == (0, True)
    status, output = run(repository, "check_classes")
    assert (status, "note: Three passes now" in output) == (0, True)


def test_samples_are_drawn_again_by_their_seed(repository: Path) -> None:
    write(repository, "src/base/a.cpp", "".join(f"int name{number};  // comment {number}\n" for number in range(30)))
    command = [sys.executable, "scripts/draw_samples.py", "--count", "12"]
    first = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    seed = first.split()[1].rstrip(":")
    again = subprocess.run([*command, "--seed", seed], cwd=repository, capture_output=True, text=True, check=True).stdout
    assert first == again
    assert sum(": comment: " in line for line in first.splitlines()) == 4


def test_words_of_a_sentence_are_counted_without_code_tables_and_headings(repository: Path) -> None:
    write(
        repository,
        "docs/a.md",
        "# A long heading here\n\nOne two; three: four. `code of many words` is one.\n\n```\nnot counted\n```\n",
    )
    command = [sys.executable, "scripts/check_language.py", "--means"]
    shown = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout
    assert "  3.5 words a sentence,     2 sentences: docs/a.md" in shown
