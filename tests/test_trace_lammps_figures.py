"""The figures of `tailrace trace show` for LAMMPS are those that strace makes of the same run."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tailrace.cli import main
from tailrace.trace import launch

from bench.harness import oracle
from tests.mpirun import Mpirun
from tests.test_trace_lammps import MELT, RANKS


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main(["trace", "show", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_figures_of_lammps(mpirun: Mpirun, tmp_path: Path, needs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs("strace", "lmp")
    logs, work = tmp_path / "logs", tmp_path / "work"
    logs.mkdir()
    work.mkdir()
    (work / "in.melt").write_text(MELT)
    variables = [f"{key}={value}" for key, value in launch.traced_environment(logs, 64 << 20, {}).items()]
    command = oracle.command_of(tmp_path / "strace.RANK", ["/usr/bin/lmp", "-in", "in.melt", "-log", "log.melt"], variables)
    script = "exec " + shlex.join(command).replace("RANK", "$OMPI_COMM_WORLD_RANK$PMI_RANK")
    mpirun("/bin/sh", RANKS, ["-c", script], cwd=work)

    of_ranks = [oracle.read_strace(tmp_path / f"strace.{rank}").calls for rank in range(RANKS)]
    seen = [(rank, call) for rank, calls in enumerate(of_ranks) for call in calls if call.path.startswith(f"{work}/")]
    run = shown(capsys, str(logs), "--directory", str(work))
    names = {call.path for _, call in seen if call.kind in ("read", "write", "open")}
    assert len(names) >= 6 * RANKS
    assert names <= set(run["files"])

    def moved(kind: str, rank: int | None = None, name: str | None = None) -> int:
        return sum(call.bytes for of, call in seen if call.kind == kind and rank in (None, of) and name in (None, call.path))

    for name in names:
        file = run["files"][name]
        assert (file["system_read_bytes"], file["system_written_bytes"]) == (moved("read", name=name), moved("write", name=name)), (
            name
        )
    for name in set(run["files"]) - names:
        assert (run["files"][name]["system_read_bytes"], run["files"][name]["system_written_bytes"]) == (0, 0)
    for rank in range(RANKS):
        sums = run["ranks_and_processes"][f"rank {rank}"]
        assert (sums["system_read_bytes"], sums["system_written_bytes"]) == (moved("read", rank), moved("write", rank))
        assert shown(capsys, str(logs), "--directory", str(work), "--rank", str(rank))["files"].keys() <= run["files"].keys()
    for table in ("directories", "nodes"):
        rows = run[table].values()
        assert sum(row["system_written_bytes"] for row in rows) == moved("write")
        assert sum(row["system_read_bytes"] for row in rows) == moved("read")
    kinds = run["system_and_buffered"]
    assert sum(kinds[name]["written_bytes"] for name in ("system", "transfer") if name in kinds) == moved("write")

    opened = Counter(call.path for _, call in seen if call.kind == "open")
    failed = Counter(call.path for _, call in seen if call.kind == "open" and call.result < 0)
    calls = {row["file"]: row["calls"] for row in run["failures"] if row["call"] in ("open", "fopen")}
    assert calls == {name: number for name, number in failed.items() if number}
    assert sum(run["calls"][name]["calls"] for name in ("open", "fopen") if name in run["calls"]) == opened.total()

    groups = {group["name"]: group for group in run["file_groups"]}
    for kind, steps in (("dump", 3), ("restart", 2)):
        group = groups[f"{work}/{kind}.*.N"]
        assert (group["files"], group["sharing"], group["verb"]) == (RANKS * steps, "one for each rank", "written")
        assert sorted(user["rank"] for user in group["users"]) == [*range(RANKS)]
        of_group = [call for _, call in seen if re.fullmatch(rf"{kind}\.\d+\.\d+", Path(call.path).name)]
        assert group["system_written_bytes"] == sum(call.bytes for call in of_group if call.kind == "write")

    whole = shown(capsys, str(logs))
    assert whole["command"].startswith("/usr/bin/lmp")
    assert (whole["ranks"], len(whole["processes"])) == (RANKS, RANKS)
    assert whole["status"] is None
    assert 0 < whole["io_share"]["of_run"] <= 1
    assert sum(whole["io_share"][kind] for kind in ("read", "write", "metadata", "sync")) == pytest.approx(
        whole["io_share"]["of_run"]
    )
    assert sum(layer["busy_s"] for layer in whole["layers"].values()) <= sum(process["seconds"] for process in whole["processes"])
