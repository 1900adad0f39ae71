"""The C++ facade: what it adds to the contract (owners, types, exceptions), reading back, and the examples.

The case table is in test_fortran.py.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.environment import ROOT
from tests.mpirun import Mpirun


def read(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, decode_times=False) as dataset:
        return dataset.load()


def compile_header(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    source = tmp_path / "use.cpp"
    source.write_text(f"#include <tailrace/tailrace.hpp>\n{text}\n")
    flags = ["-std=c++20", "-DOMPI_SKIP_MPICXX", "-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror", "-fsyntax-only"]
    return subprocess.run(["mpicxx", *flags, f"-I{ROOT / 'include'}", source], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "static_assert(tailrace::type_of<float> == TAILRACE_F32 && tailrace::type_of<const double> == TAILRACE_F64);",
        "static_assert(tailrace::type_of<long> == TAILRACE_I64 && tailrace::type_of<long long> == TAILRACE_I64);",
        "static_assert(!tailrace::Element<char8_t> && !tailrace::Element<bool> && !tailrace::Element<long double>);",
        "static_assert(tailrace::type_of<char> == TAILRACE_CHAR && tailrace::type_of<signed char> == TAILRACE_I8);",
        "static_assert(!std::is_copy_constructible_v<tailrace::Stream> && std::is_nothrow_move_assignable_v<tailrace::Stream>);",
        "void f(tailrace::Stream &s, tailrace::Variable<float> &v, tailrace::Block<float> &b) { s.put(v, b); }",
        "static_assert(!std::is_copy_constructible_v<tailrace::Reader> && std::is_nothrow_move_assignable_v<tailrace::Reader>);",
        'void f(tailrace::Reader &r, std::vector<float> &v) { r.get<float>("T", v, {0}, {1}); r.get_shared<float>("T", v); }',
    ],
)
def test_header_compiles(tmp_path: Path, needs: Callable[..., None], text: str) -> None:
    needs("mpicxx")
    finished = compile_header(tmp_path, text)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    "text",
    [
        "void f(tailrace::Stream &s, tailrace::Variable<float> &v, tailrace::Block<double> &b) { s.put(v, b); }",
        'void f(tailrace::Stream &s) { s.define_var<bool>("T"); }',
        'void f(tailrace::Reader &r, tailrace::Target<double> &t) { r.get<float>("T", t); }',
        'void f(tailrace::Reader &r, const std::vector<float> &v) { r.get<float>("T", v, {0}, {4}); }',
    ],
)
def test_a_wrong_element_type_does_not_compile(tmp_path: Path, needs: Callable[..., None], text: str) -> None:
    needs("mpicxx")
    finished = compile_header(tmp_path, text)
    assert finished.returncode != 0
    assert "no matching function for call to" in finished.stderr


ENDS = {
    "exception": "other: the model failed",
    "ndims": "BAD_SHAPE: shape does not fit the variable: rank 0: 'T': a block of 1 dimensions; the variable has 2",
    "size": "BAD_SHAPE: a block of 8 elements was given 4 of them; hand over exactly the block",
}
LEFT = "ABANDONED: a rank abandoned the step: rank 0: its stream was destroyed in a step"


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("case", ENDS)
def test_rank_leaves_a_step_by_an_exception(mpirun: Mpirun, tmp_path: Path, case: str, ranks: int) -> None:
    """No rank waits for ever: the others have an error from end_step, and the step before is there."""
    finished = mpirun("facade_errors", ranks, [tmp_path, "layout = 'fpp'", case])
    outcomes = dict(line.split(": ", 1) for line in finished.stdout.splitlines())
    assert outcomes["rank 0"] == ENDS[case], finished.output
    for rank in range(1, ranks):
        assert outcomes[f"rank {rank}"] == (ENDS[case] if case == "ndims" else LEFT), finished.output
    check_first_step(tmp_path, ranks)


def test_moved_and_never_closed(mpirun: Mpirun, tmp_path: Path) -> None:
    finished = mpirun("facade_errors", 2, [tmp_path, "layout = 'fpp'", "unclosed"])
    assert sorted(finished.stdout.splitlines()) == ["rank 0: OK", "rank 1: OK"]
    check_first_step(tmp_path, 2)


def check_first_step(directory: Path, ranks: int) -> None:
    expected = np.repeat(np.arange(ranks, dtype="f4"), 4).reshape(1, ranks, 4)
    np.testing.assert_array_equal(read(directory / "history.nc")["T"], expected)


@pytest.mark.parametrize(("preset", "ranks"), [("fpp", 2), ("hds", 4), ("single", 1), ("shared", 9)])
def test_reads_back(mpirun: Mpirun, tmp_path: Path, preset: str, ranks: int) -> None:
    """On other ranks than wrote; nine: more than rows."""
    mpirun("facade_case", 3, [tmp_path, "case", f"layout = '{preset}'", 2])
    mpirun("facade_read", ranks, [tmp_path, "case", 2])


READ_ERRORS = {
    "type": "BAD_ARGUMENT: 'T' holds float, it was asked for as double; read it in its own type",
    "ndims": "BAD_SHAPE: 'T': a block of 1 dimensions; the variable has 2",
    "scalar": "BAD_SHAPE: 'T': a block of 0 dimensions; the variable has 2",
    "size": "BAD_SHAPE: a block of 20 elements was given 10 of them; hand over exactly the block",
    "beyond": "BAD_SHAPE: shape does not fit the variable: rank {rank}: "
    "variable 'T': box [7:8, 0:10] leaves the array in dimension 0",
    "name": "NOT_FOUND: not found: rank {rank}: variable 'nowhere' is not defined",
    "step": "NOT_FOUND: not found: rank 0: stream 'case' in ",
    "stream": "NOT_FOUND: not found: rank 0: there is no stream 'nothing'",
    "right": "OK",
    "closed": "BAD_ARGUMENT: bad argument: argument 'reader' is NULL",
}


def test_wrong_calls_of_a_reader(mpirun: Mpirun, tmp_path: Path) -> None:
    """Room that is refused on one rank of a collective call leaves no rank waiting."""
    mpirun("facade_case", 2, [tmp_path, "case", "layout = 'fpp'", 1])
    finished = mpirun("facade_read_errors", 2, [tmp_path, "case"])
    said = {tuple(line.split()[:2]): line.split(maxsplit=2)[2] for line in finished.stdout.splitlines()}
    for rank in ("0", "1"):
        for call, text in READ_ERRORS.items():
            assert said[rank, call].startswith(text.replace("{rank}", rank)), finished.output
    assert said["0", "shared-size"].startswith("BAD_SHAPE: 'area': room for 10 elements of a variable of 70"), finished.output
    assert said["1", "shared-size"].startswith("BAD_ARGUMENT"), finished.output


@pytest.mark.fast
@pytest.mark.parametrize("name", ["rows_c", "rows_cpp", "rows_fortran"])
def test_example(mpirun: Mpirun, build_dir: Path, tmp_path: Path, name: str) -> None:
    mpirun(build_dir / "examples" / name, 3, cwd=tmp_path)
    dataset = read(tmp_path / "out" / f"{name}.nc")
    expected = 100 * np.arange(3)[:, None, None] + np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(dataset["T"], expected)
    np.testing.assert_array_equal(dataset["time"], [0.0, 1.0, 2.0])
    assert dataset["T"].attrs["units"] == "K"
