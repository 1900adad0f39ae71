"""Output files of MODFLOW, read by FloPy: heads and what is stored like them, budgets of cells, and the budget of the listing.

Raises MemberError where a time, a record or a cell is not there, without the file's name, which the callers add. What FloPy raises
for a damaged file is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.ensemble.values import MemberError

Array = np.ndarray[Any, np.dtype[Any]]
# MODFLOW 6 stores 1e30 for cells outside of the model, and -1e30 for dry ones (DHNOFLO and DHDRY in its source, Constants.f90).
NO_VALUE = 1e29
# The titles of budgets in a listing, of models of flow, transport of solutes and of energy.
BUDGETS = (
    "VOLUME BUDGET FOR ENTIRE MODEL",
    "VOLUMETRIC BUDGET FOR ENTIRE MODEL",
    "MASS BUDGET FOR ENTIRE MODEL",
    "ENERGY BUDGET FOR ENTIRE MODEL",
)


def heads(path: Path, record: str, time: int) -> Array:
    """One output time: [layer, row, column] in f8, as FloPy shapes the grid; NaN where a cell has no value."""
    return _heads(path, record, lambda times: [times[_place(time, len(times), "output time")]])[1][0]


def all_heads(path: Path, record: str) -> tuple[Array, Array]:
    """The output times, in the model's unit, and the values at each: [time, layer, row, column], as of heads()."""
    return _heads(path, record, lambda times: times)


def _heads(path: Path, record: str, choose: Callable[[list[float]], list[float]]) -> tuple[Array, Array]:
    from flopy.utils import HeadFile

    _must_have_content(path)
    with HeadFile(path, text=record) as file:
        times = choose(file.get_times())
        found = np.array([file.get_data(totim=each) for each in times], dtype=float)
    found[np.abs(found) >= NO_VALUE] = np.nan
    return np.array(times, dtype=float), found


def budget(path: Path, record: str, time: int) -> Array:
    """The flows of one record, such as CHD or WEL, at one output time: one value for each boundary or cell, positive into the
    model."""
    from flopy.utils import CellBudgetFile

    _must_have_content(path)
    with CellBudgetFile(path, precision="auto") as file:
        names = [name.decode().strip() for name in file.get_unique_record_names()]
        if record not in names:
            raise MemberError("malformed", f"no record '{record}' in {', '.join(names)}")
        times = file.get_times()
        each = file.get_data(text=record, totim=times[_place(time, len(times), "output time")])
    if not each:
        raise MemberError("malformed", f"record '{record}' is not at output time {time}")
    flows = [one["q"] if one.dtype.names else one for one in each]
    return np.concatenate([np.asarray(one, dtype=float).reshape(-1) for one in flows])


def listing(path: Path, record: str, time: int) -> Array:
    """A rate of the budget that the listing prints, such as WEL_OUT or PERCENT_DISCREPANCY: an array of one value."""
    from flopy.utils import Mf6ListBudget, MfListBudget

    _must_have_content(path)
    with path.open(errors="replace") as file:
        title = next((each for line in file for each in BUDGETS if each in line), None)
    if title is None:
        raise MemberError("malformed", "has no budget of the whole model: let the model print its budget")
    kind = MfListBudget if title.startswith("VOLUMETRIC") else Mf6ListBudget
    rates = kind(path, budgetkey=title).get_incremental()
    if rates is None or not len(rates):
        raise MemberError("malformed", "its budget has no lines: did the run end early?")
    names = [name for name in rates.dtype.names if name not in ("totim", "time_step", "stress_period")]
    if record not in names:
        raise MemberError("malformed", f"no rate '{record}' in {', '.join(names)}")
    return np.array([rates[record][_place(time, len(rates), "printed budget")]], dtype=float)


def one_value(values: Array, index: Sequence[int], reduce: str) -> float:
    """The value of one cell, or of all that `index` leaves, by `reduce`; cells without a value do not count."""
    if len(index) > values.ndim or any(not -length <= at < length for at, length in zip(index, values.shape, strict=False)):
        raise MemberError("malformed", f"index {list(index)}: the array has shape {values.shape}, and counts from 0")
    chosen = np.atleast_1d(values[tuple(index)])
    if not reduce and chosen.size > 1:
        raise MemberError("malformed", f"{chosen.size} values: name a cell as `index`, or `reduce`, such as 'mean'")
    chosen = chosen[~np.isnan(chosen)]
    if chosen.size == 0:
        raise MemberError("malformed", "the cells are dry, or outside of the model")
    return float(chosen[-1] if reduce in ("", "last") else getattr(chosen, reduce)())


def _place(time: int, times: int, what: str) -> int:
    if not -times <= time < times:
        raise MemberError("malformed", f"time = {time}: the file has {times} {what}s, and counts from 0")
    return time


def _must_have_content(path: Path) -> None:
    if path.stat().st_size == 0:
        raise MemberError("missing", "is empty")


READERS: dict[str, Callable[[Path, str, int], Array]] = {"heads": heads, "budget": budget, "listing": listing}
