"""An application for the tests of studies, without MPI: writes values of a formula, leaves a run's record, and can misbehave.

fake_application.py run KEY=VALUE...   behaviour=WORD:LAYOUT misbehaves in runs of that layout: fail, hang, wrong, silent
fake_application.py verify DIR         checks every byte and prints what kernels' verifiers print
"""

from __future__ import annotations

import json
import os
import sys
import time
import tomllib
from pathlib import Path

import netCDF4
import numpy as np

VALUES = 4096
VARIABLES = ("T", "u")


def formula(variable: int, step: int) -> np.ndarray:
    return 1000.0 * variable + 10.0 * step + np.arange(VALUES, dtype="f8") / VALUES


def write_native(directory: Path, step: int, wrong: bool) -> None:
    for position, name in enumerate(VARIABLES):
        values = formula(position, step)
        values[VALUES // 2] += wrong
        values.tofile(directory / f"{name}.{step}.bin")


def write_netcdf(directory: Path, step: int, wrong: bool) -> None:
    path = directory / "history.nc"
    with netCDF4.Dataset(path, "a" if path.exists() else "w") as file:
        if not file.dimensions:
            file.createDimension("time", None)
            file.createDimension("x", VALUES)
            for name in VARIABLES:
                file.createVariable(name, "f8", ("time", "x"))
        for position, name in enumerate(VARIABLES):
            values = formula(position, step)
            values[VALUES // 2] += wrong
            file[name][step] = values


def run(choices: dict[str, str]) -> int:
    behaviour, _, layout = choices.get("behaviour", "").partition(":")
    misbehaves = layout == (choices["layout"] or choices["output"])
    if "log" in choices:
        with open(choices["log"], "a") as log:
            log.write(f"{os.getpid()} {Path(choices['dir']).name}\n")
    if misbehaves and behaviour == "fail":
        print("the fake application was asked to fail", file=sys.stderr)
        return 3
    if misbehaves and behaviour == "hang":
        time.sleep(600)
    write = write_native if choices["output"] == "native" else write_netcdf
    clock = time.perf_counter
    start = clock()
    total = sum(float(np.sqrt(formula(0, sweep)).sum()) for sweep in range(int(choices["sweeps"])))
    computed = clock()
    for step in range(int(choices["steps"])):
        write(Path(choices["dir"]), step, misbehaves and behaviour == "wrong")
    written = clock()
    phases = {
        "8exec": {"exec_s": computed - start, "sync_s": None, "slowest_s": computed - start},
        "9write": {"exec_s": written - computed, "sync_s": 0.0, "slowest_s": written - computed},
    }
    with open(os.environ["TAILRACE_CONFIG"], "rb") as config:  # as the library reports it
        asked = tomllib.load(config).get("stream", {}).get("default", {})
    requested = {key: {"value": str(value), "origin": os.environ["TAILRACE_CONFIG"]} for key, value in asked.items()}
    report = {"requested": requested, "effective": {"layout": choices["layout"], "files": "one"}}
    if not (misbehaves and behaviour == "silent"):
        record = {"phases": phases, "sum": total, "streams": {} if choices["output"] == "native" else {"history": report}}
        Path(choices["run"]).write_text(json.dumps(record))
    return 0


def verify(directory: Path) -> int:
    problems: list[str] = []
    checked_bytes = step = 0
    while (directory / f"T.{step}.bin").exists():
        for position, name in enumerate(VARIABLES):
            checked_bytes += _compare(np.fromfile(directory / f"{name}.{step}.bin"), position, step, problems)
        step += 1
    if (directory / "history.nc").exists():
        with netCDF4.Dataset(directory / "history.nc") as file:
            for position, name in enumerate(VARIABLES):
                for step in range(len(file.dimensions["time"])):
                    checked_bytes += _compare(np.asarray(file[name][step]), position, step, problems)
    print(json.dumps({"ok": not problems, "bytes_checked": checked_bytes, "problems": problems}))
    return 1 if problems else 0


def _compare(values: np.ndarray, variable: int, step: int, problems: list[str]) -> int:
    wrong = np.flatnonzero(values != formula(variable, step))
    if len(wrong):
        problems.append(f"{VARIABLES[variable]}, step {step}, index {wrong[0]}: {values[wrong[0]]!r}")
    return values.nbytes


if __name__ == "__main__":
    if sys.argv[1] == "verify":
        sys.exit(verify(Path(sys.argv[2])))
    sys.exit(run(dict(word.split("=", 1) for word in sys.argv[2:])))
