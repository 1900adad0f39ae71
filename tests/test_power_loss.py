"""What a run has told to be durable is there after a power loss, whatever else the device has of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.environment import ROOT
from tests.mpirun import Mpirun
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
