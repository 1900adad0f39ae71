"""A test file that takes more than twice its budget of processor seconds fails the run, in one process and in several."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from tests import budgets
from tests.environment import ROOT
from tests.mpirun import Finished, run_within

pytestmark = pytest.mark.fast

SPENDS = """
import subprocess, sys, time

def test_in_this_process():
    began = time.process_time()
    while time.process_time() - began < 0.4:
        pass

def test_in_another_process():
    code = "import time\\nwhile time.process_time() < 0.4: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
"""
RUN = """
import sys
from pathlib import Path
import pytest
from tests import budgets
budgets.FILE = Path(sys.argv[1])
sys.exit(pytest.main([*sys.argv[2:], "-q", "-p", "no:cacheprovider"]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a conftest that has the option, and a file of tests that takes 0.8 s of processors."""
    (tmp_path / "conftest.py").write_text(
        "from tests import budgets\n"
        "def pytest_addoption(parser): parser.addoption('--budgets', action='store_true')\n"
        "def pytest_configure(config): budgets.configure(config)\n"
    )
    (tmp_path / "test_spends.py").write_text(SPENDS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run(folder: Path, budget_s: float, *words: str) -> Finished:
    # A loop that took an hour there: this machine is not slower.
    (folder / "budgets.toml").write_text(f'loop_s = 3600\nof_others_s = 60\n[processor_seconds]\n"test_spends.py" = {budget_s}\n')
    start = [sys.executable, "-c", RUN, str(folder / "budgets.toml"), str(folder), *words]
    return run_within(start, {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, cwd=folder)


@pytest.mark.parametrize("jobs", [[], ["-p", "xdist", "-n", "1"]], ids=["one process", "two"])
def test_fails_a_file_over_twice_its_budget(folder: Path, jobs: list[str]) -> None:
    over = run(folder, 0.3, "--budgets", *jobs)
    assert over.returncode == 1, over.output
    assert "2 passed" in over.stdout
    assert "s of processors, more than twice its budget of 0 s" in over.stdout
    assert "  sum" in over.stdout


@pytest.mark.parametrize(("budget_s", "words"), [(1000, ["--budgets"]), (0.3, [])], ids=["below", "not asked for"])
def test_does_not_fail(folder: Path, budget_s: float, words: list[str]) -> None:
    finished = run(folder, budget_s, *words)
    assert finished.returncode == 0, finished.output


def test_a_slower_machine_gets_more() -> None:
    used = {"a.py": 25.0, "b.py": 130.0}
    assert [line.split()[0] for line in budgets.broken(used, {"a.py": 10}, 60, 1.0)] == ["a.py", "b.py"]
    assert [line.split()[0] for line in budgets.broken(used, {"a.py": 10}, 60, 0.2)] == ["a.py", "b.py"]
    assert budgets.broken(used, {"a.py": 10}, 60, 1.3) == []


def test_the_list_names_files_that_are_there() -> None:
    listed = tomllib.loads(budgets.FILE.read_text())["processor_seconds"]
    assert not [file for file in listed if not (ROOT / file).exists()]
