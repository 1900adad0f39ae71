"""Sentences about a verdict, for the terminal and the page."""

from __future__ import annotations

from tailrace.findings import Finding, Verdict
from tailrace.quantities import count_text, seconds_text
from tailrace.trace.file_groups import ranges_text
from tailrace.trace.model import Share

NO_TIMES = "the source has sums of calls, and no time of a single call: no cause can be given seconds of the run"


def headline(verdict: Verdict) -> str:
    """One sentence: what I/O cost, and its first cause."""
    share = verdict.io_s / verdict.duration_s if verdict.duration_s else 0.0
    text = f"I/O took {100 * share:.0f} % of {seconds_text(verdict.duration_s)}"
    if not verdict.findings:
        return f"{text}; no cause of it costs 1 % of the run"
    first = verdict.findings[0]
    return f"{text}: {seconds_text(first.seconds)} because {first.what}"


def headline_of_sums(share: Share) -> str:
    """Of a run whose calls are only counted."""
    if share.of_run is None:
        return "The source does not have the time of I/O"
    return f"Processes were in I/O calls for {100 * share.of_run:.0f} % of their time; what this cost the run is not known"


def together(verdict: Verdict) -> str:
    """Empty where there is one finding, or none."""
    if len(verdict.findings) < 2:
        return ""
    return f"together {seconds_text(verdict.found_s)}: seconds that several causes share count once"


def left_out(verdict: Verdict) -> str:
    """What the findings know nothing of; empty where they know all."""
    if not verdict.counted_calls:
        return ""
    count = count_text(verdict.counted_calls)
    return f"{count} calls were only counted, and are in none of these seconds; give more with `run --budget`"


def how(finding: Finding) -> str:
    """How the seconds of a finding were computed, and from what."""
    count = count_text(finding.calls)
    where = f", rank{'s' if len(finding.ranks) > 1 else ''} {ranges_text(finding.ranks)}" if finding.ranks else ""
    times = f"from {seconds_text(finding.begin_s)} to {seconds_text(finding.end_s)}"
    return f"{finding.how}; {count} calls {times}{where}; confidence: {finding.confidence}"
