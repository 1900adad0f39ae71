"""What a source knows of a run beside the tables of schema.py: sums of other tools, facts, and what it cannot feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass
class SourceFigures:
    """Plain values, which a child process can return."""

    # Instead of sums of events and counters: rows of call_sums.SUMS with texts for `file` and `call`, and `layer`, `kind`, `moves`.
    sums: Sequence[Row] = ()
    sizes: Sequence[Row] = ()  # of accesses.SIZES, likewise
    orders: Sequence[Row] = ()  # of accesses.ORDER, likewise; `order` is a text
    mounts: Sequence[tuple[str, str]] | None = None
    partial: Sequence[str] = ()  # a message for each part of the run that the source has left out
    unknown: Mapping[str, str] = field(default_factory=dict)  # by figure: why the source cannot feed it
