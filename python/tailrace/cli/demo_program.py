"""The first part of `tailrace demo`: records an unchanged program, reports why it is slow, and measures what rules bring."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from tailrace.cli import output
from tailrace.launch.local import launcher_environment, mpirun_command

LOG = "log"
# 2 ranks write 20 fields in each of 50 steps: 2,000 files of 8 KiB, each on the device before it is closed
OPTIONS = ("fields=20", "steps=50", "sync=true", "barriers=false", "dir=out", "run=run.json")
NO_COMPARISON = 2  # the exit status if no rule would help: no failure of the demo


def show_program(build: Path, folder: Path) -> int:
    """Runs the commands that a user would type, in a new `folder`, and prints each. Returns the status of the first that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = mpirun_command(2, [str(build / "bin" / "abl"), *OPTIONS])
    console = output.console()
    console.print(
        "[bold]1. A program as it is.[/] `abl` writes a file for each rank, field and step, in plain Fortran, and waits until each "
        "is on the device. It is run in "
        f"{output.escape(str(folder))}.",
        soft_wrap=True,
    )
    for words in (["run", "--log", LOG, "--", *program], ["report", LOG], ["run", "--compare", "--", *program]):
        console.print(f"\n[bold]$ tailrace {output.escape(shlex.join(words))}[/]", soft_wrap=True)
        command = [str(build / "bin" / "tailrace"), *words]
        status = subprocess.run(command, cwd=folder, env=launcher_environment(os.environ), check=False).returncode
        if status != 0 and not (status == NO_COMPARISON and "--compare" in words):
            return status
        shutil.rmtree(folder / "out", ignore_errors=True)  # a comparison begins without the program's output
    console.print("\n[bold]2. The program with the library.[/] Another kernel, its own files against the library's layouts.")
    return 0
