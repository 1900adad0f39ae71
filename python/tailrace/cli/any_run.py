"""`tailrace run` by its options: recorded, placed, or both. Imports little: this comes before each program."""

from __future__ import annotations

from tailrace.cli.recorded_run import Recording, fail, run_with
from tailrace.cli.run_options import RunOptions


def run(options: RunOptions) -> int:
    """Runs the command. Returns its exit status, or 2 where it did not begin."""
    if options.config is not None:
        from tailrace.cli.placed_run import PlacedRun

        return run_with(options, PlacedRun(options))
    if not options.trace:
        return fail("--no-trace needs --config: without both nothing is recorded and nothing is placed")
    return run_with(options, Recording(options))
