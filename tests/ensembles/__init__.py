"""Ensembles for tests: a file, its inputs and the nasty simulator."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tailrace.ensemble.marks import VARIABLE
from tailrace.toml_table import literal

RESULT = r"""result = { file = "out.txt", regex = 'result: (\S+)' }"""
NASTY = Path(__file__).with_name("nasty.py")
# What each way of the simulator comes to: the reason, or "" for a good member.
WAYS = {
    "good": "",
    "exit": "exit",
    "signal": "signal",
    "hang": "timeout",
    "missing": "missing",
    "empty": "missing",
    "half": "malformed",
    "stars": "malformed",
    "late": "",
    "daemon": "left running",
    "many": "",
    "stdin": "",
    "modes": "",
}


def write_ensemble(
    folder: Path,
    ways: Iterable[str],
    limits: str = "timeout_s = 1.5\nlinger_s = 0.8\ngrace_s = 0.2",
    more: str = "",
    results: str = "",
) -> Path:
    """An ensemble whose member N behaves like the Nth way, with the value N + 0.5. Returns its file."""
    (folder / "model").mkdir(parents=True, exist_ok=True)
    (folder / "model" / "large.bin").write_bytes(b"0123456789")
    (folder / "model" / "model.py").write_text(NASTY.read_text())
    with (folder / "parameters.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["way", "value"])
        writer.writerows((way, number + 0.5) for number, way in enumerate(ways))
    path = folder / "ensemble.toml"
    path.write_text(f"""
name = "nasty"
command = {literal([sys.executable, "-S", "model.py", "{way}", "{value}"])}
[inputs]
directory = "model"
[parameters]
file = "parameters.csv"
[results]
{results or RESULT}
[limits]
{limits}
[engine]
workers = 2
scratch = {literal(str(folder / "scratch"))}
{more}
""")
    return path


def table_of(out: Path) -> dict[int, dict[str, str]]:
    with (out / "members.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["member"] for row in rows}) == len(rows), "a member has two rows"
    return {int(row["member"]): row for row in rows}


def compare(out: Path, ways: Sequence[str]) -> None:
    """Every good member has its one right result, every bad one its reason."""
    rows = table_of(out)
    assert sorted(rows) == list(range(len(ways)))
    for number, way in enumerate(ways):
        row = rows[number]
        assert row["reason"] == WAYS[way], (number, way, row)
        assert row["result"] == ("" if WAYS[way] else str(number + 0.5)), (number, way, row)


SCRATCH = f"tailrace-ensemble-{os.getuid()}"


def marked_processes(run: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            if any(word.startswith(f"{VARIABLE}={run}/".encode()) for word in words):
                found.append(int(name))
    return found


def left_on_scratch(folder: Path) -> list[str]:
    return [path.name for path in (folder / "scratch" / SCRATCH).glob("*/m*")]
