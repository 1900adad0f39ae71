"""The tables of a run in parts. An input returns them and an output takes them one after the other, so a run may be larger than
memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tailrace.trace.schema import Tables
from tailrace.trace.source_figures import SourceFigures


@dataclass(frozen=True)
class TableParts:
    """The row of a process is in the part of its first events or in an earlier part. The events of a thread are in the order of
    their beginnings."""

    parts: Iterator[Tables]
    count: int  # of parts
    damaged: list[str] = field(default_factory=list)  # a message for each input that is left out; grows while parts are read
    figures: SourceFigures = field(default_factory=SourceFigures)

    @property
    def sums_are_figures(self) -> bool:
        """Whether the source has made sums itself. Then its events and counters are of the same calls."""
        return bool(self.figures.sums)
