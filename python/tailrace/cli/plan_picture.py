"""A plan as a picture of box characters: ranks, writers, files."""

from __future__ import annotations

from typing import Any

from tailrace.cli.flow import PartFlow, part_flows, range_text, ranks_text, shortened
from tailrace.cli.output import bytes_text, count_text, plain

SHOWN_PARTS = 8
SHOWN_WRITERS = 8
WIDEST = (24, 16, 60)  # columns, in characters
HEADINGS = ("ranks", "writers", "files")

Row = tuple[str, str, str]


def picture(answer: dict[str, Any]) -> str:
    """One box for each part. In it, a line for each writer, with the ranks whose data it writes."""
    flows = part_flows(answer)
    shown = flows[:SHOWN_PARTS]
    boxes = [_rows(flow) for flow in shown]
    widths = [
        min(limit, max([len(heading), *(len(row[column]) for rows in boxes for row in rows)]))
        for column, (heading, limit) in enumerate(zip(HEADINGS, WIDEST, strict=True))
    ]
    lines = ["    ".join(f"  {heading:<{width}}  " for heading, width in zip(HEADINGS, widths, strict=True)).rstrip()]
    lines.append(_border("┌┐", widths))
    for position, (flow, rows) in enumerate(zip(shown, boxes, strict=True)):
        if position:
            lines.append(_border("├┤", widths))
        lines += [_line(row, widths, bytes_text(flow.size_bytes) if index == 0 else "") for index, row in enumerate(rows)]
    lines.append(_border("└┘", widths))
    # answer["parts"] lists the parts of one group of steps only; answer["files"] counts those of all steps.
    hidden = answer["files"] - len(shown)
    if hidden > 0:
        lines.append(f"  ⋮ and {count_text(hidden)} more files")
    return "\n".join(lines)


def _rows(flow: PartFlow) -> list[Row]:
    everyone = range_text(*flow.ranks)
    rows: list[Row] = []
    for writer in flow.writers[:SHOWN_WRITERS]:
        fed_by = ranks_text(writer.feeders) if writer.feeders is not None else everyone
        rows.append((fed_by, str(writer.rank), "" if rows else plain(flow.path)))
    if flow.writer_count > len(rows):
        rows.append(("⋮", f"⋮ {count_text(flow.writer_count)} in all", ""))
    return rows or [(everyone, "", plain(flow.path))]


def _border(corners: str, widths: list[int]) -> str:
    left, right = corners[0], corners[1]
    return "    ".join(left + "─" * (width + 2) + right for width in widths)


def _line(row: Row, widths: list[int], note: str) -> str:
    ranks, writer, file = (f" {shortened(text, width):<{width}} " for text, width in zip(row, widths, strict=True))
    arrow = "│    │" if row[0] == "⋮" else "├───▶│"
    return f"│{ranks}{arrow}{writer}{arrow}{file}│ {note}".rstrip()
