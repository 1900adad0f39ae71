"""tailrace tree: existing directories into trees, and back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tailrace.place.compiled import compiled
from tailrace.place.rules import TreeRule, rules_of
from tailrace.place.tree import JOURNAL, TreeError, apply, recorded_rules, undo

CONFIG = '[[place.tree]]\nfiles = "data/{stream}.{rank:number}.{step:number}"\nto = "{rank}/{stream}"\nmost = 100\n'


def rules(base: Path, to: str = "{rank}/{stream}") -> tuple[TreeRule, ...]:
    return rules_of({"place": {"tree": [{"files": "data/{stream}.{rank:number}.{step:number}", "to": to, "most": 100}]}}, "t", base)


def fill(base: Path, count: int) -> dict[str, tuple[int, int]]:
    """Empty files but for some; returns inode and time of each name."""
    data = base / "data"
    data.mkdir()
    for number in range(count):
        (data / f"s{number % 2}.{number % 50:02}.{number:06}").touch()
    (data / "notes").write_text("no rule")
    (data / "folder.0.1").mkdir()
    os.utime(data / "s0.00.000000", ns=(5, 6))
    return {entry.name: (entry.stat().st_ino, entry.stat().st_mtime_ns) for entry in os.scandir(data) if entry.is_file()}


def files_below(base: Path) -> dict[str, tuple[int, int]]:
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (base / "data").rglob("*")
        if path.is_file() and path.name != JOURNAL
    }


def tailrace(command: list[str], base: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *words], cwd=base, capture_output=True, text=True, check=False, timeout=120)


def test_files_go_into_the_tree_and_back(tailrace_command: list[str], tmp_path: Path) -> None:
    before = fill(tmp_path, 1000)
    (tmp_path / "tailrace.toml").write_text(CONFIG)
    done = tailrace(tailrace_command, tmp_path, "tree", "apply", "data")
    assert (done.returncode, done.stdout) == (0, "1,000 files moved into trees, in 1 directories\n")
    assert files_below(tmp_path) == before
    assert (tmp_path / "data/07/s1/s1.07.000007").exists()
    assert (tmp_path / "data/07/s1/k2/9/s1.07.000957").exists()
    assert max(len(list(folder.iterdir())) for folder in (tmp_path / "data").rglob("*") if folder.is_dir()) <= 100
    seen = tailrace(tailrace_command, tmp_path, "run", "--config", "tailrace.toml", "--no-trace", "--", "ls", "data")
    assert sorted(seen.stdout.split()) == sorted([*before, "folder.0.1"])
    (tmp_path / "tailrace.toml").unlink()  # undo has the rules that the tree was made with
    done = tailrace(tailrace_command, tmp_path, "tree", "undo", "data")
    assert (done.returncode, done.stdout) == (0, "1,000 files moved back, in 1 directories\n")
    assert files_below(tmp_path) == before
    assert sorted(os.listdir(tmp_path / "data")) == sorted([*before, "folder.0.1"])


def test_a_conversion_that_is_killed_continues(tailrace_command: list[str], tmp_path: Path) -> None:
    before = fill(tmp_path, 6000)
    (tmp_path / "tailrace.toml").write_text(CONFIG)
    for verb in ("apply", "undo"):
        process = subprocess.Popen([*tailrace_command, "tree", verb, "data"], cwd=tmp_path, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        flat = len(before)
        while process.poll() is None and time.monotonic() < deadline:
            flat = sum(name in before for name in os.listdir(tmp_path / "data"))
            if 200 < flat < len(before) - 200:
                process.send_signal(signal.SIGKILL)
        process.wait()
        assert files_below(tmp_path) == before
        done = tailrace(tailrace_command, tmp_path, "tree", verb, "data")
        assert done.returncode == 0
        assert files_below(tmp_path) == before
        flat = sum(name in before for name in os.listdir(tmp_path / "data"))
        assert flat == (1 if verb == "apply" else len(before))  # `notes` has no rule


def test_no_file_is_replaced(tailrace_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "tailrace.toml").write_text(CONFIG)
    (tmp_path / "data/3/a").mkdir(parents=True)
    (tmp_path / "data/a.3.1").write_text("flat")
    (tmp_path / "data/3/a/a.3.1").write_text("placed")
    (tmp_path / "data/3/a/strange").write_text("no rule")
    done = tailrace(tailrace_command, tmp_path, "tree", "apply", "data", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["folders"][f"{tmp_path}/data"]["two_files"] == [f"{tmp_path}/data/a.3.1"]
    done = tailrace(tailrace_command, tmp_path, "tree", "undo", "data")
    assert done.returncode == 1
    assert f"not by a rule: {tmp_path}/data/3/a/strange" in done.stdout
    assert (tmp_path / "data/a.3.1").read_text() == "flat"
    assert (tmp_path / "data/3/a/a.3.1").read_text() == "placed"
    assert (tmp_path / "data/3/a/strange").exists()


def test_other_rules_are_refused_until_undo(tmp_path: Path) -> None:
    before = fill(tmp_path, 20)
    folder = str(tmp_path / "data")
    first, second = compiled(rules(tmp_path)), compiled(rules(tmp_path, "r{rank}/{stream}"))
    assert apply(first, folder).moved == 20
    assert recorded_rules(folder) == first
    with pytest.raises(TreeError, match="other rules"):
        apply(second, folder)
    assert undo(folder).moved == 20
    assert apply(second, folder).moved == 20
    assert (tmp_path / "data/r07/s1/s1.07.000007").exists()
    Path(folder, JOURNAL).write_text("{}")
    with pytest.raises(TreeError, match="damaged"):
        undo(folder)
    Path(folder, JOURNAL).unlink()
    assert undo(folder, second).moved == 20
    assert files_below(tmp_path) == before


@pytest.mark.full
def test_a_hundred_thousand_files(tmp_path: Path) -> None:
    before = fill(tmp_path, 100_000)
    folder = str(tmp_path / "data")
    assert apply(compiled(rules(tmp_path)), folder).moved == 100_000
    assert undo(folder).moved == 100_000
    assert files_below(tmp_path) == before
