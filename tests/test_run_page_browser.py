"""The page of a run in a browser: the timeline zooms and filters, and figures in the page are those of `Run`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, sync_playwright
from tailrace.report.run_charts import KINDS, is_timed, size_bins
from tailrace.report.run_tables import operation_sums
from tailrace.trace.model import Run

from tests.run_pages import run_with_page

SCRIPT = """
import os, time
for step in range(3):
    file = os.open(f"out.{step}", os.O_CREAT | os.O_RDWR)
    for block in range(200):
        os.write(file, bytes(10000))
    for block in range(50):
        os.pread(file, 3000, 3000 * block)
    os.fsync(file)
    os.close(file)
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def folder(tailrace_command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("page")
    run_with_page(tailrace_command, here, ["/usr/bin/python3", "-c", SCRIPT])
    return here


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return Run.read(folder / "log", with_calls=True)


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is not on the PATH: run `make setup`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 500, "height": 900}, color_scheme="dark")
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((folder / "page.html").as_uri())
        page.wait_for_selector("#timeline[data-ready]", timeout=30000)
        yield page
        browser.close()
        assert complaints == []


def figures(page: Page, name: str) -> Any:
    text = page.locator(f"#{name} svg").get_attribute("data-figures")
    assert text is not None
    return json.loads(text)


def state(page: Page) -> dict[str, float]:
    found = page.locator("#timeline").evaluate("node => ({...node.dataset})")
    return {name: float(value) for name, value in found.items() if name != "ready"}


def test_page_is_500_pixels_wide(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= 500


def test_charts_have_the_figures_of_the_run(page: Page, run: Run) -> None:
    activity = run.activity
    assert activity is not None
    moved = figures(page, "moved")
    cell_s = activity.duration_s / len(moved["write"])
    assert sum(moved["write"]) * cell_s * 2**20 == pytest.approx(3 * 200 * 10000, rel=1e-2)
    own = activity.is_own
    kinds = activity.of_call(lambda call: call.place.kind)
    for kind, values in figures(page, "concurrency").items():
        assert sum(values) * cell_s == pytest.approx(activity.seconds[own & (kinds == kind)].sum(), rel=1e-2)
    latencies = figures(page, "latencies")
    for kind in KINDS:
        assert sum(latencies.get(kind, {}).values()) == activity.count[is_timed(activity) & (kinds == kind)].sum()
    sizes = figures(page, "sizes")
    for kind in ("read", "write"):
        assert sorted(filter(None, sizes[kind].values())) == sorted(size_bins(run, kind).values())
    assert sum(figures(page, "creates")["metadata"]) * cell_s == pytest.approx(activity.is_create.sum(), rel=1e-2)
    assert figures(page, "offsets-1") == {"read": 50 * 3000, "write": 200 * 10000}


def test_operations_of_a_group_of_files(run: Run) -> None:
    found = {total.operation: total for total in operation_sums(run) if total.file.endswith("out.N")}
    assert (found["write"].calls, found["write"].moved) == (600, 6_000_000)
    assert (found["read"].calls, found["read"].moved) == (150, 450_000)
    assert (found["open"].calls, found["close"].calls, found["sync"].calls) == (3, 3, 3)
    by_file = [row for name, row in run.by_file().items() if "/out." in name]
    assert sum(total.seconds or 0 for total in found.values()) == pytest.approx(sum(row["self_ns"] for row in by_file) / 1e9)


def test_timeline_zooms_and_filters(page: Page, run: Run) -> None:
    activity = run.activity
    assert activity is not None
    every = state(page)
    assert (every["from"], every["to"]) == (0, pytest.approx(activity.duration_s))
    rows = page.locator("#timeline tbody tr")
    written = activity.of_call(lambda call: call.place.kind) == "write"
    assert rows.nth(1).locator("td").nth(1).inner_text() == str(int((written & activity.on_files).sum()))
    page.get_by_role("button", name="Zoom in").click()
    half = state(page)
    assert half["to"] - half["from"] == pytest.approx(activity.duration_s / 2)
    inside = (activity.begin <= half["to"]) & (activity.end >= half["from"]) & written & activity.on_files
    shown = int(rows.nth(1).locator("td").nth(1).inner_text())
    assert abs(shown - int(inside.sum())) <= 2, "calls on the border"
    canvas = page.locator("#timeline canvas")
    canvas.focus()
    page.keyboard.press("+")
    assert state(page)["to"] - state(page)["from"] == pytest.approx(activity.duration_s / 4)
    before = state(page)["from"]
    page.keyboard.press("ArrowRight")
    assert state(page)["from"] > before
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    page.mouse.wheel(0, -100)
    span = "Number(document.getElementById('timeline').dataset.to) - Number(document.getElementById('timeline').dataset.from)"
    page.wait_for_function(f"{span} < {activity.duration_s / 4.5}")
    page.keyboard.press("Home")
    assert state(page) == every
    page.locator("#timeline [name=file]").fill("out.1")
    one = np.array(["/out.1" in name for name in [*activity.files, ""]])[activity.file]
    assert state(page)["calls"] == one.sum()
    page.locator("#timeline [name=file]").fill("")
    page.locator("#timeline [name=rows]").fill("999999999")
    assert state(page)["rows"] == state(page)["calls"] == 0
    page.locator("#timeline [name=rows]").fill("")
    assert state(page) == every
