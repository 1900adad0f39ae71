"""tailrace drain wait: waits until the drain of a folder has ended."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.drain.choices import Scratch
from tailrace.cli.drain.status import show
from tailrace.stage import drain


def command(
    scratch: Scratch,
    deadline_s: Annotated[float, typer.Option("--deadline", min=0, help="Seconds to wait at most.")],
    as_json: output.AsJson = False,
) -> None:
    """Waits until the drain of a folder has ended, or a deadline; then shows what is delivered and what is left.

    Where no drain has begun yet, it waits for one. The exit status is 0 when everything is delivered, else 1.

    Examples: [bold]tailrace drain wait $TMPDIR/out --deadline 600[/]
    """
    status = drain.status(scratch, wait_s=deadline_s)
    if status["is_in_time"]:
        show(scratch, status, as_json=as_json)
    if not as_json:
        output.error_console().print(f"the drain has not ended after {deadline_s:g} s")
    try:
        show(scratch, status, as_json=as_json)
    except typer.Exit:
        raise typer.Exit(1) from None
