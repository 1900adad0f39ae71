"""Whoever can write a file can seal a line of a journal: each reader and command ends soon, with the truth or an error."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tailrace
import tailrace._journal as _journal
from tailrace import errors

from tests.check_mutations import check_mutations, sanitizers
from tests.environment import ROOT
from tests.mpirun import run_within
from tests.small_streams import NAME, STREAMS, XARRAY

BATCH, BATCHES = 190, 12  # with nine streams, 20,520 mutations; a batch takes 20 s
OF_XARRAY = 6  # batches that its engine reads in one process: it reads fast, and takes 4 s to load


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(BATCHES))
@pytest.mark.parametrize("stream", STREAMS)
def test_a_mutation_is_read_or_refused(stream: str, number: int, seed: int) -> None:
    check_mutations("tests.stream_mutations", stream, seed, number, BATCH)


@pytest.mark.full
def test_the_sanitizers_see_the_library(build_dir: Path, tmp_path: Path) -> None:
    """A caller that promises more bytes than it has: the library copies them, and the process is ended."""
    reading = (
        "from tests.one_process import use_one_process_library; use_one_process_library(); import numpy, tailrace, sys\n"
        "from numpy.lib.stride_tricks import as_strided\n"
        "with tailrace.open(sys.argv[1], 'history') as stream:\n"
        "    stream.dim('x', 4096); stream.var('T', ('x',), 'f8')\n"
        "    with stream.step(0.0) as step: step.put('T', as_strided(numpy.zeros(8), (4096,), (8,)))\n"
    )
    env = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", **sanitizers(build_dir, tmp_path / "report")}
    finished = run_within([sys.executable, "-c", reading, str(tmp_path / "out")], env)
    assert finished.returncode == -signal.SIGABRT, finished.output
    assert "heap-buffer-overflow" in next(tmp_path.glob("report*")).read_text()


@pytest.mark.full
@pytest.mark.parametrize("number", range(BATCHES))
@pytest.mark.parametrize("stream", STREAMS)
def test_a_mutation_under_the_sanitizers(build_dir: Path, tmp_path: Path, stream: str, number: int, seed: int) -> None:
    """The same mutations: no byte outside of what was allocated is read or written, and nothing undefined happens."""
    reports = tmp_path / "report"
    try:
        check_mutations("tests.stream_mutations", stream, seed, number, BATCH, sanitized=sanitizers(build_dir, reports))
    finally:
        for report in tmp_path.iterdir():
            print(report.read_text(errors="replace")[:4000])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(BATCHES // OF_XARRAY))
@pytest.mark.parametrize("stream", STREAMS)
def test_a_mutation_is_read_or_refused_by_xarray(stream: str, number: int, seed: int) -> None:
    check_mutations("tests.stream_mutations", f"{stream}{XARRAY}", seed, number, BATCH * OF_XARRAY)


def write(folder: Path, steps: int = 3, **keys: Any) -> Path:
    """Returns its journal."""
    append(folder, *range(steps), **keys)
    return folder / f"{NAME}.parts" / "journal.jsonl"


def append(folder: Path, *times: int, **keys: Any) -> None:
    with tailrace.open(folder, NAME, **keys) as stream:
        stream.dim("y", 2)
        stream.dim("x", 4)
        stream.coord("y", np.arange(2.0))
        stream.var("T", ("y", "x"), "f8")
        for time in times:
            with stream.step(float(time)) as step:
                step.put("T", values(time), offset=(0, 0))


def values(step: int) -> Any:
    return np.arange(8.0).reshape(2, 4) + step


def lines_of(journal: Path) -> list[Any]:
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    for line in lines:
        del line["sum"]
    return lines


def seal(journal: Path, lines: list[Any]) -> None:
    """Texts are lines, too."""
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    journal.write_bytes(b"".join(_journal.line(text) for text in texts))


def change(journal: Path, kind: str, edit: Callable[[dict[str, Any]], Any]) -> None:
    """In the first line of the kind."""
    lines = lines_of(journal)
    edit(next(line for line in lines if line["kind"] == kind))
    seal(journal, lines)


def deep(line: dict[str, Any]) -> str:
    return json.dumps(line)[:-1] + ',"deep":' + "[" * 200_000 + "]" * 200_000 + "}"


def eight_dimensions(line: dict[str, Any]) -> None:
    line["definitions"]["variables"][1]["dimensions"] = ["x"] * 8


def one_byte(line: dict[str, Any]) -> None:
    line["hex"] = "00"


HARMS: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "a box of variable -1": ("plan", lambda line: line["boxes"][0].__setitem__(0, -1), "is -1, not an integer"),
    "a box behind its variable": ("plan", lambda line: line["boxes"][0].__setitem__(5, 2**62), "leaves its dimension"),
    "eight dimensions, a plan of two": ("run", eight_dimensions, "has 2 dimensions, and the variable has 8"),
    "no files": ("step", lambda line: line.update(files=0), "has 0 files"),
    "files without end": ("step", lambda line: line.update(files=10**12), "has 1000000000000 files"),
    "a coordinate of one byte": ("coordinate", one_byte, "has 16 bytes, and the line has 1"),
    "a tree of five": ("run", lambda line: line["layout"].update(tree="5"), "tree = '5'"),
    "a step of another number": ("step", lambda line: line.update(step=2**63), "where step 0 must follow"),
}


@pytest.mark.fast
@pytest.mark.parametrize("harm", HARMS)
def test_a_sealed_contradiction_is_an_error_everywhere(tmp_path: Path, harm: str) -> None:
    kind, edit, says = HARMS[harm]
    change(write(tmp_path, layout="fpp"), kind, edit)
    calls: list[Callable[[], Any]] = [
        lambda: tailrace.list_streams(tmp_path),
        lambda: tailrace.open_read(tmp_path, NAME),
        lambda: tailrace.combine(tmp_path, NAME, tmp_path / "one.nc"),
        lambda: tailrace.convert(tmp_path, NAME, tmp_path / "out"),
        lambda: tailrace.open(tmp_path, NAME, layout="fpp"),
        lambda: tailrace.repair(tmp_path, NAME),
    ]
    for call in calls:
        with pytest.raises(errors.ERRORS["CORRUPT"], match=says):
            call()
    [problem] = tailrace.verify(tmp_path, NAME, deep=True)["problems"]
    assert says in problem["problem"]


@pytest.mark.fast
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_step_without_a_place_is_not_gone_on_with(tmp_path: Path, left: int) -> None:
    """Lines say where the steps of a file are that grows. Only who writes needs them."""
    journal = write(tmp_path)
    lines = lines_of(journal)
    blocks = [line for line in lines if line["kind"] == "blocks"]
    assert len(blocks) >= 1
    places = [block for block in blocks[-1]["blocks"] if block[0] < left]
    for line in blocks:
        line["blocks"] = [[first, min(steps, left - first), address] for first, steps, address in places]
    seal(journal, lines)
    with tailrace.open_read(tmp_path, NAME) as reader:
        np.testing.assert_array_equal(reader.get("T"), values(2))
    with pytest.raises(errors.ERRORS["CORRUPT"], match=f"where {left} steps of the part are, and has committed 3"):
        append(tmp_path, 3)
    with tailrace.open_read(tmp_path, NAME) as reader:
        assert reader.steps == [0, 1, 2]


@pytest.mark.fast
def test_deep_and_long_lines_take_no_time(tmp_path: Path) -> None:
    """200,000 lists, and a damaged line of 400,000 braces, whose every suffix could be a line of its own."""
    journal = write(tmp_path, layout="fpp")
    lines = lines_of(journal)
    run = next(k for k, line in enumerate(lines) if line["kind"] == "run")
    seal(journal, [*lines[:run], deep(lines[run]), *lines[run + 1 :]])
    with pytest.raises(errors.ERRORS["CORRUPT"], match="is damaged"):
        tailrace.open_read(tmp_path, NAME)
    seal(journal, lines)
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"a":' * 400_000 + _journal.line('{"kind":"end"}')[13:])
    with tailrace.open_read(tmp_path, NAME) as reader:
        assert reader.steps == [0, 1, 2]


@pytest.mark.fast
def test_parts_that_a_journal_claims_are_not_counted_one_by_one(tmp_path: Path) -> None:
    """It names 16 million parts, and as many ranks."""
    journal = write(tmp_path, layout="fpp")
    lines = lines_of(journal)
    for line in lines:
        if line["kind"] in ("run", "step"):
            line.update({"ranks": 1 << 24} if line["kind"] == "run" else {"files": 1 << 24})
    seal(journal, lines)
    assert tailrace.list_streams(tmp_path)[0]["files"] == 3
    problems = tailrace.verify(tmp_path, NAME)["problems"]
    assert any("are missing, too" in problem["problem"] for problem in problems)
    assert len(problems) < 1000


# ---- what is no file -------------------------------------------------------------------------------------------------------------


def fifo(path: Path) -> str:
    os.mkfifo(path)
    return "a FIFO"


def link(path: Path) -> str:
    path.symlink_to("/dev/zero")
    return "a symbolic link"


@pytest.mark.fast
@pytest.mark.parametrize("make", [fifo, link])
@pytest.mark.parametrize("which", ["journal.jsonl", "000001/history.000001.000000.nc"])
def test_what_is_no_file_is_refused(tmp_path: Path, which: str, make: Callable[[Path], str]) -> None:
    journal = write(tmp_path, layout="fpp")
    path = journal.parent / which
    path.unlink()
    kind = make(path)
    if path == journal:
        with pytest.raises(errors.ERRORS["CORRUPT"], match=f"journal.jsonl is {kind}"):
            tailrace.open_read(tmp_path, NAME)
    else:
        with tailrace.open_read(tmp_path, NAME) as reader:
            reader.select(1)
            with pytest.raises(errors.ERRORS["CORRUPT"], match=f"is {kind}"):
                reader.get("T")
    assert any(f"is {kind}" in problem["problem"] for problem in tailrace.verify(tmp_path, NAME)["problems"])


@pytest.mark.fast
def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / f"{NAME}.nc"
    path.unlink()
    path.symlink_to(path)
    (tmp_path / "out").symlink_to("out")
    calls: list[Callable[[], Any]] = [
        lambda: tailrace.combine(tmp_path, NAME, tmp_path / "one.nc"),
        lambda: tailrace.combine(tmp_path, NAME, tmp_path / "out" / "one.nc"),
        lambda: tailrace.convert(tmp_path, NAME, tmp_path / "out"),
        lambda: tailrace.convert(tmp_path, NAME, tmp_path / "other"),
    ]
    for call in calls:
        with pytest.raises((errors.ERRORS["CORRUPT"], errors.ERRORS["IO_FAILED"]), match=r"symbolic link|Too many levels"):
            call()


@pytest.mark.fast
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Whoever may write into the directory must not make a run overwrite a file of its user elsewhere."""
    other = tmp_path / "other"
    other.write_text("mine")
    journal = write(tmp_path / "run", layout="fpp")
    (tmp_path / "run" / f"{NAME}.parts" / ".pending-1-index").symlink_to(other)
    lock = journal.parent / "lock"
    lock.symlink_to(other)
    with pytest.raises(errors.ERRORS["CORRUPT"], match="lock is a symbolic link"):
        write(tmp_path / "run", layout="fpp")
    lock.unlink()
    with pytest.raises(errors.ERRORS["CORRUPT"], match="pending-1-index is a symbolic link"):
        tailrace.repair(tmp_path / "run", NAME)
    assert other.read_text() == "mine"


