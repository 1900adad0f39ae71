"""What tests/mpi/kill_steps.hpp writes, and whether it is there: by plain readers, by the journal, by verify."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import tailrace

from tests.error_run import committed_steps
from tests.journal import journal_lines
from tests.presets import PRESETS

# Each of the two ranks counts as a node where nodes write.
KEYS = {preset: "\nranks_per_node = 1" if preset in ("node", "collective") else "" for preset in PRESETS}
LAYOUTS = {
    f"{preset}-{steps}": f"layout = '{preset}'\nsteps = '{steps}'{KEYS[preset]}"
    for preset in PRESETS
    for steps in ("1", "2", "all")
}
# T and rain are large enough to be compressed: by the rank that writes, by several that write, by one for another.
LAYOUTS |= {
    f"{name}-deflate": f"{LAYOUTS[name]}\ncompression = 'deflate'\nchunk = '32 KiB'"
    for name in ("fpp-1", "fpp-all", "single-2", "shared-1", "collective-all")
}
IS_DATASET = ("single-all", "shared-all", "collective-all", "collective-all-deflate")
OF_ONE_STEP = [name for name, text in LAYOUTS.items() if "steps = '1'" in text]
LEVELS, ROWS, COLUMNS = 3, 10, 1024


def values(variable: int, step: int, elements: int) -> np.ndarray:
    """As kill_steps.hpp computes them."""
    return (variable + 1) * 100000 + step % 97 * 1000 + np.arange(elements) % 991.0


def check_values(directory: Path, steps: int) -> None:
    """Exactly `steps` steps, each value right, by netCDF4: of the dataset, or of several index files where parts are many."""
    files = [directory / "history.nc"]
    if not files[0].exists():
        files = sorted(directory.glob("history.[0-9]*.nc"))
        assert len(files) > 1, "neither history.nc nor index files of several steps each"
    first = 0
    for file in files:
        with netCDF4.Dataset(file) as dataset:
            first += check_dataset(dataset, first)
    assert first == steps


def check_dataset(dataset: netCDF4.Dataset, first: int) -> int:
    """The steps of one file, which begin with `first`; returns how many they are."""
    dataset.set_auto_mask(False)
    times = dataset["time"][:]
    steps = len(times)
    np.testing.assert_array_equal(times, first + np.arange(steps))
    np.testing.assert_array_equal(dataset["lat"][:], values(0, 0, ROWS))
    np.testing.assert_array_equal(dataset["topo"][:].ravel(), values(1, 0, ROWS * COLUMNS))
    T, rain, mass = dataset["T"][:], dataset["rain"][:], dataset["mass"][:]
    assert T.shape == (steps, LEVELS, ROWS, COLUMNS)
    for k in range(steps):
        np.testing.assert_array_equal(T[k].ravel(), values(2, first + k, LEVELS * ROWS * COLUMNS))
        np.testing.assert_array_equal(rain[k].ravel(), values(3, first + k, ROWS * COLUMNS))
        assert mass[k] == values(4, first + k, 1)[0]
    return steps


def check_shown(path: Path, committed: int, from_step: int = 0) -> int:
    """What is there right after a kill: opens in stock HDF5; each step that has a time is committed, and its values are right."""
    with h5py.File(path) as file:
        times = file["time"][:]
        shown = np.flatnonzero(~np.isnan(times))
        np.testing.assert_array_equal(shown, np.arange(len(shown)), err_msg="steps with a time come first, without a hole")
        np.testing.assert_array_equal(times[shown], shown)
        assert len(shown) <= committed, "a step is shown that the journal does not have"
        file["T"][...]  # also what is not committed can be read, whatever it is
        for k in shown[from_step:]:
            np.testing.assert_array_equal(file["T"][k].ravel(), values(2, k, LEVELS * ROWS * COLUMNS))
            np.testing.assert_array_equal(file["rain"][k].ravel(), values(3, k, ROWS * COLUMNS))
            assert file["mass"][k] == values(4, k, 1)[0]
    return len(shown)


def check_times_of_parts(directory: Path) -> None:
    """After a repair: every part of several steps has the times of those that are committed."""
    lines = intact_lines(directory / "history.parts" / "journal.jsonl")
    steps_of = Counter(line["group"] for line in lines if line["kind"] == "step")
    for path in (directory / "history.parts").rglob("*.nc"):
        start = int(path.name.removeprefix("history.").split(".")[0])
        with h5py.File(path) as file:
            times = file["time"][:]
        np.testing.assert_array_equal(times[~np.isnan(times)], start + np.arange(steps_of[start]), err_msg=str(path))


def problems(directory: Path) -> list[str]:
    """What `verify --deep` finds, besides what a kill leaves behind and the next run mends."""
    report = tailrace.verify(directory, "history", deep=True)
    after_a_kill = ("half-written line", "index is missing", "readers do not see its last steps")
    return [p["problem"] for p in report["problems"] if not any(text in p["problem"] for text in after_a_kill)]


def check_whole(directory: Path, steps: int, context: str = "") -> None:
    """After a run that ended well."""
    assert committed_steps(directory) == list(range(steps)), context
    assert problems(directory) == [], context
    check_values(directory, steps)
    assert not pending(directory), context
    assert not list(directory.glob("*.new")), context


def pending(directory: Path) -> list[str]:
    return [path.name for path in (directory / "history.parts").iterdir() if path.name.startswith(".pending")]


def intact_lines(journal: Path) -> list[dict[str, Any]]:
    """Of all segments of the journal, given the first."""
    return journal_lines(journal)
