"""How benches use their timings: which settings are kept, and what a claim compares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import ensemble, harness, house, write
from bench.harness import BenchError, ensemble_peers, methods
from bench.harness.methods import Entry, Row

fast = pytest.mark.fast

SECONDS = {
    "ompio": {"raw:1MiB": 3.0, "raw:4MiB": 2.0, "near:a": 2.0, "near:b": 9.0, "far:a": 2.0},
    "romio321": {"near:a": 7.0, "near:b": 1.0, "far:a": 9.0},  # the strongest of all, and the worse as a whole
}
WANTED = {"id": "x-peers", "text": "ahead of both", "peers": ["near", "far", "absent"], "bound": 1.0}


def run(entries: Sequence[Entry], repetitions: int, mpi_io: str) -> Iterable[Row]:
    for entry in entries:
        for repetition in range(repetitions + 1):
            seconds = SECONDS[mpi_io][entry.name] * (100 if repetition == 0 and repetitions > 0 else 1)
            yield {"entry": entry.name, "repetition": repetition, "calls_s": [seconds]}


def strongest(best: methods.Best) -> float:
    return min(seconds for seconds, _ in best.values())


@fast
@pytest.mark.parametrize("repetitions", [0, 2])
def test_tuning_keeps_the_fastest_setting_of_each_method(repetitions: int) -> None:
    entries = [Entry(name, "", "") for name in SECONDS["ompio"]]
    kept = methods.tune(entries, run, raw=2, peers=repetitions, judge=methods.all_peers)
    assert (kept.mpi_io, [entry.name for entry in kept.entries]) == ("ompio", ["raw:4MiB", "near:a", "far:a"])
    kept = methods.tune(entries, run, raw=2, peers=repetitions, judge=strongest)
    assert (kept.mpi_io, [entry.name for entry in kept.entries]) == ("romio321", ["raw:4MiB", "near:b", "far:a"])


@fast
def test_claim_is_against_the_strongest_peer() -> None:
    times = {"ours:default": {1: [1.0], 2: [2.0], 3: [3.0]}, "near:a": {1: [4.0], 2: [3.0], 3: [3.0]}, "far:a": {1: [9.0]}}
    claim = methods.claim_of(WANTED, "here", "ours:default", times)
    assert claim is not None
    assert claim.holds
    assert (claim.id, claim.value, claim.detail["against"]) == ("x-peers/here", 1.5, "near:a")
    assert (claim.detail["least"], claim.detail["undisturbed"]) == (1.0, 3.0)
    assert methods.claim_of(WANTED, "here", "ours:default", {"ours:default": {1: [1.0]}}) is None
    with pytest.raises(BenchError, match="was not measured"):
        methods.claim_of(WANTED, "here", "other:default", times)


@fast
def test_claim_about_peers_asks_for_no_more_than_the_limit_allows() -> None:
    times = {"ours:default": {1: [2.0]}, "near:a": {1: [4.0]}, "raw:1MiB": {1: [1.6]}, "raw:4MiB": {1: [9.0]}}
    for bound, expected in ((3.0, 0.8 * 2.5), (1.5, 1.5)):
        claim = methods.claim_of(WANTED | {"bound": bound, "limit": "raw", "of_limit": 0.8}, "here", "ours:default", times)
        assert claim is not None
        assert (claim.value, claim.bound, claim.detail["limit"]) == (2.0, pytest.approx(expected), 2.5)
        assert claim.holds


@fast
def test_of_a_method_counts_the_setting_that_went_on() -> None:
    times = {"raw:1MiB": {1: [1.0], 2: [1.0]}, "raw:4MiB": {1: [2.0], 2: [2.0], 3: [2.0]}, "raw_other:1MiB": {1: [0.5]}}
    assert methods.fastest(times, "raw") == "raw:4MiB"
    assert methods.fastest(times, "none") is None


@fast
def test_added_repetitions_follow_on_those_recorded() -> None:
    earlier: list[Row] = [{"repetition": repetition} for repetition in (0, 1, 2)]
    assert [row["repetition"] for row in methods.renumbered(earlier, earlier)] == [0, 3, 4]
    assert methods.renumbered(earlier, []) == earlier


RECORD = {"commit": "abc", "machine": {"cores": 2}, "settings": {"size": "full"}, "rows": [{"repetition": 1}]}


@fast
@pytest.mark.parametrize(
    ("other", "here", "message"),
    [
        ({}, "abc", None),
        ({"commit": "def"}, "abc", "is of commit def, not abc"),
        ({"machine": {"cores": 4}}, "abc", "is of machine"),
        ({"settings": {"size": "quick"}}, "abc", "is of size quick, not full"),
        ({"commit": "abc-dirty"}, "abc-dirty", "uncommitted files"),
        (None, "abc", "there is no"),
    ],
)
def test_timings_are_added_only_to_those_of_the_same_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any] | None, here: str, message: str | None
) -> None:
    for name, value in (("ROOT", tmp_path), ("OUT", tmp_path), ("commit", lambda: here), ("machine", lambda: {"cores": 2})):
        monkeypatch.setattr(harness, name, value)
    if other is not None:
        (tmp_path / "write.json").write_text(json.dumps(RECORD | other))
    if message is None:
        assert harness.rows_recorded("write", "full") == RECORD["rows"]
        return
    with pytest.raises(BenchError, match=message):
        harness.rows_recorded("write", "full")


def test_after_a_race_only_what_claims_compare_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "directory_of", lambda _: tmp_path / "files")
    wanted = ("raw_fpp:1MiB", "raw_fpp:16MiB", "tailrace_fpp:plain", "tailrace_fpp:checksum")
    entries = [entry for entry in methods.list_entries("bench_write") if entry.name in wanted]
    cell = write.Cell("small", "disk", 2, "cache")
    of_an_ended_run = tmp_path / "files" / "raw_fpp-1MiB" / "step000000.000000.raw"
    of_an_ended_run.parent.mkdir(parents=True)
    of_an_ended_run.write_text("half")
    rows = list(write.run_cell(cell, entries, 2, seconds=0, least=2, most=2, mpi_io="ompio", race=1))
    ran = [{row["entry"] for row in rows if row["repetition"] == repetition} for repetition in (0, 1, 2)]
    assert ran[0] == ran[1] == set(wanted)
    assert len(ran[2]) == 2
    assert "tailrace_fpp:plain" in ran[2]
    assert methods.fastest(methods.times_by_entry(rows, cell), "raw_fpp") in ran[2]
    assert [len(row["calls_s"]) for row in rows if row["repetition"] == 0] == [1 + 1 + 1] * 4, "one step warms up"
    assert all(row["checked_bytes"] == row["bytes"] > 0 for row in rows)


@fast
def test_interval_tells_noise_from_a_miss() -> None:
    steady = {number: [1.0, 1.0 + 0.001 * number] for number in range(1, 9)}
    slower = {number: [1.25, 1.25 + 0.001 * number] for number in range(1, 9)}
    uneven = {number: [0.8 if number % 2 else 1.25, 1.0] for number in range(1, 9)}
    wanted = {"id": "x", "text": "level", "peers": ["near"], "bound": 0.95}
    missed, noisy = (methods.claim_of(wanted, "here", "ours:a", {"near:a": steady, "ours:a": ours}) for ours in (slower, uneven))
    assert missed is not None
    assert noisy is not None
    assert not missed.holds
    assert missed.is_missed
    low, high = noisy.detail["interval"]
    assert low < 0.95 < high
    assert not noisy.is_missed
    assert harness.interval_of({1: [1.0]}, {1: [1.0]}) is None


@fast
def test_runs_that_end_on_the_device_are_one_time() -> None:
    """The longest wait falls on different calls."""
    calls = [[1.0, 9.0, 1.0], [9.0, 1.0, 1.0], [1.0, 1.0, 9.0]]
    rows: list[Row] = []
    for mode in ("cache", "fsync"):
        cell = {"case": "small", "target": "disk", "ranks": 2, "mode": mode}
        rows += [{**cell, "entry": "a:b", "repetition": number + 1, "calls_s": times} for number, times in enumerate(calls)]
    typical = {
        mode: methods.typical_s(methods.times_by_entry(rows, write.Cell("small", "disk", 2, mode))["a:b"]) for mode in write.MODES
    }
    assert typical == {"cache": 3.0, "fsync": 11.0}


@fast
def test_a_count_of_the_house_is_its_own_interval() -> None:
    ids = [wanted["id"] for wanted in harness.bounds("house")["claims"]]
    kept = house.claims_of(dict.fromkeys(ids, 0.0))
    missed = house.claims_of(dict.fromkeys(ids, 301.0))
    assert [claim.id for claim in kept] == ids
    assert all(claim.holds and not claim.is_missed and claim.detail["interval"] == (0.0, 0.0) for claim in kept)
    assert all(claim.is_missed for claim in missed)


@fast
def test_an_ensemble_is_compared_with_peers_that_stage_the_same_way() -> None:
    times = {"ours": 2.0, "threads": 3.0, "Dask": 1.0}
    cells = {(case, 1, name): {0: each, 1: each} for case in ensemble_peers.CASES for name, each in times.items()}
    claims = {claim.id: (claim.value, claim.holds) for claim in ensemble.claims_of(cells, (10.0, 11.0))}
    staged = {f"staged/{how}/{name}/1": held for how in ("copies", "links") for name, held in PEERS_HELD.items()}
    assert claims == {"true/threads/1": (1.5, True), "memory": (1.1, True), **staged}


PEERS_HELD = {"threads": (1.5, True), "Dask": (0.5, False)}


@fast
@pytest.mark.parametrize("case", ensemble_peers.CASES)
def test_peers_of_an_ensemble_run_and_remove_their_members(tmp_path: Path, case: str) -> None:
    """Threads check what they have read."""
    inputs = ensemble.make_inputs(tmp_path)
    before = {path.name: path.read_bytes() for path in inputs.iterdir()}
    ensemble_peers.with_threads(2, case, tmp_path, 5)
    ensemble_peers.gnu_parallel(2, case, tmp_path, 5)
    assert [path.name for path in tmp_path.iterdir()] == ["inputs"]
    assert {path.name: path.read_bytes() for path in inputs.iterdir()} == before


@fast
def test_peers_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble_peers, "is_there", lambda name: name == "parallel")
    assert ensemble_peers.not_installed() == [
        "Dask: not installed (distributed)",
        "Parsl: not installed (parsl)",
    ]


@fast
@pytest.mark.parametrize(("size", "value", "status"), [("full", 2.0, 0), ("full", 0.5, 1), ("quick", 0.5, 0)])
def test_the_end_of_a_bench_is_its_record_and_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], size: str, value: float, status: int
) -> None:
    for name, of in (("ROOT", tmp_path), ("OUT", tmp_path / "out"), ("commit", lambda: "x"), ("machine", dict)):
        monkeypatch.setattr(harness, name, of)
    claim = harness.Claim("a/b", "more than 1", value, 1.0, "")
    assert harness.conclude("one", {"size": size}, [{"s": 1.0}], [claim], "Claims of one", "in 3 s") == status
    record = json.loads((tmp_path / "out/one.json").read_text())
    assert (record["rows"], record["claims"][0]["holds"]) == ([{"s": 1.0}], value > 1)
    printed = capsys.readouterr().out
    assert "Claims of one" in printed
    assert "in 3 s; out/one.json" in printed
