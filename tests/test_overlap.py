"""Steps that are written while the simulation goes on: the same files as without overlap, whatever the layout and the policy."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import tailrace

from tests import formula
from tests.error_run import YIELD, committed_steps
from tests.kill_values import LAYOUTS, check_shown, check_whole, intact_lines, problems
from tests.matrix import DECOMPOSITIONS, SMALL, STEPS_PER_FILE, Case
from tests.mpirun import Mpirun
from tests.presets import PRESETS
from tests.test_decompositions import WRAPPING
from tests.test_faults import STATUS_OF, check_fault, in_turn, run_faults, told_alike
from tests.test_kill import Writer
from tests.written import check_values, verify, write

pytestmark = pytest.mark.both_mpis(3, 20)

STEPS = 7


def case_of(
    preset: str, steps_per_file: str, *more: str, ranks: int = 2, nodes: int = 0, decomposition: str = "rows", in_flight: int = 2
) -> Case:
    settings = "\n".join([f"overlap = {in_flight}", *more])
    return Case(preset, steps_per_file, nodes, ranks, decomposition, "dense", "climate", settings)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each preset with each number of steps a file and each decomposition; ranks and nodes by the seed."""
    if "case" not in metafunc.fixturenames:
        return
    rng = random.Random(f"{metafunc.config.option.seed} overlap")
    params = []
    for preset, steps_per_file in itertools.product(PRESETS, STEPS_PER_FILE):
        for decomposition in DECOMPOSITIONS:
            ranks, in_flight = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 5))
            nodes = rng.choice([n for n in (0, 1, 2) if n < ranks])
            case = case_of(preset, steps_per_file, ranks=ranks, nodes=nodes, decomposition=decomposition, in_flight=in_flight)
            label = f"{preset}-{steps_per_file}-{decomposition}-{ranks}x{nodes}-{in_flight}".replace("'", "")
            params.append(pytest.param(case, id=label))
    metafunc.parametrize("case", params)


@pytest.mark.sampled(3)
def test_same_values_as_without(mpirun: Mpirun, tmp_path: Path, case: Case) -> None:
    write(mpirun, tmp_path, case, SMALL, STEPS)
    check_values(tmp_path, "climate", SMALL, STEPS)
    verify(tmp_path)
    write(mpirun, tmp_path, case, SMALL, 2)
    check_values(tmp_path, "climate", SMALL, STEPS + 2)
    verify(tmp_path)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("policy", ["block", "spill"])
@pytest.mark.parametrize("preset", ["single", "fpp", "shared", "node"])
def test_steps_larger_than_the_window(mpirun: Mpirun, tmp_path: Path, preset: str, policy: str) -> None:
    sizes = formula.Sizes(lev=WRAPPING.lev * 8, lat=WRAPPING.lat, lon=WRAPPING.lon)
    memory = (f"overlap_policy = '{policy}'", "overlap_memory = '1 MiB'", f"spill_directory = '{tmp_path}'")
    write(mpirun, tmp_path, case_of(preset, "1", *memory), sizes, 4)
    check_values(tmp_path, "climate", sizes, 4)
    assert not list(tmp_path.glob(".*")), "the file that took the data has no name"


@pytest.mark.parametrize("durability", ["close", "step"])
@pytest.mark.parametrize("preset", ["single", "hds"])
def test_durable(mpirun: Mpirun, tmp_path: Path, preset: str, durability: str) -> None:
    for steps_per_file in STEPS_PER_FILE:
        folder = tmp_path / steps_per_file.strip("'")
        write(mpirun, folder, case_of(preset, steps_per_file, f"durability = '{durability}'", ranks=3), SMALL, STEPS)
        check_values(folder, "climate", SMALL, STEPS)
        verify(folder)


def test_old_steps_leave(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path, case_of("fpp", "1", "keep = 2"), SMALL, STEPS)
    parts = sorted(entry.name for entry in (tmp_path / "history.parts").iterdir() if entry.is_dir())
    assert parts == ["000000", "000005", "000006"], "the first has the static variables"
    verify(tmp_path)


@pytest.mark.parametrize("overlap", [1, 2, 4])
def test_old_steps_leave_where_the_device_is_slower_than_the_run(tmp_path: Path, overlap: int) -> None:
    """There is always a step under way; the files of old ones go all the same, and the index shows the others."""
    values = np.arange(1_000_000.0)
    there = 0
    with tailrace.open(tmp_path, "slow", layout="fpp", keep=2, overlap=overlap, durability="step") as stream:
        stream.dim("x", len(values))
        stream.var("v", ("x",), "f8")
        for k in range(60):
            with stream.step(float(k)) as step:
                step.put("v", values + k)
            there = max(there, len(list((tmp_path / "slow.parts").iterdir())))
    assert there <= 30
    with tailrace.open_read(tmp_path, "slow") as reader:
        assert reader.steps == [58, 59]
        np.testing.assert_array_equal(reader.get("v"), values + 59)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("overlap_memory = '4 KiB'", "overlap_memory"),
        ("overlap_policy = 'forget'", "block | drop | spill"),
        ("spill_directory = ''", "spill_directory"),
    ],
)
def test_bad_choices(mpirun: Mpirun, tmp_path: Path, choice: str, message: str) -> None:
    finished = mpirun("write_case", 2, [tmp_path, "history", case_of("fpp", "1", choice).options], check=False)
    assert finished.returncode != 0
    assert message in finished.output


