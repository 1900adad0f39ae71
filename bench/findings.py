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
from bench.harness import Claim, causes, console, programs

ROUNDS = {"quick": 2, "full": 7}
PROGRAM_ROUNDS = {"quick": 1, "full": 5}
FEWEST = 5  # rounds for an interval
STORM, FILES, LISTS = "create_storm", "8000", ", ext4 without dir_index"
OF_TWIN = "claimed_of_twin_s"
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
        OF_TWIN: of["twin"][1],
    }


def program_pair(program: programs.Program, folder: Path, slow: Path, number: int) -> dict[str, Any]:
    """A program that was written for no rule: what its remedy should gain, and gains."""
    order = ("cause", "remedy") if number % 2 == 0 else ("remedy", "cause")
    seconds, claimed = {}, 0.0
    chosen = [rule for rule in RULES if rule.NAME in program.rules]
    for which in order:
        here = folder / f"program-{number}-{which}"
        activity = calls_of(program.record(which, here, COMMAND, slow))
        seconds[which] = span_s(activity)
        if which == "cause":
            claimed = verdict_of(activity, chosen).found_s
        shutil.rmtree(here)
    row = {"rule": f"program/{program.name}", "round": number, "cause_s": seconds["cause"], "twin_s": seconds["remedy"]}
    return {**row, "gained_s": seconds["cause"] - seconds["remedy"], "claimed_s": claimed}


def claimed_without_cause(program: programs.Program, folder: Path, slow: Path) -> float:
    """Of the run: the share that all rules together claim."""
    activity = calls_of(program.record("", folder / "without", COMMAND, slow))
    shutil.rmtree(folder / "without")
    return verdict_of(activity).found_s / activity.duration_s


def program_rows(memory: Path, slow: Path, rounds: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=harness.BUILD) as name:
        disk = Path(name)
        chosen = [(program, disk if program.on_disk else memory) for program in programs.WITH_CAUSE]
        return [program_pair(program, where, slow, number) for number in range(rounds) for program, where in chosen]


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
    of_twins = [row for row in rows if OF_TWIN in row]
    twins = [
        statistics.median(row[OF_TWIN] / row["twin_s"] for row in of_twins if row["rule"] == rule)
        for rule in dict.fromkeys(row["rule"] for row in of_twins)
    ]
    return [*claims, Claim("twins", wanted["twins"]["text"], max(twins), wanted["twins"]["bound"], "share of the run", {}, True)]


def claim_without_cause(shares: dict[str, float]) -> Claim:
    wanted = next(claim for claim in harness.bounds("findings")["claims"] if claim["id"] == "without-cause")
    return Claim(wanted["id"], wanted["text"], max(shares.values()), wanted["bound"], "share of the run", shares, True)


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
        of_twin = f"{1000 * middle[OF_TWIN]:.1f}" if OF_TWIN in middle else ""
        table.add_row(rule, *(f"{1000 * middle[key]:.0f}" for key in keys), ratio, of_twin)
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.findings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=ROUNDS, default="quick")
    parser.add_argument("--rule", action="append", choices=[rule.NAME for rule in RULES], help="Only this rule; may be repeated.")
    arguments = parser.parse_args()
    chosen = arguments.rule or [rule.NAME for rule in RULES]
    started = time.monotonic()
    rows, shares = [], {}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as memory:
        folder = Path(memory)
        slow = causes.build_slow(folder)
        of_rules = {rule: causes.Cause(rule, folder) for rule in chosen}
        settings = {
            "file system": harness.filesystem_of(folder),
            "rounds": str(ROUNDS[arguments.size]),
            "slow": "tests/findings/slow.c",
        }
        harness.print_settings("Findings: claimed and gained", settings)
        for number in range(ROUNDS[arguments.size]):
            rows += [run_pair(rule, cause, folder, slow, number) for rule, cause in of_rules.items()]
        if STORM in of_rules:
            rows += storms(of_rules[STORM], folder, ROUNDS[arguments.size])
        if not arguments.rule:
            rows += program_rows(folder, slow, PROGRAM_ROUNDS[arguments.size])
            shares = {program.name: claimed_without_cause(program, folder, slow) for program in programs.WITHOUT_CAUSE}
    print_results(rows)
    claims = [*claims_of(rows), claim_without_cause(shares)] if not arguments.rule else []
    for name, share in shares.items():
        console.print(f"{name}, which has no cause: {100 * share:.2f} % of its run is claimed")
    title = "Claims (seconds claimed and gained: the larger over the smaller, at most 2)"
    said = f"{len(rows)} pairs in {time.monotonic() - started:.0f} s"
    return harness.conclude("findings", {"size": arguments.size, **settings}, rows, claims, title, said)


if __name__ == "__main__":
    sys.exit(main())
