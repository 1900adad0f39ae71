"""keep = N: older steps leave the stream, nobody is shown what is gone, and static variables stay as long as steps need them."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest
import tailrace

from tests import formula
from tests.matrix import SMALL
from tests.mpirun import Mpirun
from tests.presets import PRESETS
from tests.test_restart import read, write
from tests.written import verify

SHOWN = {name: variable for variable in formula.SETS["climate"] for name in [variable.name]}


def check_shown(folder: Path, steps: list[int], written: int) -> None:
    with netCDF4.Dataset(folder / "history.nc") as file:
        file.set_auto_maskandscale(False)
        np.testing.assert_array_equal(file["time"][...], formula.times(written)[steps])
        for name, variable in SHOWN.items():
            expected = variable.all_values(written, SMALL)
            if file[name].dimensions[:1] == ("time",):
                expected = expected[steps]
            np.testing.assert_array_equal(file[name][...], expected, err_msg=name)


def part_files(folder: Path) -> list[Path]:
    return sorted((folder / "history.parts").rglob("*.nc"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("durability", ["none", "close", "step"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("steps_per_file", "kept"), [(1, [6, 7, 8]), (2, [6, 7, 8])])
def test_old_steps_leave(
    mpirun: Mpirun, tmp_path: Path, preset: str, steps_per_file: int, kept: list[int], durability: str
) -> None:
    """Nine steps in two runs. The first file of each run has the static variables: it stays while a step of the run does."""
    options = f"layout = '{preset}'\nsteps = {steps_per_file}\nkeep = 3\ndurability = '{durability}'"
    write(mpirun, tmp_path, 3, options, "set=climate", "decomposition=irregular", steps=5)
    write(mpirun, tmp_path, 2, options, "set=climate", "decomposition=columns", steps=4)
    # steps = 2: the second run's files hold 5 and 6, 7 and 8; whole files leave.
    shown = kept if steps_per_file == 1 else [5, 6, 7, 8]
    check_shown(tmp_path, shown, 9)
    verify(tmp_path)
    assert f"{len(shown)} steps, " in read(mpirun, tmp_path, 4, "set=climate", "decomposition=blocks2d")
    groups = {int(path.name.removeprefix("history.")[:6]) for path in part_files(tmp_path)}
    assert groups == ({5, 6, 7, 8} if steps_per_file == 1 else {5, 7})  # 5 has the second run's static variables


def test_a_stream_that_is_kept_short_goes_on_from_its_last_step(mpirun: Mpirun, tmp_path: Path) -> None:
    for _ in range(3):
        write(mpirun, tmp_path, 2, "layout = 'fpp'\nkeep = 1", "set=types", steps=2)
    with tailrace.open_read(tmp_path, "history") as reader:
        assert (reader.steps, reader.times) == ([5], [30.0])
    assert "1 steps, " in read(mpirun, tmp_path, 3, "set=types")
