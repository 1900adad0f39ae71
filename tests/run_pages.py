"""What is in a run's page: the packed timeline as plain values, and the page with it unpacked."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

PACKED = re.compile(r'(id="timeline-data">)([^<]*)')


def timeline_json(page: str) -> dict[str, Any]:
    """The names and numbers that stand before the arrays of the timeline."""
    found = PACKED.search(page)
    assert found is not None
    content = zlib.decompress(base64.b64decode(found[2]))
    answer: dict[str, Any] = json.loads(content[: content.index(b"\n")])
    return answer


def unpacked(page: str) -> str:
    return PACKED.sub(lambda found: found[1] + json.dumps(timeline_json(page)), page)
