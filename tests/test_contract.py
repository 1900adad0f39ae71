"""The case table of contract_cases.toml: blocks, strings, ragged data, attributes, errors and reading, the same in all languages.

A script is run by a program of each language, on all ranks. Its lines are RANK OPERATION ARGUMENTS -> ANSWER:

open NAME OPTIONS (";" separates lines of TOML), resume NAME OPTIONS TIME (resume_before), close, flush, count
dim NAME LENGTH|ragged, var NAME TYPE FLAGS DIMS
text OWNER NAME WORD, texts OWNER NAME WORD,WORD..., number OWNER NAME VALUE (owner ".": the stream)
begin TIME, end, refuse
put VAR FIRST dense|strided [OFFSETS COUNTS]...: blocks whose elements count up from FIRST; offset "-": behind other ranks
put_indices VAR FIRST dense|strided DIM INDICES COUNTS: an array of the shape COUNTS, counted up from FIRST, under INDICES of DIM
strings VAR OFFSET WORD..., whole VAR VALUE...: a replicated variable
shape VAR: type, flags, lengths; of a stream or of a reader
read NAME, steps, select STEP, get VAR OFFSETS COUNTS, get_shared VAR, get_strings VAR OFFSET COUNT,
get_indices VAR DIM INDICES COUNTS, close_read
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tailrace
from tailrace.communicator import fortran_handle

from tests.environment import ROOT
from tests.mpirun import Mpirun

PROGRAMS: dict[str, str | Path] = {
    "C": "contract_case_c",
    "C++": "contract_case",
    "Fortran": "contract_case_fortran",
    "Python": ROOT / "tests" / "python_contract.py",
}
CASES = {case["name"]: case for case in tomllib.loads((ROOT / "tests" / "contract_cases.toml").read_text())["case"]}


@dataclass(frozen=True)
class Line:
    call: str
    expected: str  # "ANY": languages find the mistake at different calls

    @property
    def rank(self) -> str:
        return self.call.split()[0]


def lines_of(script: str) -> list[Line]:
    parts = [re.split(r"\s+->\s+", line) for line in script.strip().splitlines()]
    return [Line(part[0], part[1] if len(part) > 1 else "OK") for part in parts]


def cases_of(*languages: str) -> list[tuple[str, str]]:
    """With each language that can make the case's calls."""
    return [
        (name, language) for name, case in CASES.items() for language in languages if language in case.get("languages", PROGRAMS)
    ]


@pytest.mark.fast
@pytest.mark.sampled(100)
@pytest.mark.both_mpis(2, 30)
@pytest.mark.parametrize(("name", "language"), cases_of("C", "C++", "Fortran"))
def test_case(mpirun: Mpirun, tmp_path: Path, name: str, language: str) -> None:
    run_case(mpirun, tmp_path, name, language)


@pytest.mark.fast
@pytest.mark.parametrize(("name", "language"), cases_of("Python"))
def test_case_in_python(mpirun: Mpirun, tmp_path: Path, name: str, language: str) -> None:
    """Under Open MPI alone: the extension is built for one MPI."""
    run_case(mpirun, tmp_path, name, language)


def run_case(mpirun: Mpirun, tmp_path: Path, name: str, language: str) -> None:
    case: dict[str, Any] = CASES[name]
    lines = lines_of(case["script"])
    script, answers = tmp_path / "script", tmp_path / "answers"
    script.write_text("".join(line.call + "\n" for line in lines))
    answers.mkdir()
    finished = mpirun(PROGRAMS[language], case["ranks"], [script, tmp_path / "out", answers])
    for rank in range(case["ranks"]):
        found = dict(line.split(" ", 1) for line in (answers / str(rank)).read_text().splitlines())
        for number, line in enumerate(lines):
            if line.rank not in ("all", str(rank)):
                continue
            assert str(number) in found, f"rank {rank} did not reach: {line.call}\n{finished.output}"
            if line.expected != "ANY":
                assert found[str(number)].strip() == line.expected, f"rank {rank}: {line.call}\n{finished.output}"
    if "attributes" in case:
        check_attributes(tmp_path / "out" / "out.nc", case["attributes"])


def check_attributes(path: Path, expected: dict[str, Any]) -> None:
    with h5py.File(path) as file:
        for name, value in expected.items():
            owner, _, attribute = name.partition(":")
            stored = (file[owner] if owner else file).attrs[attribute]
            if isinstance(value, list):
                assert stored.tolist() == value, name
                continue
            assert (stored.decode() if isinstance(stored, bytes) else stored) == value, name


# ---- what only Python has -------------------------------------------------------------------------------------------------------


@pytest.mark.fast
def test_a_failed_opening_can_be_closed(tmp_path: Path) -> None:
    stream = tailrace.Stream.__new__(tailrace.Stream)
    with pytest.raises(tailrace.Error, match="unknown key 'layuot'"):
        stream.__init__(tmp_path, "history", fortran_handle(), "layuot = 'fpp'")  # type: ignore[misc]
    assert stream.closed
    stream.close()


@pytest.mark.fast
def test_definitions_can_be_asked(tmp_path: Path) -> None:
    """While a stream is written as while it is read."""
    v = {"name": "v", "type": "f4", "dimensions": ["lat", "lon"], "shape": [2, 3], "static": False, "replicated": False}
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.dim("lat", 2)
        stream.dim("lon", 3)
        stream.var("v", ("lat", "lon"), "f4")
        stream.var("name", (), "S3")
        assert stream.dimensions == {"lat": 2, "lon": 3, "string3": 3}
        assert stream.variables["v"] == v
        assert stream.variables["name"]["dimensions"] == ["string3"]
        with stream.step(time=0.0) as step:
            step.put("v", np.zeros((2, 3), "f4"))
            step["name"] = "abc"
        assert stream.variables["v"] == v
    with tailrace.open_read(tmp_path, "history") as reader:
        assert reader.variables["v"] == {**v, "attributes": []}
