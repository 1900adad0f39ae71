"""Sentences about a verdict, for the terminal and the page."""

from __future__ import annotations

from tailrace.findings import Finding, Verdict
from tailrace.quantities import count_text, seconds_text
from tailrace.trace.file_groups import ranges_text
from tailrace.trace.model import Run

SMALL_SHARE = 0.005
LONG_SHARE = 0.1  # messages are named if they take at least this share of the run, and a rank if its I/O has it of its time
LONGER = 2  # and its share is at least this multiple of the mean share
NO_TIMES = "the source has only sums over calls, no times of single calls, so no cause can be given in seconds"


def headline(verdict: Verdict) -> str:
    """One sentence: what I/O cost, and its first cause."""
    share = verdict.io_s / verdict.duration_s if verdict.duration_s else 0.0
    text = f"I/O took {seconds_text(verdict.io_s)} ({_percent(share)}) of {seconds_text(verdict.duration_s)}"
    if not verdict.findings:
        return f"{text}; no cause of it costs 1 % of the run"
    first = verdict.findings[0]
    return f"{text}; {seconds_text(first.seconds)} of it because {first.what}"


def headline_of_sums(run: Run) -> str:
    """One sentence about a run whose calls are only counted."""
    share = run.share()
    if share.of_run is None:
        return "The source does not have the time of I/O"
    text = f"Processes were in I/O calls for {_percent(share.of_run)} of their time{_longest(run, share.of_run)}"
    return f"{text}; what this cost the run is not known"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= SMALL_SHARE else "less than 1 %"


def _longest(run: Run, mean_share: float) -> str:
    """Names the rank with most time in I/O, if it has much more than the others, which then probably wait for it; else ""."""
    io_s = {log: (row["self_ns"] or 0) / 1e9 for log, row in run.by_process().items() if log is not None}
    ranks = {row["log"]: row for row in run.processes if row["rank"] is not None and row["seconds"]}
    log = max(ranks.keys() & io_s.keys(), key=lambda each: io_s[each], default=None)
    if log is None or io_s[log] < max(LONG_SHARE, LONGER * mean_share) * ranks[log]["seconds"]:
        return ""
    spent = seconds_text(min(io_s[log], ranks[log]["seconds"]))
    return f", and rank {ranks[log]['rank']} for {spent} of {seconds_text(ranks[log]['seconds'])}"


def notes(verdict: Verdict, run: Run) -> list[str]:
    """Sentences below the findings."""
    return [text for text in (together(verdict), left_out(verdict, run), gathering(verdict)) if text]


def together(verdict: Verdict) -> str:
    """The seconds of all findings together. Empty if there are less than two findings."""
    if len(verdict.findings) < 2:
        return ""
    return f"together {seconds_text(verdict.found_s)}: seconds that several causes share count once"


def left_out(verdict: Verdict, run: Run) -> str:
    """A sentence about calls that the findings do not include; empty if they include all."""
    if not verdict.counted_calls:
        return ""
    count = count_text(verdict.counted_calls)
    text = f"{count} calls were only counted, and are not part of these seconds"
    return (
        f"{text}; record more of them with `tailrace run --budget MIB`"
        if any(row["dropped_events"] for row in run.processes)
        else text
    )


def gathering(verdict: Verdict) -> str:
    """A sentence about messages to one rank or from it, where they take long; else empty."""
    if verdict.gathering_s < LONG_SHARE * verdict.duration_s or not verdict.gathering_calls:
        return ""
    share = _percent(verdict.gathering_s / verdict.duration_s)
    spent = f"{seconds_text(verdict.gathering_s)} ({share})"
    return (
        f"ranks are in {' and '.join(verdict.gathering_calls)} for {spent} on average: messages "
        "to a rank that writes for others, or from one that reads for them, and waiting for these are not in the time of I/O"
    )


def how(finding: Finding) -> str:
    """How the seconds of a finding were computed, and from what."""
    count = count_text(finding.calls)
    where = f", rank{'s' if len(finding.ranks) > 1 else ''} {ranges_text(finding.ranks)}" if finding.ranks else ""
    times = f"from {seconds_text(finding.begin_s)} to {seconds_text(finding.end_s)}"
    return f"{finding.how}; {count} calls {times}{where}; confidence: {finding.confidence}"
