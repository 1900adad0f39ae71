"""A stream that continues behind an earlier restart: mode = resume, tailrace rewind, times that do not continue."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
import xarray

from tests import python_model
from tests.environment import ROOT
from tests.mpirun import Mpirun

SIZE = 4
LAYOUTS: dict[str, dict[str, Any]] = {
    "fpp": {"layout": "fpp", "steps": 1},
    "fpp-3": {"layout": "fpp", "steps": 3},
    "fpp-all": {"layout": "fpp", "steps": "all"},
    "hds": {"layout": "hds", "steps": 1},
    "split-3": {"layout": "split:1", "steps": 3},
    "single-1": {"layout": "single", "steps": 1},
    "single-3": {"layout": "single", "steps": 3},
    "single-all": {"layout": "single", "steps": "all"},
    "shared-all": {"layout": "shared", "steps": "all"},
    "compressed": {"layout": "single", "steps": "all", "compression": "deflate", "chunk": "32 KiB"},
    "compressed-fpp-3": {"layout": "fpp", "steps": 3, "compression": "deflate"},
    "overlap": {"layout": "single", "steps": "all", "overlap": 2},
    "overlap-fpp-3": {"layout": "fpp", "steps": 3, "overlap": 2},
    "durable": {"layout": "single", "steps": "all", "durability": "step"},
    "durable-fpp": {"layout": "fpp", "steps": 1, "durability": "step"},
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def write(folder: Path, times: list[float], run: float, **keys: Any) -> None:
    """Each step has the value time + run / 1000, so that it tells the run that wrote it."""
    with tailrace.open(folder, "history", **keys) as stream:
        define(stream)
        for time in times:
            put(stream, time, run)


def define(stream: tailrace.Stream) -> None:
    stream.coord("x", np.arange(SIZE, dtype="f8"), units="m")
    stream.var("T", ("x",), "f8", units="K")
    stream.var("mass", (), "f8")
    stream.var("mask", ("x",), "i1", static=True)
    stream.attributes("time", units="hours since 2000-01-01")


def put(stream: tailrace.Stream, time: float, run: float, mask: tuple[int, ...] = (0, 1, 1, 0)) -> None:
    with stream.step(time) as step:
        value = round(time + run / 1000, 3)
        step.put("T", np.full(SIZE, value))
        step["mass"] = value
        step.put("mask", np.array(mask, "i1"))


def check(folder: Path, values: list[float]) -> None:
    """As xarray and tailrace read it; and every byte is whole."""
    with xarray.open_dataset(folder / "history.nc", decode_times=False) as data:
        np.testing.assert_array_equal(data["T"].values, np.array(values)[:, None] + np.zeros(SIZE))
        np.testing.assert_array_equal(data["mass"].values, values)
        np.testing.assert_array_equal(data["time"].values, [round(value) for value in values])
        np.testing.assert_array_equal(data["mask"].values, [0, 1, 1, 0])
    with tailrace.open_read(folder, "history") as reader:
        assert reader.times == [round(value) for value in values]
        for number, value in zip(reader.steps, values, strict=True):
            reader.select(number)
            np.testing.assert_array_equal(reader.get("T"), np.full(SIZE, value))
    report = tailrace.verify(folder, "history", deep=True)
    assert report["ok"], report


def drops(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for journal in sorted((folder / "history.parts").glob("journal*.jsonl")):
        found += [line for line in tailrace.journal_read(journal)[0] if line["kind"] == "drop"]
    return found


# ---- mode = resume --------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
@layouts
def test_steps_from_the_first_new_time_on_leave(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    write(tmp_path, [1, 2, 3, 4, 5, 6, 7], 0, **keys)
    write(tmp_path, [5, 6], 1, mode="resume", **keys)
    check(tmp_path, [1, 2, 3, 4, 5.001, 6.001])
    assert [(line["first"], line["last"], line["why"]) for line in drops(tmp_path)] == [(4, 6, "resume")]
    write(tmp_path, [7, 8], 2, **keys)
    check(tmp_path, [1, 2, 3, 4, 5.001, 6.001, 7.002, 8.002])
    write(tmp_path, [2], 3, mode="resume", **keys)
    check(tmp_path, [1, 2.003])
    write(tmp_path, [0, 3], 4, mode="resume", **keys)
    check(tmp_path, [0.004, 3.004])


@pytest.mark.fast
@layouts
def test_steps_from_a_given_time_on_leave(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    write(tmp_path, [1, 2, 3, 4], 0, **keys)
    with tailrace.open(tmp_path, "history", resume_before=2.5, **keys) as stream:
        assert stream.step_count == 2
        define(stream)
    check(tmp_path, [1, 2, 3, 4])  # it has written no step
    write(tmp_path, [4, 5], 1, resume_before=2.5, **keys)
    check(tmp_path, [1, 2, 4.001, 5.001])
    write(tmp_path, [3], 2, resume_before=-1, **keys)
    check(tmp_path, [3.002])


@pytest.mark.fast
@pytest.mark.parametrize("layout", ["fpp", "fpp-3", "single-all"])
def test_a_run_that_is_refused_changes_nothing(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    write(tmp_path, [1, 2, 3, 4], 0, **keys)
    with tailrace.open(tmp_path, "history", mode="resume", **keys) as stream:
        define(stream)
        stream.attributes("T", units="degC")
        with pytest.raises(tailrace.BadAttribute):
            put(stream, 2, 1)
    with tailrace.open(tmp_path, "history", mode="resume", **keys) as stream:
        define(stream)
        with pytest.raises(tailrace.BadArgument, match="mask"):
            put(stream, 2, 1, mask=(0, 1, 1, 1))
    check(tmp_path, [1, 2, 3, 4])
    assert drops(tmp_path) == []


@pytest.mark.fast
@pytest.mark.parametrize("layout", ["fpp", "fpp-3", "single-all", "compressed"])
def test_the_first_step_fails_and_comes_again(tmp_path: Path, layout: str) -> None:
    """With another time: what leaves is decided anew."""
    write(tmp_path, [1, 2, 3, 4], 0, **LAYOUTS[layout])
    with tailrace.open(tmp_path, "history", mode="resume", **LAYOUTS[layout]) as stream:
        define(stream)
        with pytest.raises(ZeroDivisionError), stream.step(1) as step:
            step.put("T", np.full(SIZE, 1 / 0))
        put(stream, 4, 1)
        put(stream, 5, 1)
    check(tmp_path, [1, 2, 3, 4.001, 5.001])


@pytest.mark.fast
def test_files_of_the_steps_that_leave_go(tmp_path: Path) -> None:
    write(tmp_path, [1, 2, 3, 4, 5], 0, layout="fpp", steps=1)
    write(tmp_path, [2], 1, mode="resume", layout="fpp", steps=1)
    parts = sorted(path.name for path in (tmp_path / "history.parts").rglob("*.nc"))
    assert parts == ["history.000000.000000.nc", "history.000001.000000.nc"]


@pytest.mark.fast
@pytest.mark.parametrize("steps", [1, 3])
def test_with_retention(tmp_path: Path, steps: int) -> None:
    keys = {"layout": "fpp", "steps": steps, "keep": 3}
    write(tmp_path, list(range(1, 10)), 0, **keys)
    check(tmp_path, [7.0, 8.0, 9.0])
    write(tmp_path, [9, 10], 1, mode="resume", **keys)
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.times[-3:] == [8, 9, 10]
    write(tmp_path, [1, 2], 2, mode="resume", **keys)  # all that is kept leaves; numbers of what retention removed stay taken
    check(tmp_path, [1.002, 2.002])
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.steps[0] >= 6


@pytest.mark.fast
def test_there_is_no_stream_yet(tmp_path: Path) -> None:
    write(tmp_path, [1, 2], 0, mode="resume")
    check(tmp_path, [1, 2])


@pytest.mark.fast
@pytest.mark.parametrize("layout", ["fpp", "single-all"])
def test_times_may_decrease(tmp_path: Path, layout: str) -> None:
    write(tmp_path, [9, 7, 5, 3], 0, **LAYOUTS[layout])
    write(tmp_path, [6, 4], 1, mode="resume", **LAYOUTS[layout])
    check(tmp_path, [9, 7, 6.001, 4.001])


@pytest.mark.fast
@pytest.mark.parametrize(
    ("value", "said"), [("soon", "resume_before = 'soon' is not possible"), (float("nan"), "nan"), ([1], "array")]
)
def test_a_time_that_is_none(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(tailrace.BadConfig, match=said):
        tailrace.open(tmp_path, "history", layout={"resume_before": value})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("preset", ["fpp", "split:2", "single", "shared", "collective"])
@pytest.mark.parametrize("steps", ["1", "2", "'all'"])
def test_on_other_ranks(mpirun: Mpirun, tmp_path: Path, preset: str, steps: str) -> None:
    """The run that continues has other ranks and blocks, and several parts."""
    program = ROOT / "tests" / "python_resume.py"
    for ranks, first, last, mode in ((3, 0, 7, "append"), (2, 4, 6, "resume"), (4, 5, 9, "resume")):
        mpirun(program, ranks, [tmp_path, f"layout = '{preset}'\nsteps = {steps}\nmode = '{mode}'", str(first), str(last)])
    mpirun(program, 1, [tmp_path, "check", "0", "9"])


@pytest.mark.parametrize(("steps", "overlap"), [("1", 0), ("'all'", 2)])
def test_with_ranks_that_only_write(mpirun: Mpirun, tmp_path: Path, steps: str, overlap: int) -> None:
    program, keys = ROOT / "tests" / "python_resume.py", f"writers = 'dedicated:1'\nsteps = {steps}\noverlap = {overlap}\n"
    mpirun(program, 3, [tmp_path, f"{keys}mode = 'append'", "0", "7"])
    mpirun(program, 4, [tmp_path, f"{keys}mode = 'resume'", "4", "6"])
    mpirun(program, 3, [tmp_path, f"{keys}resume_before = 5", "5", "7"])
    finished = mpirun(program, 3, [tmp_path, f"{keys}mode = 'append'", "7", "9"])
    assert finished.stdout.count("refused: ") == 2
    assert "a step at time 6 does not follow" in finished.stdout
    mpirun(program, 1, [tmp_path, "check", "0", "9"])


# ---- times that do not go on ----------------------------------------------------------------------------------------------------


@pytest.mark.fast
@layouts
def test_a_time_that_does_not_continue(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    write(tmp_path, [1, 2, 3, 4], 0, **keys)
    with tailrace.open(tmp_path, "history", **keys) as stream:
        define(stream)
        for time in (3.5, 4, -1):
            with pytest.raises(tailrace.BadOrder) as refused:
                put(stream, time, 1)
            text = str(refused.value)
            assert f"time {time:g} does not follow: the last step has the time 4" in text
            for remedy in (f"mode = 'resume' and resume_before = {time:g}", "mode = 'replace'", "another stream"):
                assert remedy in text
        put(stream, 5, 1)
        with pytest.raises(tailrace.BadOrder, match="time 5 does not follow"):
            put(stream, 5, 1)
        put(stream, 6, 1)
    check(tmp_path, [1, 2, 3, 4, 5.001, 6.001])


@pytest.mark.fast
def test_one_step_has_no_direction(tmp_path: Path) -> None:
    write(tmp_path, [1], 0)
    with pytest.raises(tailrace.BadOrder, match="too"):
        write(tmp_path, [1], 1)
    write(tmp_path, [0, -2], 2)
    check(tmp_path, [1, 0.002, -1.998])


# ---- tailrace rewind ------------------------------------------------------------------------------------------------------------


@pytest.mark.fast
@layouts
def test_rewind(tmp_path: Path, layout: str) -> None:
    keys = LAYOUTS[layout]
    write(tmp_path, [1, 2, 3, 4, 5, 6], 0, **keys)
    answer = tailrace.rewind(tmp_path, "history", before=5)
    assert (answer["steps"], answer["dropped"], answer["times"]) == (4, [4, 5], [5, 6])
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.times == [1, 2, 3, 4]
    answer = tailrace.rewind(tmp_path, "history", steps=2)
    assert (answer["steps"], answer["dropped"]) == (2, [2, 3])
    assert tailrace.rewind(tmp_path, "history", before=7)["dropped"] == []
    assert [line["why"] for line in drops(tmp_path)] == ["rewind", "rewind"]
    write(tmp_path, [2.5, 4], 1, **keys)
    with tailrace.open_read(tmp_path, "history") as reader:
        assert (reader.steps, reader.times) == ([0, 1, 2, 3], [1, 2, 2.5, 4])
    assert tailrace.verify(tmp_path, "history", deep=True)["ok"]
    tailrace.rewind(tmp_path, "history", steps=4)
    with pytest.raises(tailrace.NotFound, match="no committed step"):
        tailrace.open_read(tmp_path, "history")
    write(tmp_path, [1, 2], 2, **keys)
    check(tmp_path, [1.002, 2.002])


@pytest.mark.fast
@pytest.mark.parametrize(
    ("chosen", "said"),
    [({}, "give either"), ({"before": 1, "steps": 1}, "give either"), ({"steps": 9}, "has 3 steps, so the last 9 cannot leave")],
)
def test_what_rewind_refuses(tmp_path: Path, chosen: dict[str, Any], said: str) -> None:
    write(tmp_path, [1, 2, 3], 0)
    with pytest.raises(tailrace.BadArgument, match=said):
        tailrace.rewind(tmp_path, "history", **chosen)
    with pytest.raises(tailrace.NotFound):
        tailrace.rewind(tmp_path, "nothing", steps=1)
    check(tmp_path, [1, 2, 3])


@pytest.mark.fast
def test_the_command(tailrace_command: list[str], tmp_path: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*tailrace_command, "rewind", *words], capture_output=True, text=True, check=False, cwd=tmp_path)

    write(tmp_path / "out", [1, 2, 3, 4], 0, layout="fpp", steps=1)
    done = run("out", "--stream", "history", "--before", "4")
    assert (done.returncode, done.stdout) == (
        0,
        "history: step 3 (time 4) has left, 3 steps are left; files or folders removed: 1\n",
    )
    done = run("out", "--steps", "1", "--json")
    assert json.loads(done.stdout)["dropped"] == [2]
    assert run("out").returncode == 2
    check(tmp_path / "out", [1, 2])
    text = run("--help").stdout
    assert "tailrace rewind out --stream history --before 72" in " ".join(text.split())


# ---- is there a restart? --------------------------------------------------------------------------------------------------------

PROGRAMS = {
    "c": """
