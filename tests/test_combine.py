"""tailrace combine: every layout's steps as one plain file; stopped, killed, full, refused."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests import formula
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS
from tests.readers import all_readers
from tests.seen_values import check
from tests.test_ragged import STEPS as RAGGED_STEPS
from tests.test_ragged import check_with_tools
from tests.test_ragged import write as write_ragged
from tests.test_readers import STEPS_PER_FILE, options

STEPS = 5
READERS = all_readers()
SIZES = formula.Sizes()
DECOMPOSITIONS = ("rows", "columns", "blocks2d", "irregular")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("steps_per_file", STEPS_PER_FILE)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_reader_sees_it(mpirun: Mpirun, tmp_path: Path, rng: random.Random, preset: str, steps_per_file: str) -> None:
    choices = [f"decomposition={rng.choice(DECOMPOSITIONS)}", f"steps={STEPS}", SIZES.argument]
    mpirun("write_case", 3, [tmp_path / "run", "history", options(preset, steps_per_file), *choices])
    output = tmp_path / "one.nc"
    calls: list[tuple[int, int]] = []
    answer = tailrace.combine(tmp_path / "run", "history", output, progress=lambda *bytes_done: calls.append(bytes_done))
    assert answer["steps"] == STEPS
    assert answer["steps_before"] == 0
    assert answer["file_bytes"] == output.stat().st_size
    assert all(done <= every == answer["bytes"] for done, every in calls)
    assert calls
    for reader in rng.sample(sorted(READERS), 3):
        check(READERS[reader].read(output, tmp_path), STEPS, SIZES)
    with netCDF4.Dataset(output) as file:
        assert file.dimensions["time"].isunlimited()
        assert "tailrace_index" not in file.ncattrs()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("one")) == ["one.nc"]


def test_ragged(mpirun: Mpirun, tmp_path: Path, rng: random.Random) -> None:
    write_ragged(mpirun, tmp_path / "run", 3, rng.choice(PRESETS))
    output = tmp_path / "one.nc"
    tailrace.combine(tmp_path / "run", "floats", output)
    check_with_tools(output, dict.fromkeys(range(RAGGED_STEPS), 3))


def large(folder: Path, steps: int, rows: int = 600, layout: str = "fpp", **keys: Any) -> None:
    """Steps of several pieces: 2-D rows of 8,000 bytes."""
    with tailrace.open(folder, "big", layout=layout, steps=1, mode="replace", **keys) as stream:
        stream.dim("y", rows)
        stream.dim("x", 1000)
        for name in ("a", "b", "c"):
            stream.var(name, ("y", "x"), "f8")
        stream.var("still", ("y", "x"), "f8", static=True)
        for k in range(steps):
            with stream.step(float(k)) as step:
                step.put("still", values(9, 0, rows), offset=(0, 0))
                for v, name in enumerate(("a", "b", "c")):
                    step.put(name, values(v, k, rows), offset=(0, 0))


def values(variable: int, step: int, rows: int) -> np.ndarray:
    return formula.formula(variable, step, (rows, 1000), "f8")


def check_large(output: Path, steps: int, rows: int = 600) -> None:
    with netCDF4.Dataset(output) as file:
        np.testing.assert_array_equal(file["still"][...], values(9, 0, rows))
        for v, name in enumerate(("a", "b", "c")):
            assert file[name].shape == (steps, rows, 1000)
            for k in range(steps):
                np.testing.assert_array_equal(file[name][k], values(v, k, rows))


def test_more_parts_than_files_may_be_open(tailrace_command: list[str], tmp_path: Path) -> None:
    """A ragged variable has no steps: it is in all parts. Rows of steps without elements are in none."""
    steps, expected = 700, []
    with tailrace.open(tmp_path, "drops", layout="fpp") as stream:
        stream.dim("drop", tailrace.RAGGED)
        stream.dim("x", 3)
        stream.var("size", ("drop", "x"), "f8")
        for k in range(steps):
            rows = 1000.0 * k + np.arange(3.0 * (k % 4)).reshape(-1, 3)
            expected.append(rows)
            with stream.step(float(k)) as step:
                step.put("size", rows)
    finished = subprocess.run(
        ["prlimit", "--nofile=512", *tailrace_command, "combine", str(tmp_path), str(tmp_path / "one.nc")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    with netCDF4.Dataset(tmp_path / "one.nc") as file:
        np.testing.assert_array_equal(file["size"][:], np.concatenate(expected))


def test_steps_of_many_pieces(tmp_path: Path) -> None:
    """Inner dimensions are cut where a row of outer ones is longer than a piece."""
    shape = (2, 3, 1200, 1000)
    with tailrace.open(tmp_path, "big", layout="single", steps=1) as stream:
        for name, length in zip("tzyx", shape, strict=True):
            stream.dim(f"d{name}", length)
        stream.var("a", ("dt", "dz", "dy", "dx"), "f8")
        with stream.step(0.0) as step:
            step.put("a", formula.formula(1, 0, shape, "f8"), offset=(0, 0, 0, 0))
    tailrace.combine(tmp_path, "big", tmp_path / "one.nc", threads=3)
    with netCDF4.Dataset(tmp_path / "one.nc") as file:
        np.testing.assert_array_equal(file["a"][0], formula.formula(1, 0, shape, "f8"))


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no second file system")
def test_to_another_name_system(tmp_path: Path) -> None:
    """Where the system does not copy from file to file, the bytes pass through memory."""
    large(tmp_path, 2)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        assert os.stat(other).st_dev != os.stat(tmp_path).st_dev
        tailrace.combine(tmp_path, "big", Path(other) / "one.nc")
        check_large(Path(other) / "one.nc", 2)


class Stop(Exception):
    pass


def stop_after(share: float) -> Callable[[int, int], None]:
    def stop(done: int, every: int) -> None:
        if done > every * share:
            raise Stop

    return stop


def test_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    large(tmp_path, 12)
    output = tmp_path / "one.nc"

    with pytest.raises(Stop):
        tailrace.combine(tmp_path, "big", output, progress=stop_after(0.5), threads=2)
    assert not output.exists()
    first: list[int] = []
    answer = tailrace.combine(tmp_path, "big", output, progress=lambda done, _all: first.append(done))
    assert 0 < answer["steps_before"] < 12
    assert first[0] >= answer["bytes"] * answer["steps_before"] / 13
    check_large(output, 12)
    assert not list(tmp_path.glob("one.nc.*"))


@pytest.mark.parametrize(("note", "before"), [({}, 0), ({"synced": True}, 4), ({"boot": None}, 4)])
def test_what_a_crashed_machine_may_have_lost_is_copied_again(tmp_path: Path, note: dict[str, object], before: int) -> None:
    """Notes of another boot count only where the data was on the device."""
    large(tmp_path, 8)
    output, notes = tmp_path / "one.nc", tmp_path / "one.nc.combining.jsonl"

    with pytest.raises(Stop):
        tailrace.combine(tmp_path, "big", output, progress=stop_after(0.7))
    head, *_, last = tailrace.journal_read(notes)[0]
    notes.unlink()
    tailrace.journal_append(notes, {"combining": head["combining"]})
    boot = {"boot": last["boot"]} if "boot" in note else {"boot": "another"}
    tailrace.journal_append(notes, {"steps_done": 4, "synced": False, **note, **boot})
    assert tailrace.combine(tmp_path, "big", output)["steps_before"] == before
    check_large(output, 8)


def test_notes_that_did_not_count_after_a_crash_do_not_count_later(tmp_path: Path) -> None:
    """Of compressed arrays a note tells where chunks are. What is done anew is noted behind what was lost."""
    large(tmp_path, 10, compression="deflate")
    output, notes = tmp_path / "one.nc", tmp_path / "one.nc.combining.jsonl"
    for share in (0.35, 0.6):
        with pytest.raises(Stop):
            tailrace.combine(tmp_path, "big", output, progress=stop_after(share))
    head, *middle, last = tailrace.journal_read(notes)[0]
    on_device = next(line for line in middle if line["steps_done"] < last["steps_done"])
    notes.unlink()
    for line in (head, on_device | {"synced": True, "boot": "another"}, last | {"boot": "another"}):
        tailrace.journal_append(notes, {key: value for key, value in line.items() if key != "sum"})
    with pytest.raises(Stop):
        tailrace.combine(tmp_path, "big", output, progress=stop_after(0.85))
    assert tailrace.combine(tmp_path, "big", output)["steps_before"] > on_device["steps_done"]
    check_large(output, 10)


def test_what_another_run_left_is_not_gone_on_with(tmp_path: Path) -> None:
    """Of the same shapes and steps, and without checksums: the journal tells them apart."""
    large(tmp_path, 6, checksum="off")
    output = tmp_path / "one.nc"
    with pytest.raises(Stop):
        tailrace.combine(tmp_path, "big", output, progress=stop_after(0.5))
    time.sleep(1.1)  # runs tell when they began, in seconds
    large(tmp_path, 6, checksum="off")
    assert tailrace.combine(tmp_path, "big", output)["steps_before"] == 0
    check_large(output, 6)


def test_two_at_once_are_not_mixed(tmp_path: Path) -> None:
    large(tmp_path, 6, compression="deflate")
    output = tmp_path / "one.nc"
    refused: list[str] = []

    def again(_done: int, _every: int) -> None:
        if not refused:
            with pytest.raises(errors.BadOrder, match="another process is combining") as caught:
                tailrace.combine(tmp_path, "big", output)
            refused.append(str(caught.value))

    tailrace.combine(tmp_path, "big", output, progress=again)
    assert refused
    check_large(output, 6)


def test_what_another_dataset_left_is_not_gone_on_with(tmp_path: Path) -> None:
    large(tmp_path, 6)
    output = tmp_path / "one.nc"

    with pytest.raises(Stop):
        tailrace.combine(tmp_path, "big", output, progress=stop_after(0.5))
    large(tmp_path, 6, rows=500)
    assert tailrace.combine(tmp_path, "big", output)["steps_before"] == 0
    check_large(output, 6, rows=500)


def test_killed_at_any_moment(tailrace_command: list[str], tmp_path: Path, rng: random.Random) -> None:
    """The output is not there, or it is whole; the next call ends it."""
    large(tmp_path, 20)
    output = tmp_path / "one.nc"
    command = [*tailrace_command, "combine", str(tmp_path), str(output), "--replace", "-j", "2"]
    begun = tmp_path / "one.nc.combining"
    hits = 0
    for _ in range(6):
        output.unlink(missing_ok=True)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while not begun.exists() and process.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        hits += begun.exists()
        if output.exists():
            check_large(output, 20)
    assert hits > 0
    assert run_within(command).returncode == 0
    check_large(output, 20)
    assert not list(tmp_path.glob("one.nc.*"))


def test_command(tailrace_command: list[str], tmp_path: Path) -> None:
    large(tmp_path, 2)
    finished = run_within([*tailrace_command, "combine", str(tmp_path), str(tmp_path / "one.nc"), "--sync", "--json"])
    assert finished.returncode == 0, finished.output
    assert json.loads(finished.stdout)["steps"] == 2
    check_large(tmp_path / "one.nc", 2)
    again = run_within([*tailrace_command, "combine", str(tmp_path), str(tmp_path / "one.nc")])
    assert again.returncode == 2
    assert "one.nc is there already; choose another output, or let it be replaced" in " ".join(again.output.split())


@pytest.mark.parametrize("inside", ["big.nc", "big.parts/000000/new.nc", "x/../big.nc"])
def test_a_file_of_the_stream_is_no_output(tmp_path: Path, inside: str) -> None:
    large(tmp_path, 1)
    with pytest.raises(errors.BadArgument, match="belongs to the stream itself"):
        tailrace.combine(tmp_path, "big", tmp_path / inside, replace=True)
    check_large(tmp_path / "big.nc", 1)


def test_no_stream_and_no_step(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound, match="no stream 'big'"):
        tailrace.combine(tmp_path, "big", tmp_path / "one.nc")
    with tailrace.open(tmp_path, "big"):
        pass
    with pytest.raises(errors.NotFound):
        tailrace.combine(tmp_path, "big", tmp_path / "one.nc")


def test_a_part_that_is_missing_or_cut(tmp_path: Path) -> None:
    large(tmp_path, 3)
    part = next((tmp_path / "big.parts" / "000001").glob("*.nc"))
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(errors.Corrupt, match=part.name):
        tailrace.combine(tmp_path, "big", tmp_path / "one.nc")
    part.unlink()
    with pytest.raises(errors.NotFound, match=part.name):
        tailrace.combine(tmp_path, "big", tmp_path / "one.nc")
    part.write_bytes(whole)
    tailrace.combine(tmp_path, "big", tmp_path / "one.nc")
    check_large(tmp_path / "one.nc", 3)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted by root")
def test_a_full_device(tmp_path: Path) -> None:
    large(tmp_path / "run", 4)
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", small], check=True)
    try:
        with pytest.raises(errors.NoSpace, match=r"one\.nc"):
            tailrace.combine(tmp_path / "run", "big", small / "one.nc")
        assert not (small / "one.nc").exists()
    finally:
        subprocess.run(["umount", small], check=True)
