"""Ranks whose I/O takes unequal times: those that do more, those that are slower for the same, and messages beside I/O."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tailrace.findings import Verdict, verdict_of, wording
from tailrace.findings.rules import imbalance, slower_rank, waiting
from tailrace.trace.model import Run

from tests.trace_logs import events_of, write_log

pytestmark = pytest.mark.fast

RANKS, WRITES, STEPS = 3, 10, 4
MS = 1_000_000
BYTES = 1 << 16
ALL = b"MPI ranks 0-2"

Writes = Callable[[int, int], list[tuple[str, int, float]]]  # of a rank and a step: name, bytes and milliseconds of each call


def run_of(folder: Path, calls_of: Writes, gather_s: float = 0.0) -> Run:
    """Three ranks make these calls, and meet after each second."""
    folder.mkdir()
    for rank in range(RANKS):
        rows: list[dict[str, Any]] = []
        file = f"/data/of{rank}".encode()
        for step in range(STEPS):
            now = 1000 + step * 1000 * MS
            for name, size, ms in calls_of(rank, step):
                end = now + int(ms * MS)
                rows.append({"call": name, "file": file, "begin_ns": now, "end_ns": end, "bytes": size, "result": size})
                now = end
            if gather_s:
                end = now + int(gather_s * 1e9)
                rows.append({"call": "MPI_Gatherv", "file": ALL, "begin_ns": now, "end_ns": end})
                now = end
            leaves = 1000 + (step + 1) * 1000 * MS
            rows.append({"call": "MPI_Barrier", "file": ALL, "begin_ns": now, "end_ns": leaves})
        end = 1000 + STEPS * 1000 * MS
        about = {"process": rank + 1, "rank": rank, "ranks": RANKS}
        write_log(folder / f"n1.{rank + 1}.0.trace", events_of(rows), [file, ALL], end_ns=end, end_real_ns=end + 4000, **about)
    return Run.read(folder, with_calls=True)


def verdict(folder: Path, calls_of: Writes, gather_s: float = 0.0) -> Verdict:
    run = run_of(folder, calls_of, gather_s)
    assert run.activity is not None
    return verdict_of(run.activity)


def rules_of(found: Verdict) -> set[str]:
    return {each.rule for each in found.findings} & {rule.NAME for rule in (imbalance, slower_rank, waiting)}


def writes(count: int, size: int, ms: float) -> list[tuple[str, int, float]]:
    return [("pwrite", size, ms)] * count


def test_a_rank_that_is_only_slower_does_not_do_more(tmp_path: Path) -> None:
    found = verdict(tmp_path / "run", lambda rank, _: writes(WRITES, BYTES, 40 if rank == 2 else 10))
    assert rules_of(found) == {slower_rank.NAME}
    finding = next(each for each in found.findings if each.rule == slower_rank.NAME)
    assert finding.confidence == "low"
    assert finding.what.startswith("rank 2 takes 4.0 times as long for its calls and bytes as the median rank")
    assert "share" not in finding.remedy
    assert finding.ranks == [2]


@pytest.mark.parametrize(
    "of_slow",
    [writes(4 * WRITES, BYTES, 10), writes(WRITES, 4 * BYTES, 40), [*writes(WRITES, BYTES, 10), ("fsync", 0, 300)]],
    ids=["more calls", "more bytes", "other calls"],
)
def test_a_rank_that_does_more_is_not_called_slow(tmp_path: Path, of_slow: list[tuple[str, int, float]]) -> None:
    found = verdict(tmp_path / "run", lambda rank, _: of_slow if rank == 2 else writes(WRITES, BYTES, 10))
    assert rules_of(found) == {imbalance.NAME}


def test_seconds_of_a_slow_rank_are_those_above_its_own_bytes(tmp_path: Path) -> None:
    """It has half as many calls more, each of which takes four times as long."""
    found = verdict(tmp_path / "run", lambda rank, _: writes(15 if rank == 2 else 10, BYTES, 40 if rank == 2 else 10))
    (finding,) = (each for each in found.findings if each.rule == slower_rank.NAME)
    assert "4.0 times as long" in finding.what
    # In each step its calls take 0.6 s. At 10 ms each they would take 0.15 s, which is still more than the others' 0.1 s.
    assert finding.seconds == pytest.approx(STEPS * (0.6 - 0.15))


def test_ranks_that_are_slow_in_turns_do_not_wait_for_more_io(tmp_path: Path) -> None:
    """Each step disturbs another rank, which makes the same calls as the others."""
    slow = verdict(tmp_path / "slow", lambda rank, step: writes(WRITES, BYTES, 40 if rank == step % RANKS else 10))
    assert rules_of(slow) == set()
    more = verdict(tmp_path / "more", lambda rank, step: writes(4 * WRITES if rank == step % RANKS else WRITES, BYTES, 10))
    assert rules_of(more) == {waiting.NAME}


def test_equal_ranks_have_no_finding(tmp_path: Path) -> None:
    assert rules_of(verdict(tmp_path / "run", lambda *_: writes(WRITES, BYTES, 10))) == set()


def test_messages_to_a_writer_are_named_where_they_take_long(tmp_path: Path) -> None:
    def calls(rank: int, _: int) -> list[tuple[str, int, float]]:
        return writes(WRITES, BYTES, 10) if rank == 0 else []

    long = run_of(tmp_path / "long", calls, gather_s=0.5)
    assert long.activity is not None
    found = verdict_of(long.activity)
    assert (found.gathering_calls, found.gathering_s) == (["MPI_Gatherv"], pytest.approx(0.5 * STEPS))
    assert found.io_s <= 0.1 * STEPS * 1.001
    (text,) = (text for text in wording.notes(found, long) if "MPI_Gatherv" in text)
    assert text.startswith("ranks are in MPI_Gatherv for 2.00 s (50 %) on average: messages")
    short = run_of(tmp_path / "short", calls, gather_s=0.05)
    assert short.activity is not None
    assert not [text for text in wording.notes(verdict_of(short.activity), short) if "MPI_Gatherv" in text]