#include <stdio.h>
#include <stdlib.h>
#include <tailrace/tailrace.h>
static void read_state(tailrace_reader *reader) {
    const double *times;
    uint64_t count;
    tailrace_get_steps(reader, &count, NULL, &times);
    printf("from %.1f\\n", times[count - 1]);
}
static void begin_anew(void) { printf("anew\\n"); }
static void stop(const char *text) { printf("stop: %s\\n", text); }
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    @
    return MPI_Finalize();
}
""",
    "cpp": """
#include <cstdio>
#include <optional>
#include <tailrace/tailrace.hpp>
static void read_state(tailrace::Reader &reader) { std::printf("from %.1f\\n", reader.times().back()); }
static void begin_anew() { std::printf("anew\\n"); }
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const MPI_Comm comm = MPI_COMM_WORLD;
    try {
        @
    } catch (const tailrace::Error &error) { std::printf("stop: %s\\n", error.what()); }
    return MPI_Finalize();
}
""",
    "fortran": """
program main
  use mpi
  use tailrace
  implicit none
  type(tailrace_reader) :: restart
  integer :: comm, error
  call MPI_Init(error)
  comm = MPI_COMM_WORLD
  @
  call MPI_Finalize(error)
contains
  subroutine read_state(reader)
    type(tailrace_reader), intent(inout) :: reader
    integer(8), allocatable :: steps(:)
    real(8), allocatable :: times(:)
    call tailrace_get_steps(reader, steps, times)
    write (*, '(a, f0.1)') 'from ', times(size(times))
    call tailrace_close_read(reader)
  end subroutine
  subroutine begin_anew()
    write (*, '(a)') 'anew'
  end subroutine
  subroutine stop_run(text)
    character(*), intent(in) :: text
    write (*, '(2a)') 'stop: ', text
  end subroutine
