"""Generated pages are what the program prints today, and code blocks in pages parse; a stale page or a broken block is found."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environment import ROOT

pytestmark = pytest.mark.fast


def check(repository: Path) -> tuple[int, str]:
    command = [sys.executable, "scripts/make_docs.py", "--check"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One page, and a program that prints it."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    program = tmp_path / "build" / "bin" / "tailrace"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho keys\n")
    program.chmod(0o755)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "keys.md").write_text("keys\n")
    return tmp_path


def test_pages_are_current(build_dir: Path) -> None:
    assert check(ROOT) == (0, "")


def test_current_pages_pass(repository: Path) -> None:
    assert check(repository) == (0, "")


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("docs/keys.md", "old keys\n", "run `make docs`"),
        ("docs/a.md", "```toml\na = 'b\n```\n", "docs/a.md:1: this toml block does not parse"),
        ("docs/a.md", "- one\n\n  ```python\n  def f(:\n  ```\n", "docs/a.md:3: this python block does not parse"),
    ],
)
def test_fault_is_found(repository: Path, page: str, text: str, said: str) -> None:
    (repository / page).write_text(text)
    status, output = check(repository)
    assert status == 1
    assert said in output


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
