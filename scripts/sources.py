"""The files of the repository, as git sees them: tracked and new ones, not the ignored."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def sources(*patterns: str) -> list[Path]:
    """Paths relative to the root whose names match one of the patterns, such as "*.hpp"; sorted."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return sorted(path for path in map(Path, set(listing.splitlines())) if (ROOT / path).is_file())
