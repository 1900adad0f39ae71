"""The page of a run: `tailrace report --html`."""

from __future__ import annotations

import html
import importlib.resources
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tailrace.findings.wording import headline_of_sums
from tailrace.report.run_charts import WRITE, busy_shares, bytes_moved
from tailrace.report.run_tables import without_mpi
from tailrace.trace.model import Run, calls_of

from tests.run_pages import run_with_page

SCRIPT = """
import time
for step in range(3):
    with open(f"<b>out.{step}", "wb", buffering=0) as file:
        for _ in range(200):
            file.write(bytes(10000))
    time.sleep(0.05)
open("gone\\x1b[31m", "w").close()
for _ in range(50):
    try:
        open("missing")
    except OSError:
        pass
"""


@pytest.fixture(scope="module")
def folder(tailrace_command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("page")
    run_with_page(tailrace_command, here, ["python3", "-c", SCRIPT])
    return here


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "page.html").read_text()


def test_page_needs_nothing_else(page: str) -> None:
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert len(page) < 600_000


def test_names_are_text(page: str) -> None:
    assert "<b>out" not in page
    assert "&lt;b&gt;out.N" in page
    assert "\x1b" not in page


def test_tables_have_the_figures_of_the_run(folder: Path, page: str) -> None:
    run = Run.read(folder / "log")
    text = html.unescape(re.sub(r"<[^>]+>", "\n", page)).replace("\N{NO-BREAK SPACE}", " ")
    cells = [line.strip() for line in text.splitlines() if line.strip()]
    for layer, row in run.by_layer().items():
        at = cells.index(layer)
        assert cells[at + 1] == f"{row['calls']:,}".replace(",", " ")
        assert cells[at + 4] == f"{row['self_ns'] / 1e9:.4f}"
    group = next(at for at, cell in enumerate(cells) if cell.endswith("<b>out.N"))
    assert cells[group + 3 : group + 7] == ["3", str(3 * (200 + 3)), "0 B", "5.7 MiB"]  # Python looks at what it opens
    missing = max(at for at, cell in enumerate(cells) if cell.endswith("/missing"))  # the table of failed calls is the last
    assert cells[missing - 2 : missing] == ["open", "ENOENT"]
    assert "50" in cells[missing + 1 : missing + 3], "behind the rank, if this test runs as one"


def test_heat_map_has_the_time_in_calls(folder: Path) -> None:
    activity = calls_of(folder / "log")
    edges = np.linspace(0, activity.duration_s, 101)
    process = int(np.bincount(activity.process).argmax())
    shares = busy_shares(activity, process, edges)
    own = activity.is_own & (activity.process == process)
    np.testing.assert_allclose((shares * np.diff(edges)).sum(), activity.seconds[own].sum(), rtol=1e-6, atol=1e-7)
    assert shares.max() > 0.1
    assert (shares == 0).sum() > 20, "it slept half of the time"


HDF5 = """
import h5py, numpy
with h5py.File("field.h5", "w") as file:
    for step in range(4):
        file[str(step)] = numpy.ones(1 << 20)
"""


def test_what_libraries_move_is_in_the_chart(tailrace_command: list[str], tmp_path: Path) -> None:
    words = ["run", "--log", "log", "--", sys.executable, "-c", HDF5]
    subprocess.run([*tailrace_command, *words], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    activity = calls_of(tmp_path / "log")
    edges = np.array([0.0, activity.duration_s / 2, activity.duration_s + 1])
    written = bytes_moved(activity, WRITE, edges).sum()
    assert 4 * 8 << 20 <= written <= (4 * 8 << 20) + 100_000


def test_of_sums_the_rank_with_most_io_is_named() -> None:
    logs = Path(str(importlib.resources.files("darshan"))) / "tests" / "input"
    run = Run.read(logs / "sample-badost.darshan")
    assert headline_of_sums(run).startswith("Processes were in I/O calls for 4 % of their time, and rank 1507 for 778 s of 780 s;")
    run = Run.read(logs / "sample.darshan")
    assert run.select(lambda row: True).by_layer() == without_mpi(run).by_layer() == run.by_layer(), (
        "sums of all ranks together have no log"
    )


def test_page_of_a_file_that_cannot_be_written(tailrace_command: list[str], folder: Path) -> None:
    done = subprocess.run(
        [*tailrace_command, "report", "log", "--html", "none/page.html"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "none/page.html" in done.stderr
    assert "Traceback" not in done.stderr
