"""`tailrace run` by its options: recorded, placed, or both. Imports little, because a program starts only after these imports."""

from __future__ import annotations

from tailrace.cli.recorded_run import Recording, fail, run_with
from tailrace.cli.run_options import RunOptions


def run(options: RunOptions) -> int:
    """Runs the command. Returns the command's exit status, or 2 if the command was not started."""
    if options.config is not None:
        from tailrace.cli.placed_run import PlacedRun

        return run_with(options, PlacedRun(options))
    if not options.trace:
        return fail("--no-trace needs --config FILE: otherwise nothing would be recorded and no file placed")
    return run_with(options, Recording(options))
