"""`--resume FILE`: tests that passed with the same sources are not run again, so that a long run can be continued.

A test depends on all files of the checkout, tracked and new, but not on other test modules, and not on pages (docs/, *.md) where
its module does not name them. So after a change of one test module or of a page the rest does not run again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

SAID_CHARACTERS = 4000


class Sources:
    """What each test module of a checkout of git depends on, by the contents of files when this object is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        contents = self._contents()
        shared = {name: content for name, content in contents.items() if not _is_test_module(name)}
        with_pages = _digest(shared)
        without_pages = _digest({name: content for name, content in shared.items() if not _is_page(name)})
        self._of_module: dict[str, str] = {}
        for name in filter(_is_test_module, contents):
            text = (root / name).read_text() if (root / name).is_file() else ""
            names_pages = "docs" in text or ".md" in text
            self._of_module[name] = _digest({name: contents[name], "shared": with_pages if names_pages else without_pages})

    def of(self, test: str) -> str | None:
        """A checksum of what the test with this id depends on; None where its module is gone."""
        return self._of_module.get(test.partition("::")[0])

    def _contents(self) -> dict[str, str]:
        """Git's hash of each file; of those changed after the commit, the checksum of their bytes."""
        contents = {}
        for line in self._git("ls-files", "--stage", "-z").split("\0")[:-1]:
            told, name = line.split("\t", 1)
            contents[name] = told.split()[1]
        changed = self._git("diff", "HEAD", "--name-only", "--no-renames", "-z") + self._git(
            "ls-files", "--others", "--exclude-standard", "-z"
        )
        for name in changed.split("\0")[:-1]:
            path = self.root / name
            contents[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "gone"
        return contents

    def _git(self, *arguments: str) -> str:
        return subprocess.run(["git", "-C", str(self.root), *arguments], capture_output=True, text=True, check=True).stdout


def _is_test_module(name: str) -> bool:
    return name.endswith(".py") and name.rpartition("/")[2].startswith("test_")


def _is_page(name: str) -> bool:
    return name.startswith("docs/") or name.endswith(".md")


def _digest(contents: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(contents.items())).encode()).hexdigest()[:16]


class Resume:
    """The record has a line of JSON for each test that passed: {"test": id, "sources": checksum, "seconds": 1.5}; and one for each
    that failed, with `failed`, the end of what it said: a run that is killed has no summary. Where several processes share the
    tests out, one of them has the reports of all and writes. A line that a kill has cut is passed over."""

    def __init__(self, path: Path, root: Path, writes: bool = True) -> None:
        self.path = path
        self.writes = writes
        self.sources = Sources(root)
        self.not_passed: set[str] = set()
        self.seconds: defaultdict[str, float] = defaultdict(float)  # of each test so far

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        passed = self.passed()
        done = [item for item in items if item.nodeid in passed]
        if done:
            config.hook.pytest_deselected(items=done)
            items[:] = [item for item in items if item.nodeid not in passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.not_passed.add(report.nodeid)
        if report.failed and self.writes:
            self.write(report.nodeid, failed=report.longreprtext[-SAID_CHARACTERS:])
        # Only after its teardown has a test passed; a skipped one has not.
        if self.writes and report.when == "teardown" and report.nodeid not in self.not_passed:
            self.write(report.nodeid, seconds=round(self.seconds[report.nodeid], 1))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"passed with these sources, this time and before: {len(self.passed())} tests ({self.path})")

    def passed(self) -> set[str]:
        """The tests recorded with the sources as they are."""
        return {test for test, sources in _read(self.path).items() if sources == self.sources.of(test)}

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # Everything passed before: not a failure to have nothing left.
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.passed():
            session.exitstatus = pytest.ExitCode.OK

    def write(self, test: str, **about: str | float) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as record:
            record.write(json.dumps({"test": test, "sources": self.sources.of(test), **about}) + "\n")


def _read(path: Path) -> dict[str, str]:
    """The sources that each test passed with last."""
    recorded: dict[str, str] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        recorded.pop(entry["test"], None)
        if "failed" not in entry:
            recorded[entry["test"]] = entry["sources"]
    return recorded
