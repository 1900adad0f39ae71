"""What the benches make of their timings: which settings are kept, and what a claim compares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from bench.harness import BenchError, methods
from bench.harness.methods import Entry, Row

pytestmark = pytest.mark.fast

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


@pytest.mark.parametrize("repetitions", [0, 2])
def test_tuning_keeps_the_fastest_setting_of_each_method(repetitions: int) -> None:
    entries = [Entry(name, "", "") for name in SECONDS["ompio"]]
    kept = methods.tune(entries, run, raw=2, peers=repetitions, judge=methods.all_peers)
    assert (kept.mpi_io, [entry.name for entry in kept.entries]) == ("ompio", ["raw:4MiB", "near:a", "far:a"])
    kept = methods.tune(entries, run, raw=2, peers=repetitions, judge=strongest)
    assert (kept.mpi_io, [entry.name for entry in kept.entries]) == ("romio321", ["raw:4MiB", "near:b", "far:a"])


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


def test_claim_about_peers_asks_for_no_more_than_the_limit_allows() -> None:
    times = {"ours:default": {1: [2.0]}, "near:a": {1: [4.0]}, "raw:1MiB": {1: [1.6]}, "raw:4MiB": {1: [9.0]}}
    for bound, expected in ((3.0, 0.8 * 2.5), (1.5, 1.5)):
        claim = methods.claim_of(WANTED | {"bound": bound, "limit": "raw", "of_limit": 0.8}, "here", "ours:default", times)
        assert claim is not None
        assert (claim.value, claim.bound, claim.detail["limit"]) == (2.0, pytest.approx(expected), 2.5)
        assert claim.holds
