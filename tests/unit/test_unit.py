"""Runs the C++ unit tests: each test of each program unit_LAYER is one test here, in the plain and the sanitized build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.environment import ROOT
from tests.mpirun import run_within

BUILD = Path(os.environ.get("TAILRACE_BUILD", ROOT / "build"))
SANITIZED_LAYERS = (
    "base",
    "format",
    "layout",
    "part",
    "stage",
    "switch",
)  # those without MPI: CMakeLists.txt under TAILRACE_SANITIZE
NOT_BUILT = "not-built"
SUPPRESSIONS = ROOT / "tests" / "unit" / "leaks.supp"
SANITIZER = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1",
    "LSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:print_suppressions=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


def cases_of(program: Path) -> list[str]:
    """The names SUITE.TEST that the program lists."""
    if not program.exists():
        return [NOT_BUILT]
    listing = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, timeout=60, check=True).stdout
    cases, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            cases.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return cases


def layers_with_tests() -> list[str]:
    return sorted({path.parent.name for path in (ROOT / "tests" / "unit").glob("*/*.cpp")})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """From the sources, not from what is built: a program that is missing is a test that fails."""
    if "unit_case" in metafunc.fixturenames:
        programs = [BUILD / "tests" / f"unit_{layer}" for layer in layers_with_tests()]
        found = [(program, case) for program in programs for case in cases_of(program)]
        metafunc.parametrize(("unit_program", "unit_case"), found, ids=[f"{p.name}-{c}" for p, c in found])
    if "sanitized_program" in metafunc.fixturenames:
        programs = [BUILD / "san" / "tests" / f"unit_{layer}" for layer in layers_with_tests() if layer in SANITIZED_LAYERS]
        metafunc.parametrize("sanitized_program", programs, ids=[p.name for p in programs])


@pytest.mark.fast
def test_unit(unit_program: Path, unit_case: str, tmp_path: Path) -> None:
    if unit_case == NOT_BUILT:
        pytest.fail(f"{unit_program} is not built: run `make build`", pytrace=False)
    finished = run_within([str(unit_program), f"--gtest_filter={unit_case}"], timeout_s=120, cwd=tmp_path)
    if finished.returncode != 0:
        pytest.fail(finished.output, pytrace=False)
    if "[  PASSED  ] 1 test." not in finished.stdout:
        pytest.fail(f"the test did not run\n{finished.output}", pytrace=False)


def test_unit_sanitized(sanitized_program: Path, tmp_path: Path, seed: int) -> None:
    """All tests of a program in one process, in a shuffled order."""
    if not sanitized_program.exists():
        pytest.fail(f"{sanitized_program} is not built: run `make sanitized`", pytrace=False)
    shuffle = ["--gtest_shuffle", f"--gtest_random_seed={seed % 99999 + 1}"]
    finished = run_within([str(sanitized_program), *shuffle], timeout_s=280, env=SANITIZER, cwd=tmp_path)
    if finished.returncode != 0:
        pytest.fail(finished.output, pytrace=False)
