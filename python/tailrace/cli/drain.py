"""tailrace drain: files leave node-local scratch for their target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.cli import output
from tailrace.stage import drain

COMMANDS = ("copy",)

group = typer.Typer(
    no_args_is_help=True,
    help="""Carries files from node-local scratch to their target: checked, in large writes, and resumable. See docs/staging.md.

Examples: [bold]tailrace drain copy $TMPDIR/out results[/] · [bold]tailrace drain copy $TMPDIR/out results --bundle[/]
""",
)


@group.callback()
def _all() -> None:
    pass


@group.command("copy", no_args_is_help=True)
def copy(
    scratch: Annotated[Path, typer.Argument(help="Folder with the files, on a local disk or in memory.")],
    target: Annotated[Path, typer.Argument(help="Folder where they go; made if absent.")],
    bundle: Annotated[bool, typer.Option("--bundle", help="Make tar files with an index, not single files.")] = False,
    bundle_mib: Annotated[int, typer.Option("--bundle-mib", min=1, help="A bundle is closed at this size.")] = 256,
    wait_s: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for files that are open for writing.")] = 0,
    as_json: output.AsJson = False,
) -> None:
    """Moves all files of a folder to the target. A file leaves scratch when its copy is on the device and was read again.

    A file that a process has open for writing stays. After a kill, or with a full target, the same command continues. The exit
    status is 1 when files are left; they are named.

    Examples: [bold]tailrace drain copy $TMPDIR/out results[/] · [bold]tailrace drain copy $TMPDIR/out results --bundle --wait 60[/]
    """
    progress = None if as_json else _print_progress
    answer = drain.copy(scratch, target, "bundle" if bundle else "mirror", bundle_mib << 20, wait_s, progress)
    if as_json:
        output.print_json(answer)
    else:
        _print(target, answer)
    raise typer.Exit(1 if answer["left"] else 0)


def _text(answer: dict[str, Any]) -> str:
    rate = answer["bytes"] / max(answer["seconds"], 1e-9)
    size = f"{output.bytes_text(answer['bytes'])}, {output.bytes_text(int(rate))}/s"
    return f"{output.count_text(answer['files'])} files, {size}"


def _print_progress(answer: dict[str, Any]) -> None:
    done = answer["files"] / max(answer["entries"], 1)
    left_s = answer["seconds"] / done - answer["seconds"] if done > 0 else 0
    output.error_console().print(f"{100 * min(done, 1):.0f} %, {_text(answer)}, {max(left_s, 0):.0f} s left")


def _print(target: Path, answer: dict[str, Any]) -> None:
    console = output.console()
    bundles = f" in {answer['bundles']} bundles" if answer["bundles"] else ""
    console.print(f"{output.escape(str(target))}: {_text(answer)}{bundles}, in {answer['seconds']:.2f} s", soft_wrap=True)
    for left in answer["left"]:
        console.print(output.plain(f"  left on scratch: {left['path']}: {left['why']}"), markup=False, soft_wrap=True)
