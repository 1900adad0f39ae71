"""What NetCDF and HDF5 files say, whatever their bytes are: the same, other, or not to be read."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from tailrace.compare.contents import MOST_LATE, ContentReader, Contents
from tailrace.compare.digests import blocks, digests_of

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def reader() -> Iterator[ContentReader]:
    with ContentReader() as one:
        yield one


def read(reader: ContentReader, path: Path) -> Contents:
    found = reader.read(str(path))
    assert found is not None
    return found


def make_hdf5(path: Path, change: Callable[[h5py.File], object] = lambda _: None, **options: Any) -> None:
    pair = np.dtype([("a", "i1"), ("b", "f8")], align=True)  # with bytes that are not set
    with h5py.File(path, "w", **options) as file:
        file.attrs["title"] = "a run"
        group = file.create_group("group")
        x = group.create_dataset("x", data=np.arange(12.0).reshape(3, 4), maxshape=(None, 4), chunks=(2, 2))
        x.attrs["units"] = "m"
        x.attrs["range"] = [0.0, 11.0]
        x.attrs["none"] = h5py.Empty("f4")
        x.attrs["words"] = np.array(["one", "two"], h5py.string_dtype())
        group.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))[...] = [np.arange(3), np.arange(5)]
        group["pairs"] = np.array([(1, 2.0), (3, 4.0)], pair)
        group["names"] = np.array([b"ab", b"c"])
        group["kinds"] = np.array([0, 1], h5py.enum_dtype({"dry": 0, "wet": 1}, "i1"))
        group["which"] = np.array([x.ref, h5py.Reference()], h5py.ref_dtype)
        file["type"] = pair
        file["second"] = x
        file["soft"] = h5py.SoftLink("/group/x")
        file["far"] = h5py.ExternalLink("other.h5", "/x")
        file.create_dataset("nothing", data=h5py.Empty("f4"))
        file.create_dataset("empty", (0, 3), "i2")
        file["one"] = 7
        change(file)


def set_value(name: str, at: Any, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][at] = value

    return change


def replace(name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = value

    return change


def set_attribute(name: str, key: str, value: Any) -> Callable[[h5py.File], None]:
    return lambda file: file[name].attrs.__setitem__(key, value)


# A change, and the part that differs.
CHANGES: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "value": (set_value("group/x", (1, 1), 99.0), "/group/x"),
    "value of a field": (set_value("group/pairs", 0, (1, 2.5)), "/group/pairs"),
    "length": (set_value("group/ragged", 0, np.arange(4)), "/group/ragged"),
    "text": (replace("group/names", np.array([b"ab", b"d"])), "/group/names"),
    "names of an enumeration": (
        replace("group/kinds", np.array([0, 1], h5py.enum_dtype({"dry": 0, "full": 1}, "i1"))),
        "/group/kinds",
    ),
    "type": (replace("one", np.int16(7)), "/one"),
    "reference": (lambda file: set_value("group/which", 1, file["group/names"].ref)(file), "/group/which"),
    "shape": (lambda file: file["group/x"].resize((2, 4)), "/group/x"),
    "shape of nothing": (lambda file: (file.pop("empty"), file.create_dataset("empty", (0, 4), "i2")), "/empty"),
    "attribute": (set_attribute("group/x", "units", "km"), "/group/x@units"),
    "further attribute": (set_attribute("/", "more", 1), "/@more"),
    "words of an attribute": (
        set_attribute("group/x", "words", np.array(["onet", "wo"], h5py.string_dtype())),
        "/group/x@words",
    ),
    "link": (replace("soft", h5py.SoftLink("/group/names")), "/soft"),
    "target of a name": (lambda file: replace("second", file["group/names"])(file), "/second"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_each_change_is_found_and_named(tmp_path: Path, case: str) -> None:
    change, where = CHANGES[case]
    make_hdf5(tmp_path / "a.h5")
    make_hdf5(tmp_path / "b.h5", change)
    one, other = (digests_of(str(tmp_path / name)) for name in ("a.h5", "b.h5"))
    assert {name for name in {**one, **other} if one.get(name) != other.get(name)} == {where}
    assert Contents(one).difference(Contents(other)) == f"its content differs in {where}"


def test_what_says_the_same_is_the_same(tmp_path: Path, reader: ContentReader) -> None:
    def in_other_order(file: h5py.File) -> None:
        x = file["group/x"][...]
        attributes = dict(file["group/x"].attrs)
        which = file["group/which"]
        del file["group/x"], file["second"]
        made = file["group"].create_dataset("x", data=x, maxshape=(None, 4), chunks=(3, 1), compression="gzip", track_times=True)
        for key in reversed(attributes):
            made.attrs[key] = attributes[key]
        which[0] = made.ref
        file["second"] = made

    make_hdf5(tmp_path / "a.h5")
    make_hdf5(tmp_path / "b.h5", in_other_order, libver="latest")
    assert (tmp_path / "a.h5").read_bytes() != (tmp_path / "b.h5").read_bytes()
    assert read(reader, tmp_path / "a.h5").difference(read(reader, tmp_path / "b.h5")) == ""
    make_hdf5(tmp_path / "c.h5", userblock_size=1024)
    assert read(reader, tmp_path / "a.h5").difference(read(reader, tmp_path / "c.h5")) == "its content differs in user block"


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_netcdf_files_are_read(tmp_path: Path, reader: ContentReader, kind: Any) -> None:
    def make(name: str, *, first: str, value: float = 1.5, units: str = "K", steps: int = 2) -> Contents:
        with netCDF4.Dataset(tmp_path / name, "w", format=kind) as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            for variable in (first, "uv".replace(first, "")):
                file.createVariable(variable, "f4", ("time", "x"), fill_value=-1)
            file["u"].units = units
            file["u"].valid = np.array([0.0, 9.0], "f4")
            file["v"][:steps] = value
            file["u"][: steps + 1, :2] = 2
        return read(reader, tmp_path / name)

    one = make("a.nc", first="u")
    assert one.difference(make("b.nc", first="v")) == ""
    assert (tmp_path / "a.nc").read_bytes() != (tmp_path / "b.nc").read_bytes()
    assert "v" in one.difference(make("c.nc", first="u", value=1.25))
    assert "u@units" in one.difference(make("d.nc", first="u", units="k"))
    assert one.difference(make("e.nc", first="u", steps=3))
    assert one.why_not == ""


def test_other_files_are_not_read(tmp_path: Path, reader: ContentReader) -> None:
    for name, data in {"empty": b"", "text": b"CDF is no file", "short": b"\x89HDF\r\n\x1a", "zeros": bytes(5000)}.items():
        (tmp_path / name).write_bytes(data)
        assert reader.read(str(tmp_path / name)) is None


def test_a_damaged_file_is_told_and_the_next_is_read(tmp_path: Path, reader: ContentReader, rng: random.Random) -> None:
    make_hdf5(tmp_path / "good.h5")
    good = read(reader, tmp_path / "good.h5")
    data = bytearray((tmp_path / "good.h5").read_bytes())
    (tmp_path / "short.h5").write_bytes(data[: len(data) // 2])
    short = read(reader, tmp_path / "short.h5")
    assert short.why_not
    assert good.difference(short) == f"its content is not known: {short.why_not}"
    assert short.difference(short), "what cannot be read is not the same"
    with ContentReader(limit_s=1.0) as other:  # a changed shape may stand for any number of values
        for _ in range(40):
            at = rng.randrange(8, len(data))
            broken = bytearray(data)
            broken[at] ^= 1 << rng.randrange(8)
            (tmp_path / "broken.h5").write_bytes(broken)
            read(other, tmp_path / "broken.h5")
    assert read(reader, tmp_path / "good.h5") == good


def test_huge_arrays_do_not_take_memory_or_time(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "huge.h5", "w") as file:
        file.create_dataset("x", (1 << 20, 1 << 40), "f8", chunks=(1, 1024))
    with ContentReader(limit_s=0.2) as impatient:
        found = read(impatient, tmp_path / "huge.h5")
        assert "more than" in found.why_not
        make_hdf5(tmp_path / "good.h5")
        for _ in range(MOST_LATE - 1):
            read(impatient, tmp_path / "huge.h5")
        assert "other files took too long" in read(impatient, tmp_path / "good.h5").why_not


# Stands for a library that crashes, or prints: a module of the name h5py.
def test_a_crash_ends_the_reading_process_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_hdf5(tmp_path / "a.h5")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/h5py.py").write_text("import os\nos.kill(os.getpid(), 11)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    with ContentReader() as one:
        for _ in range(2):
            assert read(one, tmp_path / "a.h5").why_not == f"the process that read it was ended by signal {signal.SIGSEGV.value}"
        (tmp_path / "modules/h5py.py").write_text("print('{}', flush=True)\nraise ValueError('a message\\nof two lines')\n")
        assert read(one, tmp_path / "a.h5").why_not == "ValueError: a message"
        (tmp_path / "modules/h5py.py").write_text("raise ModuleNotFoundError('no h5py', name='h5py')\n")
        assert "pip install 'tailrace[compare]'" in read(one, tmp_path / "a.h5").why_not


def test_modules_of_the_working_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_hdf5(tmp_path / "a.h5")
    (tmp_path / "h5py.py").write_text("open('imported', 'w')\n")
    monkeypatch.chdir(tmp_path)
    with ContentReader() as one:
        assert read(one, tmp_path / "a.h5").digests
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (4, 1, 3), (2, 0, 3), (3, 4, 5)])
@pytest.mark.parametrize("most", [1, 2, 7, 20, 1000])
def test_blocks_are_the_array_in_order(shape: tuple[int, ...], most: int) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    found = [array[block] for block in blocks(shape, most)]
    assert np.array_equal(np.concatenate([piece.ravel() for piece in found] or [np.array([], int)]), array.ravel())
    assert all(1 <= piece.size <= most for piece in found)
