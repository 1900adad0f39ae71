"""The ports of docs/porting.md: each program is built and run as it was and as it is with Tailrace, and every value of both is the
same; the page tells how many lines were changed."""

from __future__ import annotations

import difflib
import graphlib
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from examples.ports import mpgrafic
from kernels.olam.prepare import prepare
from kernels.olam.verify import Expected, verify
from tests.debian_source import fetch_source
from tests.environment import ROOT
from tests.mpirun import Mpirun, run_within
from tests.presets import PRESETS

PORTS = ROOT / "examples" / "ports"
RANKS = 3
MOST_LINES = 40  # no port changes so many


def changed_lines(before: str, after: str) -> int:
    """Lines that are new, gone or another."""
    codes = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return sum(max(before_end - before_start, end - start) for tag, before_start, before_end, start, end in codes if tag != "equal")


def assert_told(port: str, lines: int) -> None:
    """docs/porting.md has a row with a link to the port, which ends with the number of its lines."""
    page = (ROOT / "docs" / "porting.md").read_text()
    row = re.search(rf"^\|.*\(\.\./examples/ports/{re.escape(port)}\).*\| *(\d+) *\|$", page, re.MULTILINE)
    assert row, f"docs/porting.md has no row of {port}"
    assert lines == int(row[1]) < MOST_LINES


@pytest.fixture
def any_layout(rng: random.Random) -> dict[str, str]:
    """The layout is no matter of the port."""
    return {"TAILRACE_LAYOUT": rng.choice(PRESETS)}


def values_of(path: Path) -> dict[str, np.ndarray]:
    """All variables of a dataset, as plain netCDF4 reads them."""
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_mask(False)
        return {name: variable[...] for name, variable in dataset.variables.items()}


# ---- Fortran: the kernel's own OPEN and WRITE ----------------------------------------------------------------------------------


def build_kernel(source: Path, build: Path) -> Path:
    """The OLAM kernel as a user would build it, by mpif90."""
    paths = {f"olam_{path.stem}": path for path in source.glob("*.f90")}
    paths |= {f"kernel_{path.stem}": path for path in (ROOT / "kernels" / "shared").glob("*.f90")}
    uses = {name: set(re.findall(r"^ *use ((?:olam|kernel)_\w+)", path.read_text(), re.MULTILINE)) for name, path in paths.items()}
    in_order = [str(paths[name]) for name in graphlib.TopologicalSorter(uses).static_order()]
    library = [f"-I{build / 'include'}", f"-L{build / 'lib'}", f"-Wl,-rpath,{build / 'lib'}", "-ltailrace_fortran", "-ltailrace"]
    compiled = run_within(["mpif90", "-O1", *in_order, "-o", "olam", *library], cwd=source)
    assert compiled.returncode == 0, compiled.output
    return source / "olam"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory, build_dir: Path, needs: Callable[..., None]) -> dict[str, Path]:
    """The folders of the kernel as it is, and of the patched one, both built."""
    needs("mpif90", "git")
    folders = {name: tmp_path_factory.mktemp(name) for name in ("before", "after")}
    for folder in folders.values():
        shutil.copytree(ROOT / "kernels" / "olam", folder / "kernels" / "olam")
    patched = run_within(["git", "apply", str(PORTS / "olam.patch")], cwd=folders["after"])
    assert patched.returncode == 0, patched.output
    return {name: build_kernel(folder / "kernels" / "olam", build_dir).parent for name, folder in folders.items()}


def test_olam(
    kernels: dict[str, Path], mpirun: Mpirun, any_layout: dict[str, str], tmp_path: Path, needs: Callable[..., None]
) -> None:
    needs("cdo")
    texts = {name: {path.name: path.read_text() for path in folder.glob("*.f90")} for name, folder in kernels.items()}
    assert_told("olam.patch", sum(changed_lines(texts["before"][name], text) for name, text in texts["after"].items()))

    maps = prepare(0.5, tmp_path)
    records: dict[str, dict[str, Any]] = {}
    for name, folder in kernels.items():
        words = [f"dir={tmp_path / name}", f"run={tmp_path / 'run.json'}", f"input={maps}", "output=native", "steps=3", "sweeps=3"]
        mesh = ["mesh_lat=37", "mesh_lon=53", "history_lat=11", "history_lon=13"]
        mpirun(folder / "olam", RANKS, [*words, *mesh], env=any_layout)
        records[name] = json.loads((tmp_path / "run.json").read_text())
    before = verify(tmp_path / "before", records["before"])
    assert before["ok"], before["problems"]
    assert before["files"] == 3 * (1 + 2 * RANKS)

    expected = Expected(records["after"])
    streams = {name: values_of(tmp_path / "after" / f"{name}.nc") for name in ("plot", "results", "history")}
    for variable in expected.variables:
        found = streams[variable.stream].pop(variable.name)
        wanted = expected.values(variable, 1) if variable.static else [expected.values(variable, step) for step in (1, 2, 3)]
        np.testing.assert_array_equal(found, wanted, err_msg=variable.name, strict=True)
    for left in streams.values():
        assert left.keys() == {"time"}
        assert left["time"].tolist() == [6, 12, 18]


# ---- Python and mpi4py ---------------------------------------------------------------------------------------------------------


