"""The seconds that each test file takes, by the clock and of processors. With --budgets a file fails that takes more than twice the
processor seconds that tests/budgets.toml gives it.

Processor seconds are those of the test's process, and of all processes below it that have ended: a machine with other work to do
does not change them much. A slower processor does: so budgets grow with the time of a loop of Python, where it takes longer than on
the machine of the list. They never shrink.
"""

from __future__ import annotations

import time
import tomllib
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.processor_time import used_s

FILE = Path(__file__).with_name("budgets.toml")
LOOPS = 400_000


def loop_s() -> float:
    """Processor seconds of the loop: the least of five."""
    taken = []
    for _ in range(5):
        began, total = time.process_time(), 0
        for number in range(LOOPS):
            total += number & 7
        taken.append(time.process_time() - began)
    return min(taken)


class Meter:
    """In each process that runs tests: gives every report the processor seconds since the one before."""

    def __init__(self) -> None:
        self.before_s = used_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now_s = used_s()
        report.processor_s = now_s - self.before_s
        self.before_s = now_s
        return report


class Budgets:
    """In the process that prints."""

    def __init__(self, are_kept: bool, budgets: Mapping[str, Any]) -> None:
        self.are_kept = are_kept
        self.budgets: Mapping[str, float] = budgets["processor_seconds"]
        self.of_others_s: float = budgets["of_others_s"]
        self.reference_s: float = budgets["loop_s"]
        self.clock_s: dict[str, float] = defaultdict(float)
        self.processor_s: dict[str, float] = defaultdict(float)
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        file = report.nodeid.split("::")[0]
        self.clock_s[file] += report.duration
        self.processor_s[file] += getattr(report, "processor_s", 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.are_kept or not self.processor_s:
            return
        self.broken = broken(self.processor_s, self.budgets, self.of_others_s, loop_s() / self.reference_s)
        if self.broken and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.clock_s:
            return
        terminalreporter.section("seconds by file: clock, processors, budget of processors")
        for file, clock_s in sorted(self.clock_s.items(), key=lambda item: -item[1]):
            budget = self.budgets.get(file, self.of_others_s)
            terminalreporter.write_line(f"{clock_s:8.2f} {self.processor_s[file]:8.2f} {budget:8.0f}  {file}")
        total = f"{sum(self.clock_s.values()):8.2f} {sum(self.processor_s.values()):8.2f} {sum(self.budgets.values()):8.0f}"
        terminalreporter.write_line(f"{total}  sum")
        for line in self.broken:
            terminalreporter.write_line(f"FAILED {line}", red=True)


def broken(processor_s: Mapping[str, float], budgets: Mapping[str, float], of_others_s: float, slower: float) -> list[str]:
    """`of_others_s`: the budget of a file that is not listed. `slower`: how many times slower than the machine of the list."""
    lines = []
    for file, used in sorted(processor_s.items()):
        budget = budgets.get(file, of_others_s)
        if used > 2 * budget * max(1.0, slower):
            lines.append(
                f"{file} took {used:.0f} s of processors, more than twice its budget of {budget:.0f} s "
                f"({max(1.0, slower):.1f} times that on this machine): make it cheaper, mark tests `full`, or change {FILE.name}"
            )
    return lines


def configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Meter(), "tailrace-meter")
    if not hasattr(config, "workerinput"):
        budgets = Budgets(config.option.budgets, tomllib.loads(FILE.read_text()))
        config.pluginmanager.register(budgets, "tailrace-budgets")
