"""The tables of `tailrace trace show`."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.table import Table

from tailrace.cli import output
from tailrace.cli.output import bytes_text, count_text, escape, plain

if TYPE_CHECKING:
    from tailrace.trace.model import Run

Row = Mapping[str, Any]
SUM_HEADINGS = ("calls", "failed", "read", "written", "self s")
FEW = 5  # rows of failed and slow calls without --details
NOT_KNOWN = "?"


class View(NamedTuple):
    top: int
    every: bool  # also shows system files
    sort: str
    details: bool


def print_run(run: Run, view: View) -> None:
    console = output.console()
    for line in _head(run):
        console.print(line, markup=False, soft_wrap=True)
    tables = [_layers(run), _processes(run, view), _sums("call", run.by_call(), view), _groups(run, view)]
    if view.details:
        tables += [
            _sums("node", run.by_host(), view),
            _sums("directory", run.by_directory(), view),
            _sums("file system", run.by_file_system() or {}, view),
            _sums("kind of call", run.system_and_buffered(), view),
            _sizes(run),
            _order(run),
        ]
    tables += [_failures(run, view), _slowest(run, view), _results(run.results)]
    for table in tables:
        if table.row_count:
            console.print()
            console.print(table)
    _print_notes(run, view)


def _print_notes(run: Run, view: View) -> None:
    console = output.console()
    rows = {"processes": len(run.processes), "files": len(run.files)}
    if max(rows.values()) > view.top:
        console.print(f"\n{rows['processes']} processes, {rows['files']} files; --top and --all show more")
    for text in run.limited():
        console.print(plain(text), markup=False, soft_wrap=True)
    for message in run.messages.get("partial", []):
        console.print(f"not complete: {plain(message)}", markup=False, soft_wrap=True)
    for name, reason in run.unknown.items():
        console.print(f"not known: {plain(name)}: {plain(reason)}", markup=False, soft_wrap=True)


def _head(run: Run) -> Iterable[str]:
    facts = run.facts
    if facts.command is not None:
        yield f"command   {plain(facts.command)}"
    began = NOT_KNOWN if facts.begin_real_ns is None else _date_text(facts.begin_real_ns)
    took = "duration not known" if facts.duration_s is None else f"took {facts.duration_s:.3f} s"
    yield f"started   {began}, {took}, {_status_text(run)}"
    hosts = ", ".join(run.hosts[:8]) + (", ..." if len(run.hosts) > 8 else "")
    counts = [f"{len(run.ranks)} ranks"] if run.ranks else []
    counts.append(f"{len(run.processes)} process{'es' if len(run.processes) != 1 else ''}")
    yield f"hosts     {len(run.hosts) or NOT_KNOWN}: {plain(hosts) or 'names not known'}; {', '.join(counts)}"
    if facts.machine:
        shown = [facts.machine.get(key) for key in ("system", "processor")]
        cores = f"{facts.machine.get('cores')} cores"
        yield f"machine   {', '.join([*(plain(str(text)) for text in shown if text), cores])}"
    yield f"I/O       {_share_text(run)}"


def _date_text(real_ns: int) -> str:
    try:
        return datetime.datetime.fromtimestamp(real_ns / 1e9).astimezone().isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return NOT_KNOWN


def _status_text(run: Run) -> str:
    status = run.facts.status
    if status is None:
        return "status not known"
    return f"ended by signal {-status}" if status < 0 else f"status {status}"


def _share_text(run: Run) -> str:
    share = run.share()
    if share.of_run is None:
        return f"share not known: {run.unknown.get('calls', 'no process with a known duration')}"
    kinds = ", ".join(f"{kind} {_percent(value)}" for kind, value in share.kinds.items())
    of = f"{share.processes} {'rank' if run.ranks else 'process'}{'' if share.processes == 1 else 's' if run.ranks else 'es'}"
    mpi = "; with MPI's own files (only the program's: --without-mpi)" if any(run.sums["within_mpi"].unique().to_pylist()) else ""
    return f"{_percent(share.of_run)} of the time of {of}: {kinds}{mpi}"


def _percent(part: float | None) -> str:
    return NOT_KNOWN if part is None else f"{100 * part:.1f} %"


def _layers(run: Run) -> Table:
    shown = output.table("layer", *SUM_HEADINGS, numbers=SUM_HEADINGS)
    for name, row in run.by_layer().items():
        shown.add_row(name, *_sum_cells(row))
    return shown


def _sums(heading: str, rows: Mapping[str, Row], view: View) -> Table:
    shown = output.table(heading, *SUM_HEADINGS, numbers=SUM_HEADINGS)
    for name, row in _sorted(rows, view)[: view.top]:
        shown.add_row(escape(plain(name)), *_sum_cells(row))
    return shown


def _sorted(rows: Mapping[str, Row], view: View) -> list[tuple[str, Row]]:
    if view.sort in ("name", "rank"):
        return sorted(rows.items())
    return sorted(rows.items(), key=lambda item: -_size(item[1], view.sort))


def _size(row: Row, sort: str) -> float:
    if sort == "bytes":
        return (row["read_bytes"] or 0) + (row["written_bytes"] or 0)
    if sort == "calls":
        return row["calls"] or 0
    return row["time_ns"] or 0 if row["self_ns"] is None else row["self_ns"]


def _sum_cells(row: Row) -> tuple[str, ...]:
    counts = (_known(row[name], count_text) for name in ("calls", "failed"))
    sizes = (_known(row[name], bytes_text) for name in ("read_bytes", "written_bytes"))
    return (*counts, *sizes, _known(row["self_ns"], lambda value: f"{value / 1e9:.4f}"))


def _known(value: Any, text_of: Any) -> str:
    return NOT_KNOWN if value is None else text_of(value)


def _processes(run: Run, view: View) -> Table:
    shown = output.table(
        "process", "rank", "program", *SUM_HEADINGS, "seconds", numbers=("process", "rank", *SUM_HEADINGS, "seconds")
    )
    sums = run.by_process()
    rows: list[tuple[Row, Row | None]] = [(process, sums.get(process["log"])) for process in run.processes]

    def place(item: tuple[Row, Row | None]) -> Any:
        process, row = item
        if view.sort == "rank":
            return (process["rank"] is None, process["rank"] or 0)
        if view.sort == "name":
            return process["program"] or ""
        return 0.0 if row is None else -_size(row, view.sort)

    unshared = (
        ("0", "0", "0 B", "0 B", "0.0000") if None not in sums else (NOT_KNOWN,) * 5
    )  # the row None has the sums over all ranks
    for process, row in sorted(rows, key=place)[: view.top]:
        seconds = "killed" if process["seconds"] is None else f"{process['seconds']:.3f}"
        cells = unshared if row is None else _sum_cells(row)
        about = (_text(process["process"]), _text(process["rank"]), escape(plain(process["program"] or "")))
        shown.add_row(*about, *cells, seconds)
    if None in sums:
        shown.add_row("", "all", "", *_sum_cells(sums[None]), "")
    return shown


def _groups(run: Run, view: View) -> Table:
    from tailrace.trace.system_files import is_user_data

    shown = output.table("file", "files", "used", "by", *SUM_HEADINGS, numbers=("files", *SUM_HEADINGS))
    groups = [(group, row) for group, row in run.groups() if view.every or is_user_data(group.files[0])]
    if view.sort == "rank":
        groups.sort(key=lambda item: [member.rank if member.rank is not None else 1 << 40 for member in item[0].users])
    elif view.sort == "name":
        groups.sort(key=lambda item: item[0].name)
    else:
        groups.sort(key=lambda item: -_size(item[1], view.sort))
    for group, row in groups[: view.top]:
        by = f"{group.verb} by {group.users_text}"
        shown.add_row(escape(plain(group.name)), str(len(group.files)), group.sharing, by, *_sum_cells(row))
    return shown


def _sizes(run: Run) -> Table:
    shown = output.table("accesses", "of", "sizes", "number", numbers=("number",))
    for row in run.access_sizes():
        most = row["most_bytes"]
        sizes = f"{bytes_text(row['least_bytes'])} and more" if most is None else _range_text(row["least_bytes"], most)
        shown.add_row(row["kind"], f"{row['layer']}, {row['moves']}", sizes, count_text(row["accesses"]))
    return shown


def _range_text(least: int, most: int) -> str:
    return bytes_text(least) if least == most else f"{bytes_text(least)} to {bytes_text(most)}"


def _order(run: Run) -> Table:
    shown = output.table("accesses", "of", "order", "number", numbers=("number",))
    for row in run.access_order():
        shown.add_row(row["kind"], row["layer"], row["order"], count_text(row["accesses"]))
    return shown


def _failures(run: Run, view: View) -> Table:
    shown = output.table("failed call", "error", "file", "times", numbers=("times",))
    for row in (run.failures() or [])[: view.top if view.details else FEW]:
        shown.add_row(row["call"], row["error"] or "", escape(plain(row["file"] or "")), count_text(row["calls"]))
    return shown


def _slowest(run: Run, view: View) -> Table:
    numbers = ("rank", "began s", "seconds", "bytes")
    shown = output.table("slowest call", "file", *numbers, numbers=numbers)
    for row in (run.slowest() or [])[: view.top if view.details else FEW]:
        cells = (_text(row["rank"]), f"{row['begin_s']:.4f}", f"{row['seconds']:.4f}", bytes_text(row["bytes"]))
        shown.add_row(row["call"], escape(plain(row["file"] or "")), *cells)
    return shown


def _results(rows: list[dict[str, Any]]) -> Table:
    numbers = ("iteration", "tasks", "MiB/s", "operations/s", "total s")
    shown = output.table("benchmark", "operation", *numbers, numbers=numbers)
    for row in rows:
        cells = (row[key] for key in ("iteration", "tasks", "bandwidth_mib_s", "iops", "total_s"))
        shown.add_row(escape(plain(row["benchmark"] or "")), escape(plain(row["operation"] or "")), *map(_text, cells))
    return shown


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.4g}"
