"""`--resume FILE`: tests that passed at this commit are not run again, so that a long run can be continued."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout


def source_state(root: Path) -> str:
    """The commit; with uncommitted changes also a checksum of these, so that edited sources are tested again."""
    commit = git(root, "rev-parse", "HEAD").strip()
    changes = git(root, "diff", "HEAD")
    for path in git(root, "ls-files", "--others", "--exclude-standard").splitlines():
        changes += path + hashlib.sha256((root / path).read_bytes()).hexdigest()
    return f"{commit}+{hashlib.sha256(changes.encode()).hexdigest()[:12]}" if changes else commit


class Resume:
    """The record is one JSON object: {"commit": ..., "passed": [test ids]}; written after every test. Where several processes share
    the tests out, one of them has the reports of all and writes."""

    def __init__(self, path: Path, root: Path, writes: bool = True) -> None:
        self.path = path
        self.writes = writes
        self.commit = os.environ.get("TAILRACE_RESUME_STATE") or source_state(root)  # set by the harness's own test
        self.passed: set[str] = set()
        self.not_passed: set[str] = set()
        if path.exists():
            record = json.loads(path.read_text())
            if record.get("commit") == self.commit:
                self.passed = set(record["passed"])

    def pytest_report_header(self) -> str:
        return f"commit: {self.commit} ({len(self.passed)} tests passed at it before: {self.path})"

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        done = [item for item in items if item.nodeid in self.passed]
        if done:
            config.hook.pytest_deselected(items=done)
            items[:] = [item for item in items if item.nodeid not in self.passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.not_passed.add(report.nodeid)
        # Only after its teardown has a test passed; a skipped one has not.
        if self.writes and report.when == "teardown" and report.nodeid not in self.not_passed:
            self.write(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"commit: {self.commit}; passed at it so far: {len(self.passed)}")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # Everything passed before: not a failure to have nothing left.
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.passed:
            session.exitstatus = pytest.ExitCode.OK

    def write(self, test: str) -> None:
        self.passed.add(test)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps({"commit": self.commit, "passed": sorted(self.passed)}, indent=1))
        os.replace(beside, self.path)
