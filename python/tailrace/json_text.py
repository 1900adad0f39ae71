"""JSON text that may come from anybody: the one place where it is parsed, with limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MOST_BYTES = 1 << 31  # as of the library's own reader


def parse_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value. Raises ValueError, also for text that is too long or too deeply nested."""
    if len(text) > MOST_BYTES:
        raise ValueError(f"JSON of {len(text)} bytes; at most {MOST_BYTES} are read")
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise ValueError("JSON whose lists and objects are nested too deeply to be read") from None
