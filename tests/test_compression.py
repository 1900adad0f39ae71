"""Compressed streams: presets x decompositions x steps a file x codecs; who reads what; what does not fit; rounding."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests import formula
from tests.environment import ROOT
from tests.error_run import committed_steps
from tests.matrix import DECOMPOSITIONS, MEMORIES, RANKS, STEPS_PER_FILE, Case
from tests.mpirun import Mpirun
from tests.presets import PRESETS
from tests.readers import all_readers, read_netcdf4
from tests.seen_values import check, check_reader
from tests.written import STREAM, check_values, verify, write

pytestmark = pytest.mark.both_mpis(3, 20)

# Of T, U and the like there are several chunks, the last of them not full; mask is too small to be compressed.
SIZES = formula.Sizes(lev=3, lat=50, lon=90)
STEPS = 3
READERS = all_readers()
DEFLATE = "compression = 'deflate'\nchunk = '32 KiB'"
EXTRAS = (
    DEFLATE,
    "compression = 'zstd:3'\nchunk = '40 KiB'",
    "compression = 'deflate:4'\nshuffle = 'off'",
    f"{DEFLATE}\noverlap = 2",
)


def whole_matrix() -> list[Case]:
    kinds = itertools.cycle(itertools.product(MEMORIES, RANKS, (0, 2), EXTRAS))
    cases = []
    for preset, steps, decomposition in itertools.product(PRESETS, STEPS_PER_FILE, DECOMPOSITIONS):
        memory, ranks, per_node, extra = next(kinds)
        cases.append(Case(preset, steps, per_node if per_node < ranks else 0, ranks, decomposition, memory, "climate", extra))
    return cases


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", whole_matrix(), ids=lambda case: case.label)
def test_every_value(mpirun: Mpirun, tmp_path: Path, rng: random.Random, case: Case) -> None:
    """Two runs, each read back by other ranks; and all of it as one plain file."""
    folder = tmp_path / "run"
    write(mpirun, folder, case, SIZES, STEPS)
    write(mpirun, folder, case, SIZES, 2)
    verify(folder)
    reading = [f"decomposition={rng.choice(DECOMPOSITIONS)}", "set=climate", SIZES.argument]
    assert f"{STEPS + 2} steps, " in mpirun("read_case", rng.choice(RANKS), [folder, STREAM, *reading]).output
    check_values(folder, "climate", SIZES, STEPS + 2)
    tailrace.combine(folder, STREAM, tmp_path / "one.nc")
    check(read_netcdf4.read(tmp_path / "one.nc", tmp_path), STEPS + 2, SIZES, "climate")
    codec = 32015 if "zstd" in case.extra else 1
    assert h5py_filters(tmp_path / "one.nc", "T") == ([codec] if "off" in case.extra else [2, codec])


def h5py_filters(path: Path, variable: str) -> list[int]:
    with h5py.File(path) as file:
        creation = file[variable].id.get_create_plist()
        return [creation.get_filter(i)[0] for i in range(creation.get_nfilters())]


def plain_case(preset: str, extra: str = DEFLATE, steps_per_file: str = "1") -> Case:
    return Case(preset, steps_per_file, 0, 2, "rows", "dense", "climate", extra)


def documented_readers() -> dict[str, tuple[bool, bool]]:
    text = (ROOT / "docs" / "compression.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (yes|no) \| (yes|no) \|$", text, re.MULTILINE)
    return {name: (deflate == "yes", zstd == "yes") for name, deflate, zstd in rows}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("codec", ["deflate", "zstd"])
def test_readers_are_those_of_the_docs(
    mpirun: Mpirun, tmp_path: Path, needs: Callable[..., None], monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    monkeypatch.delenv("HDF5_PLUGIN_PATH", raising=False)
    path = write(mpirun, tmp_path / "run", plain_case("single", f"compression = '{codec}'"), SIZES, STEPS)
    documented = documented_readers()
    assert set(documented) == set(READERS)
    for name, reader in READERS.items():
        needs(*reader.PROGRAMS)
        if documented[name][codec == "zstd"]:
            check_reader(name, reader, path, tmp_path, STEPS, SIZES, "climate")
        else:
            with pytest.raises(Exception):  # noqa: B017, PT011 - each reader has its own
                check_reader(name, reader, path, tmp_path, STEPS, SIZES, "climate")


def test_what_is_stored(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path, plain_case("shared", "compression = 'deflate:3'"), SIZES, 1)
    (part,) = (tmp_path / "history.parts").glob("*.nc")
    with h5py.File(part) as file:
        assert (file["T"].compression, file["T"].compression_opts, file["T"].shuffle) == ("gzip", 3, True)
        assert file["T"].chunks == (1, 3, 50, 90), "the whole step where it is less than 1 MiB"
        assert file["topo"].chunks is None, "static"
        assert file["mask"].chunks is None, "small"
        stored = sum(file[name].id.get_storage_size() for name in ("T", "U"))
        assert stored < sum(file[name].nbytes for name in ("T", "U"))


# ---- runs that go on ------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", ["single", "shared", "collective"])
def test_the_dataset_goes_on_with_other_ranks(mpirun: Mpirun, tmp_path: Path, preset: str) -> None:
    for ranks, decomposition in ((3, "blocks2d"), (1, "one"), (4, "irregular")):
        case = Case(preset, "'all'", 2 if ranks > 2 else 0, ranks, decomposition, "dense", "climate", DEFLATE)
        write(mpirun, tmp_path, case, SIZES, 2)
    verify(tmp_path)
    check_values(tmp_path, "climate", SIZES, 6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("other", ["", "compression = 'deflate:2'\nchunk = '32 KiB'", f"{DEFLATE}\nshuffle = 'off'"])
def test_the_dataset_keeps_its_filters(mpirun: Mpirun, tmp_path: Path, other: str) -> None:
    case = plain_case("single", DEFLATE, "'all'")
    write(mpirun, tmp_path, case, SIZES, 2)
    words = [tmp_path, STREAM, plain_case("single", other, "'all'").options, *case.choices, "steps=1", SIZES.argument]
    finished = mpirun("write_case", 2, words, check=False)
    assert finished.returncode != 0
    assert "was begun with compression = deflate:1" in finished.output
    assert "keep compression, shuffle, chunk and bit_round" in finished.output
    assert len(committed_steps(tmp_path)) == 2


def test_other_parts_may_be_stored_otherwise(mpirun: Mpirun, tmp_path: Path) -> None:
    for extra in (DEFLATE, "", "compression = 'zstd'"):
        write(mpirun, tmp_path, plain_case("fpp", extra), SIZES, 1)
    assert "3 steps, " in mpirun("read_case", 3, [tmp_path, STREAM, "set=climate", SIZES.argument]).output
    tailrace.combine(tmp_path, STREAM, tmp_path / "one.nc")
    assert h5py_filters(tmp_path / "one.nc", "T") == [2, 32015], "as the last run"
    with netCDF4.Dataset(tmp_path / "one.nc") as file:
        assert file["T"].shape[0] == 3
    check(read_netcdf4.read(tmp_path / "one.nc", tmp_path), 3, SIZES, "climate")


def test_convert_compresses_and_takes_it_back(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path / "plain", plain_case("fpp", ""), SIZES, STEPS)
    tailrace.convert(tmp_path / "plain", STREAM, tmp_path / "small", layout="single", compression="deflate:6")
    tailrace.convert(tmp_path / "small", STREAM, tmp_path / "again", layout="single")
    for folder in ("small", "again"):
        check_values(tmp_path / folder, "climate", SIZES, STEPS)
    sizes = {name: sum(p.stat().st_size for p in (tmp_path / name).rglob("*.nc")) for name in ("plain", "small", "again")}
    assert sizes["small"] < 0.8 * sizes["again"], sizes


# ---- chunks that are copied -----------------------------------------------------------------------------------------------------


def chunks_of(path: Path, variable: str) -> list[bytes]:
    with h5py.File(path) as file:
        dataset = file[variable].id
        return [dataset.read_direct_chunk(dataset.get_chunk_info(i).chunk_offset)[1] for i in range(dataset.get_num_chunks())]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", ["single", "fpp"])
def test_combine_copies_chunks_that_fit(mpirun: Mpirun, tmp_path: Path, preset: str) -> None:
    """Two ranks with 32 rows each, in chunks of 8 rows: the parts' chunks are chunks of the whole. Level 9 shows who made them."""
    sizes = formula.Sizes(lev=1, lat=64, lon=512)
    case = Case(preset, "1", 0, 2, "rows", "dense", "climate", "compression = 'deflate:9'\nchunk = '32 KiB'")
    write(mpirun, tmp_path, case, sizes, 2)
    tailrace.combine(tmp_path, STREAM, tmp_path / "one.nc")
    parts = sorted((tmp_path / "history.parts").rglob("*.nc"))
    assert sorted(chunks_of(tmp_path / "one.nc", "U")) == sorted(itertools.chain(*(chunks_of(part, "U") for part in parts)))


