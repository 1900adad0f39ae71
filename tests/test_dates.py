"""Dates as the times of steps, and lists of texts as attributes, in Python and in the files."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path
from typing import Any

import cftime
import h5py
import netCDF4
import numpy as np
import pandas as pd
import pytest
import tailrace
import xarray
from tailrace import errors
from tailrace.times import number_of

from tests.presets import PRESETS_WITH_SCRATCH

pytestmark = pytest.mark.fast

NOON = datetime.datetime(2026, 11, 27, 12)
ZONE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("date", "units", "calendar", "number"),
    [
        (NOON, "days since 2026-11-26", None, 1.5),
        (NOON, "hours since 2026-11-26 06:00", "standard", 30.0),
        (NOON, "seconds since 2026-11-27T11:59:59.5", "gregorian", 0.5),
        (NOON, "Days Since 2026-11-26 00:00:00 UTC", "proleptic_gregorian", 1.5),
        (NOON, "hours since 2026-11-27 00:00:00 +02:00", None, 14.0),
        (NOON, "hours since 2026-11-27 00:00:00 -3", None, 9.0),
        (NOON.replace(tzinfo=ZONE), "hours since 2026-11-27", None, 10.0),
        (NOON.replace(microsecond=1), "microseconds since 2026-11-27 12:00:00", None, 1.0),
        (datetime.datetime(1999, 12, 31), "days since 2000-01-01", None, -1.0),
        (datetime.datetime(1, 1, 2), "days since 1-1-1", "proleptic_gregorian", 1.0),
        (np.datetime64("2026-11-27T12"), "minutes since 2026-11-27", None, 720.0),
        (np.datetime64("2026-11-27T00:00:00.000000001", "ns"), "ns since 2026-11-27", None, 1.0),
        (np.datetime64("2026-11"), "days since 2026-10-31", None, 1.0),
        (np.datetime64("2500-01-01", "D"), "days since 2499-12-31", None, 1.0),
        (pd.Timestamp("2026-11-27 00:00:00.000000001"), "nanoseconds since 2026-11-27", None, 1.0),
        (cftime.datetime(2026, 2, 30, calendar="360_day"), "days since 2026-02-01", "360_day", 29.0),
        (cftime.datetime(2024, 3, 1, calendar="noleap"), "days since 2024-02-28", "noleap", 1.0),
        (cftime.datetime(1500, 1, 1, calendar="standard"), "days since 1499-12-31", None, 1.0),
        (cftime.datetime(2026, 11, 27, 12, calendar="gregorian"), "hours since 2026-11-27", "standard", 12.0),
    ],
)
def test_a_date_is_a_number_in_the_streams_units(date: Any, units: str, calendar: str | None, number: float) -> None:
    attributes = {"units": units, **({"calendar": calendar} if calendar else {})}
    assert number_of(date, attributes) == number
    if not isinstance(date, np.datetime64 | pd.Timestamp) and getattr(date, "tzinfo", None) is None and " -3" not in units:
        assert number == pytest.approx(cftime.date2num(date, units, calendar=calendar or "standard"))


@pytest.mark.parametrize(
    ("date", "attributes", "said"),
    [
        (NOON, {}, r"the time coordinate has no units: before the first step, call stream\.attributes\('time', units="),
        (NOON, {"units": "hours"}, "units = 'hours' are not UNIT since DATE"),
        (NOON, {"units": "months since 2000-01-01"}, "are not UNIT since DATE with days, hours"),
        (NOON, {"units": "days since 2000-02-30"}, "units = 'days since 2000-02-30': day is out of range"),
        (NOON, {"units": "days since spring"}, "are not UNIT since DATE"),
        (
            NOON,
            {"units": "days since 2000-01-01", "calendar": "360_day"},
            r"calendar is '360_day'.*cftime\.datetime\(\.\.\., calendar=",
        ),
        (NOON, {"units": "days since 1-1-1"}, "another one before 1582-10-15: set calendar='proleptic_gregorian'"),
        (np.datetime64("NaT"), {"units": "days since 2000-01-01"}, "it is no time"),
        (np.datetime64(1, "ps"), {"units": "days since 2000-01-01"}, "below a nanosecond"),
        (
            cftime.datetime(2000, 1, 1, calendar="noleap"),
            {"units": "days since 2000-01-01"},
            "'noleap', and the stream's is 'standard'",
        ),
        (cftime.datetime(2000, 1, 1, calendar="noleap"), {"units": "x", "calendar": "noleap"}, "units = 'x' cannot be used"),
    ],
)
def test_a_date_that_has_no_number_is_refused_with_the_remedy(date: Any, attributes: dict[str, str], said: str) -> None:
    with pytest.raises(errors.BadArgument, match=said) as refused:
        number_of(date, attributes)
    assert repr(date) in str(refused.value)


def test_steps_at_dates(tmp_path: Path) -> None:
    dates = [NOON + datetime.timedelta(hours=hour) for hour in range(3)]
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        stream.var("mass", (), "f8")
        with pytest.raises(errors.BadArgument, match="no units"):
            stream.step(NOON)
        stream.attributes("time", units="hours since 2000-01-01", calendar="standard")
        for date in (dates[0], np.datetime64(dates[1]), cftime.datetime(2026, 11, 27, 14, calendar="standard")):
            with stream.step(date) as step:
                step["mass"] = 1.0
    with xarray.open_dataset(tmp_path / "history.nc") as data:
        assert data["time"].values.astype("datetime64[us]").tolist() == dates


# ---- lists of texts -------------------------------------------------------------------------------------------------------------

TEXTS = ["good", "größer", "", "a, b"]


@pytest.mark.parametrize("given", [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object)], ids=["list", "tuple", "U", "O"])
@pytest.mark.parametrize(
    "layout", [{}, *({"layout": preset} for preset in PRESETS_WITH_SCRATCH)], ids=["default", *PRESETS_WITH_SCRATCH]
)
def test_a_list_of_texts_is_an_attribute(tmp_path: Path, layout: dict[str, Any], given: Any) -> None:
    out, combined = tmp_path / "out", tmp_path / "one.nc"
    for run in range(2):
        with tailrace.open(out, "history", **layout) as stream:
            stream.dim("x", 2)
            stream.var("T", ("x",), "f4", flag_meanings=given, one=["alone"])
            stream.attributes(authors=given)
            with stream.step(float(run)) as step:
                step.put("T", np.zeros(2, "f4"))
    tailrace.combine(out, "history", combined)
    for path in (out / "history.nc", combined):
        with netCDF4.Dataset(path) as file:
            assert (file["T"].flag_meanings, file["T"].one, file.authors) == (TEXTS, "alone", TEXTS)
        with h5py.File(path) as file:
            assert file["T"].attrs["flag_meanings"].tolist() == TEXTS
        with xarray.open_dataset(path) as data:
            assert data["T"].attrs["flag_meanings"] == TEXTS
        header = subprocess.run(["ncdump", "-h", path], capture_output=True, text=True, check=True).stdout
        assert 'string T:flag_meanings = "good", "größer", "", "a, b" ;' in header
    assert tailrace.verify(out, "history", deep=True)["problems"] == []


def test_lists_that_are_refused(tmp_path: Path) -> None:
    with tailrace.open(tmp_path, "history", layout="fpp") as stream:
        for bad in (["a", 1], [["a"], ["b"]], ["a", b"b"]):
            with pytest.raises(TypeError, match=r"'flags' is .*; pass text, a number, or a list of texts or of numbers"):
                stream.attributes(flags=bad)
        with pytest.raises(errors.BadArgument, match="zero byte"):
            stream.attributes(flags=["a", "b\0c"])


def test_a_changed_list_is_taken_over(tmp_path: Path) -> None:
    def run(number: int) -> None:
        with tailrace.open(tmp_path, "history") as stream:
            stream.dim("x", 2)
            stream.var("T", ("x",), "f4", flag_meanings=["a", "b"])
            with stream.step(float(number)) as step:
                step.put("T", np.zeros(2, "f4"))

    run(0)
    with netCDF4.Dataset(tmp_path / "history.nc", "r+") as file:
        file["T"].setncattr_string("flag_meanings", ["a", "c"])
    changed = tailrace.adopt(tmp_path, "history")["changed"]
    assert [(one["attribute"], one["before"], one["now"]) for one in changed] == [("flag_meanings", "['a', 'b']", "['a', 'c']")]
    run(1)
    with netCDF4.Dataset(tmp_path / "history.nc") as file:
        assert file["T"].flag_meanings == ["a", "b"]
