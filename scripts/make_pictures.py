"""Pictures of a page of Tailrace, by Chromium without a window: light, dark, and 500 pixels wide.

    .venv/bin/python scripts/make_pictures.py PAGE.html FOLDER [--height PIXELS]

FOLDER/NAME-light.png, NAME-dark.png and NAME-narrow.png are the page from its top, as high as `--height`, or all of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.harness import browser

# Name, colours, width in pixels.
LOOKS: tuple[tuple[str, Any, int], ...] = (("light", "light", 1000), ("dark", "dark", 1000), ("narrow", "light", 500))


def make_pictures(source: Path, folder: Path, height: int | None) -> list[Path]:
    found = []
    with browser.chromium() as chromium:
        for name, colours, width in LOOKS:
            page = chromium.new_page(viewport={"width": width, "height": height or 900}, color_scheme=colours)
            page.goto(source.resolve().as_uri())
            if page.locator("#timeline").count():
                page.wait_for_selector(browser.READY)
            found.append(folder / f"{source.stem}-{name}.png")
            page.screenshot(path=found[-1], full_page=height is None)
            page.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--height", type=int, help="pixels; default: all of the page")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for path in make_pictures(options.page, options.folder, options.height):
        print(path, f"{path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
