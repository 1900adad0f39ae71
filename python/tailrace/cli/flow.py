"""Which rank sends to which writer, from a plan: what the picture and the SVG both draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# tailrace_plan lists at most the first 64 messages: a list with fewer is complete.
LISTED_SENDS = 64


@dataclass(frozen=True)
class WriterFlow:
    """A writer of a part, and `feeders`: the ranks whose data it writes; None if the plan does not list all messages."""

    rank: int
    feeders: tuple[int, ...] | None


@dataclass(frozen=True)
class PartFlow:
    """A part, the first and last rank whose data it holds, and its first writers."""

    path: str
    size_bytes: int
    ranks: tuple[int, int]
    writers: tuple[WriterFlow, ...]
    writer_count: int


def part_flows(answer: dict[str, Any]) -> list[PartFlow]:
    """The flow of each part that the plan lists, in the plan's order."""
    complete = len(answer["sends"]) < LISTED_SENDS
    feeders: dict[int, set[int]] = {}
    for send in answer["sends"]:
        feeders.setdefault(send["to"], set()).add(send["from"])
    return [_part_flow(part, feeders if complete else None) for part in answer["parts"]]


def _part_flow(part: dict[str, Any], feeders: dict[int, set[int]] | None) -> PartFlow:
    first, last = part["ranks"]
    writers = []
    for rank in part["writers"]:
        if part["writer_count"] == 1:
            fed_by: tuple[int, ...] | None = tuple(range(first, last + 1)) if last - first < LISTED_SENDS else None
        elif feeders is not None:
            fed_by = tuple(sorted(feeders.get(rank, set()) | {rank}))
        else:
            fed_by = None
        writers.append(WriterFlow(rank, fed_by))
    return PartFlow(part["path"], part["bytes"], (first, last), tuple(writers), part["writer_count"])


def ranks_text(ranks: Iterable[int]) -> str:
    """Whole numbers as ranges: 0-3, 7."""
    ranges: list[list[int]] = []
    for rank in sorted(ranks):
        if ranges and rank == ranges[-1][1] + 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    return ", ".join(range_text(first, last) for first, last in ranges)


def range_text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}, {last}" if last == first + 1 else f"{first}-{last}"


def shortened(text: str, width: int) -> str:
    """A text of at most `width` characters. A longer text loses its middle, because paths differ at both ends."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[head + 1 - width :]}"


def is_shown_whole(flows: Sequence[PartFlow], shown_writers: int) -> bool:
    """Whether all writers of all parts are known with their feeders, and there is room for them."""
    return all(
        flow.writer_count == len(flow.writers) <= shown_writers and all(writer.feeders is not None for writer in flow.writers)
        for flow in flows
    )
