"""A run with its page, and what is in the page: the packed timeline as plain values, and the page with it unpacked."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKED = re.compile(r'(id="timeline-data">)([^<]*)')


def run_with_page(tailrace_command: list[str], here: Path, program: Sequence[str]) -> None:
    """Records a program in the folder: `log` has the run, `page.html` its page."""
    for words in (["run", "--log", "log", "--", *program], ["report", "log", "--html", "page.html"]):
        subprocess.run([*tailrace_command, *words], cwd=here, check=True, capture_output=True, timeout=60)


def timeline_json(page: str) -> dict[str, Any]:
    """The names and numbers that stand before the arrays of the timeline."""
    found = PACKED.search(page)
    assert found is not None
    content = zlib.decompress(base64.b64decode(found[2]))
    answer: dict[str, Any] = json.loads(content[: content.index(b"\n")])
    return answer


def unpacked(page: str) -> str:
    return PACKED.sub(lambda found: found[1] + json.dumps(timeline_json(page)), page)
