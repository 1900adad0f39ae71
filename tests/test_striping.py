"""Striping and alignment: what is asked for, what reaches the file system, what is told. Lustre is a stand-in here (tests/lustre/):
a library that notes the calls of liblustreapi, or a program lfs, and a statfs that says Lustre. The last tests have none of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
import tailrace

from tests.environment import ROOT
from tests.matrix import SMALL, Case
from tests.mpirun import Finished, Mpirun
from tests.written import STREAM, check_values, verify

SOURCES = ROOT / "tests" / "lustre"
TOOLS = ("liblustreapi", "lfs")
MIB = 1 << 20
SIZES = SMALL

Run = Callable[..., Finished]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lustre")
    for source, library in (("statfs.c", "statfs.so"), ("liblustreapi.c", "library/liblustreapi.so")):
        (folder / library).parent.mkdir(exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / library), str(SOURCES / source), "-ldl"], check=True)
    return folder


def environment(built: Path, store: Path, tool: str, on_lustre: bool = True) -> dict[str, object]:
    """Of ranks that have the tool."""
    of_ranks: dict[str, object] = {"FAKE_LUSTRE": store}
    if on_lustre:
        of_ranks["LD_PRELOAD"] = built / "statfs.so"
    if tool == "liblustreapi":
        of_ranks["LD_LIBRARY_PATH"] = f"{built / 'library'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    if tool == "lfs":
        of_ranks["PATH"] = f"{SOURCES}:{os.environ['PATH']}"
    return of_ranks


@pytest.fixture
def run(mpirun: Mpirun, built: Path, tmp_path: Path) -> Run:
    (tmp_path / "store").mkdir()

    def with_tool(tool: str, preset: str, keys: str, ranks: int = 2, check: bool = True, on_lustre: bool = True) -> Finished:
        case = Case(preset, "1", 0, ranks, "blocks2d", "dense", "climate", keys)
        words = [tmp_path / "data", STREAM, case.options, *case.choices, "steps=2", SIZES.argument]
        return mpirun("write_case", ranks, words, of_ranks=environment(built, tmp_path / "store", tool, on_lustre), check=check)

    return with_tool


def listed(tailrace_command: list[str], folder: Path) -> dict[str, Any]:
    done = subprocess.run([*tailrace_command, "ls", "--json", str(folder)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["streams"][0]


def calls(tmp_path: Path) -> list[list[str]]:
    path = tmp_path / "store" / "calls"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def created(tmp_path: Path, tool: str) -> list[tuple[int, int]]:
    """(stripes, bytes) of each file as the tool was told."""
    if tool == "liblustreapi":
        return [(int(words[3]), int(words[1])) for words in calls(tmp_path) if words[0] == "llapi_file_create"]
    told = [words for words in calls(tmp_path) if words[1] == "setstripe"]
    return [tuple(int(words[words.index(flag) + 1]) for flag in ("-c", "-S")) for words in told]  # type: ignore[misc]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("preset", "files"), [("single", 1), ("shared", 1), ("fpp", 2), ("split:2", 2)])
@pytest.mark.parametrize("tool", TOOLS)
def test_every_part_is_created_striped(
    run: Run, tailrace_command: list[str], tmp_path: Path, tool: str, preset: str, files: int
) -> None:
    run(tool, preset, "stripe_count = 8\nstripe_size = '2 MiB'")
    assert created(tmp_path, tool) == [(8, 2 * MIB)] * (2 * files)
    stream = listed(tailrace_command, tmp_path / "data")
    assert (stream["layout"]["stripe_count"], stream["layout"]["stripe_size"]) == ("8", "2 MiB")
    assert stream["requested"]["stripe_count"]["value"] == "8"
    block = stream["storage"].pop("block_bytes")
    assert block == os.stat(tmp_path / "data").st_blksize
    expected = {"file_system": "lustre", "striping_by": tool, "notes": [], "stripe_count": 8, "stripe_bytes": 2 * MIB}
    assert stream["storage"] == expected
    check_values(tmp_path / "data", "climate", SIZES, 2)
    verify(tmp_path / "data")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("asked", "told", "effective", "note"),
    [
        (2, 2, 2, ""),
        (3, 2, 2, "stripe_count = 3 is prime, .*: 2"),
        (7, 6, 6, "stripe_count = 7 is prime, .*: 6"),
        (9, 9, 9, ""),
        (40, 40, 12, "asked for 40 stripes of 1048576 bytes, the file system gave 12 of 1048576"),
    ],
)
def test_what_is_told_where_it_is_not_what_was_asked_for(
    run: Run, tailrace_command: list[str], tmp_path: Path, tool: str, asked: int, told: int, effective: int, note: str
) -> None:
    run(tool, "single", f"stripe_count = {asked}\nstripe_size = '1 MiB'")
    assert set(created(tmp_path, tool)) == {(told, MIB)}
    stream = listed(tailrace_command, tmp_path / "data")
    assert stream["requested"]["stripe_count"]["value"] == str(asked)
    assert stream["layout"]["stripe_count"] == str(effective)
    notes = stream["storage"]["notes"]
    assert len(notes) == (1 if note else 0)
    if note:
        assert re.search(note, notes[0]), notes[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_refusal_is_an_error_on_all_ranks_and_leaves_nothing(run: Run, tmp_path: Path, tool: str) -> None:
    finished = run(tool, "fpp", "stripe_count = 12\nstripe_size = '1 MiB'", check=False)
    assert finished.returncode != 0
    assert "with stripe_count = 12, stripe_size = 1048576" in finished.output
    assert "set both to 0 to stripe as the directory does" in finished.output
    assert not list((tmp_path / "data").rglob("*.nc"))


@pytest.mark.parametrize(("tool", "alignment"), [("liblustreapi", "1 MiB"), ("lfs", "1 MiB"), ("none", "1 MiB")])
def test_without_keys_the_directory_decides(
    run: Run, tailrace_command: list[str], tmp_path: Path, tool: str, alignment: str
) -> None:
    """Nobody asks for striping, so nobody tells Lustre; pieces of a stripe or more begin with one."""
    run(tool, "fpp", "")
    assert created(tmp_path, tool) == []
    stream = listed(tailrace_command, tmp_path / "data")
    assert stream["layout"]["alignment"] == stream["layout"]["align_threshold"] == alignment
    assert stream["layout"]["stripe_count"] == ("0" if tool == "none" else "1")
    assert stream["storage"]["striping_by"] == tool


@pytest.mark.parametrize("tool", TOOLS)
def test_ranks_that_write_first_make_striped_parts(mpirun: Mpirun, built: Path, tmp_path: Path, tool: str) -> None:
    """Also where the directory is still missing, and where the part is made again."""
    (tmp_path / "store").mkdir()
    options = "layout = 'fpp'\nstripe_count = 4\nstripe_size = '1 MiB'"
    words = [tmp_path / "data", options]
    told = mpirun(ROOT / "tests" / "python_write_first.py", 3, words, of_ranks=environment(built, tmp_path / "store", tool))
    assert told.stdout.count("passed") == 3
    assert len(created(tmp_path, tool)) >= 3 * 9


@pytest.mark.parametrize(("on_lustre", "why"), [(True, "neither liblustreapi nor lfs"), (False, "is not Lustre")])
def test_where_nothing_can_stripe_it_is_said(
    run: Run, tailrace_command: list[str], tmp_path: Path, on_lustre: bool, why: str
) -> None:
    run("none", "split:2", "stripe_count = 4", on_lustre=on_lustre)
    stream = listed(tailrace_command, tmp_path / "data")
    assert stream["requested"]["stripe_count"]["value"] == "4"
    assert stream["layout"]["stripe_count"] == "0"
    assert stream["storage"]["striping_by"] == "none"
    [note] = stream["storage"]["notes"]
    assert why in note
    shown = subprocess.run([*tailrace_command, "ls", str(tmp_path / "data")], capture_output=True, text=True, check=True).stdout
    assert why in " ".join(shown.split())
    check_values(tmp_path / "data", "climate", SIZES, 2)


def test_alignment_is_the_block_unless_someone_sets_it(mpirun: Mpirun, tmp_path: Path) -> None:
    """With alignment = 256 KiB, and from 8 bytes on; the data of every array of the part begins at a multiple of it."""
    for name, keys in (("default", ""), ("set", "alignment = '256 KiB'\nalign_threshold = 8")):
        case = Case("single", "'all'", 0, 2, "rows", "dense", "climate", keys)
        mpirun("write_case", 2, [tmp_path / name, STREAM, case.options, *case.choices, SIZES.argument])
    told = {name: tailrace.list_streams(tmp_path / name)[0]["layout"]["alignment"] for name in ("default", "set")}
    block = os.stat(tmp_path).st_blksize
    assert told == {"default": f"{block // 1024} KiB", "set": "256 KiB"}
    with h5py.File(tmp_path / "set" / f"{STREAM}.nc") as file:
        places = [file[name].id.get_offset() for name in ("topo", "area")]
    assert all(place % (256 << 10) == 0 for place in places), places


def test_a_growing_file_keeps_its_alignment(mpirun: Mpirun, tmp_path: Path) -> None:
    """Its arrays stay where they are, whatever the next run asks for."""
    for keys in ("alignment = '64 KiB'\nalign_threshold = 8", "", "alignment = 8\nalign_threshold = 0"):
        case = Case("single", "'all'", 0, 2, "rows", "dense", "climate", keys)
        mpirun("write_case", 2, [tmp_path, STREAM, case.options, *case.choices, "steps=2", SIZES.argument])
        assert tailrace.list_streams(tmp_path)[0]["layout"]["alignment"] == "64 KiB"
    check_values(tmp_path, "climate", SIZES, 6)
    verify(tmp_path)
