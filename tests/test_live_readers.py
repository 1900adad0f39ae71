"""Files that are opened while a run writes them, by the tools that people use: committed steps are there, and no others."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
import xarray

from tests.environment import HANGS_S, ROOT, open_mpi_environment
from tests.journal import journal_lines
from tests.mpirun import kill_group
from tests.python_live_writer import value

# What readers open is one growing file, an index over growing parts, or an index over parts of one step.
LAYOUTS: dict[str, tuple[int, dict[str, Any]]] = {
    "single": (1, {"layout": "single", "steps": "all"}),
    "single-compressed": (1, {"layout": "single", "steps": "all", "compression": "deflate:1"}),
    "shared": (2, {"layout": "shared", "steps": "all"}),
    "shared-overlap": (2, {"layout": "shared", "steps": "all", "overlap": 2}),
    "split-3": (2, {"layout": "split:2", "steps": 3}),
    "fpp": (2, {"layout": "fpp"}),
}
NAMES = ("T", "rain", "wind")
FEWEST_OPENINGS = 6  # of a run, also where they take long on a busy machine


def check(times: np.ndarray, arrays: dict[str, np.ndarray]) -> int:
    """Every array has the steps of the time, and its values; nothing is masked."""
    steps = len(times)
    np.testing.assert_array_equal(np.ma.filled(times, np.nan), np.arange(steps))
    expected = np.array([value(step) for step in range(steps)])
    for name, array in arrays.items():
        assert array.shape[0] == steps, name
        flat = np.ma.filled(array.astype("f8"), np.nan).reshape(steps, int(np.prod(array.shape[1:])))
        np.testing.assert_array_equal(flat, np.broadcast_to(expected[:, None], flat.shape), err_msg=name)
    return steps


def with_netcdf4(path: Path) -> int:
    with netCDF4.Dataset(path) as file:
        return check(file["time"][:], {name: file[name][:] for name in (*NAMES, "total")})


def with_h5py(path: Path) -> int:
    """It looks at an array only when it is asked for, so one that is asked for later may have more steps."""
    with h5py.File(path) as file:
        steps = check(file["time"][:], {})
        for name in (*NAMES, "total"):
            values = file[name][:]
            assert len(values) >= steps
            check(np.arange(len(values)), {name: values})
        return steps


def with_xarray(path: Path) -> int:
    with xarray.open_dataset(path, decode_times=False, cache=False) as file:
        return check(file["time"].values, {name: file[name].values for name in (*NAMES, "total")})


def with_ncdump(path: Path) -> int:
    shown = subprocess.run(["ncdump", "-v", "time", path], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    times = shown.stdout.split(" time = ")[-1].split(";")[0]
    assert "_" not in times, times
    assert "NaN" not in times, times
    return len([number for number in times.split(",") if number.strip()])


READERS: dict[str, Callable[[Path], int]] = {
    "netCDF4": with_netcdf4,
    "h5py": with_h5py,
    "xarray": with_xarray,
    "ncdump": with_ncdump,
}


@contextmanager
def writing(directory: Path, layout: str, steps: int) -> Iterator[subprocess.Popen[bytes]]:
    ranks, keys = LAYOUTS[layout]
    # Small arrays are not compressed. Large ones take long to read, so there are fewer steps. An index has at most 256 parts.
    columns = "4096" if "compression" in keys else "6"
    pause_s = "0.1" if layout in ("fpp", "split-3") else "0.02" if "compression" in keys else "0"
    command = [sys.executable, "-m", "tests.python_live_writer", str(directory), json.dumps(keys), str(steps), columns, pause_s]
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
    env = {**os.environ, **open_mpi_environment(), "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
    process = subprocess.Popen(command, env=env, cwd=ROOT, start_new_session=True, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        kill_group(process)
        process.wait(HANGS_S)


def committed(directory: Path) -> int:
    lines = journal_lines(directory / "live.parts" / "journal.jsonl")
    return sum(line["kind"] == "step" for line in lines)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + HANGS_S
    while not path.exists():
        assert process.poll() is None, "the writer did not begin"
        assert time.monotonic() < deadline, "the writer did not begin"
        time.sleep(0.002)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_readers_see_committed_steps_while_a_run_writes(
    layout: str, tmp_path: Path, rng: random.Random, needs: Callable[..., None]
) -> None:
    needs("ncdump", "mpirun")
    path, seen = tmp_path / "live.nc", 0
    for _run in range(2):
        with writing(tmp_path, layout, 1_000_000) as process:
            wait_for(path, process)
            end, openings = time.monotonic() + 2.5 + rng.random(), 0
            while time.monotonic() < end or openings < FEWEST_OPENINGS:
                name = rng.choice(list(READERS))
                steps = READERS[name](path)
                assert steps >= seen, f"{name}: {steps} steps after {seen}"
                seen = steps
                openings += 1
                assert process.poll() is None, "the writer ended"
            os.killpg(process.pid, signal.SIGKILL)
        with_netcdf4(path)
    assert tailrace.verify(tmp_path, "live")["steps"] >= seen > 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", ["single", "single-compressed", "shared"])
def test_a_reader_that_stays_open_reads_what_it_saw(layout: str, tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("mpirun")
    path = tmp_path / "live.nc"
    with writing(tmp_path, layout, 1_000_000) as process:
        wait_for(path, process)
        for _opening in range(10):
            with netCDF4.Dataset(path) as file:
                steps = len(file.dimensions["time"])
                deadline = time.monotonic() + HANGS_S
                while committed(tmp_path) < steps + 50:
                    assert process.poll() is None
                    assert time.monotonic() < deadline
                for name in NAMES:
                    check(file["time"][:], {name: file[name][:]})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layout", ["single", "single-compressed", "shared"])
def test_a_reader_that_stands_still_while_it_opens(layout: str, tmp_path: Path, needs: Callable[..., None]) -> None:
    """HDF5 takes the file's size first. It refuses a superblock that says more, however late it reads it."""
    needs("mpirun")
    path = tmp_path / "live.nc"
    with writing(tmp_path, layout, 1_000_000) as process:
        wait_for(path, process)
        lengths = set()
        for _opening in range(15):
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                time.sleep(0.2)
                superblock = file.read(48)
            length = int.from_bytes(superblock[28:36], "little")
            assert 0 < length <= size
            lengths.add(length)
            assert process.poll() is None, "the writer ended"
    assert len(lengths) > 1
