"""The case table: the same stream written from C, C++ and Fortran; and what is Fortran's own: kinds, ranks, sections, errors.

The programs are tests/mpi/facade_case_c.c, facade_case.cpp and fortran_case.f90. CASES says for each of their variables what must
be read back; its values are a formula of variable, step and global index.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.environment import ROOT
from tests.mpirun import Mpirun
from tests.presets import PRESETS, PRESETS_WITH_SCRATCH

pytestmark = pytest.mark.both_mpis(2, 30)

PROGRAMS = {"C": "facade_case_c", "C++": "facade_case", "Fortran": "fortran_case"}
STEPS_PER_FILE = ("1", "'all'")
LENGTHS = {"lon": 10, "lat": 7, "level": 3, "cell": 23}


@dataclass(frozen=True)
class Case:
    """A variable of the case table: values are number * 100000 + step * 1000 + index, reduced where the type is small."""

    number: int
    dtype: str
    dims: tuple[str, ...]
    static: bool = False
    modulus: int = 2**62

    def expected(self, step: int) -> np.ndarray:
        shape = [LENGTHS[dim] for dim in self.dims]
        index = np.arange(int(np.prod(shape)), dtype="i8")
        return ((self.number * 100000 + step * 1000 + index) % self.modulus).astype(self.dtype).reshape(shape)


CASES = {
    "T": Case(1, "f4", ("lat", "lon")),  # uneven rows, dense
    "W": Case(2, "f8", ("level", "lat", "lon")),  # a strided view without its halo
    "soil": Case(3, "i4", ("cell",)),  # several blocks a rank
    "mask": Case(4, "i1", ("lat", "lon"), static=True, modulus=100),  # columns of a larger array
    "number": Case(5, "i2", ("lat",), modulus=30000),  # rank 0 has all of it, the others an empty block
    "id": Case(6, "i8", ("cell",)),  # the last rank has all of it, stored backwards
    "area": Case(7, "f4", ("lat", "lon"), static=True),  # replicated
    "dt": Case(8, "f8", ()),  # a scalar that changes per step
}


def options(preset: str, steps: str) -> str:
    return f"layout = '{preset}'\nsteps = {steps}"


def read(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, decode_times=False, mask_and_scale=False) as dataset:
        return dataset.load()


def check_case(dataset: xr.Dataset, steps: int) -> None:
    assert dataset.sizes["time"] == steps
    np.testing.assert_array_equal(dataset["time"], 3600.0 * np.arange(steps))
    np.testing.assert_array_equal(dataset["lat"], -75.0 + 25.0 * np.arange(7))
    np.testing.assert_array_equal(dataset["lon"], 36.0 * np.arange(10))
    for name, case in CASES.items():
        variable = dataset[name]
        assert variable.dtype == np.dtype(case.dtype), name
        assert variable.dims == (case.dims if case.static else ("time", *case.dims)), name
        found = [variable.values] if case.static else list(variable.values)
        for step, values in enumerate(found):
            np.testing.assert_array_equal(values, case.expected(step), err_msg=f"{name}, step {step}")
    assert dataset.attrs["title"] == "case table"
    assert dataset.attrs["version"] == 3
    assert dataset["time"].attrs["units"] == "seconds since 2000-01-01"
    assert dataset["lat"].attrs["units"] == "degrees_north"
    assert dataset["lon"].attrs["units"] == "degrees_east"
    assert dataset["T"].attrs["units"] == "K"
    np.testing.assert_array_equal(dataset["T"].attrs["valid_range"], np.array([-1.5, 1e6], "f4"))


@pytest.mark.fast
@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("preset", PRESETS_WITH_SCRATCH)
def test_case_table(mpirun: Mpirun, tmp_path: Path, language: str, preset: str) -> None:
    """Three ranks: uneven in every dimension. Written in two runs, the second of which appends."""
    for steps in (2, 1):
        mpirun(PROGRAMS[language], 3, [tmp_path / "out", "case", options(preset, "1"), steps])
    check_case(read(tmp_path / "out" / "case.nc"), 3)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("steps_per_file", STEPS_PER_FILE)
@pytest.mark.parametrize("ranks", [1, *(pytest.param(ranks, marks=pytest.mark.full) for ranks in (2, 4, 9))])
def test_case_table_on_ranks(mpirun: Mpirun, tmp_path: Path, language: str, preset: str, steps_per_file: str, ranks: int) -> None:
    """Nine ranks: more than rows, so that some have blocks without elements."""
    mpirun(PROGRAMS[language], ranks, [tmp_path / "out", "case", options(preset, steps_per_file), 2])
    check_case(read(tmp_path / "out" / "case.nc"), 2)


@pytest.mark.parametrize(
    "preset", ["fpp", *(pytest.param(preset, marks=pytest.mark.full) for preset in PRESETS if preset != "fpp")]
)
def test_languages_make_the_same_stream(mpirun: Mpirun, tmp_path: Path, preset: str) -> None:
    datasets = []
    for language, program in PROGRAMS.items():
        mpirun(program, 2, [tmp_path / language, "case", options(preset, "1"), 2])
        datasets.append(read(tmp_path / language / "case.nc"))
    for dataset in datasets[1:]:
        xr.testing.assert_equal(datasets[0], dataset)
        for name in datasets[0].variables:
            assert str(dataset[name].attrs) == str(datasets[0][name].attrs)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_every_kind_and_rank_as_sections(mpirun: Mpirun, tmp_path: Path, ranks: int) -> None:
    """Steps and backwards; five ranks: one of them has a section without elements. Read back on another number of ranks."""
    mpirun("fortran_ranks", ranks, [tmp_path, "ranks", "layout = 'fpp'"])
    mpirun("fortran_read", ranks % 5 + 1, [tmp_path, "ranks"])
    dataset = read(tmp_path / "ranks.nc")
    lengths = {"d1": 3, "d2": 2, "d3": 1, "d4": 2, "d5": 2, "d6": 2, "split": 4}
    dims = {f"rank_{rank}": [*list(lengths)[: rank - 1], "split"] for rank in range(1, 8)} | {"rank_0": []}
    kinds = {"i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}
    dims |= {f"kind_{kind}": ["d1", "d2", "split"] for kind in kinds}
    for name, fastest_first in dims.items():
        assert dataset[name].dims == ("time", *reversed(fastest_first))
        shape = [lengths[dim] for dim in reversed(fastest_first)]
        for step in range(2):
            expected = (50 * step + np.arange(int(np.prod(shape)))).reshape(shape)
            np.testing.assert_array_equal(dataset[name].values[step], expected, err_msg=f"{name}, step {step}")
    for kind, dtype in kinds.items():
        assert dataset[f"kind_{kind}"].dtype == np.dtype(dtype)


NO_FIT = "BAD_SHAPE: shape does not fit the variable"
ERRORS = {
    "type": ("BAD_ARGUMENT", "rank 0: 'T' holds F32, the array is F64"),
    "rank": ("BAD_SHAPE", "'T' has 2 dimensions, the array has rank 1"),
    "start-count": ("BAD_SHAPE", "start has 1 indices, the array has rank 2"),
    "start-zero": ("BAD_SHAPE", "rank 0: block of 'T': start = (0, 1); indices count from 1"),
    "replicated-shape": ("BAD_SHAPE", "has the shape (4), the array (2)"),
    "beyond": (
        "BAD_SHAPE",
        "rank 0: variable 'T': block (2:5, 1:1) leaves the array in dimension 1 ('x', length 4); "
        "indices count from 1, fastest dimension first",
    ),
    "name": ("NOT_FOUND", "rank 0: variable 'nowhere'"),
    "refused": ("NOT_FOUND", "no column on this rank"),
}


# What only end_step can find: element numbers and blocks as Fortran counts them.
END_ERRORS = {
    "gap": ("BLOCK_GAP", "variable 'T': no rank owns element (1, 1)"),
    "overlap": ("BLOCK_OVERLAP", "rank 0's block (1:4, 1:2) overlaps rank 1's block (1:4, 2:2)"),
}


@pytest.mark.parametrize("call", END_ERRORS)
def test_wrong_blocks(mpirun: Mpirun, tmp_path: Path, call: str) -> None:
    finished = mpirun("fortran_errors", 2, [tmp_path, "history", "layout = 'fpp'", call])
    status, text = END_ERRORS[call]
    lines = [line.split(maxsplit=3) for line in finished.stdout.splitlines()]
    assert [line[:3] for line in lines] == [["OK", status, "OK"]] * 2, finished.output
    assert all(text in line[3] for line in lines), finished.output


@pytest.mark.parametrize("call", ERRORS)
def test_wrong_call_on_one_rank(mpirun: Mpirun, tmp_path: Path, call: str) -> None:
    """The rank is told at once, all ranks at end_step; the step is not there, the next one is whole."""
    finished = mpirun("fortran_errors", 2, [tmp_path, "history", "layout = 'fpp'", call])
    status, text = ERRORS[call]
    lines = [line.split(maxsplit=3) for line in finished.stdout.splitlines()]
    wrong = [line for line in lines if line[0] == status]
    assert len(wrong) == 1, finished.output
    assert len(lines) == 2, finished.output
    assert all(text in line[3] for line in lines), finished.output
    assert all(line[1] != "OK" and line[2] == "OK" for line in lines), finished.output
    dataset = read(tmp_path / "history.nc")
    np.testing.assert_array_equal(dataset["time"], [1.0])
    np.testing.assert_array_equal(dataset["T"], np.arange(8, dtype="f4").reshape(1, 2, 4))
    np.testing.assert_array_equal(dataset["level"], [[1.0, 2.0, 3.0, 4.0]])


def test_without_error_argument_the_run_stops(mpirun: Mpirun, tmp_path: Path) -> None:
    finished = mpirun("fortran_errors", 2, [tmp_path, "history", "layout = 'fpp'", "no-error-argument"], check=False)
    assert finished.returncode != 0
    assert f"tailrace_put T: {NO_FIT}: rank 0: 'T' has 2 dimensions, the array has rank 1" in finished.stderr
    assert "backtrace" not in finished.output.lower()


READ_ERRORS = {
    "type": ("BAD_ARGUMENT", "'rank_2' holds I32, the array is F64; read it into an array of its own type"),
    "unsigned": ("BAD_ARGUMENT", "'kind_u8' holds U8, the array is I16"),
    "rank": ("BAD_SHAPE", "'rank_2' has the shape (3, 4), the array (3); hand over an array of the variable's rank"),
    "scalar": ("BAD_SHAPE", "'rank_2' has the shape (3, 4), the array ()"),
    "start-count": ("BAD_SHAPE", "start has 1 indices, the array has rank 2"),
    "start-zero": ("BAD_SHAPE", "start = (1, 0); indices count from 1"),
    "beyond": ("BAD_SHAPE", "has the shape (3, 4), the array (3, 4); from start = (1, 2) it must end inside the variable"),
    "name": ("NOT_FOUND", "nowhere"),
    "shared-name": ("NOT_FOUND", "nowhere"),
    "step": ("NOT_FOUND", "has no step 7: it has 2 steps, from 0 to 1"),
    "open-twice": ("BAD_ORDER", "this variable holds an open reader; close it first or use another"),
    "stream": ("NOT_FOUND", "there is no stream 'nothing'"),
    "right": ("OK", ""),
    "close": ("OK", ""),
    "closed": ("BAD_ARGUMENT", "argument 'reader' is NULL"),
}


def test_wrong_calls_of_a_reader(mpirun: Mpirun, tmp_path: Path) -> None:
    """An array that is refused on one rank of a collective call leaves no rank waiting."""
    mpirun("fortran_ranks", 2, [tmp_path, "ranks", "layout = 'fpp'"])
    finished = mpirun("fortran_read_errors", 2, [tmp_path, "ranks"])
    said = {tuple(line.split()[:2]): line.split(maxsplit=2)[2] for line in finished.stdout.splitlines()}
    for rank in ("0", "1"):
        for call, (status, text) in READ_ERRORS.items():
            assert said[rank, call].startswith(status), finished.output
            assert text in said[rank, call], finished.output
    whole = "'rank_2' has the shape (3, 4), the array (3, 3); hand over an array for the whole of it"
    assert said["0", "shared-shape"].strip() == f"{NO_FIT.replace(':', '', 1)}: rank 0: {whole}"
    assert said["1", "shared-shape"].startswith("BAD_ARGUMENT"), finished.output
    stopped = mpirun("fortran_read_errors", 2, [tmp_path, "ranks", "without-error-argument"], check=False)
    assert stopped.returncode != 0
    assert re.search(rf"tailrace_get rank_2: {NO_FIT}: rank \d: 'rank_2' has the shape \(3, 4\), the array \(3\)", stopped.stderr)


def generate(include: Path, output: Path) -> subprocess.CompletedProcess[str]:
    generator = ROOT / "bindings" / "fortran" / "generate.py"
    return subprocess.run([sys.executable, generator, include, output], capture_output=True, text=True, check=False)


@pytest.fixture
def changed_headers(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """The public headers with one text replaced by another in one file."""

    def change(name: str, old: str, new: str) -> Path:
        for file in ("status.def", "types.def", "tailrace.h"):
            text = (ROOT / "include" / "tailrace" / file).read_text()
            if file == name:
                assert old in text
                text = text.replace(old, new, 1)
            (tmp_path / file).write_text(text)
        return tmp_path

    return change


@pytest.mark.fast
def test_generator_follows_the_lists(changed_headers: Callable[[str, str, str], Path], tmp_path: Path) -> None:
    include = changed_headers("status.def", "TAILRACE_STATUS(INTERNAL, 17,", "TAILRACE_STATUS(INTERNAL, 170,")
    finished = generate(include, tmp_path / "made")
    assert finished.returncode == 0, finished.stderr
    assert "integer(c_int), parameter :: TAILRACE_INTERNAL = 170\n" in (tmp_path / "made" / "tailrace_contract.f90").read_text()
    assert "public :: TAILRACE_INTERNAL\n" in (tmp_path / "made" / "tailrace.f90").read_text()


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("status.def", "TAILRACE_STATUS(OK, 0,", "TAILRACE_STATUS(OK, zero,", "22 lines of TAILRACE_STATUS, 21 understood"),
        ("types.def", "TAILRACE_TYPE(U8, 4, 1,", "TAILRACE_TYPE(U8, four, 1,", "11 lines of TAILRACE_TYPE, 10 understood"),
        ("tailrace.h", "enum tailrace_var_flags", "enum flags", "tailrace_var_flags or TAILRACE_MAX_DIMS not found"),
    ],
)
def test_generator_refuses_what_it_does_not_understand(
    changed_headers: Callable[[str, str, str], Path], tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    """A list may grow: the counts here are raised with it."""
    finished = generate(changed_headers(name, old, new), tmp_path / "made")
    assert finished.returncode != 0
    assert message in finished.stderr
    assert not (tmp_path / "made" / "tailrace.f90").exists()


@pytest.mark.full
def test_arrays_of_more_elements_than_a_default_integer_counts(mpirun: Mpirun, tmp_path: Path) -> None:
    """Of one byte each: three times 2 GiB."""
    mpirun("fortran_large", 1, [tmp_path])