end program
""",
    "python": """
import tailrace
def read_state(reader):
    print(f"from {reader.times[-1]:.1f}")
    reader.close()
def begin_anew():
    print("anew")
comm = None
def main():
    @
try:
    main()
except tailrace.Error as error:
    print("stop:", error)
""",
}


def lines_of_page(language: str) -> list[str]:
    page = (ROOT / "docs" / "restart.md").read_text()
    lines = page.split(f"```{language}\n", 1)[1].split("```", 1)[0].splitlines()
    assert len(lines) == 6
    return lines


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_page_asks_for_a_restart(build_dir: Path, tmp_path: Path, language: str) -> None:
    """docs/restart.md: six lines of each language, which are compiled and run."""
    before, after = PROGRAMS[language].split("@")
    indent = before.rsplit("\n", 1)[1]
    text = before + f"\n{indent}".join(lines_of_page(language)) + after
    source = tmp_path / f"main.{ {'c': 'c', 'cpp': 'cpp', 'fortran': 'f90', 'python': 'py'}[language] }"
    source.write_text(text)
    command = [sys.executable, str(source)]
    if language != "python":
        compiler = {"c": ["mpicc", "-std=c11"], "cpp": ["mpicxx", "-std=c++20"], "fortran": ["mpifort"]}[language]
        library = ["-L", str(build_dir / "lib"), f"-Wl,-rpath,{build_dir / 'lib'}"]
        if language == "fortran":
            library.append("-ltailrace_fortran")
        include = ["-I", str(ROOT / "include"), "-I", str(build_dir / "include")]
        command = [str(tmp_path / "main")]
        compiled = subprocess.run(
            [*compiler, "-Wall", *include, str(source), "-o", *command, *library, "-ltailrace"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert compiled.returncode == 0, compiled.stderr

    def answer() -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert answer() == "anew"
    with tailrace.open(tmp_path / "out", "restart", layout="fpp", steps=1) as stream:
        assert answer() == "anew"  # it is opened, and has no step
        stream.dim("x", 2)
        stream.var("T", ("x",), "f8")
        for time in (6, 12):
            with stream.step(time) as step:
                step.put("T", np.zeros(2))
    assert answer() == "from 12.0"
    journal = tmp_path / "out" / "restart.parts" / "journal.jsonl"
    text = journal.read_text()
    journal.write_text(text.replace('"time":6', '"time":7'))
    assert answer().startswith("stop: ")


KILLED_LAYOUTS = {
    "fpp": "layout = 'fpp'\nsteps = 1",
    "fpp-3": "layout = 'fpp'\nsteps = 4",
    "hds": "layout = 'hds'\nsteps = 1",
    "split-all": "layout = 'split:2'\nsteps = 'all'",
    "single-1": "layout = 'single'\nsteps = 1",
    "single-5": "layout = 'single'\nsteps = 5",
    "single-all": "layout = 'single'\nsteps = 'all'",
    "shared-all": "layout = 'shared'\nsteps = 'all'",
    "compressed": "layout = 'shared'\nsteps = 'all'\ncompression = 'deflate'",
    "overlap": "layout = 'single'\nsteps = 'all'\noverlap = 2",
    "overlap-fpp": "layout = 'fpp'\nsteps = 1\noverlap = 3",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("layout", KILLED_LAYOUTS)
def test_killed_at_random_steps(mpirun: Mpirun, tmp_path: Path, rng: random.Random, layout: str, part: int) -> None:
    """The history is, value for value, that of a run without a kill. Five kills each; `--seed` repeats the same ones."""
    program, ranks, steps, options = ROOT / "tests" / "python_model.py", 2, 40, KILLED_LAYOUTS[layout]
    for _ in range(5):
        done = committed_restart(tmp_path)
        killed = rng.randint(done + 1, min(done + 5, steps))
        words = [tmp_path, options, str(steps), str(killed), str(rng.randrange(ranks)), f"{rng.choice([0, 0.001, 0.003, 0.01])}"]
        mpirun(program, ranks, words, check=False)
    mpirun(program, ranks, [tmp_path, options, str(steps), "0", "0", "0"])
    state = python_model.first_state()
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.times == [python_model.time_of(step) for step in range(1, steps + 1)]
        for number, step in zip(reader.steps, range(1, steps + 1), strict=True):
            state = python_model.next_state(state, step)
            reader.select(number)
            np.testing.assert_array_equal(reader.get("state"), state)
            assert reader.get("step") == step
    with xarray.open_dataset(tmp_path / "history.nc", decode_times=False) as data:
        np.testing.assert_array_equal(data["step"].values, np.arange(1, steps + 1))
        np.testing.assert_array_equal(data["state"].values[-1], state)
        np.testing.assert_array_equal(data["area"].values, python_model.first_state())
    report = tailrace.verify(tmp_path, "history", deep=True)
    assert report["ok"], report
    assert all(path.stat().st_size < 256 << 20 for path in tmp_path.rglob("*.nc")), "kills must not multiply what a run lays out"


def committed_restart(folder: Path) -> int:
    with contextlib.suppress(tailrace.NotFound), tailrace.open_read(folder, "restart") as reader:
        return int(reader.get("step"))
    return 0
