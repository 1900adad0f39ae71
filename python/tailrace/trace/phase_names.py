"""Names of phases that lie between two collectives of all ranks.

A phase in which I/O matters has the name of the functions that did most of it, or of the files where these functions have no names.
Another phase is named "from X to Y" by the functions of its two collectives. Names have as many callers as tell phases apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tailrace.trace.call_paths import CallPath, paths_of
from tailrace.trace.call_sites import Place
from tailrace.trace.collectives import Collective
from tailrace.trace.path_labels import Step, labels_of
from tailrace.trace.ranks import NO_IO, WITHIN, Array, Rank

WITHIN_MPI = 1
READS = ("read", "stdio_read", "mpi_read", "fill")
LEAST_IO = 0.2  # of a phase's time, on the rank with most I/O: then the I/O names the phase
DIGITS = re.compile(r"\d+")
AT_INIT = "MPI_Init"

NONE = -1
Deed = tuple[Step, ...]  # the functions that did some I/O, or what was done to which files


@dataclass
class Interval:
    """What happened between two collectives of all ranks."""

    begin: str  # texts of the collectives
    end: str
    seconds: float  # mean of the ranks
    io: dict[Deed, Array] = field(default_factory=dict)  # seconds of each rank, by what did it

    def most(self) -> Deed:
        return max(self.io, key=lambda path: float(self.io[path].sum()), default=())

    def busiest_s(self) -> float:
        return float(np.max(np.sum(list(self.io.values()), axis=0))) if self.io else 0.0


def names_between(collectives: Sequence[Collective], ranks: Sequence[Rank]) -> list[str]:
    """The name of what each collective ends, and of what follows the last one."""
    ends = [f"{collective.call} {collective.site}" for collective in collectives]
    found = [Interval(begin, end, 0.0) for begin, end in zip([AT_INIT, *ends], [*ends, ""], strict=True)]
    deeds = _Deeds()
    for number, rank in enumerate(ranks):
        departures = np.array([c.departures[c.ranks.index(rank.number)] for c in collectives])
        _add_io(found, rank, departures, number, len(ranks), deeds)
        bounds = np.concatenate(([rank.left_init_s], departures, [rank.ends.max(initial=0.0)]))
        for interval, seconds in zip(found, np.diff(bounds), strict=True):
            interval.seconds += max(float(seconds), 0.0) / len(ranks)
    return _names(found, paths_of({collective.site for collective in collectives}))


def _add_io(found: Sequence[Interval], rank: Rank, departures: Array, number: int, ranks: int, deeds: _Deeds) -> None:
    """Adds a rank's seconds in I/O to the intervals."""
    log = rank.log
    events = log.events
    outermost = (events["flags"] & WITHIN == 0) | (events["flags"] & WITHIN_MPI == 0) & np.isin(
        events["detail"], np.fromiter(log.names, np.uint64, len(log.names))
    )
    # RATIONALE: calls of HDF5 and netCDF have a variable instead of a path. What they call has the path.
    chosen = outermost & ~_of_library(rank) & rank.on_files & ~rank.is_in(events, NO_IO) & (events["file"] != 0)
    chosen &= rank.begins >= rank.left_init_s
    seconds = (rank.ends - rank.begins)[chosen]
    intervals = np.searchsorted(departures, rank.begins[chosen], "right")
    numbers, path = np.unique(events["detail"][chosen], return_inverse=True)
    files, file = np.unique(events["file"][chosen], return_inverse=True)
    texts = [log.name_of(number) for number in numbers.tolist()]
    paths = paths_of(set(texts))
    of_paths = np.array([deeds.of_path(paths[text]) for text in texts], int)[path]
    names = [log.name_of(number) for number in files.tolist()]
    of_files = np.array([[deeds.of_file(name, reads) for name in names] for reads in (False, True)], int)
    deed = np.where(of_paths != NONE, of_paths, of_files[rank.is_in(events[chosen], READS).astype(int), file])
    # RATIONALE: openings have no path. They belong to the functions that did most I/O with the same file.
    has_path = np.array([bool(paths[text]) for text in texts], bool)[path]
    most = _most_of_each(file[has_path], deed[has_path], seconds[has_path], len(files))[file]
    deed = np.where(~has_path & (most != NONE), most, deed)
    codes, place = np.unique(intervals * len(deeds.numbers) + deed, return_inverse=True)
    known = list(deeds.numbers)
    for code, spent in zip(codes.tolist(), np.bincount(place, seconds, len(codes)).tolist(), strict=True):
        interval, of_interval = divmod(code, len(known))
        found[interval].io.setdefault(known[of_interval], np.zeros(ranks))[number] += spent


