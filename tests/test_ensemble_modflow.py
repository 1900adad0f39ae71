"""MODFLOW: its output files, written here byte by byte, as results and fields; and models of FloPy, where `mf6` is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from tailrace.ensemble import Ensemble, EnsembleError, load_spec
from tailrace.ensemble.folder import fingerprint
from tailrace.toml_table import literal

from tests.ensembles import table_of

TIMES = (1.0, 2.5, 7.0)
SHAPE = (2, 3, 4)  # layer, row, column
DRY = (0, 1, 2)
LISTING = """ MODFLOW 6
  VOLUME BUDGET FOR ENTIRE MODEL AT END OF TIME STEP    1, STRESS PERIOD   1
  ---------------------------------------------------------------------------------------------------

     CUMULATIVE VOLUME      L**3       RATES FOR THIS TIME STEP      L**3/T          PACKAGE NAME
     ------------------                 ------------------------     ----------------

           IN:                                      IN:
           ---                                      ---
                 WEL =         {rate:8.4f}                     WEL =         {rate:8.4f}     WEL_0

            TOTAL IN =         {rate:8.4f}                TOTAL IN =         {rate:8.4f}

          OUT:                                     OUT:
          ----                                     ----
                 WEL =           0.0000                     WEL =           0.0000     WEL_0

           TOTAL OUT =           0.0000               TOTAL OUT =           0.0000

            IN - OUT =           0.0000                IN - OUT =           0.0000

 PERCENT DISCREPANCY =           0.00     PERCENT DISCREPANCY =           0.00

         TIME SUMMARY AT END OF TIME STEP    1 IN STRESS PERIOD    1
                    SECONDS     MINUTES      HOURS       DAYS        YEARS
                    -----------------------------------------------------------
   TIME STEP LENGTH  86400.      1440.0      24.000      1.0000     2.73785E-03
 STRESS PERIOD TIME  86400.      1440.0      24.000      1.0000     2.73785E-03
         TOTAL TIME  86400.      1440.0      24.000      1.0000     2.73785E-03
"""


def value_at(time: int) -> np.ndarray:
    return 100.0 * time + np.arange(np.prod(SHAPE)).reshape(SHAPE)


def write_heads(path: Path, factor: float) -> None:
    """A record for each layer: its head, then its values, as MODFLOW 6 writes them."""
    with path.open("wb") as file:
        for time, total in enumerate(TIMES):
            values = factor * value_at(time)
            values[DRY] = -1e30
            for layer in range(SHAPE[0]):
                file.write(np.array([time + 1, 1], "<i4").tobytes() + np.array([total, total], "<f8").tobytes())
                file.write(b"HEAD".rjust(16) + np.array([SHAPE[2], SHAPE[1], layer + 1], "<i4").tobytes())
                file.write(values[layer].astype("<f8").tobytes())


def write_budget(path: Path, factor: float) -> None:
    """Flows of three boundaries at each output time, as a list (method 6)."""
    with path.open("wb") as file:
        for time, total in enumerate(TIMES):
            file.write(np.array([time + 1, 1], "<i4").tobytes() + b"CHD".rjust(16))
            file.write(np.array([SHAPE[2], SHAPE[1], -SHAPE[0], 6], "<i4").tobytes())
            file.write(np.array([1.0, total, total], "<f8").tobytes())
            file.write(b"".join(name.ljust(16) for name in (b"GWF", b"GWF", b"GWF", b"CHD_0")))
            file.write(np.array([1, 3], "<i4").tobytes())
            for cell, flow in ((1, 1.5), (2, -4.0), (24, 8.0)):
                file.write(np.array([cell, cell], "<i4").tobytes() + np.array([factor * flow * (time + 1)], "<f8").tobytes())


def write_outputs(folder: Path, member: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_heads(folder / f"{member}.hds", member + 1)
    write_budget(folder / f"{member}.cbc", member + 1)
    (folder / f"{member}.lst").write_text(LISTING.format(rate=member + 0.25))


COPY = ": {value}; for kind in hds cbc lst; do cp {member}.$kind gwf.$kind || exit 1; done"


def write_copied(folder: Path, results: str, fields: str = "", members: int = 2) -> Path:
    for member in range(members):
        write_outputs(folder / "model", member)
    (folder / "parameters.csv").write_text("value\n" + "".join(f"{number}\n" for number in range(members)))
    path = folder / "ensemble.toml"
    path.write_text(f"""
