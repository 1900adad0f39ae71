"""Messages of agents as lines of text. Each line begins with a mark and the name of the node, and a long message is several lines.

RATIONALE: Slurm cuts lines at 1,024 bytes, and mixes the lines of its nodes. Login scripts print lines of their own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.json_text import parse_json

MARK = "tailrace-agent"
PIECE = 600  # characters of a message in a line, all ASCII
LAST, MORE = ".", "+"


def lines_of(name: str, message: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one message. `name`: the name of the node, without spaces."""
    text = json.dumps(message)
    for at in range(0, len(text), PIECE):
        yield f"{MARK} {name} {LAST if at + PIECE >= len(text) else MORE}{text[at : at + PIECE]}\n"


class Reader:
    """Joins the lines of each node to messages."""

    def __init__(self) -> None:
        self._begun: dict[str, list[str]] = defaultdict(list)

    def take(self, line: str) -> tuple[str, dict[str, Any]] | None:
        """Returns the node and its message if this is the last line of one, else None. Ignores lines without the mark."""
        mark, _, rest = line.rstrip("\n").partition(" ")
        name, space, piece = rest.partition(" ")
        if mark != MARK or not name or not space or piece[:1] not in (LAST, MORE):
            return None
        self._begun[name].append(piece[1:])
        if piece[0] == MORE:
            return None
        try:
            message = parse_json("".join(self._begun.pop(name)))
        except ValueError:
            return None
        return (name, message) if isinstance(message, dict) and isinstance(message.get("kind"), str) else None
