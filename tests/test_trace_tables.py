"""Logs, whole or damaged, become tables. Tables are written, read back and queried."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tailrace.cli import main
from tailrace.trace import Run, sinks, sources
from tailrace.trace.log import EVENT, LogError, read_log, read_run
from tailrace.trace.query import connect
from tailrace.trace.schema import TABLES, Tables, joined
from tailrace.trace.tables import tables_of

from tests.test_trace import Runs
from tests.trace_logs import events_of, make_run, write_log


@pytest.fixture
def runs(tmp_path: Path, build_dir: Path) -> Runs:
    return Runs(tmp_path, build_dir / "tests" / "trace_case")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


def all_of(path: Path) -> Tables:
    return joined(list(sources.read(path).parts))


def as_rows(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    return {name: table.to_pylist() for name, table in tables.items()}


def test_each_field_of_a_record_has_its_column(folder: Path) -> None:
    tables = all_of(folder)
    assert all(tables[name].schema.equals(schema) for name, schema in TABLES.items())
    first = tables["events"].to_pylist()[:5]
    assert [row["call"] for row in first] == ["open", "pwrite", "rename", "open", "read"]
    assert first[1] == {
        "log": 0,
        "host": "n1",
        "process": 1,
        "rank": 0,
        "thread": 100,
        "program": "/a.out",
        "call": "pwrite",
        "group": "write",
        "begin_ns": 300,
        "end_ns": 400,
        "descriptor": 3,
        "file": "/data/new",
        "other_name": None,
        "offset": 8,
        "bytes": 100,
        "result": 60,
        "error": None,
        "flags": 0,
        "detail": 0,
    }
    assert first[2]["other_name"] == "/data/new"
    assert (first[0]["detail"], first[2]["detail"]) == (0o101, None)
    assert (first[3]["file"], first[3]["error"], first[3]["result"]) == ('/data/\\xff\\xfe,\n"odd"', "ENOENT", -2)
    assert (first[4]["file"], first[4]["error"], first[4]["bytes"]) == ("?", "errno 4000", 2**63)


def test_hosts_are_aligned_on_one_clock(folder: Path) -> None:
    tables = all_of(folder)
    began = {(row["host"], row["process"]): row["begin_ns"] for row in tables["processes"].to_pylist()}
    assert began == {("n1", 1): 0, ("n1", 2): 2000, ("n2", 1): 1000}
    on_n2 = [row for row in tables["events"].to_pylist() if row["host"] == "n2"]
    assert [row["begin_ns"] for row in on_n2] == [1050, 1250]
    assert [row["end_ns"] is None for row in tables["processes"].to_pylist()] == [False, True, True]


def test_processes_have_the_kernels_counts(folder: Path) -> None:
    first, killed, _ = all_of(folder)["processes"].to_pylist()
    assert (first["command"], first["events"], first["ranks"], first["begin_real_ns"]) == ("a.out input", 5, 2, 50_000)
    assert (killed["rank"], killed["events"], killed["kernel_read_bytes_at_end"]) == (None, 0, None)


@pytest.mark.parametrize("again", ["parquet", "csv"])
def test_tables_are_the_same_when_they_are_read_back(folder: Path, tmp_path: Path, again: str) -> None:
    rows = sinks.write(sources.read(folder).parts, again, tmp_path / "out")
    assert rows["written"]["events"] == 7
    expected = as_rows(all_of(folder))
    if again == "parquet":
        assert as_rows(all_of(tmp_path / "out")) == expected
        return
    names = [str(tmp_path / "out" / f"{name}.csv") for name in TABLES]
    for name, file in zip(TABLES, names, strict=True):
        read = pa.csv.read_csv(
            file,
            convert_options=pa.csv.ConvertOptions(
                column_types=plain(TABLES[name]), strings_can_be_null=True, quoted_strings_can_be_null=False
            ),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        )
        assert read.to_pylist() == expected[name]


def plain(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {field.name: pa.string() if pa.types.is_dictionary(field.type) else field.type for field in schema}


def test_sql_works_on_tables_and_on_runs(folder: Path, tmp_path: Path) -> None:
    sinks.write(sources.read(folder).parts, "parquet", tmp_path / "out")
    sql = "select host, sum(result) from events where \"group\" = 'write' group by host order by host"
    for source in (folder, tmp_path / "out"):
        assert connect(source).execute(sql).fetchall() == [("n1", 60), ("n2", 60)]
        assert connect(source).execute("select count(*) from processes").fetchone() == (3,)


def test_a_recorded_run_has_all_its_calls_in_tables(runs: Runs) -> None:
    (log,) = runs.run_case("threads", "2000")
    events = all_of(runs.logs)["events"]
    assert len(events) == len(log.events)
    mine = connect(runs.logs).execute(
        "select \"offset\" from events where file like '%/thread.3' and call = 'pwrite' order by begin_ns"
    )
    assert [row[0] for row in mine.fetchall()] == [8 * i for i in range(2000)]


def test_calls_that_were_only_counted_are_counters(runs: Runs) -> None:
    (log,) = runs.run_case("threads", "5000", budget=1 << 20)
    tables = all_of(runs.logs)
    assert sum(tables["counters"]["calls"].to_pylist()) == log.header["dropped_events"]
    assert tables["processes"]["dropped_events"].to_pylist() == [log.header["dropped_events"]]
    assert set(tables["counters"]["file"].to_pylist()) <= {str(runs.work / f"thread.{i}") for i in range(8)} | {None, "?"}


def test_a_killed_run_has_tables(runs: Runs) -> None:
    process = subprocess.Popen([runs.case, "count", str(runs.work)], env=runs.environment())
    time.sleep(0.3)
    process.kill()
    process.wait()
    tables = all_of(runs.logs)
    assert tables["processes"]["end_ns"].to_pylist() == [None]
    assert len(tables["events"]) > 0


def test_a_damaged_log_is_reported_and_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "n1.1.0.trace").write_bytes(b"TRTRACE\n\x09" + bytes(10_000))
    assert main(["trace", "show", str(folder), "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["processes"]) == 2
    assert "n1.1.0.trace" in shown["damaged"][0]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["trace", "show", "nowhere"], "nowhere: No such file"),
        (["trace", "show", "empty"], "tailrace run --log"),
        (["trace", "export", "text", "--to", "csv"], "text: no known input"),
        (["trace", "export", "empty", "--to", "xml"], "xml: no such format; choose one of otf2"),
        (["trace", "export", "text", "--to", "csv", "-o", "text"], "text: File exists: remove it, or name another"),
        (["trace", "show", "torn"], "events.parquet: no Parquet file, or a damaged one"),
        (["trace", "query", "run", "select nothing from events"], "select nothing from events: Binder Error"),
        (["trace", "query", "run", "explode"], "explode: Parser Error"),
    ],
)
def test_errors_name_what_is_wrong_and_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], remedy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("run").mkdir()
    write_log(Path("run/n1.1.0.trace"), events_of([]), [])
    Path("text").write_text("nothing that anybody knows")
    Path("torn").mkdir()
    for name in TABLES:
        Path("torn", f"{name}.parquet").write_bytes(b"PAR1")
    assert main(words) == 2
    assert remedy in capsys.readouterr().err


def test_export_reports_its_rows(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "first.parquet"
    assert main(["trace", "export", str(folder), "--to", "parquet", "-o", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["output"], answer["format"], answer["damaged"]) == (str(out), "parquet", [])
    assert answer["written"] == {"events": 7, "merged": 0, "processes": 3, "counters": 0, "results": 0}
    assert main(["trace", "show", str(out)]) == 0
    assert "/data/old" in capsys.readouterr().out


def test_query_prints_text_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select call, count(*) as calls from events group by call order by calls desc, call limit 2"
    assert main(["trace", "query", str(folder), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"call": "open", "calls": 3}, {"call": "pwrite", "calls": 2}]
    assert main(["trace", "query", str(folder), sql]) == 0
    assert "pwrite" in capsys.readouterr().out


def test_values_that_json_does_not_have_are_null(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "query", str(folder), "select 1e0/0 as x, 'nan'::double as x, 1 as y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == [{"x": None, "x_2": None, "y": 1}]


def test_a_query_reports_damaged_logs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "n1.2.0.trace").write_bytes(b"no log")
    for options in ([], ["--json"]):
        assert main(["trace", "query", str(folder), "select count(*) as calls from events", *options]) == 1
        captured = capsys.readouterr()
        assert "7" in captured.out
        assert "n1.2.0.trace" in captured.err


@pytest.mark.parametrize("name", ["a[b]", "all*", "what?", "plain"])
def test_a_query_of_parquet_takes_the_folder_by_its_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for made in (tmp_path / "ab", tmp_path / name):
        sinks.write(sources.read(folder).parts, "parquet", made)
    words = ["trace", "query", str(tmp_path / name), "select count(*) as calls from events", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == [{"calls": 7}]
    (tmp_path / name / "processes.parquet").write_bytes(b"PAR1")
    assert main(words) == 2
    assert "processes.parquet: no Parquet file, or a damaged one" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_damaged_parquet_is_read_or_refused(folder: Path, tmp_path: Path, rng: random.Random) -> None:
    sinks.write(sources.read(folder).parts, "parquet", tmp_path / "out")
    events = tmp_path / "out" / "events.parquet"
    whole = events.read_bytes()
    for _ in range(60):
        damaged = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.2 else whole)
        for _ in range(rng.choice((0, 1, 20))):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        events.write_bytes(damaged)
        with contextlib.suppress(LogError):  # and no other error
            Run.read(tmp_path / "out")


def test_a_missing_library_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("duckdb", "otf2", "perfetto.protos.perfetto.trace.perfetto_trace_pb2"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["trace", "query", str(folder), "select 1"]) == 2
    assert "duckdb cannot be imported" in capsys.readouterr().err
    for sink in ("otf2", "perfetto"):
        assert main(["trace", "export", str(folder), "--to", sink, "-o", str(folder / "out")]) == 2
        assert "pip install 'tailrace[trace]'" in capsys.readouterr().err
        assert not (folder / "out").exists()


def test_a_million_events_take_seconds_and_little_memory(tmp_path: Path) -> None:
    count, files = 1_000_000, 1000
    names = [f"/data/{number}".encode() for number in range(files)]
    events = np.zeros(count, EVENT)
    every = events_of([{"call": "pwrite", "file": name} for name in names])
    events[:] = np.resize(every, count)
    events["begin_ns"] = 2000 + 10 * np.arange(count)
    events["end_ns"] = events["begin_ns"] + 5
    events["bytes"], events["result"] = 64, 64
    (tmp_path / "run").mkdir()
    write_log(tmp_path / "run" / "n1.1.0.trace", events, names, threads=8)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    sinks.write(sources.read(tmp_path / "run").parts, "parquet", tmp_path / "out")
    run = Run.read(tmp_path / "out")
    took_s, more_kib = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (run.by_call()["pwrite"]["calls"], run.by_call()["pwrite"]["written_bytes"]) == (count, 64 * count)
    assert len(run.by_file()) == files
    assert took_s < 30
    assert more_kib < 1 << 20
    (log,) = read_run(tmp_path / "run")[0]
    assert tables_of(log)["events"]["begin_ns"].to_pylist() == sorted(events["begin_ns"].astype(np.int64) - 1000)
    assert read_log(log.path).ended is False