# ---- repair ----------------------------------------------------------------------------------------------------------------------


def contradict(lines: list[Any]) -> None:
    steps = [line for line in lines if line["kind"] == "step"]
    steps[2]["files"] = 7


LAYOUTS: dict[str, dict[str, Any]] = {"fpp": {"layout": "fpp"}, "single": {"layout": "single"}, "all": {}}


@pytest.mark.fast
@pytest.mark.parametrize("keys", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("harm", ["contradiction", "damage"])
def test_repair_keeps_what_stands_before(tailrace_command: list[str], tmp_path: Path, keys: dict[str, Any], harm: str) -> None:
    journal = write(tmp_path, steps=5, **keys)
    if harm == "contradiction":
        lines = lines_of(journal)
        contradict(lines)
        seal(journal, lines)
    else:
        content = bytearray(journal.read_bytes())
        content[content.index(b'"step":2,') + 7] ^= 4
        journal.write_bytes(content)
    damaged = journal.read_bytes()
    at = damaged.index(b"\n", damaged.index(b'"step":1,')) + 1
    if b'"kind":"blocks"' in damaged[at : at + 20]:
        at = damaged.index(b"\n", at) + 1
    with pytest.raises(errors.ERRORS["CORRUPT"], match="tailrace repair"):
        tailrace.open_read(tmp_path, NAME)
    finished = run_within([*tailrace_command, "repair", str(tmp_path), "--json"])
    assert finished.returncode == 0, finished.output
    answer = json.loads(finished.stdout)["streams"][NAME]
    [left_out] = [action for action in answer["actions"] if action["action"] == "left out"]
    assert left_out["steps"] == ([2, 3, 4] if harm == "contradiction" else [3, 4])
    assert f"byte {at} of" in left_out["why"]
    assert journal.read_bytes() == damaged, "the bytes are evidence"
    check_steps(tmp_path, 2)
    again = tailrace.repair(tmp_path, NAME)
    assert again["ok"]
    assert again["actions"] == []
    append(tmp_path, 2, **keys)
    check_steps(tmp_path, 3)
    if keys:
        assert len(list((tmp_path / f"{NAME}.parts").glob("torn-*"))) >= 2, "the parts of what was left out"


def check_steps(folder: Path, steps: int) -> None:
    found = tailrace.verify(folder, NAME, deep=True)
    assert found["problems"] == []
    with tailrace.open_read(folder, NAME) as reader:
        assert reader.steps == list(range(steps))
        for step in range(steps):
            reader.select(step)
            np.testing.assert_array_equal(reader.get("T"), values(step))


@pytest.mark.fast
def test_repair_changes_nothing_where_nothing_is_whole(tmp_path: Path) -> None:
    journal = write(tmp_path)
    change(journal, "run", lambda line: line.update(ranks=0))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(errors.ERRORS["CORRUPT"], match="no whole step before the damage"):
        tailrace.repair(tmp_path, NAME)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.fast
def test_a_run_that_has_not_begun_its_journal_is_being_written(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, NAME, layout="fpp"):
        (tmp_path / f"{NAME}.parts" / "000000").mkdir()  # as a run that has named its first parts
        found = tailrace.verify(tmp_path, NAME)
        assert (found["state"], found["problems"]) == ("being written", [])
