"""Whether what a reader saw of a file of write_case is what the formula says: names, dimensions, attributes, times, every value."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests import formula
from tests.readers import Reader, Seen, SeenArray

OWN_ATTRIBUTES = "tailrace_"


def check_attributes(found: object, expected: object, of: str) -> None:
    assert isinstance(found, dict)
    plain = {name: value for name, value in found.items() if not name.startswith(OWN_ATTRIBUTES)}
    assert isinstance(expected, dict)
    assert plain.keys() == expected.keys(), of
    for name, value in expected.items():
        if isinstance(value, str):
            assert plain[name] == value, of
        else:
            np.testing.assert_array_equal(plain[name], value, err_msg=f"{of}: {name}")
            assert np.asarray(plain[name]).dtype == np.asarray(value).dtype, f"{of}: {name}"


def check_array(seen: SeenArray, variable: formula.Variable, sizes: formula.Sizes, steps: int) -> None:
    expected = variable.all_values(steps, sizes)
    if seen.dims is not None:
        assert seen.dims == (variable.dims if variable.static else ("time", *variable.dims)), variable.name
    if seen.dtype is not None:
        assert seen.dtype == np.dtype(variable.dtype), variable.name
    if seen.attributes is not None:
        check_attributes(seen.attributes, dict(variable.attributes), variable.name)
    np.testing.assert_array_equal(np.ravel(seen.values), np.ravel(expected), err_msg=variable.name)


def check(seen: Seen, steps: int, sizes: formula.Sizes, variables: str = "climate") -> None:
    expected = formula.SETS[variables]
    lists_coordinates = "time" in seen.arrays  # cdo does not, nor what has no dimension at all
    for variable in expected:
        if lists_coordinates or not (variable.is_coordinate or (variable.static and not variable.dims)):
            assert variable.name in seen.arrays, f"{variable.name} is not in {sorted(seen.arrays)}"
            check_array(seen.arrays[variable.name], variable, sizes, steps)
    assert set(seen.arrays) <= {variable.name for variable in expected} | {"time"}, sorted(seen.arrays)
    if lists_coordinates:
        time = seen.arrays["time"]
        np.testing.assert_array_equal(time.values, formula.times(steps))
        assert time.dims in (None, ("time",))
        if time.attributes is not None:
            check_attributes(time.attributes, formula.TIME_ATTRIBUTES, "time")
    if seen.dimensions is not None:
        # Some readers list only dimensions that a variable has.
        used = {"time"}.union(*(variable.dims for variable in expected))
        defined = {"time": steps, "lev": sizes.lev, "lat": sizes.lat, "lon": sizes.lon}
        assert used <= seen.dimensions.keys()
        assert dict(seen.dimensions).items() <= defined.items()
    if seen.coordinates is not None:
        assert seen.coordinates == {"time"} | {variable.name for variable in expected if variable.is_coordinate}
    if seen.attributes is not None:
        check_attributes(seen.attributes, formula.GLOBAL_ATTRIBUTES, "the file")
    if seen.times is not None:
        hours = formula.times(steps).astype("timedelta64[h]")
        np.testing.assert_array_equal(seen.times, np.datetime64("2001-01-01T00:00:00", "s") + hours)


def state_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def check_reader(
    name: str, reader: Reader, path: Path, scratch: Path, steps: int, sizes: formula.Sizes, variables: str = "climate"
) -> None:
    """The reader sees what was written, and changes nothing of it."""
    before = state_of(path.parent)
    try:
        check(reader.read(path, scratch), steps, sizes, variables)
        assert state_of(path.parent) == before
    except Exception as error:
        error.add_note(f"read with {name}: {path}")
        raise
