"""Measures the seconds until xarray has opened files and read one value of every variable.

`python -m tailrace.study.reader` reads requests from standard input, a JSON line each: {"paths": [...], "timeout_s": seconds}. It
replies with a JSON line on standard output. A fork serves each request, so that no cache survives and a crash becomes an error
reply. The imports take longer than what is measured, so they are made once, before the forks.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import netCDF4
import numpy as np
import xarray


def read_one_value_each(path: str) -> int:
    read = 0
    with xarray.open_dataset(path, engine="netcdf4", cache=False) as dataset:
        for variable in dataset.variables.values():
            variable[tuple(-1 for _ in variable.dims)].load()
            read += 1
    return read


def time_reading(paths: Sequence[str]) -> dict[str, object]:
    start = time.perf_counter()
    try:
        read = sum(read_one_value_each(path) for path in paths)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"open_s": time.perf_counter() - start, "variables": read}


def serve(line: str) -> str:
    request = json.loads(line)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, request["timeout_s"])
        os.write(send, json.dumps(time_reading(request["paths"])).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        reply = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGALRM:
        return json.dumps({"error": f"not finished within {request['timeout_s']:g} s"})
    if code < 0:
        return json.dumps({"error": f"the reader was ended by signal {-code}"})
    return reply if code == 0 and reply else json.dumps({"error": f"the reader ended with status {code} and no answer"})


def import_everything() -> None:
    """xarray imports many modules at its first use; a small file makes it do so before the first request."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "small.nc")
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", None)
            file.createVariable("time", "f8", ("time",)).units = "hours since 2001-01-01"
            file["time"][:] = np.zeros(2)
        time_reading([path])


def main() -> None:
    import_everything()
    for line in sys.stdin:
        print(serve(line), flush=True)


if __name__ == "__main__":
    main()
