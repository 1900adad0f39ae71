"""A stream's files stand among others, some with names like its own: these stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
from tailrace import errors

OTHER = b"not ours"


def write(folder: Path, name: str, runs: int = 1, **options: Any) -> None:
    for _ in range(runs):
        with tailrace.open(folder, name, **options) as stream:
            stream.dim("x", 8)
            stream.var("v", ("x",), "f8")
            number = float(stream.step_count)
            with stream.step(number) as output:
                output.put("v", np.full(8, number))


def check(folder: Path, name: str, steps: int) -> None:
    assert tailrace.verify(folder, name, deep=True)["ok"]
    with tailrace.open_read(folder, name) as reader:
        assert reader.steps == list(range(steps))
        for step in reader.steps:
            reader.select(step)
            np.testing.assert_array_equal(reader.get("v"), np.full(8, float(step)))


@pytest.mark.parametrize("layout", ["fpp", "single"])
def test_numbered_files_of_others_stay(tmp_path: Path, layout: str) -> None:
    """Monthly files, and a stream for each month: their names are those of an index that goes on in several files."""
    other = tmp_path / "history.202401.nc"
    other.write_bytes(OTHER)
    write(tmp_path, "history.202402", runs=2)
    write(tmp_path, "history", layout=layout)
    write(tmp_path, "history", layout=layout)
    check(tmp_path, "history", 2)
    write(tmp_path, "history", layout=layout, mode="replace")
    check(tmp_path, "history", 1)
    assert tailrace.repair(tmp_path, "history")["ok"]
    tailrace.index(tmp_path, "history")
    (listed,) = tailrace.list_streams(tmp_path, "history")
    assert listed["index"] == [str(tmp_path / "history.nc")]
    assert other.read_bytes() == OTHER
    assert (tmp_path / "history.202402.nc").exists()
    check(tmp_path, "history.202402", 2)


@pytest.mark.parametrize("layout", ["fpp", "single", "shared"])
def test_a_file_in_the_place_of_the_dataset_is_not_overwritten(tmp_path: Path, layout: str) -> None:
    other = tmp_path / "history.nc"
    other.write_bytes(OTHER)
    with pytest.raises(errors.BadArgument, match=r"history\.nc exists and is not an index of stream 'history'.*another name"):
        write(tmp_path, "history", layout=layout)
    assert other.read_bytes() == OTHER
    assert [path.name for path in tmp_path.iterdir()] == ["history.nc"]
    write(tmp_path, "history", layout=layout, mode="replace")
    check(tmp_path, "history", 1)


@pytest.mark.parametrize(("layout", "steps"), [("fpp", 1), ("single", 1), ("single", "all")])
def test_what_is_left_of_a_stream(tmp_path: Path, layout: str, steps: int | str) -> None:
    """An index without its parts shows nothing, and is replaced; a dataset is whole without its journal, and stays."""
    write(tmp_path, "history", layout=layout, steps=steps)
    (tmp_path / "history.parts").rename(tmp_path / "moved")
    if steps == "all":
        with pytest.raises(errors.BadArgument, match=r"history\.nc exists and is not an index"):
            write(tmp_path, "history", layout=layout, steps=steps)
        return
    write(tmp_path, "history", layout=layout, steps=steps)
    check(tmp_path, "history", 1)