name = "copied"
command = {literal(["/bin/sh", "-c", COPY])}
[inputs]
directory = "model"
[parameters]
file = "parameters.csv"
[results]
{results}
[fields]
{fields}
[engine]
workers = 1
scratch = {literal(str(folder / "scratch"))}
""")
    return path


def rows_of(path: Path) -> dict[int, dict[str, str]]:
    ensemble = Ensemble(path)
    ensemble.run()
    return table_of(ensemble.folder.out)


RESULTS = """
last = { file = "gwf.hds", flopy = "heads", index = [1, 2, 3] }
first = { file = "gwf.hds", flopy = "heads", index = [0, 0, 1], time = 0 }
highest = { file = "gwf.hds", flopy = "heads", record = "HEAD", index = [0], time = 1, reduce = "max" }
mean = { file = "gwf.hds", flopy = "heads", index = [0], time = -3, reduce = "mean" }
net = { file = "gwf.cbc", flopy = "budget", record = "CHD" }
out = { file = "gwf.cbc", flopy = "budget", record = "CHD", time = 0, reduce = "min" }
well = { file = "gwf.lst", flopy = "listing", record = "WEL_IN" }
off = { file = "gwf.lst", flopy = "listing", record = "PERCENT_DISCREPANCY" }
"""
# The mean of layer 0 at the first time, without the dry cell.
MEAN = float(np.delete(np.arange(12.0), 6).mean())
EXPECTED = {"last": 223.0, "first": 1.0, "highest": 111.0, "mean": MEAN, "net": 16.5, "out": -4.0, "off": 0.0}


def test_results_of_its_files(tmp_path: Path) -> None:
    rows = rows_of(write_copied(tmp_path, RESULTS))
    assert [row["reason"] for row in rows.values()] == ["", ""], rows
    for member, row in rows.items():
        found = {name: float(row[name]) for name in EXPECTED}
        assert found == pytest.approx({name: (member + 1) * value for name, value in EXPECTED.items()})
        assert float(row["well"]) == member + 0.25


def test_fields_of_its_files(tmp_path: Path) -> None:
    fields = """
    head = { file = "gwf.hds", flopy = "heads" }
    heads = { file = "gwf.hds", flopy = "heads", time = "all" }
    flow = { file = "gwf.cbc", flopy = "budget", record = "CHD", dims = ["boundary"] }
    """
    ensemble = Ensemble(write_copied(tmp_path, "", fields.replace("\n    ", "\n")))
    ensemble.run()
    with netCDF4.Dataset(ensemble.folder.out / "fields.nc") as dataset:
        assert dataset["head"].dimensions == ("member", "layer", "row", "column")
        assert dataset["heads"].dimensions == ("member", "time", "layer", "row", "column")
        assert dataset["time"][:].tolist() == list(TIMES)
        assert dataset["flow"][:].tolist() == [[4.5, -12.0, 24.0], [9.0, -24.0, 48.0]]
        for member in (0, 1):
            wanted = np.ma.array([(member + 1) * value_at(time) for time in range(3)])
            wanted[(slice(None), *DRY)] = np.ma.masked
            assert np.ma.allequal(dataset["heads"][member], wanted)
            assert dataset["heads"][member].mask.sum() == 3
            assert np.ma.allequal(dataset["head"][member], wanted[2])


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ('{ file = "gwf.hds", flopy = "heads" }', "24 values: name a cell as `index`, or `reduce`"),
        ('{ file = "gwf.hds", flopy = "heads", index = [0, 1, 2] }', "dry, or outside"),
        ('{ file = "gwf.hds", flopy = "heads", index = [2, 0, 0] }', "index [2, 0, 0]: the array has shape (2, 3, 4)"),
        ('{ file = "gwf.hds", flopy = "heads", index = [0, 0, 0], time = 3 }', "time = 3: the file has 3 output times"),
        ('{ file = "gwf.cbc", flopy = "budget", record = "WEL" }', "no record 'WEL' in CHD"),
        ('{ file = "gwf.lst", flopy = "listing", record = "CHD_IN" }', "no rate 'CHD_IN' in WEL_IN"),
        ('{ file = "other.hds", flopy = "heads", index = [0, 0, 0] }', "other.hds: no such file"),
        ('{ file = "gwf.lst", flopy = "heads", index = [0, 0, 0] }', "result 'one': "),
        ('{ file = "gwf.hds", flopy = "listing", record = "WEL_IN" }', "gwf.hds: has no budget of the whole model"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, result: str, said: str) -> None:
    (row,) = rows_of(write_copied(tmp_path, f"one = {result}", members=1)).values()
    assert row["reason"] in ("malformed", "missing")
    assert said in row["message"]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ('{ file = "gwf.hds", flopy = "head" }', "must be one of heads, budget, listing; did you mean 'heads'?"),
        ('{ file = "gwf.cbc", flopy = "budget" }', "record"),
        ('{ file = "gwf.hds", flopy = "heads", time = "all" }', "must be a whole number"),
        ('{ file = "gwf.hds", flopy = "heads", index = ["a"] }', "must be a list of whole numbers"),
        ('{ file = "gwf.hds", flopy = "heads", row = 1 }', "row"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path: Path, result: str, said: str) -> None:
    path = write_copied(tmp_path, f"one = {result}", members=1)
    with pytest.raises(EnsembleError) as refused:
        Ensemble(path)
    assert said in str(refused.value)


@pytest.mark.fast
def test_folders_of_earlier_versions_are_continued(tmp_path: Path) -> None:
    """They know no output times."""
    path = write_copied(tmp_path, 'one = { file = "out.csv", column = "a" }')
    assert "time" not in fingerprint(load_spec(path))["results"]["one"]


# ---- models that FloPy writes, run by mf6 --------------------------------------------------------------------------------------

COLUMNS, RECHARGE, THICKNESS, AT_ENDS = 21, 1e-3, 10.0, 50.0


@pytest.fixture
def mf6() -> str:
    found = shutil.which("mf6")
    if found is None:
        pytest.skip("no mf6 on the PATH, which no package brings: build MODFLOW 6 from its source")
    return found


def write_strip(folder: Path, mf6: str, ranges: str, members: int, results: str, more: str = "") -> Path:
    """A strip between two constant heads, with recharge. Its conductivity is a parameter."""
    import flopy

    simulation = flopy.mf6.MFSimulation(sim_name="strip", sim_ws=folder / "model", exe_name=mf6)
    flopy.mf6.ModflowTdis(simulation, nper=1, perioddata=[(1.0, 1, 1.0)])
    flopy.mf6.ModflowIms(simulation, inner_dvclose=1e-10, outer_dvclose=1e-10)
    model = flopy.mf6.ModflowGwf(simulation, modelname="gwf", save_flows=True)
    flopy.mf6.ModflowGwfdis(model, nrow=1, ncol=COLUMNS, delr=1.0, delc=1.0, top=THICKNESS, botm=0.0)
    flopy.mf6.ModflowGwfic(model, strt=AT_ENDS)
    flopy.mf6.ModflowGwfnpf(model, k=7.0)
    flopy.mf6.ModflowGwfchd(model, stress_period_data=[((0, 0, column), AT_ENDS) for column in (0, COLUMNS - 1)])
    flopy.mf6.ModflowGwfrcha(model, recharge=RECHARGE)
    flopy.mf6.ModflowGwfoc(
        model,
        head_filerecord="gwf.hds",
        budget_filerecord="gwf.cbc",
        saverecord=[("HEAD", "ALL"), ("BUDGET", "ALL")],
        printrecord=[("BUDGET", "ALL")],
    )
    simulation.write_simulation(silent=True)
    lines = (folder / "model" / "gwf.npf").read_text().splitlines()
    lines[[line.strip().lower() for line in lines].index("k") + 1] = "    constant {k}"
    (folder / "npf.tpl").write_text("\n".join(lines) + "\n")
    path = folder / "strip.toml"
    path.write_text(f"""
