"""The time of a step from a date: datetime, numpy.datetime64, pandas.Timestamp or cftime, in the units of the time coordinate."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

import tailrace._core as _core

# The calendars that agree with datetime and numpy.datetime64 from FIRST_GREGORIAN_DAY on.
DATETIME_CALENDARS = ("standard", "gregorian", "proleptic_gregorian")
FIRST_GREGORIAN_DAY = datetime.datetime(1582, 10, 15)
NS_PER_UNIT = {
    **dict.fromkeys(("nanosecond", "nanoseconds", "ns"), 1),
    **dict.fromkeys(("microsecond", "microseconds", "us"), 10**3),
    **dict.fromkeys(("millisecond", "milliseconds", "millisec", "millisecs", "msec", "msecs", "ms"), 10**6),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), 10**9),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), 60 * 10**9),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), 3600 * 10**9),
    **dict.fromkeys(("day", "days", "d"), 86400 * 10**9),
}
UNITS = re.compile(r"(\S+)\s+since\s+(\S.*?)\s*", re.IGNORECASE)
REFERENCE = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?"
)
REMEDY = "stream.attributes('time', units='seconds since 2000-01-01 00:00:00')"


def is_date(time: Any) -> bool:
    return isinstance(time, datetime.datetime | np.datetime64) or _is_cftime(time)


def number_of(time: Any, attributes: Mapping[str, Any]) -> float:
    """The date in the units and the calendar among the attributes of the time coordinate. Raises BAD_ARGUMENT, a ValueError."""
    units, calendar = attributes.get("units"), str(attributes.get("calendar", "standard")).lower()
    if units is None:
        raise _refused(time, f"the time coordinate has no units: before the first step, call {REMEDY}")
    if _is_cftime(time):
        return _of_cftime(time, str(units), calendar)
    if calendar not in DATETIME_CALENDARS:
        raise _refused(
            time,
            f"the stream's calendar is '{calendar}', which such a date does not know: "
            f"pass cftime.datetime(..., calendar='{calendar}')",
        )
    unit_ns, reference = _parsed(time, str(units))
    since_ns = _nanoseconds(time)
    if calendar != "proleptic_gregorian":
        first = _nanoseconds(FIRST_GREGORIAN_DAY)
        if min(since_ns, _nanoseconds(reference)) < first:
            raise _refused(
                time,
                f"the calendar '{calendar}' is another one before 1582-10-15: "
                "set calendar='proleptic_gregorian', or pass a cftime.datetime",
            )
    return (since_ns - _nanoseconds(reference)) / unit_ns


def _is_cftime(time: Any) -> bool:
    return type(time).__module__.partition(".")[0] == "cftime"


def _of_cftime(time: Any, units: str, calendar: str) -> float:
    import cftime

    same = time.calendar == calendar or {time.calendar, calendar} <= {"standard", "gregorian"}
    if not same:
        raise _refused(time, f"it is of the calendar '{time.calendar}', and the stream's is '{calendar}': make both the same")
    try:
        return float(cftime.date2num(time, units, calendar=calendar))
    except ValueError as error:
        raise _refused(time, f"units = '{units}' cannot be used: {error}: set them as in {REMEDY}") from None


def _parsed(time: Any, units: str) -> tuple[int, datetime.datetime]:
    """The nanoseconds of a unit, and the date from which it counts."""
    found = UNITS.fullmatch(units)
    unit_ns = NS_PER_UNIT.get(found[1].lower()) if found else None
    date = REFERENCE.fullmatch(found[2]) if found else None
    if unit_ns is None or date is None:
        raise _refused(
            time, f"units = '{units}' are not UNIT since DATE with days, hours, minutes or seconds: set them as in {REMEDY}"
        )
    year, month, day, hour, minute, second = (int(text or 0) for text in date.groups()[:6])
    try:
        reference = datetime.datetime(year, month, day, hour, minute, second, int((date[7] or "0").ljust(6, "0")[:6]))
    except ValueError as error:
        raise _refused(time, f"units = '{units}': {error}: set them as in {REMEDY}") from None
    zone = date[8] or ""
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "")
        hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
        reference -= datetime.timedelta(hours=hours, minutes=minutes) * (1 if zone[0] == "+" else -1)
    return unit_ns, reference


def _nanoseconds(time: Any) -> int:
    """Nanoseconds since 1970 in UTC. A date without a time zone is taken as UTC."""
    if hasattr(time, "to_datetime64"):  # a pandas.Timestamp has nanoseconds, which datetime has not
        time = time.to_datetime64()
    if isinstance(time, np.datetime64):
        if np.isnat(time):
            raise _refused(time, "it is no time: pass the time of the step")
        unit, count = np.datetime_data(time.dtype)
        if unit in ("Y", "M", "W"):
            time, unit, count = time.astype("datetime64[D]"), "D", 1
        scale = {"D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}.get(unit)
        if scale is None:
            raise _refused(time, f"its unit '{unit}' is below a nanosecond: pass time.astype('datetime64[ns]')")
        return int(time.astype(np.int64)) * count * scale
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    since = time - datetime.datetime(1970, 1, 1)
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000


def _refused(time: Any, why: str) -> Exception:
    return _core.ERRORS["BAD_ARGUMENT"](f"step at {time!r}: {why}")
