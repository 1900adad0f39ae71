"""python_without_mpi.py DIRECTORY: what Tailrace does on a machine without MPI and HDF5. It runs in a root that has neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tailrace
import tailrace.trace
import xarray
from tailrace import _core, errors
from tailrace.xarray_engine import TailraceBackendEntrypoint

LAYOUTS = ("single", "fpp", "hds", "shared", "node", "collective", "split:1")
SHAPE = (6, 8)


def value(step: int) -> np.ndarray:
    return (np.arange(48).reshape(SHAPE) + 100 * step).astype("f4")


def write(folder: Path, layout: str, **keys: Any) -> None:
    with tailrace.open(folder, "h", layout=layout, **keys) as stream:
        stream.coord("lat", np.linspace(-75.0, 75.0, SHAPE[0]), units="degrees_north")
        stream.dim("lon", SHAPE[1])
        stream.var("T", ("lat", "lon"), "f4", units="K")
        stream.var("mass")
        for number in range(3):
            with stream.step(float(number)) as step:
                step.put("T", value(number)[:2], offset=(0, 0))
                step.put("T", value(number)[2:], offset=(2, 0))
                step["mass"] = 1.5 * number


def check(folder: Path) -> None:
    report = tailrace.verify(folder, "h", deep=True)
    assert report["ok"], report
    with tailrace.open_read(folder, "h", verify=True) as reader:
        for number in reader.steps:
            reader.select(number)
            np.testing.assert_array_equal(reader.get("T"), value(number))
    with xarray.open_dataset(folder, engine=TailraceBackendEntrypoint, verify=True) as dataset:
        np.testing.assert_array_equal(dataset["T"].values, np.stack([value(number) for number in range(3)]))
        np.testing.assert_array_equal(dataset["mass"].values, [0.0, 1.5, 3.0])


def command(*words: object) -> str:
    done = subprocess.run([sys.executable, "-m", "tailrace", *map(str, words)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def is_refused_as_one_of_several(folder: Path) -> bool:
    os.environ["OMPI_COMM_WORLD_SIZE"] = "4"
    try:
        tailrace.open(folder, "h")
    except errors.MpiFailed as error:
        return "one of 4 processes" in str(error)
    finally:
        del os.environ["OMPI_COMM_WORLD_SIZE"]
    return False


def main(directory: str) -> None:
    assert not _core.WITH_MPI
    there = [name for folder, _, files in os.walk("/") if not folder.startswith("/proc") for name in files]
    assert not [name for name in there if name.startswith(("libmpi", "libhdf5", "libnetcdf", "libmpich"))]
    root = Path(directory)
    settings: list[dict[str, Any]] = [{"steps": 1}, {"steps": "all", "compression": "deflate"}, {"steps": 2, "overlap": 1}]
    for layout in LAYOUTS:
        for number, keys in enumerate(settings):
            folder = root / f"{layout.replace(':', '_')}-{number}"
            write(folder, layout, **keys)
            check(folder)
    source = root / "fpp-0"
    assert [stream["name"] for stream in json.loads(command("ls", source, "--json"))["streams"]] == ["h"]
    command("verify", "--deep", source)
    command("combine", source, root / "combined.nc")
    command("convert", source, root / "converted", "--layout", "hds")
    check(root / "converted")
    command("keys")
    command("--help")
    command("plan", "--help")
    command("check", sys.executable)
    command("run", "--log", root / "log", "--", sys.executable, "-c", "open('/tmp/x', 'w').write('x')")
    assert list((root / "log").glob("*.trace"))
    assert is_refused_as_one_of_several(root / "refused")
    print("all right")


if __name__ == "__main__":
    main(sys.argv[1])
