"""Writing a case of the matrix with write_case, and the two quick looks at what is there then."""

from __future__ import annotations

from pathlib import Path

import tailrace

from tests import formula
from tests.matrix import Case
from tests.mpirun import Mpirun
from tests.readers import read_netcdf4
from tests.seen_values import check

STREAM = "history"


def write(mpirun: Mpirun, folder: Path, case: Case, sizes: formula.Sizes, steps: int, *more: str) -> Path:
    choices = [*case.choices, f"steps={steps}", sizes.argument, *more]
    mpirun("write_case", case.ranks, [folder, STREAM, case.options, *choices])
    return folder / f"{STREAM}.nc"


def check_values(folder: Path, variables: str, sizes: formula.Sizes, steps: int) -> None:
    check(read_netcdf4.read(folder / f"{STREAM}.nc", folder), steps, sizes, variables)


def verify(folder: Path) -> None:
    report = tailrace.verify(folder, STREAM, deep=True)
    assert report["ok"], report["problems"]
