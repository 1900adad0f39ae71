"""tailrace drain copy: moves the files of a folder to their target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.drain.choices import Log, Wait
from tailrace.cli.drain.delivery import deliver
from tailrace.place.stage_rules import NOT_COMPRESSED


def command(
    scratch: Annotated[Path, typer.Argument(help="Folder with the files, on a local disk or in memory.")],
    target: Annotated[Path, typer.Argument(help="Folder where they go; made if absent.")],
    bundle: Annotated[bool, typer.Option("--bundle", help="Make tar files with an index, not single files.")] = False,
    bundle_mib: Annotated[int, typer.Option("--bundle-mib", min=1, help="Size in MiB at which a bundle is closed.")] = 256,
    compression: Annotated[
        str, typer.Option("--compression", help="Of the tar files of --bundle: none, zstd, or zstd:N with N from 1 to 19.")
    ] = NOT_COMPRESSED,
    wait_s: Wait = 0,
    log: Log = None,
    as_json: output.AsJson = False,
) -> None:
    """Moves all files of a folder to the target. A file is removed from scratch when its copy is on the device and was verified.

    A file that a process has open for writing stays. After a kill, or with a full target, the same command continues. The exit
    status is 1 when files are left or torn; they are named.

    Examples: [bold]tailrace drain copy $TMPDIR/out results[/] · [bold]tailrace drain copy $TMPDIR/out results --bundle --wait 60[/]
    """
    if compression != NOT_COMPRESSED and not bundle:
        raise typer.BadParameter("--compression is for bundles: add --bundle, or remove it")
    deliver(scratch, target, "bundle" if bundle else "mirror", bundle_mib << 20, compression, wait_s, log, as_json=as_json)
