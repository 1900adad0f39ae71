"""tailrace drain resume: continues a drain that was killed, or that had to stop."""

from __future__ import annotations

from pathlib import Path

from tailrace.cli import output
from tailrace.cli.drain.choices import Log, Scratch, Wait
from tailrace.cli.drain.delivery import deliver
from tailrace.plain_text import quoted
from tailrace.stage import drain
from tailrace.stage.drain import StageError
from tailrace.stage.scratch_folder import run_of


def command(scratch: Scratch, wait_s: Wait = 0, log: Log = None, as_json: output.AsJson = False) -> None:
    """Continues the last drain of a folder: to the same target, as single files or in bundles as before.

    Delivered files are not copied again. Files of a killed `tailrace run` with [stage] are delivered, too; files that its processes
    had open for writing, by the log of the run, are torn. A run on several nodes has a folder on each: resume each on its node.
    The exit status is 1 when files are left or torn, or when another node has a file of the same name; they are named.

    Examples: [bold]tailrace drain resume $TMPDIR/out[/]
    """
    status = drain.status(scratch)
    if not status["target"]:
        raise StageError(f"{scratch} was not drained before: `tailrace drain copy {quoted(scratch)} TARGET` begins")
    if log is None and (run := run_of(scratch)):
        log = Path(run["log"])
    form = (status["sink"], status["bundle_bytes"], status["compression"])
    deliver(scratch, Path(status["target"]), *form, wait_s, log, as_json=as_json)
