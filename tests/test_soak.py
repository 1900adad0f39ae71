"""Many steps: memory and descriptors stay flat, and every step is there in the end."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from tests.kill_values import LAYOUTS, check_whole, committed_steps
from tests.mpirun import Mpirun
from tests.test_kill import Writer

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Rank 0 remembers each step and group: a few hundred bytes. The rest is for the allocator.
MOST_GROWTH_BYTES = 12 << 20
TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Sample:
    at_s: float
    memory_bytes: int
    descriptors: int


def sample(pid: int) -> Sample:
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return Sample(time.monotonic(), resident, len(os.listdir(f"/proc/{pid}/fd")))


def watch(writer: Writer) -> list[list[Sample]]:
    """By rank: samples from the first step to the last."""
    pids = writer.pids()
    samples: list[list[Sample]] = [[] for _ in pids]
    end = time.monotonic() + TIMEOUT_S
    while writer.process.poll() is None:
        assert time.monotonic() < end, "the run did not end"
        for pid, of_rank in zip(pids, samples, strict=True):
            try:
                of_rank.append(sample(pid))
            except OSError:  # the rank has ended
                break
        time.sleep(0.005)
    writer.end()
    return samples


def check_flat(samples: list[Sample]) -> None:
    """The last tenth of the run beside the second: the first makes plans and images."""
    tenth = len(samples) // 10
    assert tenth >= 3, "too few samples: take more steps"
    early, late = samples[tenth : 2 * tenth], samples[-tenth - 1 : -1]
    growth = median(s.memory_bytes for s in late) - median(s.memory_bytes for s in early)
    assert growth < MOST_GROWTH_BYTES, f"memory has grown by {growth / 1e6:.1f} MB"
    # The least: between two steps. How many samples meet an open file depends on how long the steps take.
    assert min(s.descriptors for s in late) <= min(s.descriptors for s in early), "descriptors have grown"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("layout", "steps"),
    [
        *((layout, 3000) for layout in ("hds-1", "shared-all", "single-1")),
        # netCDF reads the two parts of each step, all open, and the limit of this machine may be 20,000.
        pytest.param("hds-1", 9_000, marks=pytest.mark.full),
        *(pytest.param(layout, 10_000, marks=pytest.mark.full) for layout in ("shared-all", "single-1")),
    ],
)
def test_many_steps(mpirun: Mpirun, tmp_path: Path, layout: str, steps: int) -> None:
    writer = Writer.start(mpirun, tmp_path, LAYOUTS[layout], steps)
    for samples in watch(writer):
        check_flat(samples)
    # In a process of its own: HDF5 keeps 0.6 MB for each part that it has read, and gives nothing back.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        alone.submit(check_whole, tmp_path, steps, layout).result()


def test_many_steps_of_which_few_are_kept(mpirun: Mpirun, tmp_path: Path) -> None:
    writer = Writer.start(mpirun, tmp_path, LAYOUTS["fpp-1"] + "\nkeep = 5", 600)
    for samples in watch(writer):
        check_flat(samples)
    assert len(committed_steps(tmp_path)) == 600
    assert len(list((tmp_path / "history.parts").rglob("*.nc"))) == 2 * 6  # and the first, which has the static variables
