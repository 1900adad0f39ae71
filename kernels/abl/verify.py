"""Checks every byte that a run of the kernel wrote, against the formula.

usage: verify.py DIR --run RUN.json    prints JSON; exit 1 if a byte is wrong or a file is missing or unexpected
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from kernels.shared.findings import Findings, answer, main
from kernels.shared.formula import formula


class Expected:
    """The values that a run must have written, whole arrays in global order (z, y, x)."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.case = run["case"]
        self.fields: dict[str, int] = {variable["name"]: variable["id"] for variable in run["variables"]}
        self.shape = (self.case["nz"] * self.case["ranks"], self.case["ny"], self.case["nx"])
        self.steps = range(self.case["restart"] + 1, self.case["steps"] + 1)

    def values(self, field: str, step: int) -> np.ndarray:
        cells = np.arange(int(np.prod(self.shape)), dtype=np.uint64).reshape(self.shape)
        return formula(self.fields[field], step, cells)


def verify_native(directory: Path, expected: Expected, findings: Findings) -> None:
    """Files of steps before a restart are those of an earlier run: they are not looked at."""
    present = {path.name for path in directory.iterdir() if int(path.name.rpartition(".")[2]) in expected.steps}
    planes = expected.case["nz"]
    for field in expected.fields:
        for step in expected.steps:
            whole = expected.values(field, step)
            for rank in range(expected.case["ranks"]):
                path = directory / f"{field}.{rank:04}.{step:06}"
                if not path.exists():
                    findings.mismatches += 1
                    findings.problem(f"{path}: is missing")
                    continue
                present.discard(path.name)
                wanted = np.frombuffer(whole[rank * planes : (rank + 1) * planes].tobytes(), np.uint8)
                findings.compare(str(path), wanted, np.frombuffer(path.read_bytes(), np.uint8))
    for name in sorted(present):
        findings.mismatches += 1
        findings.problem(f"{directory / name}: is not a file of this run; a run's folder must be empty before it")


def verify_tailrace(directory: Path, expected: Expected, findings: Findings) -> None:
    import xarray

    path = directory / "fields.nc"
    with xarray.open_dataset(path, engine="netcdf4", decode_cf=False) as dataset:
        findings.compare(f"{path}: time", np.arange(1.0, expected.case["steps"] + 1), np.asarray(dataset["time"].values))
        if set(dataset.data_vars) != set(expected.fields):
            findings.mismatches += 1
            findings.problem(f"{path}: has {sorted(map(str, dataset.data_vars))}, {sorted(expected.fields)} expected")
            return
        for field in expected.fields:
            for step in range(1, expected.case["steps"] + 1):
                found = np.asarray(dataset[field][step - 1].values)
                findings.compare(f"{path}: {field}[{step - 1}]", expected.values(field, step), found)


def verify(directory: Path | str, run: dict[str, Any] | Path | str) -> dict[str, Any]:
    """Checks the output of a run in `directory`; `run` is its record, or the path of it."""
    directory = Path(directory)
    record: dict[str, Any] = run if isinstance(run, dict) else json.loads(Path(run).read_text())
    expected, findings = Expected(record), Findings()
    if expected.case["output"] == "native":
        verify_native(directory, expected, findings)
    elif expected.case["output"] == "tailrace":
        verify_tailrace(directory, expected, findings)
    return answer(directory, findings)


if __name__ == "__main__":
    sys.exit(main("Check every byte of an ABL kernel run.", verify))
