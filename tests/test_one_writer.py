"""One writer at a time, within one process: handles, threads and commands; streams of a newer version."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tailrace
from tailrace import errors

from tests.journal import segment_paths
from tests.two_runs import CELLS, LAYOUTS, open_stream, shown, write_step

pytestmark = pytest.mark.fast


# ---- one process ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_second_handle_is_refused(tmp_path: Path, layout: str) -> None:
    first = open_stream(tmp_path, **LAYOUTS[layout])
    write_step(first, 0.0)
    with pytest.raises(errors.InUse, match=rf"stream 'h' in .* is being written by .* \(process {os.getpid()}, since \d\d:\d\d\)"):
        tailrace.open(tmp_path, "h", **LAYOUTS[layout])
    write_step(first, 1.0)
    first.close()
    with open_stream(tmp_path, **LAYOUTS[layout]) as second:
        write_step(second, 2.0)
    assert shown(tmp_path) == [0.0, 1.0, 2.0]
    assert tailrace.verify(tmp_path, "h", deep=True)["ok"]
    assert not {"lock", "writer.json"} & {path.name for path in (tmp_path / "h.parts").iterdir()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_that_is_overtaken_is_told(tmp_path: Path, layout: str) -> None:
    first = open_stream(tmp_path, **LAYOUTS[layout])
    write_step(first, 0.0)
    write_step(first, 1.0)
    with open_stream(tmp_path, **LAYOUTS[layout], take_over=True) as second:
        with pytest.raises(errors.Overtaken, match=rf"another run writes this stream now: .* \(process {os.getpid()}"):
            write_step(first, 1.5)
        write_step(second, 2.0)
        with pytest.raises(errors.Overtaken):
            write_step(first, 2.5)
        write_step(second, 3.0)
        with pytest.raises(errors.Overtaken):
            first.close()
    assert shown(tmp_path) == [0.0, 1.0, 2.0, 3.0] or shown(tmp_path) == [0.0, 1.0, 1.5, 2.0, 3.0]
    report = tailrace.verify(tmp_path, "h", deep=True)
    assert report["ok"], report["problems"]
    for _ in range(2):  # later runs go on, one of them within the files of the one before
        with open_stream(tmp_path, **LAYOUTS[layout]) as third:
            write_step(third, shown(tmp_path)[-1] + 1)
    assert shown(tmp_path)[-3:] == [3.0, 4.0, 5.0]
    assert tailrace.verify(tmp_path, "h", deep=True)["ok"]
    with tailrace.open_read(tmp_path, "h") as reader:
        for step, time_s in zip(reader.steps, reader.times, strict=True):
            reader.select(step)
            np.testing.assert_array_equal(reader.get("T"), np.full(CELLS, time_s))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_stream_is_replaced_under_a_run(tmp_path: Path, layout: str) -> None:
    first = open_stream(tmp_path, **LAYOUTS[layout])
    for time_s in (0.0, 1.0):
        write_step(first, time_s)
    second = open_stream(tmp_path, **LAYOUTS[layout], mode="replace", take_over=True)
    if layout == "single-all":
        assert shown(tmp_path) == [0.0, 1.0], "opening alone replaces nothing"
    write_step(second, 7.0)
    with pytest.raises(errors.Overtaken):
        write_step(first, 2.0)
    with pytest.raises(errors.Overtaken):
        first.close()
    second.close()
    assert shown(tmp_path) == [7.0]
    assert tailrace.verify(tmp_path, "h", deep=True)["ok"]
    with open_stream(tmp_path, **LAYOUTS[layout], mode="replace") as third:
        write_step(third, 8.0)
    assert shown(tmp_path) == [8.0]
    assert tailrace.verify(tmp_path, "h", deep=True)["ok"]


def test_commands_take_the_lock(tmp_path: Path) -> None:
    with open_stream(tmp_path, layout="fpp") as stream:
        write_step(stream, 0.0)
        for command in (tailrace.contract.index, tailrace.contract.repair):
            with pytest.raises(errors.InUse, match="is being written by"):
                command(tmp_path, "h")
        tailrace.contract.index(tmp_path, "h", take_over=True)  # changes nothing in the journal
        write_step(stream, 1.0)
        assert tailrace.verify(tmp_path, "h", deep=True)["steps"] == 2, "who reads takes no lock"
        tailrace.contract.repair(tmp_path, "h", take_over=True)
        with pytest.raises(errors.Overtaken):
            write_step(stream, 2.0)
        with pytest.raises(errors.Overtaken):
            stream.close()
    assert shown(tmp_path) == [0.0, 1.0]


def test_two_conversions_into_one_folder(tmp_path: Path) -> None:
    with open_stream(tmp_path / "from", layout="fpp") as stream:
        for k in range(5):
            write_step(stream, float(k))
    refused: list[BaseException] = []
    converted = threading.Event()

    def other(done: int, _all: int) -> None:
        if done != 2 or converted.is_set():
            return
        converted.set()
        with pytest.raises(errors.InUse) as error:
            tailrace.convert(tmp_path / "from", "h", tmp_path / "to", layout="single")
        refused.append(error.value)

    tailrace.convert(tmp_path / "from", "h", tmp_path / "to", layout="single", progress=other)
    assert len(refused) == 1
    assert shown(tmp_path / "to") == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_child_does_not_keep_the_stream(tmp_path: Path) -> None:
    """A forked child that lives on: the next run is not refused, and the child takes nothing away when it ends."""
    stream = open_stream(tmp_path, layout="single")
    write_step(stream, 0.0)
    child = os.fork()
    if child == 0:
        time.sleep(20)
        os._exit(0)
    try:
        stream.close()
        with open_stream(tmp_path, layout="single") as again:
            write_step(again, 1.0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert shown(tmp_path) == [0.0, 1.0]


@pytest.mark.parametrize("rounds", [100, pytest.param(1500, marks=pytest.mark.full)])
def test_threads_that_write_one_stream(tmp_path: Path, rounds: int) -> None:
    """Of some threads that begin at the same time one writes; the others are refused, and nothing of it is lost."""
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_in_threads(folder)
        shutil.rmtree(folder)


def write_in_threads(folder: Path) -> None:
    written: list[float] = []
    refused: list[Exception] = []
    begin = threading.Barrier(3)

    def run() -> None:
        begin.wait()
        try:
            with open_stream(folder, layout="single", steps="all") as stream:
                for _ in range(3):
                    now = time.monotonic()
                    write_step(stream, now)
                    written.append(now)
        except errors.Error as error:
            refused.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, errors.InUse) for error in refused), refused
    assert shown(folder) == written
    assert len(written) == 3 * (3 - len(refused))


# ---- a stream of another version ------------------------------------------------------------------------------------------------


def test_the_next_version(tmp_path: Path) -> None:
    """It is read, whatever it has besides what is known; writing to it is refused with its version."""
    with open_stream(tmp_path, layout="fpp") as stream:
        write_step(stream, 0.0)
    journal = tmp_path / "h.parts" / "journal.jsonl"
    lines, _ = tailrace.journal_read(journal)
    journal.unlink()
    for line in lines:
        line["colour"] = "red"
        if line["kind"] == "segment":
            line["format"] = 99
            line["writer"] |= {"version": "9.8.7", "mood": "good"}
        if line["kind"] == "run":
            line["format"] = 99
            line["layout"]["key_of_later"] = "7"
        if line["kind"] == "end":
            tailrace.contract.journal_append(journal, {"kind": "remark", "text": "of a version to come"})
        tailrace.contract.journal_append(journal, line)
    assert tailrace.verify(tmp_path, "h", deep=True)["ok"]
    with tailrace.open_read(tmp_path, "h") as reader:
        np.testing.assert_array_equal(reader.get("T"), np.zeros(CELLS))
    assert tailrace.contract.list_streams(tmp_path, "h")[0]["steps"][0]["time"] == 0.0
    before = journal.read_bytes()
    for write in (lambda: tailrace.open(tmp_path, "h", layout="fpp"), lambda: tailrace.contract.repair(tmp_path, "h")):
        with pytest.raises(errors.Unsupported, match=r"Tailrace 9\.8\.7 has written the stream, in format 99"):
            write()
    assert journal.read_bytes() == before
    assert segment_paths(journal) == [journal]


def test_a_directory_that_may_only_be_read(tmp_path: Path) -> None:
    with open_stream(tmp_path, layout="single", steps="all") as stream:
        write_step(stream, 0.0)
    mounted = tmp_path / "read-only"
    mounted.mkdir()
    source = tmp_path / "source"
    source.mkdir()
    for name in ("h.nc", "h.parts"):
        (tmp_path / name).rename(source / name)
    try:
        subprocess.run(["mount", "--bind", source, mounted], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", mounted], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may mount")
    try:
        assert shown(mounted) == [0.0]
        assert tailrace.verify(mounted, "h", deep=True)["ok"]
        with tailrace.open_read(mounted, "h") as reader:
            assert list(reader.times) == [0.0]
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)


def test_verify_tells_a_dead_run_from_a_living_one(tmp_path: Path) -> None:
    """Its heartbeat is young in both cases: the lock says that it has ended."""
    child = os.fork()
    if child == 0:
        stream = open_stream(tmp_path, layout="single", steps="all")
        for k in range(3):
            write_step(stream, float(k))
        (tmp_path / "written").touch()
        time.sleep(60)
        os._exit(0)
    while not (tmp_path / "written").exists():
        time.sleep(0.01)
    assert tailrace.verify(tmp_path, "h", deep=True)["state"] == "being written"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / "h.parts/writer.json").exists()
    report = tailrace.verify(tmp_path, "h", deep=True)
    assert (report["state"], report["steps"]) == ("whole", 3)
