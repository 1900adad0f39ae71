"""tailrace repair: what is torn leaves the stream, all else stays, and the next run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS_WITH_SCRATCH
from tests.test_restart import read, write

STEPS = 4


def repair(tailrace_command: list[str], folder: Path, status: int = 0) -> dict[str, Any]:
    finished = run_within([*tailrace_command, "repair", str(folder), "--json"])
    assert finished.returncode == status, finished.output
    return json.loads(finished.stdout)["streams"]["history"]


def problems(folder: Path) -> list[dict[str, Any]]:
    return tailrace.verify(folder, "history", deep=True)["problems"]


def part_of_step(folder: Path, step: int) -> Path:
    return sorted(path for path in (folder / "history.parts").rglob("*.nc") if f"{step:06d}" in path.name.split(".")[:2])[0]


def damage(path: Path, where: int = -1) -> None:
    """Turns the bits of one byte of the largest array, by default of its last value."""
    with h5py.File(path) as file:
        dataset = file["U"]
        address = dataset.id.get_offset()
        assert address is not None
        at = address + (dataset.size - 1) * 8 if where < 0 else address + where
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0xFF]))


def check_kept(mpirun: Mpirun, folder: Path, steps: list[int]) -> None:
    assert problems(folder) == []
    with tailrace.open_read(folder, "history") as reader:
        assert reader.steps == steps
    assert f"{len(steps)} steps, " in read(mpirun, folder, 3, "set=climate", "decomposition=blocks2d")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("preset", PRESETS_WITH_SCRATCH)
@pytest.mark.parametrize("harm", ["byte", "truncated", "missing"])
def test_a_damaged_step_is_dropped_and_the_rest_stays(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, preset: str, harm: str
) -> None:
    write(mpirun, tmp_path, 3, f"layout = '{preset}'", "set=climate", "decomposition=irregular", steps=STEPS)
    part = part_of_step(tmp_path, 2)
    if harm == "byte":
        damage(part)
    elif harm == "truncated":
        with part.open("r+b") as file:
            file.truncate(part.stat().st_size // 3)
    else:
        part.unlink()
    assert problems(tmp_path)
    answer = repair(tailrace_command, tmp_path)
    assert [action["steps"] for action in answer["actions"] if action["action"] == "dropped"] == [[2]]
    assert answer["steps"] == STEPS - 1
    check_kept(mpirun, tmp_path, [0, 1, 3])
    write(mpirun, tmp_path, 2, f"layout = '{preset}'", "set=climate", "decomposition=columns", steps=1)
    check_kept(mpirun, tmp_path, [0, 1, 3, 4])
    assert repair(tailrace_command, tmp_path)["actions"] == []


def test_a_last_step_that_is_dropped_is_written_again(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    write(mpirun, tmp_path, 2, "layout = 'hds'", "set=climate", steps=STEPS)
    damage(part_of_step(tmp_path, 3))
    repair(tailrace_command, tmp_path)
    assert list((tmp_path / "history.parts").glob("torn-3"))
    check_kept(mpirun, tmp_path, [0, 1, 2])
    write(mpirun, tmp_path, 2, "layout = 'hds'", "set=climate", steps=1)
    check_kept(mpirun, tmp_path, [0, 1, 2, 3])


def test_a_step_goes_and_its_static_arrays_stay_for_the_others(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    """The first step of a run has them for all of it."""
    write(mpirun, tmp_path, 2, "layout = 'fpp'", "set=climate", steps=STEPS)
    damage(part_of_step(tmp_path, 0))
    damage(part_of_step(tmp_path, 2))
    answer = repair(tailrace_command, tmp_path)
    assert sorted(action["steps"] for action in answer["actions"] if action["action"] == "dropped") == [[0], [2]]
    assert [path.name for path in (tmp_path / "history.parts").glob("torn-*")] == ["torn-2"]
    check_kept(mpirun, tmp_path, [1, 3])
    assert repair(tailrace_command, tmp_path)["actions"] == []
    write(mpirun, tmp_path, 3, "layout = 'fpp'\nkeep = 1", "set=climate", steps=2)
    check_kept(mpirun, tmp_path, [5])
    assert not (tmp_path / "history.parts" / "000000").exists()


@pytest.mark.parametrize("layout", ["fpp", "single"])
def test_static_arrays_that_others_need_are_not_given_up(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, layout: str
) -> None:
    write(mpirun, tmp_path, 2, f"layout = '{layout}'", "set=climate", steps=STEPS)
    part = part_of_step(tmp_path, 0)
    part.rename(tmp_path / "mislaid")
    answer = repair(tailrace_command, tmp_path, status=1)
    assert answer["steps"] == STEPS
    assert "the part is missing" in answer["problems"][0]["problem"]
    (tmp_path / "mislaid").rename(part)
    assert repair(tailrace_command, tmp_path)["actions"] == []
    check_kept(mpirun, tmp_path, list(range(STEPS)))


@pytest.mark.parametrize(("layout", "first"), [("'hds'", 3), ("'single'", 3), ("'fpp'\nsteps = 2", 2)])
def test_a_step_in_the_place_of_a_dropped_one_is_kept(
    mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path, layout: str, first: int
) -> None:
    """What is too old leaves by the name of its files, and these have the name of what repair has set aside."""
    write(mpirun, tmp_path, 2, f"layout = {layout}", "set=climate", steps=STEPS)
    part_of_step(tmp_path, first).unlink()
    repair(tailrace_command, tmp_path)
    check_kept(mpirun, tmp_path, list(range(first)))
    write(mpirun, tmp_path, 2, f"layout = {layout}\nkeep = 100", "set=climate", steps=2)
    check_kept(mpirun, tmp_path, list(range(first + 2)))


def test_numbers_do_not_begin_anew_where_none_is_left(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    """The files of steps that were kept no longer have their names."""
    write(mpirun, tmp_path, 2, "layout = 'fpp'\nkeep = 1", "set=types", steps=5)
    part_of_step(tmp_path, 4).unlink()
    repair(tailrace_command, tmp_path)
    with pytest.raises(errors.NotFound, match="no committed step"):
        tailrace.open_read(tmp_path, "history")
    write(mpirun, tmp_path, 2, "layout = 'fpp'\nkeep = 1", "set=types", steps=2)
    assert problems(tmp_path) == []
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.steps == [5]
    assert "1 steps, " in read(mpirun, tmp_path, 3, "set=types")


def test_a_step_of_a_growing_dataset_loses_its_time(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    """The dataset is one file that plain tools read: the dropped step has no time there, as one that is not committed."""
    write(mpirun, tmp_path, 2, "layout = 'shared'\nsteps = 'all'", "set=climate", steps=STEPS)
    with h5py.File(tmp_path / "history.nc") as file:
        address = file["U"].id.get_chunk_info_by_coord((1, 0, 0, 0)).byte_offset
    with (tmp_path / "history.nc").open("r+b") as file:
        file.seek(address)
        file.write(b"damage!!")
    answer = repair(tailrace_command, tmp_path)
    assert [action["steps"] for action in answer["actions"]] == [[1]]
    with h5py.File(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["time"][:], [0.0, np.nan, 12.0, 18.0])
    check_kept(mpirun, tmp_path, [0, 2, 3])
    write(mpirun, tmp_path, 2, "layout = 'shared'\nsteps = 'all'", "set=climate", steps=1)
    check_kept(mpirun, tmp_path, [0, 2, 3, 4])
    with h5py.File(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["time"][:], [0.0, np.nan, 12.0, 18.0, 24.0])


def test_what_was_never_committed_goes(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    write(mpirun, tmp_path, 2, "layout = 'fpp'", "set=climate", steps=2)
    parts = tmp_path / "history.parts"
    (parts / ".pending-000002").mkdir()
    (parts / ".pending-000002" / "history.000002.000000.nc").write_bytes(b"half")
    (parts / "000002").mkdir()
    with (parts / "journal.jsonl").open("a") as journal:
        journal.write('{"kind":"step","step":2,"ti')
    answer = repair(tailrace_command, tmp_path)
    assert [action["action"] for action in answer["actions"]] == ["cut", "removed", "removed"]
    assert not (parts / "000002").exists()
    check_kept(mpirun, tmp_path, [0, 1])


def test_damaged_static_variables_are_not_mended(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    """All steps of the run have them: that is for the user to decide."""
    write(mpirun, tmp_path, 2, "layout = 'fpp'", "set=climate", steps=2)
    part = part_of_step(tmp_path, 0)
    with h5py.File(part) as file:
        address = file["topo"].id.get_offset()
    with part.open("r+b") as file:
        file.seek(address)
        file.write(b"damage!!")
    answer = repair(tailrace_command, tmp_path, status=1)
    assert not answer["ok"]
    assert "static arrays" in answer["problems"][0]["problem"]
    assert answer["steps"] == 2


def test_all_steps_may_go(mpirun: Mpirun, tailrace_command: list[str], tmp_path: Path) -> None:
    write(mpirun, tmp_path, 2, "layout = 'single'\nsteps = 'all'", "set=climate", steps=2)
    (tmp_path / "history.nc").unlink()
    assert repair(tailrace_command, tmp_path)["steps"] == 0
    write(mpirun, tmp_path, 2, "layout = 'single'\nsteps = 'all'", "set=climate", steps=2)
    check_kept(mpirun, tmp_path, [0, 1])


def test_there_must_be_a_stream(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound, match="there is no stream 'history'"):
        tailrace.repair(tmp_path, "history")
