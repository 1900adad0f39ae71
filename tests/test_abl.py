"""The ABL kernel: its own files and the library's stream, every byte checked; restarts; and its steps placed by rules."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.abl.verify import verify
from tests.mpirun import Finished, Mpirun

Run = Callable[..., dict[str, Any]]
SMALL = ("steps=4", "fields=5", "nx=5", "ny=3", "nz=2")


@pytest.fixture
def abl(mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> Run:
    """Runs the kernel into tmp_path/out and gives its record, checked."""

    def run(ranks: int, *arguments: str) -> dict[str, Any]:
        record = tmp_path / "run.json"
        mpirun(build_dir / "bin" / "abl", ranks, [f"dir={tmp_path / 'out'}", f"run={record}", *SMALL, *arguments], cwd=tmp_path)
        made: dict[str, Any] = json.loads(record.read_text())
        result = verify(tmp_path / "out", made)
        assert result["ok"], result["problems"]
        assert result["bytes_checked"] >= made["payload_bytes"] > 0
        return made

    return run


@pytest.fixture
def refused(mpirun: Mpirun, build_dir: Path, tmp_path: Path) -> Callable[..., Finished]:
    def run(ranks: int, *arguments: str) -> Finished:
        program = build_dir / "bin" / "abl"
        finished = mpirun(program, ranks, [f"dir={tmp_path / 'out'}", *SMALL, *arguments], cwd=tmp_path, check=False)
        assert finished.returncode != 0, finished.output
        return finished

    return run


@pytest.mark.parametrize("output", ["native", "tailrace"])
def test_all_values_and_a_restart(abl: Run, output: str) -> None:
    record = abl(3, f"output={output}", "steps=2")
    assert set(record["phases"]) == {"4open", "8exec", "9write", "9close"}
    if output == "native":
        assert (record["files"], record["bytes"]) == (3 * 2 * 5, 3 * 2 * 5 * 240)
    again = abl(3, f"output={output}", "restart=2")
    assert set(again["phases"]) == {"1read", "4open", "8exec", "9write", "9close"}
    assert again["payload_bytes"] == record["payload_bytes"]


def test_a_restart_with_other_values_is_refused(abl: Run, refused: Callable[..., Finished], tmp_path: Path) -> None:
    abl(2)
    path = tmp_path / "out" / "v.0001.000003"
    values = np.fromfile(path)
    values[-1] /= 2
    values.tofile(path)
    assert "abl: restart=3: v of rank 1 has other values than were written" in refused(2, "restart=3").output
    path.unlink()
    assert "v.0001.000003" in refused(2, "restart=3").output


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("steps=0", "abl: steps=0: give a whole number of at least 1"),
        ("nx=3x", "abl: nx=3x: give a whole number of at least 1"),
        ("output=hdf5", "abl: output=hdf5: use native, tailrace or none"),
        ("nxx=3", "abl: argument 'nxx=3': there is no such key; README.md lists the keys"),
        ("quick", "abl: argument 'quick': expected key=value; README.md lists the keys"),
        ("barriers=1", "abl: barriers=1: use true or false"),
    ],
)
def test_wrong_options_are_refused(refused: Callable[..., Finished], argument: str, said: str) -> None:
    assert said in refused(1, argument).output


def test_a_wrong_byte_is_found(abl: Run, tmp_path: Path) -> None:
    record = abl(2)
    path = tmp_path / "out" / "u.0000.000001"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    (tmp_path / "out" / "u.0007.000001").write_bytes(b"")
    (tmp_path / "out" / "w.0001.000002").unlink()
    result = verify(tmp_path / "out", record)
    assert not result["ok"]
    assert len(result["problems"]) == 3


def test_its_files_are_placed_and_the_restart_reads_them(build_dir: Path, tailrace_command: list[str], tmp_path: Path) -> None:
    config = tmp_path / "tailrace.toml"
    config.write_text('[[place.tree]]\nfiles = "out/{field}.{rank:number}.{step:number}"\nto = "{rank}/{field}"\n')
    for more in ("steps=2", "restart=2"):
        words = [str(build_dir / "bin" / "abl"), "dir=out", "run=run.json", *SMALL, more]
        done = subprocess.run(
            [*tailrace_command, "run", "--config", str(config), "--no-trace", "--", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "out").glob("0000/*/*"))) == 4 * 5
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_file()]
