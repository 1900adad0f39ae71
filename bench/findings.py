"""What the findings of `tailrace report` claim, against what is gained without their cause.

    make bench NAME=findings [SIZE=quick|full]

docs/benchmarks.md describes what is measured and how to read it; bench/bounds.toml has the bounds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from tailrace.findings import verdict_of
from tailrace.findings.rules import RULES
from tailrace.trace.activity import Activity
from tailrace.trace.model import calls_of

from bench import harness
from bench.harness import Claim, causes, console

ROUNDS = {"quick": 2, "full": 7}
FEWEST = 5  # rounds for an interval
STORM, FILES, LISTS = "create_storm", "8000", ", ext4 without dir_index"
COMMAND = (sys.executable, "-m", "tailrace")


def span_s(activity: Activity) -> float:
    """How long the program worked: without the start and the end of MPI, which take longer than the causes and differ each time."""
    starts = activity.end[activity.is_call("MPI_Init", "MPI_Init_thread")]
    ends = activity.begin[activity.is_call("MPI_Finalize")]
    return float(ends.max() - starts.max()) if len(starts) else activity.duration_s


def read(log: Path, rule: str) -> tuple[float, float]:
    """Seconds that the program worked, and those that the rule claims."""
    activity = calls_of(log)
    return span_s(activity), sum(found.seconds for found in verdict_of(activity).findings if found.rule == rule)


def run_pair(
    rule: str, cause: causes.Cause, folder: Path, slow: Path | None, number: int, where: str = "", size: str = ""
) -> dict[str, Any]:
    order = ("cause", "twin") if number % 2 == 0 else ("twin", "cause")
    of = {}
    for which in order:
        here = folder / f"{rule}-{number}-{which}"
        of[which] = read(cause.record(which, here, COMMAND, slow, size), rule)
        shutil.rmtree(here)
    return {
        "rule": f"{rule}{where}",
        "round": number,
        "cause_s": of["cause"][0],
        "twin_s": of["twin"][0],
        "gained_s": of["cause"][0] - of["twin"][0],
        "claimed_s": of["cause"][1],
        "claimed_of_twin_s": of["twin"][1],
    }


def interval_of(claimed: list[float], gained: list[float]) -> tuple[float, float] | None:
    """The bootstrap interval of the ratio of the medians."""
    if len(claimed) < FEWEST:
        return None
    drawn = np.random.default_rng(1).integers(0, len(claimed), (2000, len(claimed)))
    ratios = np.median(np.array(claimed)[drawn], axis=1) / np.maximum(np.median(np.array(gained)[drawn], axis=1), 1e-9)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def folded(low: float, high: float) -> tuple[float, float]:
    """An interval of a ratio, as one of the larger over the smaller."""
    ends = sorted(max(each, 1 / max(each, 1e-9)) for each in (low, high))
    return (1.0 if low <= 1 <= high else ends[0], ends[1])


def claims_of(rows: list[dict[str, Any]]) -> list[Claim]:
    wanted = {claim["id"]: claim for claim in harness.bounds("findings")["claims"]}
    claims = []
    for rule in dict.fromkeys(row["rule"] for row in rows):
        of_rule = [row for row in rows if row["rule"] == rule]
        claimed, gained = ([row[key] for row in of_rule] for key in ("claimed_s", "gained_s"))
        ratio = statistics.median(claimed) / max(statistics.median(gained), 1e-9)
        found = interval_of(claimed, gained)
        off = max(ratio, 1 / max(ratio, 1e-9))
        interval = None if found is None else folded(*found)
        detail = {"interval": interval, "ratio": ratio}
        claims.append(Claim(f"seconds/{rule}", wanted["seconds"]["text"], off, wanted["seconds"]["bound"], "ratio", detail, True))
    twins = [
        statistics.median(row["claimed_of_twin_s"] / row["twin_s"] for row in rows if row["rule"] == rule)
        for rule in dict.fromkeys(row["rule"] for row in rows)
    ]
    return [*claims, Claim("twins", wanted["twins"]["text"], max(twins), wanted["twins"]["bound"], "share of the run", {}, True)]


def storms(cause: causes.Cause, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Of directories of a real file system. Nothing where this user may not mount one."""
    try:
        with causes.directories_without_index(folder) as mounted:
            return [run_pair(STORM, cause, mounted, None, number, LISTS, FILES) for number in range(rounds)]
    except harness.BenchError as error:
        console.print(f"left out: {error}", markup=False)
        return []


def print_results(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Medians, in milliseconds: the run with the cause and without it", title_justify="left")
    for heading in ("rule", "with", "without", "gained", "claimed", "claimed / gained", "claimed of the twin"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for rule in dict.fromkeys(row["rule"] for row in rows):
        of_rule = [row for row in rows if row["rule"] == rule]
        middle = {key: statistics.median(row[key] for row in of_rule) for key in of_rule[0] if key.endswith("_s")}
        keys = ("cause_s", "twin_s", "gained_s", "claimed_s")
        ratio = f"{middle['claimed_s'] / max(middle['gained_s'], 1e-9):.2f}"
        table.add_row(rule, *(f"{1000 * middle[key]:.0f}" for key in keys), ratio, f"{1000 * middle['claimed_of_twin_s']:.1f}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.findings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    parser.add_argument("--rule", action="append", choices=[rule.NAME for rule in RULES], help="Only this rule; may be repeated.")
    arguments = parser.parse_args()
    chosen = arguments.rule or [rule.NAME for rule in RULES]
    started = time.monotonic()
    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as memory:
        folder = Path(memory)
        slow = causes.build_slow(folder)
        programs = {rule: causes.Cause(rule, folder) for rule in chosen}
        settings = {
            "file system": harness.filesystem_of(folder),
            "rounds": str(ROUNDS[arguments.size]),
            "slow": "tests/findings/slow.c",
        }
        harness.print_settings("Findings: claimed and gained", settings)
        for number in range(ROUNDS[arguments.size]):
            rows += [run_pair(rule, cause, folder, slow, number) for rule, cause in programs.items()]
        if STORM in programs:
            rows += storms(programs[STORM], folder, ROUNDS[arguments.size])
    print_results(rows)
    claims = claims_of(rows) if not arguments.rule else []
    harness.print_claims(claims, "Claims (seconds claimed and gained: the larger over the smaller, at most 2)")
    path = harness.write_record("findings", {"size": arguments.size, **settings}, rows, claims)
    console.print(f"{len(rows)} pairs in {time.monotonic() - started:.0f} s; {path.relative_to(harness.ROOT)}")
    return 0 if arguments.size == "quick" or all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