ROWS, COLUMNS, STEPS, OUTPUT_EVERY, SPEED = 37, 53, 40, 10, 0.25


def waves() -> dict[int, dict[str, np.ndarray]]:
    """What the program computes, without ranks: the fields of each output time."""
    y, x = np.mgrid[:ROWS, :COLUMNS]
    height = np.pad(np.where((y - 12) ** 2 + (x - 20) ** 2 < 25, 1.0, 0.0), 1)
    velocity = np.zeros_like(height)[1:-1, 1:-1]
    outputs = {}
    for step in range(1, STEPS + 1):
        neighbours = height[:-2, 1:-1] + height[2:, 1:-1] + height[1:-1, :-2] + height[1:-1, 2:]
        velocity = velocity + SPEED * (neighbours - 4 * height[1:-1, 1:-1])
        height = height + np.pad(velocity, 1)
        if step % OUTPUT_EVERY == 0:
            outputs[step] = {"height": height[1:-1, 1:-1], "velocity": velocity, "highest": height[1:-1, 1:-1].max()}
    return outputs


@pytest.mark.fast
def test_waves(mpirun: Mpirun, any_layout: dict[str, str], tmp_path: Path) -> None:
    assert_told("waves_after.py", changed_lines(*((PORTS / f"waves_{name}.py").read_text() for name in ("before", "after"))))
    for name in ("before", "after"):
        mpirun(PORTS / f"waves_{name}.py", RANKS, [tmp_path / name], env=any_layout)
    found = values_of(tmp_path / "after" / "waves.nc")
    expected = waves()
    assert found.keys() == {"time", "height", "velocity", "highest"}
    assert found["time"].tolist() == list(expected)
    assert len(list((tmp_path / "before").iterdir())) == RANKS * len(expected)
    for index, (step, fields) in enumerate(expected.items()):
        parts = [np.load(tmp_path / "before" / f"waves.{step:06d}.{rank:06d}.npz") for rank in range(RANKS)]
        assert [int(part["first"]) for part in parts] == [0, 12, 24]
        for name, values in fields.items():
            np.testing.assert_array_equal(found[name][index], values)
            own = parts[0][name] if name == "highest" else np.concatenate([part[name] for part in parts])
            np.testing.assert_array_equal(own, values)


# ---- a program of Debian -------------------------------------------------------------------------------------------------------

CELLS = 14  # along each side; the ranks have 5, 5 and 4 planes


def records_of(path: Path) -> list[bytes]:
    """The records of an unformatted Fortran file."""
    content, records = path.read_bytes(), []
    while content:
        length = int(np.frombuffer(content[:4], "<i4")[0])
        records.append(content[4 : 4 + length])
        assert content[4 + length : 8 + length] == content[:4]
        content = content[8 + length :]
    return records


@pytest.mark.full
def test_mpgrafic(mpirun: Mpirun, any_layout: dict[str, str], build_dir: Path, tmp_path: Path, needs: Callable[..., None]) -> None:
    """mpgrafic makes the initial conditions of cosmological simulations: seven cubes, shared out in planes."""
    needs("make", "mpif90")
    source = fetch_source("mpgrafic", tmp_path)
    library = f"-L{build_dir / 'lib'} -Wl,-rpath,{build_dir / 'lib'} -ltailrace_fortran -ltailrace"
    words = ["./configure", "MPIFC=mpif90", f"FCFLAGS=-O1 -I{build_dir / 'include'}", f"LIBS={library}"]
    configured = run_within(words, cwd=source)
    assert configured.returncode == 0, configured.output
    texts = {}
    for name in ("before", "after"):
        if name == "after":
            mpgrafic.main(source)
        texts[name] = (source / mpgrafic.FILE).read_text()
        built = run_within(["make", "-C", "src", "mpgrafic"], cwd=source)
        assert built.returncode == 0, built.output
        (tmp_path / name).mkdir()
        words = [f"--np={CELLS}", str(source / "Input.stdin")]
        mpirun(source / "src" / "mpgrafic", RANKS, words, cwd=tmp_path / name, env=any_layout)
    assert_told("mpgrafic.py", changed_lines(texts["before"], texts["after"]))

    written = sorted((tmp_path / "before").glob("ic_*"))
    assert len(written) == 7
    assert not list((tmp_path / "after").glob("ic_*"))
    found = values_of(tmp_path / "after" / "ic.nc")
    assert found.keys() == {"time", *(path.name for path in written)}
    with netCDF4.Dataset(tmp_path / "after" / "ic.nc") as dataset:
        for path in written:
            header, *planes = records_of(path)
            assert np.frombuffer(header[:12], "<i4").tolist() == [CELLS] * 3
            of_stream = [dataset.dx, *dataset[path.name].origin, *dataset["time"][:], dataset.omegam, dataset.omegav, dataset.h0]
            np.testing.assert_array_equal(np.frombuffer(header[12:], "<f4"), np.array(of_stream, "<f4"))
            values = np.frombuffer(b"".join(planes), "<f4").reshape(1, CELLS, CELLS, CELLS)
            np.testing.assert_array_equal(found[path.name], values, strict=True)
            assert np.std(values) > 0


@pytest.mark.fast
def test_mpgrafic_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="0 lines have 'use wrap_rfftw3d_mod', 1 expected"):
        mpgrafic.ported("program another\nend program\n")
