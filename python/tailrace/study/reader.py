"""python -m tailrace.study.reader FILE...: seconds until xarray has opened the files and read one value of every variable."""

from __future__ import annotations

import json
import sys
import time

import xarray


def read_one_value_each(path: str) -> int:
    read = 0
    with xarray.open_dataset(path, engine="netcdf4", cache=False) as dataset:
        for variable in dataset.variables.values():
            variable[tuple(-1 for _ in variable.dims)].load()
            read += 1
    return read


def main(paths: list[str]) -> None:
    start = time.perf_counter()
    read = sum(read_one_value_each(path) for path in paths)
    print(json.dumps({"open_s": time.perf_counter() - start, "variables": read}))


if __name__ == "__main__":
    main(sys.argv[1:])
