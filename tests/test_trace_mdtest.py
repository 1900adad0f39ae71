"""The output of mdtest becomes results, and a reason why there is nothing else."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tailrace.cli import main
from tailrace.trace import Run
from tailrace.trace.log import LogError

pytestmark = pytest.mark.fast

# As mdtest of IOR 4 prints it; made by hand for these tests.
TEXT = """\
-- started at 11/09/2026 10:00:00 --

mdtest-4.0.0 was launched with 4 total task(s) on 2 node(s)
Command line used: mdtest '-n' '100' '-i' '3' '-d' '/mnt/pfs/md' '-a' 'MPIIO'
Path                : /mnt/pfs/md
FS                  : 9.8 GiB   Used FS: 12.0%   Inodes: 0.6 Mi   Used Inodes: 1.0%

4 tasks, 400 files/directories

SUMMARY rate (in ops/sec): (of 3 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   Directory creation         9000.123       7000.000       8000.500        800.000
   File creation              4000.000       3000.000       3500.250        400.000
   File removal               6000.000       5000.000       5500.000        400.000
   Tree creation               900.000        700.000        800.000         80.000

SUMMARY time (in ms/op): (of 3 iterations)
   Operation                     Max            Min           Mean        Std Dev
   File creation                 0.400          0.300          0.350          0.040
-- finished at 11/09/2026 10:00:09 --
"""


def test_rates_are_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mdtest.out"
    path.write_text(TEXT)
    run = Run.read(path)
    assert [(row["operation"], row["iops"]) for row in run.results] == [
        ("directory creation", 8000.5),
        ("file creation", 3500.25),
        ("file removal", 5500.0),
        ("tree creation", 800.0),
    ]
    assert {(row["benchmark"], row["interface"], row["file"], row["tasks"]) for row in run.results} == {
        ("mdtest", "MPIIO", "/mnt/pfs/md", 4)
    }
    assert run.share().of_run is None
    assert "no calls" in run.unknown["calls"]
    assert main(["trace", "show", str(path)]) == 0
    assert "8000" in capsys.readouterr().out
    assert main(["trace", "show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["io_share"]["of_run"], shown["failures"], shown["slowest"]) == (None, None, None)


def test_an_unfinished_output_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mdtest.out"
    path.write_text(TEXT.partition("   Directory")[0])
    with pytest.raises(LogError, match="without a result"):
        Run.read(path)


def test_a_damaged_output_is_read_or_refused(tmp_path: Path, rng: random.Random) -> None:
    path = tmp_path / "mdtest.out"
    for _ in range(300):
        damaged = bytearray(TEXT.encode())
        for _ in range(rng.choice((1, 5, 40))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged[: rng.randrange(len(damaged))] if rng.random() < 0.2 else damaged)
        try:
            assert all(row["iops"] >= 0 for row in Run.read(path).results)
        except LogError as error:
            assert str(path) in str(error)  # noqa: PT017 - either is right
