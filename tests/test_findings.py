"""Each rule finds its cause, and does not find it in the same program without the cause (tests/findings/)."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tailrace import contract
from tailrace.findings import verdict_of
from tailrace.findings.estimates import repeated
from tailrace.findings.price import Pricing
from tailrace.findings.rules import RULES
from tailrace.trace.model import calls_of

from bench.harness import causes
from tests.environment import ROOT


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory, needs: Any) -> Path:
    needs("gcc", "mpicc")
    return causes.build_slow(tmp_path_factory.mktemp("findings"))


@pytest.fixture(params=[rule.NAME for rule in RULES])
def rule(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder on which the disk of this machine has no influence."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


@pytest.mark.sampled(4)
def test_rule_finds_its_cause_and_nothing_without_it(rule: str, tailrace_command: list[str], slow: Path, in_memory: Path) -> None:
    program = causes.Cause(rule, in_memory)
    cause, twin = (calls_of(program.record(which, in_memory / which, tailrace_command, slow)) for which in ("cause", "twin"))
    # RATIONALE: what a cause costs of the run depends on how busy the machine is. The bench judges it.
    (module,) = (each for each in RULES if rule == each.NAME)
    found = module.find(cause, Pricing(cause))
    assert found is not None
    assert len(found.calls)
    assert (found.saved_s <= cause.seconds[found.calls] * 1.001).all()
    assert Pricing(cause).seconds(found.calls, found.saved_s) > 0
    assert found.remedy
    verdict = verdict_of(cause)
    assert verdict.found_s <= verdict.io_s * 1.001 <= cause.duration_s * 1.01
    of_twin = sum(each.seconds for each in verdict_of(twin).findings if each.rule == rule)
    assert of_twin <= 0.01 * twin.duration_s


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
        done = subprocess.run([*tailrace_command, "run", "--", "true"], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert f"`tailrace report {tmp_path}/tailrace-run-{count}` says" in done.stderr, "what to do next"
        assert done.stderr.index("tailrace report") < done.stderr.index("tailrace trace show")
        shown = subprocess.run([*tailrace_command, "report"], cwd=tmp_path, capture_output=True, text=True)
        assert shown.stdout.startswith(f"tailrace-run-{count}: 1 "), shown
        assert "\nI/O took " in shown.stdout


MANY_CALLS = """
import os
fd = os.open("all", os.O_CREAT | os.O_WRONLY)
for _ in range(60000):
    os.write(fd, bytes(100))
"""


def test_merged_calls_are_in_findings(tailrace_command: list[str], tmp_path: Path) -> None:
    words = ["run", "--log", "log", "--budget", "1", "--", "/usr/bin/python3", "-c", MANY_CALLS]
    subprocess.run([*tailrace_command, *words], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    activity = calls_of(tmp_path / "log")
    assert activity.count.max() > 1000
    (finding,) = [found for found in verdict_of(activity).findings if found.rule == "small_writes"]
    assert finding.calls == 60000
    assert "60 000 calls write 100 B each" in finding.what
