"""tailrace report A B: two runs side by side."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from tailrace.findings.two_runs import FindingChange, TwoRuns, compare, headline
from tailrace.trace.model import Run

SCRIPT = """
import os, sys
os.makedirs("out", exist_ok=True)
if sys.argv[1] == "slow":
    for _ in range(60000):
        try:
            os.stat("out/missing")
        except OSError:
            pass
# The slow run writes its dumps in small pieces, so that their group stands among the rows that changed most.
piece = 100 if sys.argv[1] == "slow" else 100000
for step in range(4):
    with open(f"out/dump.{step}", "wb", buffering=0) as file:
        for _ in range(100000 // piece):
            file.write(bytes(piece))
if sys.argv[1] == "fast":
    open("out/extra", "w").close()
"""


@pytest.fixture(scope="module")
def folder(tailrace_command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("two")
    for kind in ("slow", "fast"):
        (here / kind).mkdir()
        words = ["run", "--log", f"../{kind}-log", "--", "python3", "-c", SCRIPT, kind]
        subprocess.run([*tailrace_command, *words], cwd=here / kind, check=True, capture_output=True, timeout=60)
    return here


def report(command: list[str], folder: Path, *words: str) -> str:
    done = subprocess.run([*command, "report", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def test_verdict_names_what_is_gone(tailrace_command: list[str], folder: Path) -> None:
    found = json.loads(report(tailrace_command, folder, "slow-log", "fast-log", "--json"))
    explained = r"(\S+ m?s of the \S+ m?s less is explained by '.*|'.*' costs \S+ m?s less, which is more than the \S+ m?s less)"
    assert re.match(rf"B took \S+ m?s instead of \S+ m?s: {explained}", found["verdict"])
    gone = next(row for row in found["findings"] if row["rule"] == "missing_files")
    # Where the machine is busy, the few missing files of python's own start may take long enough to be a finding, too.
    assert gone["state"] == ("both" if gone["second_s"] else "gone")
    assert 0 <= gone["second_s"] < gone["first_s"] / 2
    assert [row[0] for row in found["differences"]] == ["command"]


def test_files_of_two_folders_are_the_same_files(folder: Path) -> None:
    runs = [Run.read(folder / name, with_calls=True) for name in ("slow-log", "fast-log")]
    two = compare(runs[0], runs[1])
    files = {change.name: change for change in two.files}
    dumps = next(change for name, change in files.items() if name.endswith("dump.N"))
    assert (dumps.state, dumps.first["written_bytes"], dumps.second["written_bytes"]) == ("both", 400_000, 400_000)
    assert next(change for name, change in files.items() if name.endswith("extra")).state == "new"
    for at, run in enumerate(runs):
        sums = [change.second if at else change.first for change in two.operations]
        assert sum(row["calls"] for row in sums) == sum(row["calls"] for row in run.by_layer_and_kind().values())


def test_a_run_against_itself_has_no_change(folder: Path) -> None:
    run = Run.read(folder / "slow-log", with_calls=True)
    two = compare(run, run)
    assert headline(two).startswith("B took as long as A")
    assert {change.seconds for change in two.findings} == {0}
    assert {change.seconds for change in (*two.operations, *two.files)} == {0}
    assert two.differences == []


def two(first_s: float, second_s: float, *seconds: tuple[float, float], found_s: tuple[float, float] = (0.0, 0.0)) -> TwoRuns:
    findings = [FindingChange(f"rule{at}", f"Cause {at}", *pair, "both") for at, pair in enumerate(seconds)]
    return TwoRuns(first_s, second_s, first_s, second_s, *found_s, findings, (), (), (), ())


def test_verdict_says_which_part_of_the_difference_is_explained() -> None:
    assert headline(two(10.6, 7.12, (1.27, 0.0))) == (
        "B took 7.12 s instead of 10.6 s: 1.27 s of the 3.48 s less is explained by 'Cause 0'"
    )
    several = two(10.6, 7.12, (1.27, 0.0), (1.0, 0.0), found_s=(2.2, 0.0))
    assert headline(several).endswith("1.27 s of the 3.48 s less is explained by 'Cause 0', 2.20 s by all findings together")
    more = two(7.12, 10.6, (0.0, 1.27), (1.0, 0.0), found_s=(1.0, 1.27))
    assert headline(more).endswith(": 1.27 s of the 3.48 s more is explained by 'Cause 0'")
    assert headline(two(10.6, 7.12, (5.0, 0.0))).endswith(": 'Cause 0' costs 5.00 s less, which is more than the 3.48 s less")
    assert headline(two(10.6, 7.12, (0.0, 1.0))).endswith("; no finding explains it")


def test_page_and_terminal_say_the_same(tailrace_command: list[str], folder: Path) -> None:
    text = report(tailrace_command, folder, "slow-log", "fast-log", "--html", "two.html")
    page = (folder / "two.html").read_text()
    assert "B took" in text
    assert "gone" in text
    assert "What differs besides" in text
    assert not re.search(r"<script|https?://|src=|@import|url\((?!#)", page)
    assert "<rect" in page
    for words in ("A took", "Each is only one run", "dump.N"):
        assert (words in page) == (words in text)


def test_two_runs_under_aliases(tailrace_command: list[str], folder: Path) -> None:
    text = report(tailrace_command, folder, "slow-log", "fast-log", "--anonymise", "--html", "two.html")
    for shown in (text, (folder / "two.html").read_text()):
        assert "dump" not in shown
        assert str(folder) not in shown
        assert "slow" not in shown.replace("slowest", "")
        assert re.search(r"file-[a-z]+\.N", shown)


def test_a_source_without_calls_is_compared_in_what_it_has(tailrace_command: list[str], folder: Path) -> None:
    run = Run.read(folder / "slow-log", with_calls=True)
    summed = Run.read(folder / "fast-log")
    two = compare(run, summed)
    assert two.findings == []
    assert (two.first_io_s, two.second_io_s) == (None, None)
    assert two.operations
    assert any("B has no single calls" in text for text in two.not_compared)