name = "strip"
command = {literal([mf6])}
templates = {{ "gwf.npf" = "npf.tpl" }}
[inputs]
directory = "model"
[parameters]
sampler = "latin-hypercube"
members = {members}
[parameters.ranges]
{ranges}
[results]
{results}
{more}
[limits]
timeout_s = 120
[engine]
workers = 2
scratch = {literal(str(folder / "scratch"))}
""")
    return path


HEAD = f'head = {{ file = "gwf.hds", flopy = "heads", index = [0, 0, {COLUMNS // 2}] }}'
STRIP = f"""
{HEAD}
out = {{ file = "gwf.cbc", flopy = "budget", record = "CHD" }}
recharge = {{ file = "gwf.lst", flopy = "listing", record = "RCHA_IN" }}
"""


def head_in_the_middle(k: float) -> float:
    """Of flow to both ends of a strip (Dupuit, confined): differences on equal cells are exact for a parabola."""
    length = COLUMNS - 1
    return AT_ENDS + RECHARGE * length**2 / (8 * k * THICKNESS)


def test_models_of_flopy_have_the_heads_of_theory(tmp_path: Path, mf6: str) -> None:
    more = '[fields]\nh = { file = "gwf.hds", flopy = "heads" }\n'
    ensemble = Ensemble(write_strip(tmp_path, mf6, 'k = [1e-3, 1e-1, "log"]', 20, STRIP, more))
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    assert [row["reason"] for row in rows.values()] == [""] * 20, rows
    inflow = RECHARGE * (COLUMNS - 2)  # none into the cells of constant head
    for row in rows.values():
        assert float(row["head"]) == pytest.approx(head_in_the_middle(float(row["k"])), rel=1e-6)
        assert float(row["out"]) == pytest.approx(-inflow, rel=1e-6)
        assert float(row["recharge"]) == pytest.approx(inflow, rel=1e-3)  # the listing has few digits
    with netCDF4.Dataset(ensemble.folder.out / "fields.nc") as dataset:
        assert dataset["h"].shape == (20, 1, 1, COLUMNS)
        for member, row in rows.items():
            assert dataset["h"][member, 0, 0, COLUMNS // 2] == float(row["head"])


def test_members_that_mf6_refuses_say_why(tmp_path: Path, mf6: str) -> None:
    ensemble = Ensemble(write_strip(tmp_path, mf6, "k = [-1.0, 1.0]", 8, STRIP))
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    assert {row["reason"] for row in rows.values() if float(row["k"]) > 0} == {""}
    bad = [row for row in rows.values() if float(row["k"]) < 0]
    assert {row["reason"] for row in bad} == {"exit"}


def test_a_calibration_recovers_the_conductivity(tmp_path: Path, mf6: str) -> None:
    from scipy.optimize import differential_evolution

    path = write_strip(tmp_path, mf6, 'k = [1e-3, 1e-1, "log"]', 1, HEAD)
    truth = 0.0123
    with Ensemble(path, tmp_path / "calibration", result="head", failed=1e6) as ensemble:

        def misfit(point: np.ndarray) -> float:
            return (ensemble([10.0 ** point[0]]) - head_in_the_middle(truth)) ** 2

        def both(function: object, points: object) -> list[float]:
            heads = ensemble.map([[10.0 ** point[0]] for point in points])  # type: ignore[attr-defined]
            return [(head - head_in_the_middle(truth)) ** 2 for head in heads]

        found = differential_evolution(
            misfit, [(-3, -1)], workers=both, updating="deferred", seed=3, maxiter=12, popsize=8, polish=False
        )
    assert 10.0 ** found.x[0] == pytest.approx(truth, rel=0.01)
