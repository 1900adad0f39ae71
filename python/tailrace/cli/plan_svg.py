"""A plan as an SVG picture: ranks on the left, writers in the middle, files on the right."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from tailrace.cli.flow import PartFlow, is_shown_whole, part_flows, range_text, shortened
from tailrace.cli.output import bytes_text, count_text

SHOWN_PARTS = 16
SHOWN_WRITERS = 16  # of a part
SHOWN_RANKS = 64
ROW = 26  # pixels from one box to the next
TOP = 64
COLUMNS = ((20, 130), (240, 110), (440, 420))  # left edge and width in pixels
PATH_CHARACTERS = 46
STYLE = (
    "text{font:13px sans-serif;fill:#1b2733}.h{font-weight:600}.n{fill:#5b6b7a}"
    "rect{fill:#eef3f8;stroke:#54738f}rect.w{fill:#fdf0dc;stroke:#b7791f}rect.f{fill:#e6f4ea;stroke:#3c7d4f}"
    "path{fill:none;stroke:#8aa0b4;stroke-width:1.2}"
)


@dataclass(frozen=True)
class Box:
    kind: str
    column: int
    row: float
    text: str


def svg(answer: dict[str, Any]) -> str:
    """The whole picture. Draws single ranks if they are few and the plan lists all messages, else ranges of ranks."""
    flows = part_flows(answer)[:SHOWN_PARTS]
    by_rank = (
        is_shown_whole(flows, SHOWN_WRITERS)
        and sum(len(writer.feeders or ()) for flow in flows for writer in flow.writers) <= SHOWN_RANKS
    )
    boxes: list[Box] = []
    edges: list[tuple[Box, Box]] = []
    row = 0.0
    for flow in flows:
        row += _add_part(flow, row, by_rank, boxes, edges)
    hidden = answer["files"] - len(flows)
    note = f"and {count_text(hidden)} more files" if hidden > 0 else ""
    return _document(boxes, edges, row, note, answer)


def _add_part(flow: PartFlow, top: float, by_rank: bool, boxes: list[Box], edges: list[tuple[Box, Box]]) -> float:
    """Adds a part's boxes and lines, from the row `top` down. Returns the number of rows that the part takes."""
    ranks = sorted({rank for writer in flow.writers for rank in writer.feeders or ()}) if by_rank else []
    labels = [f"rank {rank}" for rank in ranks] or [
        f"ranks {range_text(*flow.ranks)}" if flow.ranks[0] != flow.ranks[1] else f"rank {flow.ranks[0]}"
    ]
    writers = [f"rank {writer.rank}" for writer in flow.writers[:SHOWN_WRITERS]]
    if flow.writer_count > len(writers):
        writers.append(f"… {flow.writer_count} in all")
    height = max(len(labels), len(writers), 1)

    def column(kind: str, number: int, texts: list[str]) -> list[Box]:
        gap = height / max(len(texts), 1)
        made = [Box(kind, number, top + gap * (index + 0.5) - 0.5, text) for index, text in enumerate(texts)]
        boxes.extend(made)
        return made

    rank_boxes, writer_boxes = column("r", 0, labels), column("w", 1, writers)
    [file_box] = column("f", 2, [f"{shortened(flow.path, PATH_CHARACTERS)}  ({bytes_text(flow.size_bytes)})"])
    for index, writer_box in enumerate(writer_boxes):
        if by_rank:
            edges += [(rank_boxes[ranks.index(rank)], writer_box) for rank in flow.writers[index].feeders or ()]
        else:
            edges.append((rank_boxes[0], writer_box))
        edges.append((writer_box, file_box))
    return height + 0.4


def _document(boxes: list[Box], edges: list[tuple[Box, Box]], rows: float, note: str, answer: dict[str, Any]) -> str:
    height = int(TOP + rows * ROW + (30 if note else 10))
    width = COLUMNS[-1][0] + COLUMNS[-1][1] + 20
    title = (
        f"{count_text(answer['ranks'])} ranks, {count_text(answer['writers'])} writers, {count_text(answer['files'])} files, "
        f"{bytes_text(answer['bytes'])}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<text class="n" x="20" y="22">{escape(title)}</text>',
    ]
    for (left, _), heading in zip(COLUMNS, ("ranks", "writers", "files"), strict=True):
        parts.append(f'<text class="h" x="{left}" y="50">{heading}</text>')
    parts += [_edge(start, end) for start, end in edges]
    parts += [_box(box) for box in boxes]
    if note:
        parts.append(f'<text class="n" x="{COLUMNS[-1][0]}" y="{height - 12}">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _edge(start: Box, end: Box) -> str:
    left = COLUMNS[start.column][0] + COLUMNS[start.column][1]
    right = COLUMNS[end.column][0]
    middle = (left + right) / 2
    from_y, to_y = (TOP + box.row * ROW + 10 for box in (start, end))
    return f'<path d="M{left} {from_y:.1f}C{middle} {from_y:.1f} {middle} {to_y:.1f} {right} {to_y:.1f}"/>'


def _box(box: Box) -> str:
    left, width = COLUMNS[box.column]
    top = TOP + box.row * ROW
    return (
        f'<rect class="{box.kind}" x="{left}" y="{top:.1f}" width="{width}" height="20" rx="4"/>'
        f'<text x="{left + 8}" y="{top + 14.5:.1f}">{escape(box.text)}</text>'
    )
