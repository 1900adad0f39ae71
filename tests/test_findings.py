"""Each rule finds its cause, and does not find it in the same program without the cause (tests/findings/)."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tailrace import contract
from tailrace.findings.estimates import repeated
from tailrace.findings.rules import RULES

from tests.environment import ROOT

PROGRAMS = ROOT / "tests" / "findings"
FLAGS = ["-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory, needs: Any) -> Path:
    """tests/findings/slow.c, to be preloaded."""
    needs("gcc", "mpicc")
    library = tmp_path_factory.mktemp("findings") / "slow.so"
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", PROGRAMS / "slow.c", "-o", library, "-ldl"], check=True)
    return library


class Programs:
    """The program of one rule, recorded with its cause and without."""

    def __init__(self, rule: str, command: list[str], slow: Path, folder: Path) -> None:
        source = PROGRAMS / f"{rule}.c"
        text = source.read_text()
        ranks = re.search(r"^// ranks: (\d+)$", text, re.M)
        wait = re.search(r"^// slow:(.*)$", text, re.M)
        assert wait, f"{source} says what is slow"
        self.command, self.folder, self.program = command, folder, folder / rule
        self.launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks[1]] if ranks else []
        self.env = {**os.environ, "LD_PRELOAD": str(slow), "SLOW": wait[1].strip()}
        subprocess.run(["mpicc" if ranks else "gcc", *FLAGS, source, "-o", self.program], check=True)

    def report(self, which: str) -> dict[str, Any]:
        here = self.folder / which
        here.mkdir()
        recorded = [*self.command, "run", "--log", "log", "--", *self.launcher, self.program, which]
        subprocess.run(recorded, check=True, cwd=here, env=self.env, capture_output=True, timeout=60)
        shown = subprocess.run([*self.command, "report", "log", "--json"], check=True, cwd=here, capture_output=True, timeout=60)
        report: dict[str, Any] = json.loads(shown.stdout)
        return report


@pytest.fixture(params=[rule.NAME for rule in RULES])
def rule(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def programs(rule: str, tailrace_command: list[str], slow: Path, tmp_path: Path) -> Programs:
    return Programs(rule, tailrace_command, slow, tmp_path)


def test_rule_finds_its_cause_and_nothing_without_it(rule: str, programs: Programs) -> None:
    with_cause, twin = programs.report("cause"), programs.report("twin")
    found = {finding["rule"]: finding for finding in with_cause["findings"]}
    assert rule in found, f"{with_cause}\nnot found"
    finding = found[rule]
    assert finding["seconds"] >= 0.1 * with_cause["duration_s"] or rule == "waiting"
    assert finding["seconds"] <= with_cause["io_s"] * 1.001 <= with_cause["duration_s"] * 1.01
    assert finding["files"]
    assert finding["remedy"]
    assert with_cause["found_s"] <= with_cause["io_s"] * 1.001
    of_twin = sum(each["seconds"] for each in twin["findings"] if each["rule"] == rule)
    assert of_twin <= 0.01 * twin["duration_s"], twin


def test_configuration_in_remedies_has_keys_of_this_version() -> None:
    texts = [(ROOT / "python/tailrace/findings/rules" / f"{rule.NAME}.py").read_text() for rule in RULES]
    named = {key for text in texts for key in re.findall(r'"(\w+) = [^"]*"', text)}
    assert named
    assert named <= {row["name"] for row in contract.keys()["keys"]}


def test_repeated_bytes() -> None:
    begin, end = np.array([0, 0, 50, 200]), np.array([100, 100, 150, 300])
    np.testing.assert_allclose(repeated(begin, end), [0, 1, 0.5, 0])


def test_report_without_a_run_names_what_makes_one(tailrace_command: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*tailrace_command, "report"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "tailrace run -- COMMAND" in done.stderr


def test_report_of_the_newest_run_begins_with_the_verdict(tailrace_command: list[str], tmp_path: Path) -> None:
    for count in (1, 2):
        subprocess.run([*tailrace_command, "run", "--", "true"], cwd=tmp_path, check=True, capture_output=True)
        shown = subprocess.run([*tailrace_command, "report"], cwd=tmp_path, capture_output=True, text=True)
        assert shown.stdout.startswith(f"tailrace-run-{count}: 1 process\nI/O took "), shown
