"""Ensemble files, parameters, templates and results; PEST's files as their manual describes them."""

from __future__ import annotations

import csv
from pathlib import Path

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tailrace.ensemble import Ensemble, EnsembleError, MemberError, load_spec, pest
from tailrace.ensemble.member import Outcome
from tailrace.ensemble.parameters import load_parameters
from tailrace.ensemble.readings import read_results
from tailrace.ensemble.runner import _seen_here
from tailrace.ensemble.values import ParameterSource, Range, Reading

from tests.ensembles import table_of, write_ensemble

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("was", "is_now", "said"),
    [
        ("timeout_s = 1.5", "timeout = 1.5", r"\[limits\]: unknown key `timeout`: did you mean `timeout_s`\?"),
        ("timeout_s = 1.5", "timeout_s = -1", "timeout_s = -1: must be at least"),
        ("[results]", "[result]", r"unknown key `result`: did you mean `results`\?"),
        ("command =", "comand =", "key `command` is missing: did you write it as `comand`"),
        ("regex =", "regexp =", "did you mean `regex`"),
        ('directory = "model"', 'directory = "modle"', "no such directory"),
        ("workers = 2", 'name = "thread"', "did you mean 'threads'"),
        ("{value}", "{valeu}", "'valeu' is no parameter: did you mean 'value'"),
        ('"{value}"', '"1"', "parameter 'value' is in no template, command or environment"),
        ("(\\\\S+)", "(\\\\S+", "regex: missing \\)"),
        ('file = "parameters.csv"', 'file = "parameters.csv"\nsampler = "sobol"', "a file gives the members already"),
        ('file = "parameters.csv"', 'sampler = "sobol"', "needs the table"),
        ("[engine]", '[keep]\nfiles = ["../x"]\n[engine]', "give a path inside the member's directory"),
    ],
)
def test_a_fault_is_named_with_its_remedy(tmp_path: Path, was: str, is_now: str, said: str) -> None:
    path = write_ensemble(tmp_path, ["good"])
    text = path.read_text()
    was, is_now = was.replace("\\\\", "\\"), is_now.replace("\\\\", "\\")
    assert was in text
    path.write_text(text.replace(was, is_now))
    with pytest.raises(EnsembleError, match=said):
        Ensemble(path).plan()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("k\n1,2\n", "row 1 has 2 values, and the heading names 1"),
        ("k,k\n1,2\n", "names 'k' twice"),
        ("k\n", "has no row"),
        ("", "its first row must name the parameters"),
    ],
)
def test_faults_of_a_parameter_file(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "p.csv").write_text(content)
    with pytest.raises(EnsembleError, match=said):
        load_parameters(ParameterSource(file="p.csv"), tmp_path)


