"""The page of a study in a real browser: everything is drawn, nothing is fetched, nothing is complained about."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright
from tailrace.cli.study import run_study
from tailrace.report.bars import LEFT

from tests.study_files import write_study

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SMALLEST_TEXT = 8  # pixels, on a phone, where charts are scrolled
PLOTS = {"layouts", "times", "phases"}


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a study with two rank counts and one layout that fails in verification."""
    folder = tmp_path_factory.mktemp("study")
    matrix = {"ranks": [1, 2], "layouts": ["native", "single", "fpp", "hds"]}
    file = write_study(
        folder, repetitions=5, warm_up=0, matrix=matrix, parameters={"behaviour": "wrong:hds"}, title="A </script> & title"
    )
    assert run_study(file, folder / "out") == 1
    return folder / "out" / "report.html"


@dataclass
class Seen:
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def opened(context: BrowserContext, path: Path) -> Seen:
    seen = Seen(context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(path.as_uri())
    return seen


@pytest.fixture(scope="module", params=[(1240, "light"), (390, "dark")], ids=["desk", "phone"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is not on the PATH: run `make setup`"
    width, scheme = request.param
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=chromium,
            args=FLAGS,
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
        )
        yield context
        context.close()


@pytest.fixture
def seen(browser: BrowserContext, page_path: Path) -> Iterator[Seen]:
    found = opened(browser, page_path)
    yield found
    found.page.close()


def test_the_page_draws_everything_offline_and_without_complaint(seen: Seen, page_path: Path, tmp_path: Path) -> None:
    assert seen.complaints == []
    outside = [url for url in seen.requests if url != page_path.as_uri() and not url.startswith("data:")]
    assert outside == []
    figures = seen.page.locator("figure").evaluate_all("nodes => nodes.map(node => node.id)")
    assert set(figures) == PLOTS
    for name in PLOTS:
        marks = seen.page.locator(f"#{name} svg rect").count()
        assert marks >= 6, f"{name}: only {marks} marks drawn"
    # Each of three sound layouts on two rank counts has five repetitions, each a point.
    assert seen.page.locator("#layouts circle").count() == 3 * 2 * 5
    assert seen.page.locator("#layouts rect").count() == 3 * 2
    screenshot = tmp_path / "page.png"
    seen.page.screenshot(path=screenshot, full_page=True)
    assert screenshot.stat().st_size > 20_000


def test_the_page_fits_the_screen_and_has_the_facts(seen: Seen) -> None:
    widths = seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]
    assert seen.page.locator("h1").inner_text() == "A </script> & title"
    text = seen.page.locator("body").inner_text()
    expected = [
        "verification failed",
        "wins",
        "index 2048",
        "warm-up",
        "Memory",
        "File system",
        "[stream.default]",
    ]
    assert [words for words in expected if words not in text] == []
    rows = seen.page.locator("#table tbody tr").count()
    assert rows == 2 * 4
    assert seen.page.locator("#table tbody .bad").count() == 2
    assert seen.page.locator("img:not([alt])").count() == 0
    assert seen.page.locator("#table caption").count() == 2


def test_text_can_be_read_in_dark_and_light(seen: Seen) -> None:
    """Charts take the colours of their text from the page, now and when the reader changes between dark and light."""
    colours = "() => [getComputedStyle(document.body).color, getComputedStyle(document.querySelector('#layouts text.value')).fill]"
    for scheme in ("dark", "light"):
        seen.page.emulate_media(color_scheme=scheme)
        ink, text = seen.page.evaluate(colours)
        assert ink == text


def test_text_in_charts_is_large_enough_to_be_read(seen: Seen) -> None:
    heights = "nodes => nodes.map(node => node.getBoundingClientRect().height)"
    for name in PLOTS:
        assert min(seen.page.locator(f"#{name} svg text").evaluate_all(heights)) >= SMALLEST_TEXT, name


def test_the_figures_are_the_journals(page_path: Path, seen: Seen) -> None:
    lines = [json.loads(line) for line in (page_path.parent / "results.jsonl").read_text().splitlines()]
    runs = [run for run in lines if run["kind"] == "run" and run["status"] == "ok" and run["repetition"] > 0]
    expected = sorted(run["return_s"] for run in runs)
    drawn = "nodes => nodes.map(node => Number(node.getAttribute('cx')))"
    centers = seen.page.locator("#layouts circle").evaluate_all(drawn)
    scale = (max(centers) - LEFT) / expected[-1]
    assert sorted(centers) == pytest.approx([LEFT + scale * seconds for seconds in expected], abs=0.1)
