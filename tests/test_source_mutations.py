"""Whatever a file holds, its reader ends soon, with the truth or an error: mutations of each source, and odd kinds of files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tailrace.study.folder import RESULTS, ForeignFileError, open_study
from tailrace.study.spec import load_study
from tailrace.toml_table import TomlError
from tailrace.trace import sources
from tailrace.trace.log import LogError, read_log
from tailrace.trace.schema import TABLES
from tailrace.trace.sources import darshan

from tests.check_mutations import check_mutations
from tests.environment import ROOT
from tests.source_mutations import SOURCES, STUDY, make_darshan, make_parquet
from tests.trace_logs import OLD, ROWS, events_of, write_log

BATCH, BATCHES = 500, 40  # 20,000 of each source; a batch takes 3 to 20 s
TERABYTE = 1 << 40


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(BATCHES))
@pytest.mark.parametrize("source", SOURCES)
def test_a_mutation_is_read_or_refused(source: str, number: int, seed: int) -> None:
    check_mutations("tests.source_mutations", source, seed, number, BATCH)


def in_time(path: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(LogError):
        list(sources.read(path).parts)
    assert time.monotonic() - began_s < 20


@pytest.mark.fast
@pytest.mark.parametrize("name", ["x.trace", "x.darshan", "ior.out", "x.parquet"])
def test_a_fifo_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    in_time(tmp_path / name)


@pytest.mark.fast
def test_a_fifo_among_logs_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "n1.1.0.trace")
    with pytest.raises(OSError, match="no regular file"):
        read_log(tmp_path / "n1.1.0.trace")


@pytest.mark.fast
def test_fifos_of_a_study_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises((TomlError, ValueError), match=r"(no|not a) regular file"):
        load_study(tmp_path / "study.toml")
    os.mkfifo(tmp_path / RESULTS)
    with pytest.raises(ForeignFileError, match=r"(no|not a) regular file"):
        open_study(load_study(STUDY / "small.toml"), tmp_path)


@pytest.mark.fast
def test_a_log_longer_than_its_device_is_read(tmp_path: Path) -> None:
    """The holes of a file are not read: 1 TB of them takes no time."""
    path = tmp_path / "n1.1.0.trace"
    write_log(path, events_of(ROWS[:2]), [OLD])
    os.truncate(path, TERABYTE)
    began_s = time.monotonic()
    assert len(read_log(path).events) == 2
    assert time.monotonic() - began_s < 10


@pytest.mark.fast
def test_a_text_longer_than_its_device_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ior.out"
    path.write_text("IOR-4.0.0\n")
    os.truncate(path, TERABYTE)
    with pytest.raises(OSError, match="more than 64 MiB"):
        sources.read(path)


@pytest.mark.fast
def test_few_bytes_that_stand_for_many_rows_are_refused(tmp_path: Path) -> None:
    make_parquet(tmp_path)
    table = pa.table({field.name: pa.nulls(20_000_000, field.type) for field in TABLES["events"]}, schema=TABLES["events"])
    pq.write_table(table, tmp_path / "tables" / "events.parquet", row_group_size=20_000_000)
    assert (tmp_path / "tables" / "events.parquet").stat().st_size < 1 << 20
    with pytest.raises(LogError, match=r"20000000 rows of .* no export of a run"):
        list(sources.read(tmp_path / "tables").parts)


def test_the_reader_of_darshan_ends_with_its_parent(tmp_path: Path) -> None:
    """The reader is stopped, its parent is killed: no process stays."""
    make_darshan(tmp_path)
    program = (
        "import os, sys; from concurrent.futures import ProcessPoolExecutor; import multiprocessing\n"
        "from tailrace.trace.sources import darshan\n"
        "if __name__ == '__main__':\n"
        "    limits = darshan.Limits(os.getpid(), 1)\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    pool = ProcessPoolExecutor(1, context, darshan._begin_reader, (os.devnull, limits))\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    import time; pool.submit(time.sleep, 600); time.sleep(600)\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(200):
        if not Path(f"/proc/{child}").exists() or ") Z " in Path(f"/proc/{child}/stat").read_text():
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the reader still runs")


@pytest.mark.fast
def test_limits_of_the_reader_grow_with_the_log() -> None:
    small, large = darshan.Limits(1, 0), darshan.Limits(1, 1 << 30)
    assert small.memory_bytes < large.memory_bytes
    assert small.processor_s < large.processor_s
