"""Files by Python: arrays.py numpy|h5py, in an empty folder. Everything that is written is read back."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np


def with_numpy() -> None:
    values = np.arange(50_000, dtype=np.float64).reshape(500, 100)
    np.save("a.npy", values)
    values.tofile("b.raw")
    np.savetxt("c.txt", values[:50])
    Path("d.bin").write_bytes(values.tobytes())
    mapped = np.memmap("e.raw", np.float64, "w+", shape=values.shape)
    mapped[:] = values
    mapped.flush()
    read = (np.load("a.npy"), np.fromfile("b.raw").reshape(500, 100), np.frombuffer(Path("d.bin").read_bytes()).reshape(500, 100))
    assert all((back == values).all() for back in (*read, np.fromfile("e.raw").reshape(500, 100)))
    assert (np.loadtxt("c.txt") == values[:50]).all()


def with_h5py() -> None:
    import h5py

    values = np.arange(50_000, dtype=np.float64).reshape(500, 100)
    with h5py.File("a.h5", "w") as file:
        file["plain"] = values
        file.create_dataset("packed", data=values, chunks=(50, 100), compression="gzip")
        file.attrs["what"] = "a test"
    with h5py.File("a.h5", "r") as file:
        assert (file["plain"][:] == values).all()
        assert (file["packed"][:] == values).all()


if __name__ == "__main__":
    {"numpy": with_numpy, "h5py": with_h5py}[sys.argv[1]]()
