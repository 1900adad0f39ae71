"""`tailrace run --compare` without rules: a first run's findings name them, and a file has them where they bring something."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tailrace.compare import remedy
from tailrace.compare.copies import CompareError
from tailrace.findings import Finding, Verdict
from tailrace.findings.finding import TRY_PLACING
from tailrace.findings.rules import PLACING
from tailrace.place.rules import read_rules
from tailrace.place.stage_rules import read_stage

from tests.environment import ROOT

FILES = 1000
MODEL = f"""
import os
os.makedirs("out/deep", exist_ok=True)
for number in range({FILES}):
    open(f"out/deep/f{{number}}", "w").write(str(number) * 100)
for number in range(300):
    open(f"top.0{{number:03}}", "w").write("x")
"""
FINDING = Finding("create_storm", "A cause", 2.0, 0.5, "", "", "", (), "high", 1, (), (), 0.0, 1.0, ())


def ran(command: list[str], here: Path, *words: str, program: str = "model.py") -> subprocess.CompletedProcess[str]:
    line = [*command, "run", *words, "--", sys.executable, program]
    return subprocess.run(line, cwd=here, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    return folder


def test_many_small_files_are_staged(tailrace_command: list[str], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = here.with_name("scratch")
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))  # the job's folder on the node
    done = ran(tailrace_command, here, "--compare", "--json", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["files"]["identical"]
    assert found["files"]["same"] >= FILES
    assert "'Data is spread over many small files' costs" in done.stderr
    named = re.search(r"the rules to try are in (\S+)", done.stderr)
    assert named
    assert (here / named[1]).is_file(), "the file that is named stays"
    assert found["keep"] == "", "one round proves nothing"
    assert {path.name for path in here.iterdir()} == {"model.py", "tailrace-compare-1"}
    rules = (here / "tailrace-compare-1/rules.toml").read_text()
    assert tomllib.loads(rules) == {"stage": {"files": ["top.*", "out/**"], "sink": "bundle"}}
    assert "tailrace-compare" not in rules, "the folder of the user's run is another one"


@pytest.fixture
def log(tailrace_command: list[str], here: Path) -> Path:
    assert ran(tailrace_command, here, "--log", "log").returncode == 0
    return here / "log"


def verdict(*findings: Finding) -> Verdict:
    return Verdict(4.0, 3.0, findings, 2.0, 0, 1, 0)


def found(monkeypatch: pytest.MonkeyPatch, log: Path, *findings: Finding) -> str:
    monkeypatch.setattr(remedy, "verdict_or_none", lambda _: verdict(*findings))
    return remedy.remedy_of(log, log.parent).toml


def test_a_crowded_directory_gets_a_tree(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    text = found(monkeypatch, log, replace(FINDING, rule="small_reads"), replace(FINDING, what=f"in {log.parent}/out\n[stage]"))
    assert text.startswith("# in out\\n[stage]\n")
    path = log.parent / "rules.toml"
    path.write_text(text)
    assert sorted(rule.title for rule in read_rules(path)) == ["out/deep/f{number:number}", "top.{number:number}"]
    assert read_stage(path) is None


def test_without_a_batch_system_memory_is_scratch(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    for variable in ("SLURM_TMPDIR", "TMPDIR", "LOCALWORKDIR"):
        monkeypatch.delenv(variable, raising=False)
    stage = replace(FINDING, rule="many_files")
    assert tomllib.loads(found(monkeypatch, log, stage))["stage"]["scratch"] == "/dev/shm"
    monkeypatch.setattr(remedy.shutil, "disk_usage", lambda _: (1 << 30, 1 << 30, 10))
    with pytest.raises(CompareError, match="do not fit into /dev/shm, which has 10 B: set TMPDIR"):
        found(monkeypatch, log, stage)
    tree = found(monkeypatch, log, stage, replace(FINDING, seconds=1.0))
    assert "[[place.tree]]" in tree, "the next finding has a remedy"


@pytest.mark.parametrize("rule", PLACING)
def test_a_remedy_that_may_not_help_says_so(rule: str) -> None:
    text = (ROOT / "python/tailrace/findings/rules" / f"{rule}.py").read_text()
    assert "{TRY_PLACING}" in text
    assert "--compare" not in text
    assert "try it" in TRY_PLACING


def test_where_no_rule_would_help_the_findings_are_named(tailrace_command: list[str], here: Path) -> None:
    (here / "model.py").write_text("print('no file')")
    done = ran(tailrace_command, here, "--compare")
    said = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "no rule would help this command: the findings of this run are: " in said
    assert "--remedy FILE" in said
    assert {path.name for path in here.iterdir()} == {"model.py", "tailrace-compare-1"}
