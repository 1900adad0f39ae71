"""The figures of `tailrace trace show` for Darshan's own test logs are those that PyDarshan makes of them."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

import darshan
import pytest
from tailrace.cli import main
from tailrace.trace.file_groups import NUMBER
from tailrace.trace.sources.darshan_figures import METADATA, READS, SIZES, SYNCS, writes_of

LOGS = ("sample", "sample-dxt-simple", "sample-badost", "sample-goodost", "noposix", "noposixopens")
LAYERS = {"POSIX": "POSIX", "STDIO": "stdio", "MPI-IO": "MPI-IO"}
Sums = dict[str, float]


@pytest.fixture(scope="module", params=LOGS)
def log(request: pytest.FixtureRequest) -> Path:
    return Path(str(importlib.resources.files("darshan"))) / "tests" / "input" / f"{request.param}.darshan"


@pytest.fixture(scope="module")
def report(log: Path) -> Any:
    return darshan.DarshanReport(str(log), read_all=True)


@pytest.fixture(scope="module")
def shown(log: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda text, *_, **__: printed.append(text))
        assert main(["trace", "show", str(log), "--json"]) == 0
    return json.loads(printed[0])


def records_of(report: Any) -> list[tuple[str, str, dict[str, float]]]:
    """(module, file, all counters) of each record."""
    found = []
    for module in LAYERS:
        if module in report.records:
            frames = report.records[module].to_df()
            both = frames["counters"].merge(frames["fcounters"], on=["id", "rank"])
            found += [(module, report.name_records[row["id"]], row) for row in both.to_dict("records")]
    return found


def total(row: dict[str, float], *names: str) -> float:
    return sum(max(0, row.get(name, 0)) for name in names)


def expected_of(module: str, row: dict[str, float]) -> dict[str, Sums]:
    """By kind: calls, bytes and seconds."""
    prefix = module.replace("-", "")
    kinds = {
        "read": (READS[module], "BYTES_READ", "READ_TIME"),
        "write": (writes_of(module), "BYTES_WRITTEN", "WRITE_TIME"),
        "metadata": (METADATA[module], "", "META_TIME"),
        "sync": (SYNCS[module], "", ""),
    }
    return {
        kind: {"calls": total(row, *calls), "bytes": total(row, f"{prefix}_{moved}"), "seconds": total(row, f"{prefix}_F_{timer}")}
        for kind, (calls, moved, timer) in kinds.items()
    }


def added(parts: list[Sums]) -> Sums:
    return {name: sum(part[name] for part in parts) for name in ("calls", "bytes", "seconds")}


def test_head(report: Any, shown: Any) -> None:
    job = report.metadata["job"]
    assert shown["command"] == report.metadata["exe"].strip()
    assert shown["begin_real_ns"] // 10**9 == job["start_time_sec"]
    assert shown["duration_s"] == pytest.approx(job["run_time"])
    assert (shown["ranks"], len(shown["processes"])) == (job["nprocs"], job["nprocs"])
    assert shown["status"] is None
    assert shown["failures"] is None
    assert set(shown["unknown"]) >= {"status", "failures", "machine"}
    of_layers = [kind for module, _, row in records_of(report) if module != "MPI-IO" for kind in expected_of(module, row).items()]
    for kind in ("read", "write", "metadata"):
        seconds = sum(sums["seconds"] for name, sums in of_layers if name == kind)
        assert shown["io_share"][kind] == pytest.approx(seconds / (job["run_time"] * job["nprocs"]), abs=1e-9)
    assert shown["io_share"]["sync"] is None


def test_layers_and_kinds(report: Any, shown: Any) -> None:
    expected: dict[tuple[str, str], Sums] = {}
    for module, _, row in records_of(report):
        for kind, sums in expected_of(module, row).items():
            key = (LAYERS[module], kind)
            expected[key] = added([expected.get(key, {"calls": 0, "bytes": 0, "seconds": 0}), sums])
    found = {(row["layer"], row["kind"]): row for row in shown["layer_kinds"]}
    assert set(found) == {key for key, sums in expected.items() if sums["calls"] or sums["seconds"]}
    for key, row in found.items():
        assert row["calls"] == expected[key]["calls"]
        assert row["read_bytes"] + row["written_bytes"] == expected[key]["bytes"]
        assert row["failed"] is None
        if key[1] == "sync":
            assert row["time_s"] is None
        else:
            assert row["time_s"] == pytest.approx(expected[key]["seconds"], abs=1e-5)
        assert row["busy_s"] == (None if key[0] == "MPI-IO" else row["time_s"])
        (call,) = [sums for name, sums in shown["calls"].items() if name.startswith(f"{key[0]} {key[1]}")]
        assert {name: call[name] for name in row if name not in ("layer", "kind")} == {
            name: row[name] for name in row if name not in ("layer", "kind")
        }
    for layer, row in shown["layers"].items():
        assert row["calls"] == sum(sums["calls"] for (of, _), sums in expected.items() if of == layer)


def test_files_directories_and_ranks(report: Any, shown: Any) -> None:
    files: dict[str, list[Sums]] = {}
    ranks: dict[str, list[Sums]] = {}
    for module, file, row in records_of(report):
        parts = expected_of(module, row)
        sums = added([*parts.values()])
        moved = 0.0 if module == "MPI-IO" else sums["bytes"]  # POSIX has these bytes again
        if not sums["calls"] and not sums["seconds"]:
            continue
        seconds = 0.0 if module == "MPI-IO" else sums["seconds"]
        part = {"calls": sums["calls"], "bytes": moved, "seconds": seconds}
        files.setdefault(file, []).append(part)
        ranks.setdefault(f"rank {row['rank']}" if row["rank"] >= 0 else "all ranks together", []).append(part)
    for wanted, found in ((files, shown["files"]), (ranks, shown["ranks_and_processes"])):
        assert set(found) == set(wanted)
        for name, parts_of_it in wanted.items():
            sums = added(parts_of_it)
            assert found[name]["calls"] == sums["calls"]
            assert found[name]["read_bytes"] + found[name]["written_bytes"] == sums["bytes"]
            known_s = found[name]["busy_s"] if found[name]["busy_s"] is not None else 0.0
            assert known_s == pytest.approx(sums["seconds"], abs=1e-5)
    every = added([added(parts) for parts in files.values()])
    for table in ("directories", "nodes", "file_groups"):
        rows = shown[table] if table == "file_groups" else shown[table].values()
        assert sum(row["calls"] for row in rows) == every["calls"]
        assert sum(row["read_bytes"] + row["written_bytes"] for row in rows) == every["bytes"]
    patterns = {tuple(NUMBER.split(name)[::2]) for name in files}
    assert len(shown["file_groups"]) == len(patterns)
    assert sum(group["files"] for group in shown["file_groups"]) == len(files)


def test_sizes_and_order(report: Any, shown: Any) -> None:
    expected: dict[tuple[Any, ...], float] = {}
    orders: dict[tuple[str, str], float] = {}
    for module, _, row in records_of(report):
        for kind in ("READ", "WRITE"):
            for suffix, least, most in SIZES:
                aggregated = "AGG_" if module == "MPI-IO" else ""
                key = (LAYERS[module], kind.lower(), least, most)
                expected[key] = expected.get(key, 0) + total(row, f"{module.replace('-', '')}_SIZE_{kind}_{aggregated}{suffix}")
            if module == "POSIX":
                every, sequential, consecutive = (total(row, f"POSIX_{what}{kind}S") for what in ("", "SEQ_", "CONSEC_"))
                of_order = {"consecutive": consecutive, "strided or forward": sequential - consecutive}
                for order, number in {**of_order, "first or backward": every - sequential}.items():
                    orders[kind.lower(), order] = orders.get((kind.lower(), order), 0) + max(0, number)
    found = {(row["layer"], row["kind"], row["least_bytes"], row["most_bytes"]): row["accesses"] for row in shown["access_sizes"]}
    assert found == {key: number for key, number in expected.items() if number}
    ordered = {(row["kind"], row["order"]): row["accesses"] for row in shown["access_order"]}
    assert ordered == {key: number for key, number in orders.items() if number}


def test_file_systems_and_slowest_calls(report: Any, shown: Any, log: Path) -> None:
    mounts = dict(report.mounts)
    expected = set()
    for module, file, row in records_of(report):
        inside = [folder for folder in mounts if file == folder or file.startswith(folder.rstrip("/") + "/")]
        sums = added([*expected_of(module, row).values()])
        if inside and (sums["calls"] or sums["seconds"]):
            deepest = max(inside, key=len)
            expected.add(f"{deepest} ({mounts[deepest]})")
    assert set(shown["file_systems"]) == expected
    if log.stem != "sample-dxt-simple":
        assert shown["slowest"] is None
        assert "DXT" in shown["unknown"]["slowest"]
        return
    segments = []
    for module in ("DXT_POSIX", "DXT_MPIIO"):
        for record in report.records[module].to_df():
            for kind in ("read_segments", "write_segments"):
                segments += [(row["end_time"] - row["start_time"], row["length"]) for row in record[kind].to_dict("records")]
    segments.sort(reverse=True)
    assert [(row["seconds"], row["bytes"]) for row in shown["slowest"]] == [
        (pytest.approx(seconds, abs=2e-9), length) for seconds, length in segments
    ]
