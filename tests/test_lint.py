"""The checks of `make lint` find what they are for: each is run on a small repository with one planted fault."""

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
| `src/base/` | errors | - |
| `src/layout/` | plans. Pure: no MPI, no I/O | base |
| `src/part/` | one file | base, layout |
| `bindings/python/` | extension | the C contract only |
| `python/tailrace/launch/` | starting programs | - |
| `python/tailrace/study/` | runs | launch |
| `bench/` | | |
"""
CMAKE = "tailrace_layer(base)\ntailrace_layer(layout DEPENDS base)\ntailrace_layer(part DEPENDS base layout LINK x)\n"
CLEAN = {
    "docs/architecture.md": PAGE,
    "CMakeLists.txt": CMAKE,
    "include/tailrace/tailrace.h": "#ifndef T\n#define T\nint tailrace_f(void);\n#endif\n",
    "src/base/error.hpp": "#pragma once\n",
    "src/layout/plan.hpp": '#pragma once\n#include "base/error.hpp"\n',
    "src/part/part.cpp": '#include <hdf5.h>\n#include "base/error.hpp"\n#include "layout/plan.hpp"\n',
    "bench/raw.cpp": '#include "part/part.hpp"\n',
    "python/tailrace/__init__.py": "from tailrace import process\nfrom tailrace._core import TYPES\n",
    "python/tailrace/__main__.py": "from tailrace.study import plan\n",
    "python/tailrace/process.py": "from tailrace import _core\n",
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


@pytest.mark.parametrize("script", ["check_direction", "check_headers", "check_files", "check_links"])
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
        ("check_files", "src/base/file_utils.cpp", "", "the name says nothing"),
        ("check_files", "left.nc", "CDF\1\0", "left.nc: no text"),
        ("check_links", "docs/a.md", "[a](b.md)", "docs/a.md:1: b.md leads nowhere"),
        ("check_links", "docs/a.md", "# One\n[a](#two)", "docs/a.md:2: #two: the page has no such heading"),
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
