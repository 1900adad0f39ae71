"""Starts Chromium without a window, for benches and for pictures of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from bench.harness import BenchError

READY = "#timeline[data-ready]"  # of a run's page: its timeline is drawn


@contextmanager
def chromium() -> Iterator[Browser]:
    found = shutil.which("chromium")
    if found is None:
        raise BenchError("chromium is not on the PATH: run `make setup`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def open_page(page: Page, file: Path, limit_s: float = 60) -> None:
    """Returns when the page is complete, its timeline included."""
    page.goto(file.as_uri())
    page.wait_for_selector(READY, timeout=1000 * limit_s)
