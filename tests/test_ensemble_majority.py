"""Members whose fields differ: what most members have counts, whatever ended first, however often the ensemble was continued."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from tailrace.ensemble import Ensemble, folder
from tailrace.ensemble.majority import majority_of
from tailrace.ensemble.member import Outcome
from tailrace.toml_table import literal

from tests.ensembles import table_of

ODD_FIRST = (5, 4, 4, 3, 4, 5, 4)  # lengths of the members' arrays


def write_lengths(home: Path, lengths: Sequence[int], more: str = "", workers: int = 1) -> Path:
    """An ensemble whose member N has a field of N.5 with so many elements, and N as its result."""
    home.mkdir(exist_ok=True)
    rows = "".join(f"{member},{length}\n" for member, length in enumerate(lengths))
    (home / "parameters.csv").write_text(f"value,length\n{rows}")
    script = "echo h > out.csv; for row in $(seq {length}); do echo {value}.5 >> out.csv; done; echo {value} > value.txt"
    path = home / "ensemble.toml"
    path.write_text(f"""
name = "lengths"
command = {literal(["/bin/sh", "-c", script])}
[parameters]
file = "parameters.csv"
[results]
result = {{ file = "value.txt", regex = '(.+)' }}
[fields]
h = {{ file = "out.csv", column = "h"{more} }}
[engine]
workers = {workers}
scratch = {literal(str(home / "scratch"))}
""")
    return path


def check(out: Path, lengths: Sequence[int], wanted: int) -> None:
    """Members with the wanted length have their values, the others are malformed with their own shape."""
    rows = table_of(out)
    assert sorted(rows) == list(range(len(lengths)))
    with netCDF4.Dataset(out / "fields.nc") as dataset:
        assert dataset["h"].shape == (len(lengths), wanted)
        for member, length in enumerate(lengths):
            found = dataset["h"][member]
            if length == wanted:
                assert rows[member]["reason"] == "", rows[member]
                assert rows[member]["result"] == str(member)
                assert found.tolist() == wanted * [member + 0.5]
            else:
                assert (rows[member]["reason"], rows[member]["result"]) == ("malformed", "")
                assert f"field 'h' has shape ({length}), and ({wanted}) in" in rows[member]["message"]
                assert np.ma.getmaskarray(found).all()


def outcome_of(out: Path) -> list[tuple[str, ...]]:
    """What does not depend on the clock."""
    return [(row["member"], row["result"], row["reason"], row["message"]) for _, row in sorted(table_of(out).items())]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_odd_first_member_is_the_malformed_one(tmp_path: Path, workers: int) -> None:
    path = write_lengths(tmp_path, ODD_FIRST, workers=workers)
    summary = Ensemble(path).run()
    check(tmp_path / "lengths-ensemble", ODD_FIRST, 4)
    assert (summary["good"], summary["failed"], summary["left"]) == (4, 3, 0)
    whom = "4 of 7 members (the first is member 1)"
    assert summary["differing"] == [
        {"message": f"field 'h' has shape (5), and (4) in {whom}", "members": 2, "first": [0, 5]},
        {"message": f"field 'h' has shape (3), and (4) in {whom}", "members": 1, "first": [3]},
    ]


def test_a_continued_ensemble_comes_to_the_same(tmp_path: Path) -> None:
    """After two members the odd one decides; with all, it does not. Nothing runs again for that."""
    lengths = (5, 5, 4, 4, 4)
    path = write_lengths(tmp_path / "once", lengths)
    Ensemble(path).run()
    again = write_lengths(tmp_path / "continued", lengths)
    out = tmp_path / "continued" / "lengths-ensemble"
    ran: list[int] = []
    Ensemble(again).run(lambda outcome: ran.append(outcome.member), most=3)
    with netCDF4.Dataset(out / "fields.nc") as dataset:
        assert dataset["h"].shape == (5, 5)
    assert [row["reason"] for row in table_of(out).values()] == ["", "", "malformed"]
    for most in (1, None):
        Ensemble(again).run(lambda outcome: ran.append(outcome.member), resume=True, most=most)
    assert ran == [0, 1, 2, 3, 4]
    check(out, lengths, 4)
    assert outcome_of(out) == outcome_of(tmp_path / "once" / "lengths-ensemble")


def test_members_that_differ_are_among_those_that_rerun_failed_runs(tmp_path: Path) -> None:
    path = write_lengths(tmp_path, (5, 4, 4))
    Ensemble(path).run()
    ran: list[int] = []
    Ensemble(path).run(lambda outcome: ran.append(outcome.member), resume=True)
    assert ran == []
    Ensemble(path).run(lambda outcome: ran.append(outcome.member), resume=True, rerun_failed=True)
    assert ran == [0]
    check(tmp_path / "lengths-ensemble", (5, 4, 4), 4)


def test_the_shape_that_the_file_gives_counts_also_where_few_have_it(tmp_path: Path) -> None:
    path = write_lengths(tmp_path, ODD_FIRST, more=", shape = [5]")
    seen: dict[int, str] = {}
    Ensemble(path).run(lambda outcome: seen.update({outcome.member: outcome.reason}))
    rows = table_of(tmp_path / "lengths-ensemble")
    for member, length in enumerate(ODD_FIRST):
        assert rows[member]["reason"] == seen[member] == ("" if length == 5 else "malformed")
    assert "field 'h': has shape (3), and `shape` is (5)" in rows[3]["message"]
    with netCDF4.Dataset(tmp_path / "lengths-ensemble" / "fields.nc") as dataset:
        assert dataset["h"].shape == (len(ODD_FIRST), 5)


def test_calls_are_judged_when_the_ensemble_is_closed(tmp_path: Path) -> None:
    path = write_lengths(tmp_path, (1,))
    with Ensemble(path, tmp_path / "calls") as ensemble:
        assert ensemble.map([(0, 5), (1, 4), (2, 4)]) == [0, 1, 2]
    assert sorted(row["reason"] for row in table_of(tmp_path / "calls").values()) == ["", "", "malformed"]


def test_a_journal_that_says_once_what_fields_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As first journals did: all members that are good have what the first one has."""
    member_line = folder.member_line

    def without_signature(outcome: Outcome, of: str) -> dict[str, Any]:
        line = member_line(outcome, of)
        if outcome.member > 0:
            del line["fields"]["signature"]
        return line

    monkeypatch.setattr(folder, "member_line", without_signature)
    path = write_lengths(tmp_path, (4, 4, 4))
    Ensemble(path).run()
    monkeypatch.undo()
    assert Ensemble(path).report()["good"] == 3
    check(tmp_path / "lengths-ensemble", (4, 4, 4), 4)


def test_the_command_line_names_members_that_differ(tmp_path: Path) -> None:
    path = write_lengths(tmp_path, ODD_FIRST)
    Ensemble(path).run()
    words = [sys.executable, "-m", "tailrace", "ensemble", "status", str(path)]
    shown = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "7 members: 4 good, 3 failed, 0 left" in shown.stdout
    assert "field 'h' has shape (5), and (4) in 4 of 7 members (the first is member 1): members 0, 5" in shown.stdout


@pytest.mark.fast
def test_the_majority_does_not_depend_on_the_order_of_hashes() -> None:
    hashes: list[Any] = [7, 3, 3, 7, 9]
    for renamed in itertools.permutations([7, 3, 9]):  # which hash a signature has is chance
        names = dict(zip([7, 3, 9], renamed, strict=True))
        found = majority_of((member, names[value]) for member, value in enumerate(hashes))
        assert (found.first, found.count, found.total, found.differing) == (0, 2, 5, frozenset({1, 2, 4}))
    assert majority_of([(4, 1), (8, 1)]).differing == frozenset()
    assert majority_of([]).differing == frozenset()