# ---- faults and kills while steps are in flight ----------------------------------------------------------------------------------

IN_FLIGHT = "\noverlap = 2\noverlap_memory = '1 MiB'"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_call_fails_while_the_run_goes_on(
    mpirun: Mpirun, injector: Path, tmp_path: Path, layout: str, rank: int, rng: random.Random
) -> None:
    """The Nth call on a file fails, for every N: a later call tells all ranks, and what was committed before is whole."""
    codes = in_turn(rng.randrange(len(STATUS_OF)))
    results = run_faults(mpirun, injector, tmp_path, LAYOUTS[layout] + IN_FLIGHT, rank, "later", codes)
    failures, fault = 0, ""
    for number, answers in results.items():
        fault, noticed = check_fault(answers)
        failures += noticed
        told = told_alike(answers)
        cut = [answer["call"] for answer in told].index("append")
        assert {answer["status"] for answer in told[cut:]} == {"OK"}, f"the run without faults: {told[cut:]}"
        well = [answer["call"] for answer in told[:cut] if answer["status"] == "OK"]
        committed = len(committed_steps(tmp_path / str(number))) - 1
        assert committed <= well.count("end_step"), (fault, answers)
        if "flush" in well:
            assert committed == well.count("end_step"), "flush returns when all steps are committed"
        check_whole(tmp_path / str(number), committed + 1, f"fault {number}: {fault}: {answers}")
    assert fault == "none", "the last run of the loop had a fault left"
    writes = rank == 0 or not layout.startswith("single")
    assert failures >= (3 if writes else 0), "hardly any of the faults was noticed"


@pytest.mark.parametrize("kill", [*range(4), *(pytest.param(kill, marks=pytest.mark.full) for kill in range(4, 40))])
def test_killed_while_steps_are_in_flight(mpirun: Mpirun, tmp_path: Path, kill: int, rng: random.Random) -> None:
    layout = rng.choice(list(LAYOUTS))
    settings = LAYOUTS[layout] + IN_FLIGHT
    before = 0
    for round_ in range(2):
        writer = Writer.start(mpirun, tmp_path, settings, 2000)
        pids = writer.pids()
        time.sleep(rng.uniform(0, 0.1))  # the moment is the random case here
        os.kill(rng.choice(pids), signal.SIGKILL)
        writer.end()
        journal = tmp_path / "history.parts" / "journal.jsonl"
        times = [line["time"] for line in intact_lines(journal) if line["kind"] == "step"] if journal.exists() else []
        print(f"{layout}, round {round_}: {len(times)} steps are committed")
        assert times == list(range(len(times)))
        assert len(times) >= before, "a step that was committed is gone"
        before = len(times)
        if journal.exists():
            assert problems(tmp_path) == []
        if (tmp_path / "history.nc").exists():
            check_shown(tmp_path / "history.nc", len(times), from_step=max(len(times) - 5, 0))
    mpirun("kill_steps", 2, ["run", tmp_path, settings, 2], env=YIELD)
    check_whole(tmp_path, before + 2, layout)


def test_a_step_larger_than_the_window_is_taken_when_nothing_is_under_way(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"overlap": 1, "overlap_policy": "drop", "overlap_memory": "1 MiB"}
    with tailrace.open(tmp_path, "history", layout="single", steps="all", **keys) as stream:
        stream.dim("x", 1 << 19)
        stream.var("v", ("x",), "f8")
        for k in range(4):
            with stream.step(time=float(k)) as step:
                step.put("v", np.full(1 << 19, 1.0 + k), offset=(0,))
            stream.flush()
        assert stream.report()["overlap"]["dropped_steps"] == 0
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        np.testing.assert_array_equal(file["v"][:, ::1000], np.repeat([[1.0], [2.0], [3.0], [4.0]], (1 << 19) // 1000 + 1, axis=1))


def test_steps_without_room_are_left_out(tmp_path: Path) -> None:
    """The steps that are there are whole, the report counts the others."""
    steps, shape = 12, (64, 128, 128)
    index = np.arange(np.prod(shape), dtype="f8").reshape(shape) % 1009
    keys: dict[str, Any] = {"overlap": 1, "overlap_policy": "drop", "overlap_memory": "1 MiB", "durability": "step"}
    with tailrace.open(tmp_path, "history", layout="fpp", **keys) as stream:
        for name, length in zip("zyx", shape, strict=True):
            stream.dim(name, length)
        stream.var("T", ("z", "y", "x"), "f8")
        for k in range(steps):
            with stream.step(time=float(k)) as step:
                step.put("T", index + 10000 * k, offset=(0, 0, 0))
        stream.flush()
        dropped = stream.report()["overlap"]["dropped_steps"]
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        times = file["time"][:]
        assert 0 < dropped == steps - len(times)
        assert (np.diff(times) > 0).all()
        for k, time_of in enumerate(times):
            np.testing.assert_array_equal(file["T"][k], index + 10000 * time_of)
    assert problems(tmp_path) == []
