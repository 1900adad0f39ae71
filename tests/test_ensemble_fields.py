"""Fields of members in one NetCDF file: values, coordinates, fill values, members that differ, resuming."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Sequence
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from tailrace.ensemble import Ensemble, EnsembleError
from tailrace.toml_table import literal

from tests.ensembles import table_of, write_ensemble

FIELDS = """
h = { file = "out.nc", variable = "h" }
head = { file = "out.csv", column = "head", dims = ["layer"] }
count = { file = "out.npy" }
twice = { python = "score.py:twice", dims = ["layer"] }
"""


COPY = "for kind in nc npy csv; do cp {member}.$kind out.$kind || exit 1; done; test {way} != exit && test {value} != x"


def write_outputs(folder: Path, member: int, way: str) -> None:
    """What the member writes: its values follow from its number, and the way says what is malformed in it."""
    value = member + 0.5
    x = np.linspace(0.0, 1.0, 5 if way == "shape" else 4) + (way == "coordinates")
    with netCDF4.Dataset(folder / f"{member}.nc", "w") as dataset:
        dataset.createDimension("time", None)
        dataset.createDimension("x", len(x))
        dataset.createVariable("x", "f8", ("x",))[:] = x
        dataset["x"].units = "m"
        h = dataset.createVariable("h", "f8" if way == "type" else "f4", ("time", "x"), fill_value=-999.0)
        h.units = "m above datum"
        h[:] = value + np.arange(3)[:, None] + x
    np.save(folder / f"{member}.npy", (value * np.arange(6)).astype("i4").reshape(2, 3))
    rows = "".join(f"{row},{value * row}\n" for row in range(2 if way == "rows" else 3))
    (folder / f"{member}.csv").write_text(f"depth,head\n{rows}")


def write_model(folder: Path, ways: Sequence[str], fields: str = FIELDS, workers: int = 2) -> Path:
    (folder / "model").mkdir(exist_ok=True)
    for member, way in enumerate(ways):
        write_outputs(folder / "model", member, way)
    (folder / "score.py").write_text(
        "import numpy as np\n\ndef twice(directory, parameters):\n    return 2 * np.arange(3.0) * parameters['value']\n"
    )
    (folder / "parameters.csv").write_text("value,way\n" + "".join(f"{number + 0.5},{way}\n" for number, way in enumerate(ways)))
    path = folder / "ensemble.toml"
    path.write_text(f"""
