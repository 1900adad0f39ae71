"""What a run has told to be durable is there after a power loss, whatever else the device has of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.environment import HANGS_S, ROOT, open_mpi_environment
from tests.mpirun import Mpirun, run_within
from tests.power_loss import record

LAYOUTS = {
    "grows": "",
    "grows-per-rank": "files = 'per-rank'\nwriters = 'one'\nsteps = 'all'",
    "single": "layout = 'single'",
    "shared": "layout = 'shared'",
    "fpp": "layout = 'fpp'",
    "fpp-3": "layout = 'fpp'\nsteps = 3",
    "hds": "layout = 'hds'\ntree = 8",
    "keep": "layout = 'fpp'\nkeep = 4",
    "compressed": "compression = 'zstd:3'",
    "compressed-fpp": "layout = 'fpp'\nsteps = 3\ncompression = 'deflate'",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("durability", ["step", "close"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_durable_steps_survive(
    mpirun: Mpirun, tmp_path: Path, needs: Any, monkeypatch: pytest.MonkeyPatch, seed: int, layout: str, durability: str, ranks: int
) -> None:
    needs("strace")
    monkeypatch.setenv("PYTHON_RESUME_COLUMNS", "800" if "compressed" in layout else "3")
    options = f"{LAYOUTS[layout]}\ndurability = '{durability}'"
    program = [*mpirun.command(ROOT / "tests" / "python_power_loss.py", ranks)]
    log, out = tmp_path / "calls", tmp_path / "out"
    record([*program, str(out), options, "0", "11"], log)
    finished = mpirun(ROOT / "tests" / "python_power_loss_check.py", 1, [log, out, options, 60, f"{seed} {layout}"])
    faults = [line for line in finished.stdout.splitlines() if line.startswith("fault")]
    assert not faults, "\n".join(faults[:5])
    assert "60 images of" in finished.stdout


FILE_SYSTEMS = {"ext4": "ext4", "ext4-without-journal": "ext4", "xfs": "xfs"}
# Of each case: with all of them 1,200 images.
IMAGES = 10


def skip_without_loop_devices(file_system: str) -> None:
    """Root of a container may have no right to mount, or a kernel without the file system."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    for words in (["unshare", "-m", "true"], ["losetup", "-f"]):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{' '.join(words)}: {done.stderr.strip()}")
    # As mount does for a file system that is a module which was not loaded yet.
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", file_system], capture_output=True, check=False)
    if file_system not in Path("/proc/filesystems").read_text().split():
        pytest.skip(f"this kernel has no {file_system}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("durability", ["step", "close"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("file_system", FILE_SYSTEMS)
def test_device_loses_power(
    mpirun: Mpirun, tmp_path: Path, needs: Any, seed: int, file_system: str, layout: str, durability: str, ranks: int
) -> None:
    """Real file systems, which the kernel shuts down while the ranks write: what they make of it, and not only what they might."""
    needs("mkfs.ext4", "e2fsck", "mkfs.xfs", "unshare", "losetup")
    skip_without_loop_devices(FILE_SYSTEMS[file_system])
    options = f"{LAYOUTS[layout]}\ndurability = '{durability}'"
    program = ROOT / "tests" / "python_power_loss_devices.py"
    arguments = [tmp_path, file_system, options, IMAGES, f"{seed} {file_system} {layout} {durability} {ranks}"]
    columns = "800" if "compressed" in layout else "3"
    env = {"PYTHONPATH": str(ROOT / "python"), "PYTHON_RESUME_COLUMNS": columns, **open_mpi_environment()}
    finished = run_within(["unshare", "-m", *mpirun.command(program, ranks, arguments)], env, timeout_s=HANGS_S)
    assert finished.returncode == 0, finished.output
    faults = [line for line in finished.stdout.splitlines() if line.startswith("fault")]
    assert not faults, "\n".join(faults)
    assert f"{IMAGES} images: " in finished.stdout, finished.output