# ---- damage ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", ["single", "fpp"])
def test_a_chunk_that_was_changed_is_an_error(mpirun: Mpirun, tmp_path: Path, preset: str) -> None:
    write(mpirun, tmp_path, plain_case(preset), SIZES, 1)
    part = max((tmp_path / "history.parts").rglob("*.nc"))
    with h5py.File(part) as file:
        chunk = file["U"].id.get_chunk_info(1)
    with part.open("r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(bytes(16))
    (problem,) = tailrace.verify(tmp_path, STREAM, deep=True)["problems"]
    assert "do not match their checksum" in problem["problem"]
    finished = mpirun("read_case", 2, [tmp_path, STREAM, "set=climate", SIZES.argument], check=False)
    assert finished.returncode != 0
    assert f"{part}: array 'U': the {chunk.size} bytes at {chunk.byte_offset} are not those of a chunk" in finished.output


def test_filters_of_others_are_refused(mpirun: Mpirun, tmp_path: Path) -> None:
    path = write(mpirun, tmp_path, plain_case("single", DEFLATE, "'all'"), SIZES, 1)
    with h5py.File(path, "a") as file:
        values = file["T"][...]
        del file["T"]
        file.create_dataset("T", data=values, chunks=(1, 3, 50, 90), compression="lzf", maxshape=(None, 3, 50, 90))
    finished = mpirun("read_case", 1, [tmp_path, STREAM, "set=climate", SIZES.argument], check=False)
    assert "is stored with HDF5's filter 32000, which Tailrace cannot undo" in finished.output


# ---- rounding -------------------------------------------------------------------------------------------------------------------

ROUNDED = (100, 200)


def exact(code: str, step: int) -> np.ndarray:
    index = np.arange(np.prod(ROUNDED), dtype="f8").reshape(ROUNDED)
    values = (np.sin(index * 0.01 + step) * np.exp(index % 37 - 18)).astype(code)
    values[0, :5] = [-999.0, np.inf, -np.inf, np.nan, 0.0]
    values[1, :3] = [np.finfo(code).max, np.finfo(code).tiny, -np.finfo(code).smallest_subnormal]
    return values


@pytest.mark.sampled(2)
@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("bits", [1, 7, 12, 22])
def test_rounds_like_netcdf(tmp_path: Path, code: str, bits: int) -> None:
    with tailrace.open(tmp_path, STREAM, layout="single", steps="all", compression="deflate", bit_round=bits) as stream:
        stream.dim("y", ROUNDED[0])
        stream.dim("x", ROUNDED[1])
        stream.var("v", ("y", "x"), code, _FillValue=np.array(-999.0, code))
        stream.var("n", ("y", "x"), "i4")
        for step in range(2):
            with stream.step(float(step)) as output:
                output.put("v", exact(code, step))
                output.put("n", np.arange(np.prod(ROUNDED), dtype="i4").reshape(ROUNDED))
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w") as file:
        file.createDimension("t", 2)
        file.createDimension("y", ROUNDED[0])
        file.createDimension("x", ROUNDED[1])
        theirs = file.createVariable(
            "v", code, ("t", "y", "x"), zlib=True, fill_value=-999.0, significant_digits=bits, quantize_mode="BitRound"
        )
        theirs.set_auto_maskandscale(False)
        for step in range(2):
            theirs[step] = exact(code, step)
    with h5py.File(tmp_path / "history.nc") as ours, h5py.File(tmp_path / "theirs.nc") as file:
        word = f"u{code[1]}"
        # netCDF rounds the infinities and the largest numbers, too: to other infinities or to no number.
        special = ~np.isfinite(np.stack([exact(code, 0), exact(code, 1)]))
        same = ours["v"][...].view(word) == file["v"][...].view(word)
        assert same[~special].all()
        np.testing.assert_array_equal(ours["v"][...][special], np.stack([exact(code, 0), exact(code, 1)])[special])
        name = "_QuantizeBitRoundNumberOfSignificantBits"
        assert ours["v"].attrs[name] == file["v"].attrs[name] == bits
        assert name not in ours["n"].attrs
        np.testing.assert_array_equal(ours["n"][1].ravel(), np.arange(np.prod(ROUNDED)))


def test_rounded_parts_and_their_index_say_so(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path, plain_case("fpp", f"{DEFLATE}\nbit_round = 9"), SIZES, 2)
    tailrace.combine(tmp_path, STREAM, tmp_path / "one.nc")
    for path in (tmp_path / "history.nc", tmp_path / "one.nc", max((tmp_path / "history.parts").rglob("*.nc"))):
        with h5py.File(path) as file:
            assert file["U"].attrs["_QuantizeBitRoundNumberOfSignificantBits"] == 9


def test_the_journal_says_how_it_was_stored(mpirun: Mpirun, tmp_path: Path) -> None:
    write(mpirun, tmp_path, plain_case("fpp", "compression = 'zstd:7'\nbit_round = 9"), SIZES, 1)
    lines = [json.loads(line) for line in (tmp_path / "history.parts" / "journal.jsonl").read_text().splitlines()]
    (run,) = [line for line in lines if line["kind"] == "run"]
    text = json.dumps(run)
    for said in ('"compression": "zstd:7"', '"bit_round": "9"', '"shuffle": "on"'):
        assert said in text
    with pytest.raises(errors.BadLayout, match="no effect without compression"):
        tailrace.open(tmp_path / "other", STREAM, bit_round=3)