def _most_of_each(group: Array, value: Array, weights: Array, groups: int) -> Array:
    """Of each group: the value with the largest sum of weights. NONE where it has none."""
    most = np.full(groups, NONE)
    if len(group):
        values = int(value.max()) + 1
        code, place = np.unique(group * values + value, return_inverse=True)
        order = np.argsort(np.bincount(place, weights), kind="stable")
        most[code[order] // values] = code[order] % values  # the last one stays
    return most


def _of_library(rank: Rank) -> Array:
    numbers = [n for n, call in rank.log.calls.items() if call.group.startswith(("hdf5", "netcdf", "pnetcdf"))]
    return np.isin(rank.log.events["call"], numbers)


class _Deeds:
    """Numbers of deeds, in the order in which they were first asked for."""

    def __init__(self) -> None:
        self.numbers: dict[Deed, int] = {}
        self._of_files: dict[tuple[str, bool], int] = {}

    def of_path(self, path: CallPath) -> int:
        """The functions that did some I/O. NONE where their names say nothing."""
        named = [frame for frame in path if not frame.is_main]
        return self._number(tuple(Step(frame.function) for frame in named)) if named else NONE

    def of_file(self, name: str, is_read: bool) -> int:
        """What was done to which files."""
        found = self._of_files.get((name, is_read))
        if found is None:
            found = self._number((Step(f"{'reading' if is_read else 'writing'} {folded(name)}"),))
            self._of_files[name, is_read] = found
        return found

    def _number(self, deed: Deed) -> int:
        return self.numbers.setdefault(deed, len(self.numbers))


def folded(file: str) -> str:
    """The name of a file without its folder, with * for each number."""
    return DIGITS.sub("*", Path(file).name) or "?"


def _names(found: Sequence[Interval], paths: dict[str, CallPath]) -> list[str]:
    alike: dict[tuple[str, str, Deed], list[Interval]] = defaultdict(list)
    for interval in found:
        alike[interval.begin, interval.end, interval.most()].append(interval)
    by_io = {
        key
        for key, intervals in alike.items()
        if key[2] and sum(each.busiest_s() for each in intervals) >= LEAST_IO * sum(each.seconds for each in intervals)
    }
    deeds = labels_of({deed: deed for _, _, deed in by_io}, least=2)
    ends = labels_of({text: _steps(text, paths) for each in found for text in (each.begin, each.end)})
    names = []
    for each in found:
        key = (each.begin, each.end, each.most())
        if key in by_io:
            names.append(deeds[each.most()])
        else:
            names.append(f"from {ends[each.begin]} to {ends[each.end]}" if each.end else "to the end")
    return names


def _steps(end: str, paths: dict[str, CallPath]) -> tuple[Step, ...]:
    """The functions that led to a collective."""
    call, _, site = end.partition(" ")
    if not site:
        return (Step(call),)
    path = paths.get(site, ())
    named = [frame for frame in path if not frame.is_main]
    if named:
        # The main program has no name that is shown, and the place of its call.
        return tuple(Step("" if frame.is_main else frame.function, frame.place.line or frame.place.address) for frame in path)
    if not path or path[0].function:  # the main program
        place = path[0].place if path else Place(site)
        return (Step(f"{call} {place.text}", place.line or place.address),)
    # A stripped program.
    return tuple(Step(frame.place.address) for frame in path)
