"""The output of IOR becomes results, in each version and format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tailrace.cli import main
from tailrace.trace import sources
from tailrace.trace.log import LogError
from tailrace.trace.schema import Tables, joined

pytestmark = pytest.mark.fast

# As IOR 4 prints it; made by hand for these tests.
TEXT_4 = """\
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Mon Nov  9 10:00:00 2026
Command line        : ior -a MPIIO -b 1m -t 256k -i 2 -o /mnt/pfs/probe
Machine             : Linux n1
TestID              : 0
StartTime           : Mon Nov  9 10:00:00 2026
Path                : /mnt/pfs/probe
FS                  : 9.8 GiB   Used FS: 12.0%   Inodes: 0.6 Mi   Used Inodes: 1.0%

Options:
api                 : MPIIO
apiVersion          : (3.1)
test filename       : /mnt/pfs/probe
access              : single-shared-file
type                : independent
segments            : 1
nodes               : 1
tasks               : 4
clients per node    : 4
repetitions         : 2
xfersize            : 262144 bytes
blocksize           : 1 MiB
aggregate filesize  : 4 MiB

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     800.00     3300.00    0.000300    1024.00    256.00     0.000100   0.004800   0.000050   0.005000   0
read      1600.00    6500.00    0.000150    1024.00    256.00     0.000050   0.002400   0.000020   0.002500   0
write     400.00     1650.00    0.000600    1024.00    256.00     0.000200   0.009600   0.000100   0.010000   1
read      2000.00    8100.00    0.000120    1024.00    256.00     0.000040   0.001900   -          0.002000   1

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Test# #Tasks tPN reps
write         800.00     400.00     600.00     200.00    3200.00    1600.00    2400.00     800.00    0.00750     0      4   4    2
read         2000.00    1600.00    1800.00     200.00    8000.00    6400.00    7200.00     800.00    0.00225     0      4   4    2
Finished            : Mon Nov  9 10:00:01 2026
"""
TEXT_3 = """\
IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Began: Mon Nov  9 10:00:00 2026
Command line used: ior
Machine: Linux n1

Test 0 started: Mon Nov  9 10:00:00 2026
Summary:
\tapi                = POSIX
\ttest filename      = probe
\taccess             = single-shared-file
\tclients            = 8 (2 per node)
\trepetitions        = 1

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     800.00     1024.00    256.00     0.000100   0.004800   0.000050   0.005000   0

Max Write: 800.00 MiB/sec (838.86 MB/sec)
"""
CSV = """\
access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,800.0000,3300.0000,0.0003,1024.0000,256.0000,0.0001,0.0048,0.0001,0.0050,4,0
read,1600.0000,NA,NA,1024.0000,256.0000,0.0001,0.0024,0.0000,0.0025,4,0
"""


def json_of(results_in_options: bool) -> str:
    shared = {"blockKiB": 1024.0, "xferKiB": 256.0, "openTime": 0.0001, "wrRdTime": 0.0048, "closeTime": 0.00005}
    results = [
        {"access": "write", "bwMiB": 800.0, "iops": 3300.0, "latency": 0.0003, **shared, "totalTime": 0.005},
        {"access": "write", "bwMiB": 400.0, "iops": 1650.0, "latency": 0.0006, **shared, "totalTime": 0.01},
    ]
    test: dict[str, Any] = {"TestID": 0, "Parameters": {"api": "POSIX", "testFileName": "probe", "repetitions": 2}}
    test["Options"] = {"api": "POSIX", "test filename": "probe", "tasks": 4}
    (test["Options"] if results_in_options else test)["Results"] = results
    return json.dumps({"Version": "4.0.0", "Began": "Mon Nov  9 10:00:00 2026", "Command line": "ior", "tests": [test]}, indent=2)


def all_of(path: Path) -> Tables:
    return joined(list(sources.read(path).parts))


def results_of(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    (tmp_path / "ior.out").write_text(text)
    rows: list[dict[str, Any]] = all_of(tmp_path / "ior.out")["results"].to_pylist()
    return rows


def test_the_text_of_ior_4_becomes_results(tmp_path: Path) -> None:
    rows = results_of(tmp_path, TEXT_4)
    assert [(row["operation"], row["iteration"], row["bandwidth_mib_s"]) for row in rows] == [
        ("write", 0, 800.0),
        ("read", 0, 1600.0),
        ("write", 1, 400.0),
        ("read", 1, 2000.0),
    ]
    assert rows[0] == {
        "benchmark": "IOR",
        "interface": "MPIIO",
        "file": "/mnt/pfs/probe",
        "tasks": 4,
        "operation": "write",
        "iteration": 0,
        "bandwidth_mib_s": 800.0,
        "iops": 3300.0,
        "latency_s": 0.0003,
        "block_bytes": 1 << 20,
        "transfer_bytes": 1 << 18,
        "open_s": 0.0001,
        "move_s": 0.0048,
        "close_s": 0.00005,
        "total_s": 0.005,
    }
    assert rows[3]["close_s"] is None


def test_the_text_of_ior_3_becomes_results(tmp_path: Path) -> None:
    (row,) = results_of(tmp_path, TEXT_3)
    assert (row["interface"], row["file"], row["tasks"], row["iops"], row["total_s"]) == ("POSIX", "probe", 8, None, 0.005)


def test_the_csv_of_ior_becomes_results(tmp_path: Path) -> None:
    write, read = results_of(tmp_path, CSV)
    assert (write["tasks"], write["iops"], write["transfer_bytes"]) == (4, 3300.0, 1 << 18)
    assert (read["iops"], read["latency_s"], read["bandwidth_mib_s"]) == (None, None, 1600.0)


@pytest.mark.parametrize("results_in_options", [False, True])
def test_the_json_of_ior_becomes_results(tmp_path: Path, results_in_options: bool) -> None:
    first, second = results_of(tmp_path, json_of(results_in_options))
    assert (first["tasks"], first["interface"], first["file"], first["block_bytes"]) == (4, "POSIX", "probe", 1 << 20)
    assert (first["iteration"], second["iteration"], second["bandwidth_mib_s"]) == (0, 1, 400.0)


@pytest.mark.parametrize("text", [TEXT_4.partition("write  ")[0], CSV.partition("write")[0], json_of(True)[:-10]])
def test_output_without_a_result_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(LogError, match=r"ior\.out.*let IOR run to its end"):
        results_of(tmp_path, text)


@pytest.mark.parametrize("text", [TEXT_4.partition("write     400")[0], CSV, CSV + "read,1600.0"])
def test_an_unfinished_output_gives_its_results(tmp_path: Path, text: str) -> None:
    assert len(results_of(tmp_path, text)) == 2


def test_results_are_shown_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ior.out").write_text(TEXT_4)
    assert main(["trace", "show", str(tmp_path / "ior.out")]) == 0
    assert "1600" in capsys.readouterr().out
    out = tmp_path / "ior.pftrace"
    assert main(["trace", "export", str(tmp_path / "ior.out"), "--to", "perfetto", "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == {"results": 4}
