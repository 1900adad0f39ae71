"""Generated pages are what their sources say today, and code blocks in pages parse; a stale page or a broken block is found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tailrace

from tests.environment import HANGS_S, ROOT

pytestmark = pytest.mark.fast


def check(repository: Path) -> tuple[int, str]:
    command = [sys.executable, "scripts/make_docs.py", "--check"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, cwd=repository, env=env, capture_output=True, text=True, timeout=HANGS_S, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The pages, and what they are made from."""
    for folder in ("scripts", "docs", "include", "bindings/fortran"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def test_pages_are_current(build_dir: Path) -> None:
    assert check(ROOT) == (0, "")


def test_current_pages_pass(repository: Path) -> None:
    assert check(repository) == (0, "")


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("docs/keys.md", "old keys\n", "docs/keys.md: differs from what its sources give: run `make docs`"),
        ("docs/reference/c.md", "old names\n", "docs/reference/c.md: differs from what its sources give"),
        ("docs/reference/ada.md", "one more\n", "docs/reference/ada.md: no generator makes this page"),
        ("docs/a.md", "```toml\na = 'b\n```\n", "docs/a.md:1: this toml block does not parse"),
        ("docs/a.md", "- one\n\n  ```python\n  def f(:\n  ```\n", "docs/a.md:3: this python block does not parse"),
    ],
)
def test_fault_is_found(repository: Path, page: str, text: str, said: str) -> None:
    (repository / page).write_text(text)
    status, output = check(repository)
    assert status == 1
    assert said in output


def calls_in(pattern: str, *files: str) -> set[str]:
    return {name for file in files for path in ROOT.glob(file) for name in re.findall(pattern, path.read_text())}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("c", calls_in(r"\b(tailrace_\w+)\(", "include/tailrace/tailrace.h")),
        ("cpp", calls_in(r"\b(?:stream|reader)\.(\w+)[(<]", "tests/mpi/*.cpp", "examples/*.cpp")),
        ("fortran", calls_in(r"\bcall (tailrace_\w+)\(", "tests/mpi/*.f90", "examples/*.f90")),
        ("python", set(tailrace.__all__)),
    ],
)
def test_every_public_name_is_on_its_page(page: str, names: set[str]) -> None:
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text()
    assert len(names) > 8
    assert not {name for name in names if re.search(rf"\b{name}\b", text) is None}


def test_the_guide_compiles(build_dir: Path, tmp_path: Path) -> None:
    """docs/porting.md shows one program for two libraries: both are as their headers say, and the calls of the table are there."""
    page = (ROOT / "docs" / "porting.md").read_text()
    blocks = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for block, header in zip(blocks, ("pnetcdf.h", "tailrace/tailrace.h"), strict=True):
        source = tmp_path / "guide.c"
        source.write_text(
            f"#include <mpi.h>\n#include <stdint.h>\n#include <{header}>\n"
            f"void guide(MPI_Comm comm, int steps, uint64_t first, uint64_t rows, float *rows_of_T) {{\n{block}}}\n"
        )
        command = ["mpicc", "-std=c99", "-Wall", "-Wno-narrowing", "-Werror", f"-I{ROOT / 'include'}", "-fsyntax-only", str(source)]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stderr
    contract = (ROOT / "include" / "tailrace" / "tailrace.h").read_text()
    called = set(re.findall(r"`(tailrace_[a-z_]+)", page))
    assert len(called) > 8
    assert not {name for name in called if f"{name}(" not in contract}