name = "fields"
command = {literal(["/bin/sh", "-c", COPY])}
[inputs]
directory = "model"
[parameters]
file = "parameters.csv"
[fields]
{fields}
[engine]
workers = {workers}
scratch = {literal(str(folder / "scratch"))}
""")
    return path


def check_file(path: Path, good: Sequence[bool]) -> None:
    """Every good member has its values, every other one fill values."""
    with netCDF4.Dataset(path) as dataset:
        assert dataset["member"][:].tolist() == list(range(len(good)))
        assert dataset["h"].dimensions == ("member", "time", "x")
        assert dataset["h"].units == "m above datum"
        assert dataset["h"].dtype == np.dtype("f4")
        assert dataset["x"][:].tolist() == np.linspace(0.0, 1.0, 4).tolist()
        assert dataset["x"].units == "m"
        for member, is_good in enumerate(good):
            value = member + 0.5
            expected = {
                "h": (value + np.arange(3)[:, None] + np.linspace(0.0, 1.0, 4)).astype("f4"),
                "head": value * np.arange(3),
                "count": (value * np.arange(6)).astype("i4").reshape(2, 3),
                "twice": 2 * np.arange(3.0) * value,
            }
            assert float(dataset["value"][member]) == value
            for name, values in expected.items():
                found = dataset[name][member]
                if is_good:
                    assert np.array_equal(np.asarray(found), values), (member, name)
                else:
                    assert np.ma.getmaskarray(found).all(), (member, name)


def test_fields_are_joined_along_the_members(tmp_path: Path) -> None:
    ways = ["good", "good", "exit", "good"]
    ensemble = Ensemble(write_model(tmp_path, ways))
    ensemble.run()
    out = ensemble.folder.out
    check_file(out / "fields.nc", [way == "good" for way in ways])
    with netCDF4.Dataset(out / "fields.nc") as dataset:
        reasons = [b"".join(row.tolist()).decode() for row in dataset["reason"][:].filled(b"")]
        assert reasons == ["", "", "exit", ""]
        assert b"".join(dataset["way"][2].filled(b"").tolist()) == b"exit"
    assert not list(out.glob(".*")), "something is left beside the file"


def test_the_table_as_netcdf(tmp_path: Path) -> None:
    Ensemble(write_ensemble(tmp_path, ["good", "exit", "good"])).run()
    with netCDF4.Dataset(tmp_path / "nasty-ensemble" / "members.nc") as dataset:
        assert dataset["member"][:].tolist() == [0, 1, 2]
        assert dataset["way"][:].tolist() == ["good", "exit", "good"]
        assert dataset["value"][:].tolist() == [0.5, 1.5, 2.5]
        assert dataset["reason"][:].tolist() == ["", "exit", ""]
        assert dataset["result"][:].filled(-1.0).tolist() == [0.5, -1.0, 2.5]
        assert dataset["host"][:].tolist() == 3 * [socket.gethostname()]
        assert json.loads(dataset.ensemble)[0]["name"] == "nasty"


MOST = r"2 of 5 members \(the first is member 0\)"


def test_members_with_other_fields_are_malformed(tmp_path: Path) -> None:
    said = {
        "shape": rf"field 'h' has shape \(3, 5\), and \(3, 4\) in {MOST}",
        "type": f"field 'h' has type f8, and f4 in {MOST}",
        "coordinates": f"field 'h' has other coordinates than in {MOST}",
        "rows": "dimension 'layer' has length 3, and 2 in 'head'",
    }
    ways = ["good", *said, "good"]
    ensemble = Ensemble(write_model(tmp_path, ways))
    ensemble.run()
    rows = table_of(ensemble.folder.out)
    for member, way in enumerate(ways):
        if way in said:
            assert rows[member]["reason"] == "malformed", rows[member]
            assert re.search(said[way], rows[member]["message"]), rows[member]["message"]
    check_file(ensemble.folder.out / "fields.nc", [way == "good" for way in ways])


def test_after_a_resume_the_file_has_all_members(tmp_path: Path) -> None:
    ways = ["good"] * 5
    path = write_model(tmp_path, ways)
    ensemble = Ensemble(path)
    ensemble.run(most=3)
    lost = ensemble.folder.fields / "000" / "000001.npz"
    lost.unlink()
    ran: list[int] = []
    Ensemble(path).run(lambda outcome: ran.append(outcome.member), resume=True)
    assert sorted(ran) == [1, 3, 4]
    check_file(ensemble.folder.out / "fields.nc", [True] * 5)


def test_a_damaged_file_of_a_member_is_named(tmp_path: Path) -> None:
    path = write_model(tmp_path, ["good"] * 3)
    ensemble = Ensemble(path)
    ensemble.run()
    damaged = ensemble.folder.fields / "000" / "000002.npz"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(EnsembleError, match=r"000002.npz: is damaged: remove it"):
        Ensemble(path).run(resume=True)
    damaged.unlink()
    Ensemble(path).run(resume=True)
    check_file(ensemble.folder.out / "fields.nc", [True] * 3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('h = { file = "out.nc" }', "needs exactly one of variable, column, python"),
        ('h = { file = "out.nc", variabel = "h" }', "did you mean `variable`"),
        ('member = { file = "out.npy" }', "is not `member`"),
        ('h = { file = "../out.npy" }', "inside the member's directory"),
        ('h = { python = "none.py:f" }', "no such file"),
        ('h = { file = "h.npy", dims = ["x", "x"] }', "names of dimensions differ"),
        ('h = { file = "h.npy", shape = [3, 0] }', "list of whole numbers of at least 1"),
        ('h = { file = "h.npy", dims = ["x"], shape = [3, 4] }', "has 2 lengths, and `dims` names 1 dimension"),
    ],
)
def test_a_fault_of_a_field_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(EnsembleError, match=said):
        Ensemble(write_model(tmp_path, ["good"], line))
