"""A real serial simulator: EPA SWMM. A table of members, and a calibration that recovers what made a hydrograph."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble
from tailrace.toml_table import literal

from tests.ensembles import table_of

HERE = Path(__file__).parent / "ensembles"
TRUTH = {"imperv": 42.0, "width": 350.0, "rough": 0.11}
RANGES = {"imperv": (20.0, 80.0), "width": (100.0, 800.0), "rough": (0.03, 0.4)}

# A file of its own: members read it in the parent, as users' functions do.
SCORE = """
def rmse(directory, parameters):
    found = [float(line) for line in (directory / "hydrograph.txt").read_text().split()]
    wanted = [float(line) for line in open(__file__.replace("score.py", "observed.txt"))]
    assert len(found) == len(wanted)
    return (sum((a - b) ** 2 for a, b in zip(found, wanted)) / len(wanted)) ** 0.5
"""


def write_swmm(folder: Path, members: int, fails: bool = False) -> Path:
    (folder / "model").mkdir()
    (folder / "model" / "run.py").write_text((HERE / "swmm_model.py").read_text())
    (folder / "swmm.tpl").write_text((HERE / "swmm.inp").read_text())
    (folder / "score.py").write_text(SCORE)
    (folder / "observed.txt").write_text("")
    ranges = "\n".join(f"{name} = {literal(list(ends))}" for name, ends in RANGES.items())
    path = folder / "swmm.toml"
    path.write_text(f"""
name = "swmm"
command = {literal([sys.executable, "run.py"])}
templates = {{ "model.inp" = "swmm.tpl" }}
[environment]
{'FAILS = "1"' if fails else ""}
[inputs]
directory = "model"
[parameters]
sampler = "latin-hypercube"
members = {members}
[parameters.ranges]
{ranges}
[results]
rmse = {{ python = "score.py:rmse" }}
peak = {{ file = "model.rpt", regex = '^ +S1 .* (\\S+) +\\S+ *$' }}
[limits]
timeout_s = 120
[engine]
workers = 2
scratch = {literal(str(folder / "scratch"))}
""")
    return path


def observe(path: Path, folder: Path) -> None:
    """The hydrograph of the truth, from a member of its own."""
    text = path.read_text().replace('rmse = { python = "score.py:rmse" }', "first = { file = 'hydrograph.txt', regex = '(.+)' }")
    truth = path.with_name("truth.toml")
    truth.write_text(text.replace('FAILS = "1"', "") + '[keep]\nfiles = ["hydrograph.txt"]\n')
    with Ensemble(truth, folder / "truth", failed="raise") as ensemble:
        ensemble(TRUTH)
    observed = (folder / "truth" / "kept" / "000000" / "hydrograph.txt").read_text()
    assert max(map(float, observed.split())) > 50, "it rains, and nothing flows"
    (folder / "observed.txt").write_text(observed)


def test_a_table_of_swmm_members(tmp_path: Path) -> None:
    path = write_swmm(tmp_path, 6)
    observe(path, tmp_path)
    ensemble = Ensemble(path)
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    assert all(row["reason"] == "" for row in rows.values()), rows
    assert len({row["peak"] for row in rows.values()}) > 3
    assert all(float(row["rmse"]) > 0 for row in rows.values())


@pytest.mark.full
def test_differential_evolution_recovers_the_truth(tmp_path: Path) -> None:
    """Through `workers=`, with 2 % of the members failing. Seconds: mostly Python's start in each member."""
    optimize = pytest.importorskip("scipy.optimize")
    path = write_swmm(tmp_path, 1, fails=True)
    observe(path, tmp_path)
    with Ensemble(path, tmp_path / "calibration", result="rmse", failed=1e6) as ensemble:
        found = optimize.differential_evolution(
            ensemble, list(RANGES.values()), workers=ensemble.map, updating="deferred", rng=1, popsize=8, maxiter=30, polish=False
        )
    rows = table_of(tmp_path / "calibration")
    failed = [row for row in rows.values() if row["reason"]]
    assert all(row["reason"] == "exit" for row in failed)
    assert 0.003 < len(failed) / len(rows) < 0.06
    assert dict(zip(RANGES, found.x, strict=True)) == pytest.approx(TRUTH, rel=0.05)
