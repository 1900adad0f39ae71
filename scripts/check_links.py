"""Links of Markdown pages to files and headings of this repository lead somewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from sources import ROOT, sources

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors_of(page: Path) -> set[str]:
    """Headings as GitHub names them: lower case, words joined by hyphens, no signs."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def problems_of(path: Path) -> Iterator[str]:
    # Code is blanked and not cut, so that the line numbers stay.
    text = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), (ROOT / path).read_text())
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        line = text.count("\n", 0, match.start()) + 1
        page = (ROOT / path.parent / unquote(target)).resolve() if target else ROOT / path
        if not page.exists():
            yield f"{path}:{line}: {match.group(1)}: no such file"
        elif anchor and page.suffix == ".md" and anchor not in anchors_of(page):
            yield f"{path}:{line}: {match.group(1)}: the page has no such heading"


def main() -> int:
    problems = [problem for path in sources("*.md") for problem in problems_of(path)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