def test_csv_and_parquet_give_the_same_values(tmp_path: Path) -> None:
    rows = [{"count": 3, "k": 1e-7, "zone": "a b"}, {"count": 4, "k": 2.0, "zone": "7"}]
    with (tmp_path / "p.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    for name in ("p.csv", "p.parquet"):
        table = load_parameters(ParameterSource(file=name), tmp_path)
        assert [table.row(member) for member in range(table.members)] == rows
        assert type(table.row(0)["count"]) is int


def test_a_latin_hypercube_has_one_member_in_each_slice(tmp_path: Path) -> None:
    source = ParameterSource(sampler="latin-hypercube", members=50, seed=3, ranges=(Range("k", 1e-3, 10, "log"), Range("s", -1, 1)))
    table = load_parameters(source, tmp_path)
    assert sorted(np.floor((table.columns["s"] + 1) * 25).astype(int)) == list(range(50))
    assert sorted(np.floor(np.log10(table.columns["k"] / 1e-3) / 4 * 50).astype(int)) == list(range(50))
    assert load_parameters(source, tmp_path).row(7) == table.row(7), "the seed decides the sample"


@pytest.mark.parametrize("value", [3.14159265358979, -2.5e-12, 1e20, 0.0, -1234.5678, 9.999999e-5])
@pytest.mark.parametrize("width", [8, 12, 23])
def test_a_number_in_a_field_is_as_exact_as_it_can_be(value: float, width: int) -> None:
    text = pest.fitted(value, width, "k", "in.tpl")
    assert len(text) == width
    assert float(text) == pytest.approx(value, rel=10.0 ** -(width - 7) if width < 23 else 1e-15)


def test_pest_instructions(tmp_path: Path) -> None:
    path = tmp_path / "out.ins"
    path.write_text("pif @\n@HEADS@\nl1 w w !h1! !dum! !h2!\nl2 [h3]3:8 t11 !h4!\n@total =@ !sum!\n& !more!\n")
    output = "noise\nHEADS\n a 1.5 9 2.5D+01\nskipped\n  3.2500  77\nthe total = 4.0 5\n"
    found = pest.apply(pest.read_instructions(path), output)
    assert found == {"h1": 1.5, "h2": 25.0, "h3": 3.25, "h4": 77.0, "sum": 4.0, "more": 5.0}
    with pytest.raises(MemberError, match=r"instruction @total =@: the text is not found"):
        pest.apply(pest.read_instructions(path), output.replace("total", "sum"))
    with pytest.raises(MemberError, match=r"instruction !h2!: '\*\*\*' is no number \(line 3 of the output\)"):
        pest.apply(pest.read_instructions(path), output.replace("2.5D+01", "***"))


def test_results_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("t, head\n0, 1.5\n1, 2.5\n")
    (tmp_path / "out.rpt").write_text("flow 1\nflow 2.5D-03\n")
    (tmp_path / "out.ins").write_text("pif @\nl1 w !obs!\n")
    (tmp_path / "score.py").write_text("def half(directory, parameters):\n    return parameters['k'] / 2\n")
    with netCDF4.Dataset(tmp_path / "out.nc", "w") as dataset:
        dataset.createDimension("x", 3)
        dataset.createVariable("h", "f8", ("x",))[:] = [1, 5, 3]
    readings = (
        Reading("head", "csv", "out.csv", "head", row=0),
        Reading("flow", "regex", "out.rpt", r"flow (\S+)"),
        Reading("first", "regex", "out.rpt", r"flow (\S+)", which="first"),
        Reading("peak", "netcdf", "out.nc", "h", reduce="max"),
        Reading("last", "netcdf", "out.nc", "h", reduce="last"),
        Reading("half", "python", "", "score.py:half"),
        Reading("pest", "ins", "out.rpt", "out.ins"),
    )
    found = read_results(readings, tmp_path, tmp_path, {"k": 3.0})
    assert found == {"head": 1.5, "flow": 2.5e-3, "first": 1, "peak": 5.0, "last": 3.0, "half": 1.5, "obs": 1.0}
    for reading, said in (
        (Reading("a", "csv", "out.csv", "depth"), "no column 'depth' in t, head"),
        (Reading("a", "csv", "out.csv", "head", row=7), "no row 7 of 2"),
        (Reading("a", "netcdf", "out.nc", "g", reduce="max"), "no variable 'g'; it has h"),
        (Reading("a", "netcdf", "out.csv", "g", reduce="max"), "malformed: result 'a': OSError"),
        (Reading("a", "regex", "none.txt", "g"), "missing: result 'a'"),
    ):
        with pytest.raises(MemberError, match=said):
            read_results((reading,), tmp_path, tmp_path, {})


def test_a_python_function_that_fails_is_the_members_failure(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("import sys\ndef score(directory, parameters):\n    sys.exit('no good')\n")
    ensemble = Ensemble(write_ensemble(tmp_path, ["good"], results='score = { python = "score.py:score" }'))
    ensemble.run()
    row = table_of(ensemble.folder.out)[0]
    assert (row["reason"], row["message"]) == ("malformed", "result 'score': SystemExit: no good")


def test_a_pest_pair_through_a_run(tmp_path: Path) -> None:
    path = write_ensemble(tmp_path, ["good"], results='pest = { file = "out.txt", ins = "out.ins" }')
    (tmp_path / "out.ins").write_text("pif @\n@result:@ !observed!\n")
    (tmp_path / "value.tpl").write_text("ptf $\nrun $value    $\n")
    text = path.read_text().replace(
        '[inputs]\ndirectory = "model"', '[inputs]\ndirectory = "model"\n[templates]\n"value.txt" = "value.tpl"'
    )
    path.write_text(text + '[keep]\nfiles = ["value.txt"]\n')
    ensemble = Ensemble(path)
    ensemble.run()
    assert table_of(ensemble.folder.out)[0]["observed"] == "0.5"
    assert (ensemble.folder.kept / "000000" / "value.txt").read_text() == "run         0.5\n"
    table = pq.read_table(ensemble.folder.out / "members.parquet")
    assert table.column("observed").to_pylist() == [0.5]
    assert b'"fingerprint"' in table.schema.metadata[b"tailrace"]


def test_a_file_that_comes_late_from_another_node_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is whole after the third look, never after a fixed time."""
    import dataclasses

    from tailrace.ensemble import runner
    from tailrace.ensemble.member import checksum

    plan = dataclasses.replace(Ensemble(write_ensemble(tmp_path, ["good"])).plan(), kept=str(tmp_path / "kept"))
    path = tmp_path / "kept" / "000000" / "out.txt"
    path.parent.mkdir(parents=True)
    path.write_text("whole")
    outcome = Outcome(0, kept={"out.txt": [5, checksum(path)]}, facts={"host": "n1"})
    path.unlink()
    states = iter(["", "who", "wrong", "whole"])

    def next_state(seconds: float) -> None:
        path.write_text(next(states))

    monkeypatch.setattr(runner.time, "sleep", next_state)
    assert _seen_here(plan, outcome).ok
    assert list(states) == []
    path.write_text("half")
    monkeypatch.undo()
    monkeypatch.setattr(runner, "VISIBLE_WITHIN_S", 0.05)
    failed = _seen_here(plan, outcome)
    assert (failed.reason, "n1 wrote it" in failed.message) == ("keep", True)


def test_the_spec_is_plain_data(tmp_path: Path) -> None:
    spec = load_spec(write_ensemble(tmp_path, ["good"]))
    assert (spec.name, spec.limits.timeout_s, spec.engine.workers) == ("nasty", 1.5, 2)
