"""tailrace demo: records an unchanged program, reports on it, and tries rules that help. Then compares the library's layouts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.demo_program import show_program
from tailrace.cli.study import build_folder, run_study
from tailrace.study.folder import RESULTS, OtherVersionError, alone_in, open_study
from tailrace.study.spec import load_study
from tailrace.study.values import StudyError

STUDY, PROGRAM = "olam-demo.toml", "program"


def command(
    out: Annotated[Path | None, typer.Option("--out", help="Folder for results and page; default build/demo.")] = None,
    as_json: output.AsJson = False,
) -> None:
    """A program as it is: its record, its report, what helps and by how much; then a study of the library's layouts.

    The first part records the ABL kernel, and compares it with its files on scratch. The study runs the OLAM kernel: its own files
    against the library's layouts, every byte verified. A stopped study continues; a finished one starts again. --json runs only
    the study.

    Examples: [bold]tailrace demo[/] · [bold]tailrace demo --out /scratch/demo[/]
    """
    file = build_folder().parent / "studies" / STUDY
    folder = out or build_folder() / "demo"
    try:
        if not file.is_file():
            raise StudyError(f"{file}: no such file: run the demo in a source tree, after `make build`")
        forget_finished(file, folder)
    except StudyError as error:
        output.fail(str(error), as_json)
        raise typer.Exit(2) from None
    if not as_json and (status := show_program(build_folder(), folder / PROGRAM)):
        raise typer.Exit(status)
    raise typer.Exit(run_study(file, folder, as_json))


def forget_finished(file: Path, folder: Path) -> None:
    """Removes the results in `folder` if the demo is finished, or was made by another version. Leaves files that no study made."""
    if not (folder / RESULTS).is_file():
        return
    spec = load_study(file)
    with alone_in(folder):
        try:
            finished = not open_study(spec, folder).left
        except OtherVersionError:
            finished = True
        if finished:
            for name in ("runs", "records", "layouts"):
                shutil.rmtree(folder / name, ignore_errors=True)
            for name in (RESULTS, "report.html"):
                (folder / name).unlink(missing_ok=True)
