"""tailrace extract: copies files out of bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.stage import bundles


def command(
    bundle: Annotated[Path, typer.Argument(help="A tar file that `tailrace drain copy --bundle` made, or a folder of such files.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Files or folders in the bundle, as `tailrace ls BUNDLE` lists them.")
    ] = None,
    into: Annotated[Path, typer.Option("--into", help="Folder in which the files are made; made if absent.")] = Path(),
    everything: Annotated[bool, typer.Option("--all", help="Extract all files of the bundle.")] = False,
    as_json: output.AsJson = False,
) -> None:
    """Makes files of a bundle by its index, or of all bundles of a folder.

    If a drain has delivered a file twice, the later copy is extracted. Of a folder of bundles, files that later runs have taken out
    of them are passed over. Each file's checksum is compared before the file gets its name. No existing file is replaced. No file
    is made outside of the folder of --into: absolute names, `..`, devices, and symbolic links that lead out of it are refused.

    Examples: [bold]tailrace extract results/n1-77-000001.tar data/00/u.0003[/] · [bold]tailrace extract results data --into out[/]
    """
    if bool(names) == everything:
        raise typer.BadParameter("name the files to extract, or give --all")
    done = bundles.extract(bundle, into, names or [])
    if as_json:
        output.print_json({key: done[key] for key in ("members", "taken", "files", "bytes", "seconds")})
        return
    amount = f"{output.count_text(done['files'])} of {done['members']:,} members, {output.bytes_text(done['bytes'])}"
    print(output.plain(f"{into}: {amount}, in {1000 * done['seconds']:.1f} ms"))
    if done["taken"]:
        print(bundles.taken_text(done["taken"]))
