"""tailrace coverage: compares a recorded run with the kernel's counts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.trace.coverage import REST, Coverage, KernelCounts, Unseen, coverage_of, share_missing
from tailrace.trace.log import LogError, read_run
from tailrace.trace.started import missing_ranks, unrecorded_processes


def command(
    folder: Annotated[Path, typer.Argument(help="Folder with the logs of a run.")],
    top: Annotated[int, typer.Option("--top", min=1, help="Number of processes to show.")] = 12,
    within: Annotated[str, typer.Option("--within", help="Accepts this share of all bytes as missing, such as 0.1%.")] = "0%",
    as_json: output.AsJson = False,
) -> None:
    """Compares the logs of a run with the kernel's counts of its processes, and lists what was not recorded.

    The exit status is 1 when bytes are missing, when a process that was started has no log, or when a log is damaged. Calls that
    were merged or only counted are not missing. A sentence for each incomplete process says why bytes are missing.

    Examples: [bold]tailrace coverage first[/] · [bold]tailrace coverage first --within 0.1%[/]
    """
    try:
        accepted = _share(within)
        logs, damaged = read_run(folder)
    except (LogError, OSError) as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None
    found, unrecorded, ranks = coverage_of(logs), unrecorded_processes(logs), missing_ranks(logs)
    missing = share_missing(found)
    has_bytes = all(coverage.has_all_bytes for coverage in found) or missing <= accepted
    if as_json:
        processes = [coverage.as_json() for coverage in found]
        started = [{**asdict(process), "text": process.text} for process in unrecorded]
        output.print_json(
            {"processes": processes, "unrecorded": started, "missing_ranks": ranks, "damaged": damaged, "share_missing": missing}
        )
    else:
        _print(found, top)
        _print_list("without a log:", [*ranks, *(process.text for process in unrecorded)], top)
        _print_why(found, top)
        if has_bytes and missing:
            output.console().print(f"\n{_percent(missing)} of the bytes are missing, which --within {within} accepts", markup=False)
    for message in damaged:
        output.fail(message)
    if (
        damaged
        or unrecorded
        or ranks
        or not has_bytes
        or any(coverage.uses_io_uring or coverage.has_unknown_calls for coverage in found)
    ):
        raise typer.Exit(1)


def _share(text: str) -> float:
    """Parses a share such as 0.1%. Raises LogError for another text, such as "much" or "200%"."""
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not (text.endswith("%") and 0 <= share <= 1):
        raise LogError(f"--within {text}: a share is a number from 0% to 100%, such as 0.1%")
    return share


def _percent(share: float) -> str:
    """A share in percent with three significant digits: a small share does not become 0."""
    return f"{100 * share:.3g} %"


def _print_why(found: list[Coverage], top: int) -> None:
    """Prints a sentence for each process with missing bytes or calls."""
    _print_list("missing:", [coverage.why_not_whole for coverage in found if not coverage.is_whole], top)


def _print_list(heading: str, texts: list[str], top: int) -> None:
    """Prints a heading and at most `top` texts. Prints nothing if there are no texts."""
    if not texts:
        return
    console = output.console()
    console.print(f"\n{heading}")
    for text in texts[:top]:
        console.print(f"  {output.plain(text)}", markup=False, soft_wrap=True)
    if len(texts) > top:
        console.print(f"  and {len(texts) - top} more; --top shows more")


def _bytes_text(moved: KernelCounts) -> str:
    return f"{output.bytes_text(moved.read_bytes)} / {output.bytes_text(moved.written_bytes)}"


def _calls_text(moved: KernelCounts) -> str:
    return f"{output.count_text(moved.read_calls)} / {output.count_text(moved.write_calls)}"


def _seen_text(coverage: Coverage) -> str:
    """The percentage of bytes that was recorded: 100.0 % only if no byte is missing."""
    percent = f"{100 * coverage.bytes_seen:.1f} %"
    return "99.9 %" if percent == "100.0 %" and coverage.rest.bytes else percent


def _print(found: list[Coverage], top: int) -> None:
    console = output.console()
    console.print("bytes read / written, and calls that read / write:")
    numbers = (
        "process",
        "rank",
        "kernel",
        "descriptors",
        "streams",
        "C library",
        "loader",
        "rest",
        "seen",
        "calls: kernel",
        "seen calls",
    )
    shown = output.table("process", "rank", "program", *numbers[2:], numbers=numbers)
    largest = sorted(found, key=lambda coverage: -(coverage.kernel or coverage.descriptors).bytes)[:top]
    for coverage in largest:
        moved = [_bytes_text(each) for each in (coverage.descriptors, coverage.streams, coverage.library, coverage.loader)]
        rest = f"{coverage.rest.read_bytes} / {coverage.rest.written_bytes}" if coverage.kernel else ""
        kernel, calls = (_bytes_text(coverage.kernel), _calls_text(coverage.kernel)) if coverage.kernel else ("unknown", "")
        seen = _seen_text(coverage) if coverage.kernel else ""
        rank = str(coverage.rank) if coverage.rank >= 0 else ""
        row = (
            str(coverage.process),
            rank,
            Path(coverage.program).name,
            kernel,
            *moved,
            rest,
            seen,
            calls,
            _calls_text(coverage.descriptors),
        )
        shown.add_row(*map(output.escape, row))
    console.print(shown)
    unseen: dict[tuple[str, Unseen], list[int]] = {}
    for coverage in largest:
        for each in (each for each in coverage.unseen if each.kind != REST):
            unseen.setdefault((Path(coverage.program).name, each), []).append(coverage.process)
    if unseen:
        console.print("\nnot recorded:")
        table = output.table("process", "program", "what", "")
        for (program, each), (first, *others) in unseen.items():
            processes = f"{first} and {len(others)} more" if others else str(first)
            table.add_row(*map(output.escape, (processes, program, each.kind, each.text)))
        console.print(table)
    if len(found) > top:
        console.print(f"\n{len(found)} processes; --top shows more")
